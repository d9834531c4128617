"""A lazy snippet cut at its markers into segments.

Does not know: where the segments stand in the file.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from apply_edit.errors import MergeUndetermined
from apply_edit.markers import is_bare_ellipsis, is_marker, removal_comment, trailing_marker
from apply_edit.merge.outline import Outline, head_name, is_closer, width
from apply_edit.text import split_lines, strip_end

# Languages whose bare ``...`` lines are text more often than not.
PROSE = frozenset({"markdown", "rst", "text", "latex", None})


_NAME = re.compile(r"[^\W\d][\w$]*")
_ARGUMENTS = re.compile(r"\([^)]*\)")
# Words beside the name in a wish to remove something; with any other word it is a comment.
_KINDS = frozenset(
    (
        *(
            "the",
            "old",
            "unused",
            "legacy",
            "deprecated",
            "entire",
            "whole",
            "this",
            "now",
            "async",
        ),
        *(
            "class",
            "method",
            "function",
            "func",
            "fn",
            "def",
            "struct",
            "interface",
            "enum",
            "type",
        ),
        *("component", "hook", "helper", "property", "constant", "variable", "field", "test"),
    )
)


@dataclass(frozen=True, slots=True)
class Marker:
    """One or more marker lines in a row.

    Args:
        width: Indentation of the first of them.
        line: 0-based line of the snippet.
    """

    width: int
    line: int


@dataclass(frozen=True, slots=True)
class Segment:
    """Lines between two markers, without the blank lines next to the markers.

    Args:
        start: First line in the snippet's outline.
        end: Line behind the last one.
        before: Marker in front of it, or None at the start of the snippet.
        after: Marker behind it, or None at the end of the snippet.
        blanks_before: Blank lines between the marker and the segment.
        blanks_after: Blank lines between the segment and the next marker.
    """

    start: int
    end: int
    before: Marker | None
    after: Marker | None
    blanks_before: int
    blanks_after: int


@dataclass(frozen=True, slots=True)
class Snippet:
    """A snippet ready for alignment.

    Args:
        outline: The lines that are code, in order; markers are not among them.
        origins: 0-based line of the snippet for each line of the outline.
        segments: At least one line each.
        markers: All markers in order.
        removals: Lines of the file that comments ask to be removed.
    """

    outline: Outline
    origins: tuple[int, ...]
    segments: tuple[Segment, ...]
    markers: tuple[Marker, ...]
    removals: tuple[range, ...]


def read_snippet(
    text: str, original: Outline, language: str | None, markers: frozenset[int] = frozenset()
) -> Snippet:
    """Cut a snippet at its markers.

    Args:
        text: The snippet, out of its fence.
        original: The file: a line that it has is code, whatever it looks like.
        language: Our name of the language, or None.
        markers: 0-based lines that are markers although they need not be.
    """
    rows: list[tuple[str, int, bool]] = []
    stubs = _stub_names(text)
    removals: list[range] = []
    previous = ""
    lines = [strip_end(raw) for raw in split_lines(text)]
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        target = _removal(line, following, original)
        if target is not None:
            removals.append(target)
            continue
        if number in markers:
            rows.append((line, number, True))
            continue
        for piece, marker in _pieces(line, previous, original, language, stubs):
            rows.append((piece, number, marker))
        previous = line.strip() or previous
    return _assemble(rows, tuple(removals))


def _removal(line: str, following: str, original: Outline) -> range | None:
    """Return the lines of the file that a comment asks to be removed, or None."""
    wish = removal_comment(line)
    if wish is None or line.strip() in original.places:
        return None
    bare = wish.strip("`").rstrip(";")
    for text in (bare, bare + ";", bare + ","):
        places = original.places.get(text, [])
        if len(places) == 1 and len(text) > 3:
            return range(places[0], places[0] + 1)
    names = [word for word in _NAME.findall(_ARGUMENTS.sub("", wish)) if word.lower() not in _KINDS]
    if len(names) != 1:
        return None
    heads = original.named_places.get(names[0], [])
    if len(heads) > 1:
        message = f"several definitions are named {names[0]}; show the one to remove in its block"
        raise MergeUndetermined(message, reason="ambiguous", line=1)
    if heads and _is_statement(following) and width(following) == width(line):
        message = (
            f"{line.strip()!r} may be a wish to remove {names[0]} or a comment on what follows"
        )
        raise MergeUndetermined(message, reason="deletion_unclear", line=1)
    return _with_surroundings(heads[0], original) if heads else None


def _is_statement(line: str) -> bool:
    """Say whether a line is code that a comment above it may be about."""
    text = line.strip()
    if not text or is_marker(line) or is_closer(text) or text.startswith(("@", "#", "//")):
        return False
    return head_name(text) is None


def _with_surroundings(head: int, original: Outline) -> range:
    """Return the lines of a definition with its decorators, comments and one gap."""
    stripped = original.stripped
    start, end = head, original.block_end(head)
    while start > 0 and stripped[start - 1].startswith(("@", "#", "//", "/*", "*")):
        start -= 1
    following = original.next_solid(end)
    if following == len(stripped) or is_closer(stripped[following]):
        start = original.previous_solid(start) + 1
        return range(start, end)
    return range(start, following)


def _pieces(
    line: str, previous: str, original: Outline, language: str | None, stubs: set[str]
) -> list[tuple[str, bool]]:
    """Tell code from markers in one line; a line may hold both."""
    stripped = line.strip()
    if not stripped:
        return [(line, False)]
    known = stripped in original.places
    if is_marker(line):
        return [(line, not known)]
    if is_bare_ellipsis(line):
        return [(line, not known and _ellipsis_elides(previous, original, language, stubs))]
    split = None if known else trailing_marker(line)
    if split is None:
        return [(line, False)]
    code, marker, rest = split
    if not code.rstrip().endswith(("{", ":", "(", "[")):
        return [(code if code.strip() in original.places else line, False)]
    indent = line[: len(line) - len(line.lstrip())]
    found = [(code, False), (f"{indent}    {marker}", True)]
    if rest.strip():
        found.append((indent + rest.strip(), False))
    return found


def _ellipsis_elides(
    previous: str, original: Outline, language: str | None, stubs: set[str]
) -> bool:
    """Decide on a bare ``...`` that the file does not have.

    In Python it is a body of its own unless the head before it is in the file, with a real body.
    """
    if language in PROSE or language == "yaml":
        return False
    if language != "python":
        return True
    if not previous.endswith((":", '"""', "'''", ",", "(", "[", "{")):
        return True  # behind a statement three dots are no body
    name = head_name(previous)
    if name in stubs:
        return False
    return previous in original.places or (name is not None and name in original.named_places)


def _stub_names(text: str) -> set[str]:
    """Return names that the snippet defines more than once, as overloads do."""
    names = Counter(head_name(strip_end(line).strip()) for line in split_lines(text))
    return {name for name, count in names.items() if name is not None and count > 1}


def _assemble(rows: list[tuple[str, int, bool]], removals: tuple[range, ...]) -> Snippet:
    lines: list[str] = []
    origins: list[int] = []
    segments: list[Segment] = []
    markers: list[Marker] = []
    pending: list[tuple[str, int]] = []
    before: Marker | None = None
    open_marker = False
    for text, number, marker in [*rows, ("", -1, True)]:
        if not marker:
            pending.append((text, number))
            continue
        here = Marker(width(text), number) if number >= 0 else None
        solid = [k for k, (line, _) in enumerate(pending) if line.strip()]
        if solid:
            first, last = solid[0], solid[-1] + 1
            start = len(lines)
            lines += [line for line, _ in pending[first:last]]
            origins += [origin for _, origin in pending[first:last]]
            segments.append(Segment(start, len(lines), before, here, first, len(pending) - last))
        if here is not None and (solid or not open_marker):
            markers.append(here)
            before = here
            open_marker = True
        if solid and here is None:
            open_marker = False
        pending = []
    return Snippet(Outline(tuple(lines)), tuple(origins), tuple(segments), tuple(markers), removals)


def undetermined(snippet: Snippet, line: int, reason: str, message: str) -> MergeUndetermined:
    """Build the refusal; ``line`` is one of the snippet's outline."""
    at = snippet.origins[min(line, len(snippet.origins) - 1)] + 1
    return MergeUndetermined(f"line {at} of the snippet: {message}", reason=reason, line=at)
