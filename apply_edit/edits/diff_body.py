r"""Read the lines of a diff hunk as models write them, shared by unified diffs and V4A patches.

A well-formed line begins with a space, ``-`` or ``+``. Models drop the space of context lines (of
blank ones, or of all), or put ``- `` and ``+ `` with a space before code that has none. The same
lines can then be read in more than one way: the formal reading comes first, the others follow.

Does not know: headers, files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from apply_edit.text import line_end, strip_end
from apply_edit.types import Hunk


@dataclass(frozen=True, slots=True)
class BodyLine:
    r"""One line of a hunk.

    Args:
        kind: `` ``, ``-`` or ``+``.
        text: The line without its prefix, with its line end; none where a note says so.
        prefixed: False for a context line that came without its space.
    """

    kind: str
    text: str
    prefixed: bool = True


def read_line(line: str) -> BodyLine:
    """Read one line of a hunk by its first character."""
    if line[:1] in ("-", "+", " "):
        return BodyLine(line[0], _ended(line[1:]))
    return BodyLine(" ", _ended(line), prefixed=False)


def without_end(line: BodyLine) -> BodyLine:
    r"""Apply the note ``\ No newline at end of file`` to the line before it."""
    return replace(line, text=strip_end(line.text))


def build(lines: list[BodyLine]) -> Hunk | None:
    """Make a hunk of its lines, with the other readings that they allow.

    Returns:
        The hunk, or None where nothing is added or removed.
    """
    if not any(line.kind != " " for line in lines):
        return None
    first, *others = _readings(lines)
    unique = tuple(dict.fromkeys(r for r in others if r != first))
    kinds = "".join(line.kind for line in lines)
    return Hunk(old=first[0], new=first[1], readings=unique, kinds=kinds)


def _readings(lines: list[BodyLine]) -> list[tuple[str, str]]:
    bare = [line for line in lines if not line.prefixed and line.text.strip()]
    formal = _pair(lines)
    readings = [formal]
    if bare:
        raw = [_as_written(line) for line in lines]
        readings = [formal, _pair(raw)]
        if not any(line.prefixed and line.kind == " " for line in lines):
            readings = [_pair(raw)]
        tail = _until_prose(lines)
        if tail is not None:
            readings.append(_pair(tail))
    if _spaced_signs(lines):
        readings.append(_pair([_unspaced(line, bool(bare)) for line in lines]))
    return readings


def _pair(lines: list[BodyLine]) -> tuple[str, str]:
    return (
        _joined([line.text for line in lines if line.kind != "+"]),
        _joined([line.text for line in lines if line.kind != "-"]),
    )


def _joined(texts: list[str]) -> str:
    """Join lines; only the last one can be without an end, whatever a note says."""
    return "".join([*(_ended(text) for text in texts[:-1]), *texts[-1:]])


def _as_written(line: BodyLine) -> BodyLine:
    """Take a context line as it stands: its leading space belongs to the code."""
    if line.kind != " " or not line.prefixed or not line.text.strip():
        return line
    return replace(line, text=" " + line.text)


def _until_prose(lines: list[BodyLine]) -> list[BodyLine] | None:
    """Cut what follows the last well-formed line: it may be prose behind the diff."""
    last = max((i for i, line in enumerate(lines) if line.prefixed), default=-1)
    return lines[: last + 1] if last + 1 < len(lines) else None


def _spaced_signs(lines: list[BodyLine]) -> bool:
    changed = [line.text for line in lines if line.kind != " " and line.text.strip()]
    return bool(changed) and all(text.startswith(" ") for text in changed)


def _unspaced(line: BodyLine, bare: bool) -> BodyLine:
    """Take the space behind the sign away; of context lines only where they are prefixed too."""
    if line.kind == " " and (bare or not line.text.startswith(" ")):
        return _as_written(line) if bare else line
    return replace(line, text=line.text[1:]) if line.text.startswith(" ") else line


def _ended(text: str) -> str:
    return text if line_end(text) else text + "\n"
