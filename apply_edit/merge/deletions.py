"""Refuse deletions that are not plain.

Lines of the file that are missing between two neighbours of the snippet are deleted. That is plain
for a few of them and where the snippet marks what it elides; it is not for half a file, nor for a
whole definition in a snippet that knows no markers.

Does not know: where segments begin and end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from apply_edit.errors import MergeUndetermined
from apply_edit.merge.outline import Outline, assigned_name, is_closer
from apply_edit.merge.snippet import Segment, Snippet, undetermined
from apply_edit.merge.soft import ANNOTATION, is_comment, likeness

if TYPE_CHECKING:
    from apply_edit.merge.place import Placed

_LARGE = 100
# Likeness from which a new line is the changed form of one that is gone.
_HEIR = 0.55
_DATA = frozenset({"json", "yaml", "toml", "ini"})


def check_deletions(
    snippet: Snippet,
    original: Outline,
    matches: dict[int, int],
    segment: Segment,
    language: str | None = None,
) -> None:
    """Look at every pair of matched neighbours of a segment.

    Args:
        snippet: The snippet.
        original: The file.
        matches: Line of the file for each matched line of the snippet.
        segment: One segment of the snippet.
        language: Our name of the language, or None.

    Raises:
        MergeUndetermined: What is missing between two of them is more than plainly deleted.
    """
    found = [i for i in range(segment.start, segment.end) if i in matches]
    # A snippet that shows most of the file is the new file.
    fragment = not snippet.markers and len(matches) < len(original.solid) // 2
    lines = snippet.outline
    names = {lines.name(i) for i in range(len(lines.lines)) if fragment} | {None}
    data = not snippet.markers and language in _DATA
    for previous, i in pairwise(found):
        gone = original.solid_between(matches[previous] + 1, matches[i])
        new = snippet.outline.solid_between(previous + 1, i)
        if len(gone) - len(new) > _LARGE:
            message = f"{len(gone)} lines of the file are missing before it, with no marker"
            raise undetermined(snippet, i, "large_deletion", message)
        if fragment and any(original.member(j) not in names for j in gone):
            message = "a definition of the file is missing before it, with no marker"
            raise undetermined(snippet, i, "deletion_unclear", message)
        if data and _lacks_key(gone, original, snippet.outline):
            message = "an entry of the file is missing before it, with no marker"
            raise undetermined(snippet, i, "deletion_unclear", message)


def _lacks_key(gone: list[int], original: Outline, lines: Outline) -> bool:
    """Say whether a key is gone that the snippet does not show anywhere."""
    shown = {assigned_name(text) for text in lines.stripped} | {None}
    return any(assigned_name(original.stripped[j]) not in shown for j in gone)


def check_idle_markers(
    snippet: Snippet,
    original: Outline,
    placed: Sequence[Placed],
    matches: dict[int, int],
    hides: dict[int, bool],
) -> None:
    """Refuse a reading in which a marker stands for nothing, and code beside it is gone.

    Whoever writes a marker inside of a block knows that there is code in it. Where a new member
    begins like an old one, it would take that one's place, and the marker would be idle.

    Args:
        snippet: The snippet.
        original: The file.
        placed: Where the segments stand.
        matches: Line of the file for each matched line of the snippet.
        hides: Whether the marker at a line of the snippet stands for code.

    Raises:
        MergeUndetermined: There is such a marker.
    """
    stays = set(matches.values())
    for item in placed:
        segment = item.segment
        telling = [
            i
            for i in range(segment.start, segment.end)
            if i in matches and _tells(matches[i], original, snippet.outline.stripped[i])
        ]
        first, last = (matches[telling[0]], matches[telling[-1]]) if telling else (item.end, -1)
        gone = [j for j in original.solid_between(item.start, item.end) if j not in stays]
        gone = [j for j in gone if not is_closer(original.stripped[j])]
        sides = (
            (segment.before, [j for j in gone if j < first]),
            (segment.after, [j for j in gone if j > last]),
        )
        for marker, lost in sides:
            if marker is None or not lost or marker.width == 0 or hides.get(marker.line, True):
                continue
            new = [i for i in range(segment.start, segment.end) if i not in matches]
            texts = [snippet.outline.stripped[i] for i in new]
            lost = [j for j in lost if not _has_heir(original.stripped[j], texts)]
            if not lost:
                continue
            message = (
                f"line {marker.line + 1} of the snippet: the marker would stand for nothing, and "
                f"line {lost[0] + 1} of the file would be gone; show the lines around the change"
            )
            raise MergeUndetermined(message, reason="deletion_unclear", line=marker.line + 1)


def _has_heir(old: str, new: Sequence[str]) -> bool:
    """Say whether one of some new lines is another form of an old one."""
    return any(likeness(text, old) >= _HEIR for text in new)


def _tells(place: int, original: Outline, text: str) -> bool:
    """Say whether an equal line says which one it is: by its name, or as the only one like it.

    Comments, annotations and heads without a name are what other blocks begin with, too.
    """
    if text != original.stripped[place] or is_closer(text):
        return False
    if original.name(place) is not None:
        return True
    begins = text.endswith(("{", "(", "[", ":", "do")) or is_comment(text) or ANNOTATION.match(text)
    return original.counts[text] == 1 and not begins
