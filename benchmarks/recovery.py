"""How many passes after an edit a cursor needs until it copies the original again.

A text is a list of *pieces*, copied from the original or new. Every copied piece but the first is
a *divergence* to recover from. Counted are the passes that begin in it, up to the first whose draft
is right for eight tokens (or to the piece's end); the pass in which a deletion is noticed is not. 0
means that a draft ran into the piece from before. Edits are those of the cases themselves, and six
kinds made mechanically from each original.
"""

from __future__ import annotations

import collections
import random
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate

import proposers
from apply_edit.match.ladder import changes
from apply_edit.text import split_lines
from benchmarks.drafting import replay, shown
from proposers import References

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


def passes_to_recover(original, pieces, tokenizer, gamma):
    """Return, for each divergence, how many passes it took; None where copying never resumed."""
    text = "".join(piece.text for piece in pieces)
    target = tuple(tokenizer.encode_data(text))
    references = References(tuple(tokenizer.encode_data(original)), view=tokenizer)
    passes = replay(proposers.create("cursor", references), target, gamma)
    borders = [0, *accumulate(len(tokenizer.token_bytes(token)) for token in target)]
    found, done = [], 0
    for number, piece in enumerate(pieces):
        start, done = done, done + len(piece.text.encode())
        first, end = bisect_left(borders, start), bisect_right(borders, done) - 1
        if number and piece.copied and end - first >= COPYING:
            # What was deleted is noticed in the pass that runs into it, which is not to blame.
            found.append(_recovery(passes, first + pieces[number - 1].copied, first, end))
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


def table(tasks, tokenizer, gamma):
    """Measure all cases; print and return a row per kind of edit."""
    found = collections.defaultdict(list)
    for task in tasks:
        original = shown(task.job.original)
        dice = random.Random(task.name)
        for origin, edits in (
            ("case", of_case(original, task.expected)),
            ("made", made(original, dice)),
        ):
            for kind, pieces in edits:
                found[f"{origin}: {kind}"] += passes_to_recover(original, pieces, tokenizer, gamma)
    found["all"] = [value for values in list(found.values()) for value in values]
    rows = {}
    columns = " ".join(f"{n:>6}" for n in (0, 1, 2, 3, "more"))
    print(f"{'edit':<18} {'divergences':>11} {columns} {f'within {WITHIN}':>9}")
    for kind, values in found.items():
        counts = [values.count(n) for n in range(4)]
        counts.append(len(values) - sum(counts))
        share = sum(counts[: WITHIN + 1]) / len(values)
        rows[kind] = {"divergences": len(values), "passes": counts, "within": round(share, 4)}
        cells = " ".join(f"{count:>6}" for count in counts)
        print(f"{kind:<18} {len(values):>11} {cells} {share:>9.3f}")
    return rows
