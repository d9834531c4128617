"""How many passes after an edit a cursor needs until it copies the original again.

A text is a list of *pieces*, copied from the original or new. Every copied piece but the first is
a *divergence* to recover from. Counted are the passes that begin in it, up to the first whose draft
is right for eight tokens (or to the piece's end). Edits are those of the cases themselves, and six
kinds made mechanically from each original.

When does the count begin? That an edit is over shows only in a token written behind it. After a
deletion there is such a token in any case: the one that the target wrote instead of the deleted
text. After new text there is none at the border, and a pass that begins there cannot know that the
new text has ended. Two counts are given:

- *told*: passes that begin behind the first token of the piece, the same for all kinds of edits;
- *border*: after new text also the pass that begins before that token.

0 means that a draft ran into the piece from before; in *told* also that the pass at the border was
right.
"""

from __future__ import annotations

import collections
import random
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate

import proposers
from apply_edit.encoding import shown_text
from apply_edit.match.ladder import changes
from apply_edit.text import split_lines
from benchmarks.drafting import replay
from proposers import References, Router

# Right for so many tokens: copying, not coincidence. Shorter pieces are not measured.
COPYING = 8
WITHIN = 2
_NAME = re.compile(r"[A-Za-z_]\w{3,}")


@dataclass(frozen=True)
class Piece:
    """A stretch of a text, copied from the original or new."""

    text: str
    copied: bool = True


def of_case(original, expected):
    """Yield (kind, pieces) for a case's own edit, one change at a time."""
    old, new = split_lines(original), split_lines(expected)
    for i1, i2, j1, j2 in changes(old, new):
        kind = "insert" if i1 == i2 else "delete" if j1 == j2 else "replace"
        yield kind, [_copy(old[:i1]), Piece("".join(new[j1:j2]), copied=False), _copy(old[i2:])]


def made(original, dice):
    """Yield (kind, pieces) for one mechanically made edit of each kind."""
    lines = split_lines(original)
    if len(lines) < 40:
        return
    at, other = dice.randrange(5, len(lines) - 15), dice.randrange(5, len(lines) - 15)
    new = Piece("".join(_scrambled(line, dice) for line in lines[other : other + 3]), copied=False)
    yield "insert", [_copy(lines[:at]), new, _copy(lines[at:])]
    yield "delete", [_copy(lines[:at]), _copy(lines[at + dice.randrange(1, 9) :])]
    yield "replace", [_copy(lines[:at]), new, _copy(lines[at + 2 :])]
    low, high = sorted((at, other))
    if high - low > 6:
        block, between = _copy(lines[low : low + 5]), _copy(lines[low + 5 : high])
        yield "move", [_copy(lines[:low]), between, block, _copy(lines[high:])]
    yield from _renamed(original, dice)
    yield from _equal_lines(lines, dice)


def _renamed(original, dice):
    counts = collections.Counter(_NAME.findall(original))
    names = sorted(name for name, count in counts.items() if 3 <= count <= 20)
    if names:
        name = dice.choice(names)
        parts = re.split(rf"\b{name}\b", original)
        pieces = [Piece(parts[0])]
        for part in parts[1:]:
            pieces += [Piece("renamed_" + name, copied=False), Piece(part)]
        yield "rename", pieces


def _equal_lines(lines, dice):
    """Write a line that occurs often once more, or once less."""
    counts = collections.Counter(lines)
    often = [i for i, line in enumerate(lines[5:-10], 5) if line.strip() and counts[line] >= 3]
    if often:
        at = dice.choice(often)
        twice = [_copy(lines[: at + 1]), Piece(lines[at], copied=False), _copy(lines[at + 1 :])]
        less = [_copy(lines[:at]), _copy(lines[at + 1 :])]
        yield "equal lines", dice.choice([twice, less])


def _copy(lines):
    return Piece("".join(lines))


def _scrambled(line, dice):
    """Return a line of the same look with other names."""
    return _NAME.sub(lambda name: "".join(dice.sample(name[0], len(name[0]))), line)


def passes_to_recover(original, pieces, tokenizer, gamma, branches=1):
    """Return (told, border) passes for each divergence; None where copying never resumed.

    One draft a pass is a cursor's, several are the router's.
    """
    text = "".join(piece.text for piece in pieces)
    target = tuple(tokenizer.encode_data(text))
    references = References(tuple(tokenizer.encode_data(original)), view=tokenizer)
    proposer = proposers.create("cursor" if branches == 1 else "router", references)
    passes = replay(proposer, target, gamma, branches)
    borders = [0, *accumulate(len(tokenizer.token_bytes(token)) for token in target)]
    found, done = [], 0
    for number, piece in enumerate(pieces):
        start, done = done, done + len(piece.text.encode())
        first, end = bisect_left(borders, start), bisect_right(borders, done) - 1
        if number and piece.copied and end - first >= COPYING:
            told = _recovery(passes, first + 1, first, end)
            border = _recovery(passes, first + pieces[number - 1].copied, first, end)
            found.append((told, border))
    return found


def _recovery(passes, noticed, first, end):
    counted = 0
    for one in passes:
        if one.start >= end:
            return None
        counted += one.start >= noticed
        if one.start + one.accepted >= min(max(one.start, first) + COPYING, end - 1):
            return counted
    return None


def table(tasks, tokenizer, gamma, branches=1):
    """Measure all cases; print and return a row per kind of edit."""
    found = collections.defaultdict(list)
    for task in tasks:
        original = shown_text(task.job.original)
        dice = random.Random(task.name)
        for origin, edits in (
            ("case", of_case(original, task.expected)),
            ("made", made(original, dice)),
        ):
            for kind, pieces in edits:
                found[f"{origin}: {kind}"] += passes_to_recover(
                    original, pieces, tokenizer, gamma, branches
                )
    found["all"] = [value for values in list(found.values()) for value in values]
    rows = {}
    columns = " ".join(f"{n:>6}" for n in (0, 1, 2, 3, "more"))
    print(f"{'edit':<18} {'divergences':>11} {columns} {'told':>6} {'border':>6} within {WITHIN}")
    for kind, counts in found.items():
        told, border = zip(*counts, strict=True)
        passes = [told.count(n) for n in range(4)]
        passes.append(len(told) - sum(passes))
        rows[kind] = {
            "divergences": len(told),
            "passes": passes,
            "within": _share(told),
            "within_from_border": _share(border),
        }
        cells = " ".join(f"{count:>6}" for count in passes)
        print(f"{kind:<18} {len(told):>11} {cells} {_share(told):>6.3f} {_share(border):>6.3f}")
    return rows


def _share(counts):
    return round(sum(n is not None and n <= WITHIN for n in counts) / len(counts), 4)


def renames(tasks, tokenizer, gamma):
    """Rename a word in each original; print and return tokens per pass without and with echo."""
    counts = collections.Counter()
    for task in tasks:
        original = shown_text(task.job.original)
        for _, pieces in _renamed(original, random.Random(task.name)):
            target = tuple(tokenizer.encode_data("".join(piece.text for piece in pieces)))
            references = References(tuple(tokenizer.encode_data(original)), view=tokenizer)
            counts["files"] += 1
            counts["tokens"] += len(target)
            for name, echo in (("without", False), ("with", True)):
                counts[name] += len(replay(Router(references, echo=echo), target, gamma))
    rows = {name: round(counts["tokens"] / counts[name], 2) for name in ("without", "with")}
    print(
        f"a word renamed, {counts['files']} files: {rows['without']} tokens per pass without echo"
    )
    print(f"and {rows['with']} with it")
    return {"files": counts["files"], "tokens": counts["tokens"], **rows}
