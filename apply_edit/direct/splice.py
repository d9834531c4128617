r"""Write the difference between a hunk's old and new text into a file's lines.

Only what differs between old and new is written; everything else keeps the file's own bytes: tabs,
line ends, trailing spaces, quotes. A line that changes takes the edit's text, with the file's
indentation, quotes, dashes and spaces where the edit was written with others.

Does not know: how the place was found, formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from apply_edit.direct.spelling import Spelling, respelled
from apply_edit.match.ladder import Change, FileLines, Found, Place, changes
from apply_edit.text import line_end, strip_end

_SPACE = re.compile(r"\s*")


class Doubt(StrEnum):
    """What of a new line cannot be told."""

    INDENTATION = "indentation"
    SPELLING = "spelling"


@dataclass(frozen=True, slots=True)
class LineEdit:
    """Lines ``start`` to ``end`` (0-based, half open) of the file become ``lines``.

    Args:
        start: First line.
        end: Index behind the last line; equal to ``start`` for an insertion.
        lines: The new lines with their ends.
        hunk: Index of the hunk, for messages.
    """

    start: int
    end: int
    lines: tuple[str, ...]
    hunk: int


class Indents:
    r"""How the indentation of an edit translates into the file's.

    Args:
        pairs: Indentation in the edit and in the file, of lines that are each other's counterpart.

    >>> Indents([("", "    "), ("  ", "        ")]).translate("  ")
    '        '
    """

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self.table: dict[str, str] = {}
        self.consistent = True
        for edit, file in pairs:
            if self.table.setdefault(edit, file) != file:
                self.consistent = False
        self.same = all(edit == file for edit, file in pairs)
        # Two depths of the edit that are one depth of the file: the edit's indentation is noise.
        self.noise = len(set(self.table.values())) < len(self.table)

    def translate(self, indent: str) -> str | None:
        """Return the file's spelling of an indentation, or None where it cannot be told."""
        if self.same:
            return indent
        if not self.consistent:
            return None
        if self.noise:
            return indent
        if indent in self.table:
            return self.table[indent]
        deeper = [known for known in self.table if indent.startswith(known)]
        if not deeper:
            return self._shallower(indent)
        known = max(deeper, key=len)
        extra = self._extra(indent[len(known) :])
        return None if extra is None else self.table[known] + extra

    def _extra(self, rest: str) -> str | None:
        """Translate what an indentation has beyond a known one, in units seen elsewhere."""
        for step, level in self._levels():
            times = len(rest) // len(step)
            if rest == step * times:
                return level * times
        in_tabs = any("\t" in file for file in self.table.values())
        if not in_tabs or "\t" in rest:
            return rest
        # The file has tabs, the edit has spaces, and nothing shows how many make a level.
        return "\t" if len(rest) in (2, 3, 4, 8) else None

    def _levels(self) -> Iterator[tuple[str, str]]:
        """Yield what one known indentation has beyond another, in the edit and in the file."""
        for low, high in combinations(sorted(self.table, key=len), 2):
            wide, narrow = self.table[high], self.table[low]
            if high.startswith(low) and high != low and wide.startswith(narrow):
                yield high[len(low) :], wide[len(narrow) :]

    def _shallower(self, indent: str) -> str | None:
        """Take off the file's indentation what the edit's line lacks against a known one."""
        for known in sorted(self.table, key=len):
            missing = known[len(indent) :]
            file = self.table[known]
            if known.startswith(indent) and file.endswith(missing):
                return file[: len(file) - len(missing)]
        return None


class Writer:
    """Writes lines of an edit the way that they stand in the file.

    Args:
        file: The file.
        found: The hunk in the reading that was found.
        place: Where.
    """

    def __init__(self, file: FileLines, found: Found, place: Place) -> None:
        self._file = file
        pairs = [
            (old, file.bodies[row])
            for old, row in zip(found.old, place.rows, strict=True)
            if row is not None and old.strip()
        ]
        self._indents = Indents([(_indent(old), _indent(have)) for old, have in pairs])
        self._spelling = Spelling([(old.strip(), have.strip()) for old, have in pairs])

    def line(self, new: str, old: str | None = None, row: int | None = None) -> str | Doubt:
        """Return a new line as it is written into the file.

        Args:
            new: The line in the edit.
            old: The old line that it takes the place of, if any.
            row: The file's line that this one was found at.
        """
        if not new.strip():
            return new
        indent, body = _indent(new), new[len(_indent(new)) :]
        if old is None or row is None:
            text = self._spelling.translate(body)
        else:
            text = respelled(self._file.bodies[row].strip(), old.strip(), body, self._spelling)
        if text is None:
            return Doubt.SPELLING
        kept = self._indent(indent, old, row)
        return Doubt.INDENTATION if kept is None else kept + text

    def _indent(self, indent: str, old: str | None, row: int | None) -> str | None:
        if old is not None and row is not None:
            have = self._file.bodies[row]
            if have == old:
                return indent
            if _indent(old) == indent:
                return _indent(have)
            if self._indents.noise:
                return None
        return self._indents.translate(indent)


def line_edits(file: FileLines, found: Found, place: Place, hunk: int) -> list[LineEdit] | Doubt:
    """Return the edits that carry a hunk's difference into the file, or what cannot be told."""
    writer = Writer(file, found, place)
    edits = []
    for region in regions(found):
        i1, i2, j1, j2 = _with_missing_blanks(found, place, region)
        start, end = _span(place, i1, i2)
        lines = []
        for k, new in enumerate(found.new[j1:j2]):
            i = i1 + k if i1 + k < i2 else None
            row = place.rows[i] if i is not None else None
            old = found.old[i] if i is not None else None
            text = writer.line(new, old, row)
            if isinstance(text, Doubt):
                return text
            lines.append(text + _end_for(file, row if row is not None else end - 1))
        edits.append(LineEdit(start, end, tuple(lines), hunk))
    return edits


def _with_missing_blanks(found: Found, place: Place, region: Change) -> Change:
    """Take in the blank lines behind new text that the edit shows and the file lacks."""
    i1, i2, j1, j2 = region
    while j2 > j1 and i2 < len(found.old) and not found.old[i2].strip():
        if place.rows[i2] is not None:
            break
        i2, j2 = i2 + 1, j2 + 1
    return i1, i2, j1, j2


def regions(found: Found) -> list[Change]:
    """Return the changed regions of a find; a diff's signs say which of equal lines change.

    Example: ``-a``, `` a`` removes the first of two equal lines; without signs it is the last.
    """
    kinds = found.kinds
    if not kinds:
        return changes(found.old, found.new)
    out: list[Change] = []
    i = j = at = 0
    while at < len(kinds):
        end = at
        while end < len(kinds) and kinds[end] != " ":
            end += 1
        i2 = i + kinds[at:end].count("-")
        j2 = j + kinds[at:end].count("+")
        out += [
            (i + a, i + b, j + c, j + d) for a, b, c, d in changes(found.old[i:i2], found.new[j:j2])
        ]
        i, j, at = i2 + 1, j2 + 1, end + 1
    return out


def _indent(line: str) -> str:
    match = _SPACE.match(line)
    return match[0] if match is not None else ""


def _span(place: Place, i1: int, i2: int) -> tuple[int, int]:
    """Return the file lines of old lines ``i1`` to ``i2``; an empty span for an insertion."""
    rows = [row for row in place.rows[i1:i2] if row is not None]
    if rows:
        return rows[0], rows[-1] + 1
    if i1 > 0 and (before := place.rows[i1 - 1]) is not None:
        return before + 1, before + 1
    after = next((row for row in place.rows[i2:] if row is not None), None)
    if after is not None:
        return after, after
    return place.end, place.end


def _end_for(file: FileLines, row: int) -> str:
    """Return the line end at ``row``, else of the nearest line that has one, else nothing."""
    for near in (row, row - 1, row + 1):
        if 0 <= near < len(file.lines) and line_end(file.lines[near]):
            return line_end(file.lines[near])
    return ""


def splice(file: FileLines, edits: Sequence[LineEdit], newline: str, final: bool | None) -> str:
    r"""Return the file with all edits written.

    Args:
        file: The file.
        edits: Edits that do not overlap; insertions at one place keep their order.
        newline: Line end for a line that has no neighbour to copy from.
        final: Whether the last line must have a line end; None keeps what the file has.
    """
    out: list[str] = []
    at = 0
    fresh = False
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start > at:
            out += file.lines[at : edit.start]
            fresh = False
        out += edit.lines
        fresh = bool(edit.lines) or fresh
        at = edit.end
    if at < len(file.lines):
        out += file.lines[at:]
        fresh = False
    for i in range(len(out) - 1):
        if not line_end(out[i]):
            out[i] += newline
    if final is None and fresh and file.lines:
        final = bool(line_end(file.lines[-1]))
    if out and final is not None:
        out[-1] = _finished(out[-1], newline) if final else strip_end(out[-1])
    return "".join(out)


def _finished(line: str, newline: str) -> str:
    return line if line_end(line) else line + newline
