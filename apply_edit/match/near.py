r"""Say what stands in the file instead of a text that was not found.

Does not know: how a hunk is applied.
"""

from __future__ import annotations

from dataclasses import dataclass

from rapidfuzz import fuzz, process

from apply_edit.errors import AnchorNotFound
from apply_edit.match.ladder import (
    MAX_COMPARED,
    NORMS,
    FileLines,
    Lines,
    likely_starts,
    ratio,
    run_places,
    trimmed,
)
from apply_edit.match.locate import anchor_rows, bodies
from apply_edit.types import Hunk


@dataclass(frozen=True, slots=True)
class Near:
    """The region that resembles the old text most, for messages; lines are 1-based."""

    start_line: int
    end_line: int
    score: float
    line: int | None
    expected: str
    found: str

    def to_dict(self) -> dict[str, object]:
        """Return the record as errors carry it."""
        difference = (
            None
            if self.line is None
            else {"line": self.line, "expected": self.expected, "found": self.found}
        )
        return {
            "start_line": self.start_line,
            "end_line": self.end_line,
            "score": round(self.score, 3),
            "first_difference": difference,
        }


def nearest(file: FileLines, old: Lines) -> Near | None:
    """Return the region that resembles ``old`` most, with its first differing line.

    Example: for the old lines ``a``, ``b`` and a file ``x``, ``a``, ``c`` the region is lines 2 to
    3 and the first difference is in line 3: expected ``b``, found ``c``.
    """
    if not file.bodies or not any(line.strip() for line in old):
        return None
    norm = "inner_space"
    wanted = [NORMS[norm](line) for line in old]
    starts = likely_starts(file, wanted, norm) or _by_longest_line(file, wanted, norm)
    keys = file.keys(norm)
    best: tuple[float, int] | None = None
    for start in starts:
        window = keys[start : start + len(wanted)]
        score = sum(ratio(a, b) for a, b in zip(window, wanted, strict=False)) / len(wanted)
        if best is None or score > best[0]:
            best = (score, start)
    if best is None or best[0] < 0.2:
        return None
    score, start = best
    end = min(start + len(wanted), len(keys))
    for i, want in enumerate(wanted):
        have = file.bodies[start + i] if start + i < len(file.bodies) else ""
        if NORMS[norm](have) != want or start + i >= len(file.bodies):
            return Near(start + 1, end, score, start + i + 1, old[i], have)
    return Near(start + 1, end, score, None, "", "")


def _by_longest_line(file: FileLines, wanted: list[str], norm: str) -> list[int]:
    """Return a start by the line that resembles the longest wanted line most."""
    longest = max(range(len(wanted)), key=lambda i: len(wanted[i]))
    heads = [key[:MAX_COMPARED] for key in file.keys(norm)]
    query = wanted[longest][:MAX_COMPARED]
    match = process.extractOne(query, heads, scorer=fuzz.ratio, score_cutoff=50)
    return [] if match is None else [max(0, match[2] - longest)]


# How the old text is called in messages where the edit has one hunk only.
WHOLE = "the old text"
_MAX_SHOWN = 60


def named(index: int, total: int) -> str:
    """Return how a hunk (0-based) is called in messages."""
    return WHOLE if total == 1 else f"hunk {index + 1} of {total}"


def shown(file: FileLines, old: Lines) -> str:
    r"""Return the line of a text by which it can be told, clipped: one that the file lacks.

    >>> shown(FileLines("a\n"), ("a", "  bcd"))
    "'bcd'"
    """
    index = file.index("inner_space")
    solid = [line.strip() for line in old if line.strip()]
    strange = [line for line in solid if NORMS["inner_space"](line) not in index]
    worded = [line for line in strange or solid if any(c.isalnum() for c in line)]
    return _clipped(next(iter([*worded, *strange, *solid]), ""))


def _clipped(line: str) -> str:
    return repr(line if len(line) <= _MAX_SHOWN else line[: _MAX_SHOWN - 1] + "\u2026")


def not_found(file: FileLines, hunk: Hunk, index: int, statuses: list[str]) -> AnchorNotFound:
    """Make the error for a hunk whose old text is not in the file, with the near miss."""
    old, new = bodies(hunk.old), trimmed(bodies(hunk.new))
    near = nearest(file, old)
    there = bool(new) and bool(run_places(file, new, "trailing_space"))
    message = named(index, len(statuses))
    if hunk.old.strip():
        message += f" is not in the file: {shown(file, old)}"
    elif hunk.insert_after is not None:
        size = len(file.lines)
        count = "1 line" if size == 1 else f"{size} lines"
        message = (
            f"the edit inserts after line {hunk.insert_after}, and the file has {count}; "
            f"give a number from 0 to {size}"
        )
    else:
        message += " is empty, and nothing else says where the new text goes"
    if hunk.anchors and not anchor_rows(file, hunk.anchors):
        message += f"; the anchor {_clipped(hunk.anchors[-1])} is not there"
    elif near is not None:
        message += _likeness(near)
    if there:
        message += "; the new text is there already"
    return AnchorNotFound(
        message,
        hunk=index,
        nearest=None if near is None else near.to_dict(),
        already_applied=there,
        hunks=statuses,
    )


def _likeness(near: Near) -> str:
    """Say what in the file is most like a text that is not there."""
    if near.end_line <= near.start_line:
        is_there = "" if near.line is None else f", which is {_clipped(near.found.strip())}"
        return f"; most like it is line {near.start_line}{is_there}"
    message = f"; most like it are lines {near.start_line} to {near.end_line}"
    if near.line is not None:
        found, expected = _clipped(near.found), _clipped(near.expected)
        message += f", where line {near.line} is {found} and not {expected}"
    return message
