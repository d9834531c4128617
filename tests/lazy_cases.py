"""Derive lazy snippets from pairs of texts, for tests.

A snippet shows the changed lines with lines of context, elides the rest by markers, and may be
written in several manners. What the merge must give is the second text of the pair, or a refusal.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from rapidfuzz.distance import Indel

from apply_edit.text import split_lines, strip_end

SPELLINGS = (
    "... existing code ...",
    "... rest of the code ...",
    "... unchanged ...",
    "existing code",
    "...",
    "… rest of file unchanged …",
    "(rest remains the same)",
    "... keep existing code ...",
)
COMMENTS = {
    "python": ("#", ""),
    "yaml": ("#", ""),
    "toml": ("#", ""),
    "ruby": ("#", ""),
    "bash": ("#", ""),
    "markdown": ("<!--", " -->"),
    "html": ("<!--", " -->"),
    "rst": ("..", ""),
    "css": ("/*", " */"),
    "ini": ("#", ""),
    "text": ("#", ""),
}


@dataclass(frozen=True)
class Manner:
    """How a snippet is written.

    Args:
        context: Lines of context around each change.
        spelling: Words of the marker.
        level: Indentation of a marker: ``hidden`` (that of the first line it hides), ``above``
            (that of the line before it) or ``none``.
        airy: A blank line on both sides of each marker.
        trimmed: Trailing white space of the context is lost.
        heads: The heads of the blocks around each change are shown.
        whole: The innermost block with a head around each change is shown in full.
        bare: No marker at the start and at the end.
    """

    context: int
    spelling: str
    level: str
    airy: bool
    trimmed: bool
    heads: bool
    whole: bool = False
    bare: bool = False


def random_manner(rng: random.Random) -> Manner:
    """Draw a manner."""
    return Manner(
        context=rng.choice((1, 2, 2, 3, 3, 5)),
        spelling=rng.choice(SPELLINGS),
        level=rng.choice(("hidden", "hidden", "above", "none")),
        airy=rng.random() < 0.3,
        trimmed=rng.random() < 0.2,
        heads=rng.random() < 0.4,
        whole=rng.random() < 0.3,
    )


def make_snippet(old: str, new: str, language: str | None, manner: Manner) -> str | None:
    """Write the snippet that turns ``old`` into ``new``, or None where nothing is to be elided."""
    before = [strip_end(line) for line in split_lines(old)]
    after = [strip_end(line) for line in split_lines(new)]
    if _unseen(before, after):
        return None
    shown = _shown_blocks(before, after, manner)
    if not shown or sum(high - low for low, high, _, _ in shown) > len(before) * 0.8:
        return None
    out: list[str] = []
    at = 0
    for low, high, first, last in shown:
        if low > at and not (manner.bare and at == 0):
            _mark(out, before, at, low, language, manner)
        for line in after[first:last]:
            out.append(line.rstrip() if manner.trimmed else line)
        at = high
    if at < len(before) and not manner.bare:
        _mark(out, before, at, len(before), language, manner)
    return "\n".join(out) + "\n"


def _unseen(before: list[str], after: list[str]) -> bool:
    """Say whether the change is one that nobody could see: at an end, or of trailing space."""
    ops = [op for op in Indel.opcodes(before, after) if op.tag != "equal"]
    bare = [[line.rstrip() for line in lines] for lines in (before, after)]
    spaces = sum(op.tag != "equal" for op in Indel.opcodes(*bare)) != len(ops)
    if not ops or spaces:
        return True
    above, below = before[: ops[0].src_start], before[ops[-1].src_end :]
    return not any(map(str.strip, above)) or not any(map(str.strip, below))


def _shown_blocks(
    before: list[str], after: list[str], manner: Manner
) -> list[tuple[int, int, int, int]]:
    """Return (start, end) in the old text and (start, end) in the new text of what is shown."""
    keep = [
        (op.src_start, op.src_end, op.dest_start)
        for op in Indel.opcodes(before, after)
        if op.tag == "equal"
    ]
    changes = [
        (op.src_start, op.src_end) for op in Indel.opcodes(before, after) if op.tag != "equal"
    ]
    visible = set()
    for low, high in changes:
        visible.update(range(_context(before, low, -1, manner), low))
        visible.update(range(low, _context(before, high - 1, 1, manner) + 1))
        if manner.whole:
            visible.update(_block(before, low, high))
        if manner.heads:
            visible.update(_heads(before, low))
    twin = {src + k: dest + k for src, end, dest in keep for k in range(end - src)}
    hidden = [i for i in range(len(before)) if i in twin and i not in visible]
    # A marker stands for three lines at least, none of them at a change.
    blocks: list[tuple[int, int, int, int]] = []
    at, to = 0, 0
    run: list[int] = []
    for i in [*hidden, len(before) + 1]:
        if run and i == run[-1] + 1 and twin[i] == twin[run[-1]] + 1:
            run.append(i)
            continue
        if len(run) >= 3:
            if run[0] > at or twin[run[0]] > to:
                blocks.append((at, run[0], to, twin[run[0]]))
            at, to = run[-1] + 1, twin[run[-1]] + 1
        run = [i]
    if at < len(before) or to < len(after):
        blocks.append((at, len(before), to, len(after)))
    return blocks


def _context(lines: list[str], at: int, step: int, manner: Manner) -> int:
    """Return the outermost line of context, one with a word in it."""
    end = at
    for count in range(1, 30):
        here = at + step * count
        if not 0 <= here < len(lines):
            return end
        end = here
        if count >= manner.context and any(map(str.isalnum, lines[here])):
            return end
    return end


def _block(lines: list[str], low: int, high: int) -> range:
    """Return the lines of the innermost block that holds the lines ``[low, high)``."""
    for head in _heads(lines, low):
        depth = len(lines[head]) - len(lines[head].lstrip())
        end = head + 1
        while end < len(lines) and (
            not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > depth
        ):
            end += 1
        if end >= high:
            closes = end < len(lines) and lines[end].strip()[0] in "})]"
            return range(head, end + closes)
    return range(low, low)


def _heads(lines: list[str], at: int) -> list[int]:
    """Return the lines that own a line, by indentation."""
    found = []
    depth = None
    for i in range(min(at, len(lines) - 1), -1, -1):
        if not lines[i].strip():
            continue
        width = len(lines[i]) - len(lines[i].lstrip())
        if depth is not None and width < depth and lines[i].strip()[0] not in ")]}":
            found.append(i)
        depth = width if depth is None else min(depth, width)
        if depth == 0:
            break
    return found


def _mark(
    out: list[str],
    lines: list[str],
    low: int,
    high: int,
    language: str | None,
    manner: Manner,
) -> None:
    hidden = next((line for line in lines[low:high] if line.strip()), "")
    above = next((line for line in reversed(out) if line.strip()), "")
    source = {"hidden": hidden, "above": above, "none": ""}[manner.level]
    indent = source[: len(source) - len(source.lstrip())]
    opener, closer = COMMENTS.get(language or "", ("//", ""))
    if manner.airy and out:
        out.append("")
    out.append(f"{indent}{opener} {manner.spelling}{closer}")
    if manner.airy:
        out.append("")


def random_edit(text: str, rng: random.Random) -> str:
    """Change a text in one to three places, as a programmer might."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = _code_line(lines, rng)
        kind = rng.choice(("add", "add", "change", "change", "delete", "copy"))
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        if kind == "add":
            new = [f"{indent}check_{rng.randrange(1000)}(value)" for _ in range(rng.randint(1, 4))]
            lines[at + 1 : at + 1] = new
        elif kind == "change":
            lines[at] = _changed(lines[at], rng)
        elif kind == "delete":
            del lines[at : at + rng.randint(1, 6)]
        else:
            size = rng.randint(4, 15)
            copy = [_changed(line, rng) for line in lines[at : at + size]]
            lines[at + size : at + size] = ["", *copy]
    return "\n".join(lines)


def _code_line(lines: list[str], rng: random.Random) -> int:
    low, high = len(lines) // 10 + 1, len(lines) * 9 // 10
    while True:
        at = rng.randrange(low, high)
        if any(map(str.isalnum, lines[at])):
            return at


def _changed(line: str, rng: random.Random) -> str:
    """Replace one word of a line."""
    words = [
        word for word in line.replace("(", " ").replace(".", " ").split() if word.isidentifier()
    ]
    if not words:
        return line
    word = rng.choice(words)
    return line.replace(word, f"{word}_{rng.randrange(100)}", 1)
