"""Lines of a snippet that may be markers, depending on what the file has in their place.

Does not know: where the lines stand in the file.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from apply_edit.markers import Elision, elision, is_bare_ellipsis, is_marker, is_real_comment
from apply_edit.markers.dress import undress
from apply_edit.markers.words import Said, said

# Where a line of three dots may be text or data, and a line with ``#`` a heading.
DOCUMENTS = frozenset({"markdown", "rst", "asciidoc", "latex", "text"})
_HEADINGS = frozenset({"markdown", "rst", "asciidoc", "text"})
# A body of dots behind its head, on one line.
_STUB = re.compile(r"(?:async\s+)?(?:def|class)\b.*:\s*(?:\.{3}|…)$")
_DASHES = "---"
# What begins a heading or an entry in a document, and a comment elsewhere.
_ENTRY_SIGNS = ("#", "*", ".", ";", "%", "-", "'")
_MAX_LINE = 400


class Kind(Enum):
    """What a suspect is."""

    COMMENT = "comment"
    """It says nothing but that code is left out."""
    VAGUE = "vague"
    """A comment or a piece of code that may be meant so."""
    TEXT_DOTS = "text dots"
    """Three dots in a document or in a file of unknown language."""
    DATA_DOTS = "data dots"
    """Three dots where they are neither text nor code."""
    END_DOTS = "end dots"
    """Three dots that may be the end of a YAML document."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A line that may be a marker.

    Args:
        number: 0-based line of the snippet.
        text: The line without outer white space.
        kind: What it is.
        attached: It stands right above a line that it may be about.
        inside: It stands in a block that the file does not have.
    """

    number: int
    text: str
    kind: Kind
    attached: bool = False
    inside: bool = False


def find_suspects(
    lines: Sequence[str], known: Container[str], heads: Container[int], language: str | None
) -> list[Suspect]:
    """List the lines of a snippet that may be markers; certain ones are not among them.

    Args:
        lines: The snippet's lines without their ends.
        known: Stripped lines of the file. A line that it has is no marker.
        heads: Lines of the snippet (0-based) that the file has or that define a name of the file.
        language: Our name of the language, or None.
    """
    found = []
    for number, line in enumerate(lines):
        text = line.strip()
        if not text or text in known:
            continue
        kind = _kind(lines, number, known, language)
        if kind is not None:
            owner = _owner(lines, number)
            inside = owner is not None and owner not in heads
            found.append(Suspect(number, text, kind, _attached(lines, number), inside))
    return found


def vague_elision(line: str, language: str | None) -> Elision:
    """Say how sure it is that a line of a snippet is a marker, in a file of this language.

    Args:
        line: The line; for a marker that is certain anyway the answer is ``NONE``.
        language: Our name of the language, or None.

    >>> vague_elision("# the rest", "python").name, vague_elision("# the rest", "markdown").name
    ('LIKELY', 'NONE')
    """
    text = line.strip()
    level = elision(text)
    if level is Elision.CERTAIN:
        return Elision.NONE
    if language == "python" and _STUB.match(text[:_MAX_LINE]) is not None:
        return Elision.DOUBTFUL
    if language not in _HEADINGS:
        return level
    if undress(text).opener[:1] in _ENTRY_SIGNS or (level and '"' in text):
        return Elision.NONE
    plain = level is Elision.NONE and said(text) is Said.ELISION
    return Elision.DOUBTFUL if plain else level


def dots_are_text(lines: Sequence[str], number: int, known: Container[str]) -> bool:
    """Say whether three dots of a document are likely to be new text themselves.

    They are where the lines before and behind them are new, or the one that they stand below.

    Args:
        lines: The snippet.
        number: The line with the dots.
        known: Stripped lines of the file.

    >>> dots_are_text(["a", "...", "b"], 1, {"c"}), dots_are_text(["a", "..."], 1, {"c"})
    (True, False)
    """
    owner = _owner(lines, number)
    if owner is not None and lines[owner].strip() not in known:
        return True
    around = [_solid(reversed(lines[:number])), _solid(lines[number + 1 :])]
    return all(text and text not in known and not is_marker(text) for text in around)


def _kind(
    lines: Sequence[str], number: int, known: Container[str], language: str | None
) -> Kind | None:
    text = lines[number].strip()
    if is_bare_ellipsis(text):
        return _dots_kind(lines, number, known, language)
    level = vague_elision(text, language)
    if level is Elision.NONE:
        return None
    beside = [lines[i].strip() for i in (number - 1, number + 1) if 0 <= i < len(lines)]
    goes_on = any(is_real_comment(each) for each in beside)
    sure = level is Elision.LIKELY and not goes_on
    return Kind.COMMENT if sure else Kind.VAGUE


def _dots_kind(
    lines: Sequence[str], number: int, known: Container[str], language: str | None
) -> Kind | None:
    """Return what three dots may be; None where other rules decide: in code."""
    if language == "yaml":
        ends = lines[number].startswith(("...", "…")) and (
            _DASHES in known or any(line.rstrip() == _DASHES for line in lines)
        )
        return Kind.END_DOTS if ends else Kind.DATA_DOTS
    return Kind.TEXT_DOTS if language in DOCUMENTS or language is None else None


def _attached(lines: Sequence[str], number: int) -> bool:
    if number + 1 >= len(lines) or lines[number].lstrip()[:1] in "\"'":
        return False
    below = lines[number + 1]
    if not any(c.isalnum() for c in below) or is_marker(below):
        return False
    return _depth(below) >= _depth(lines[number])


def _owner(lines: Sequence[str], number: int) -> int | None:
    """Return the nearest line above that is less indented, if any."""
    depth = _depth(lines[number])
    above = range(number - 1, -1, -1)
    return next((i for i in above if lines[i].strip() and _depth(lines[i]) < depth), None)


def _solid(lines: Iterable[str]) -> str:
    return next((line.strip() for line in lines if line.strip()), "")


def _depth(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())
