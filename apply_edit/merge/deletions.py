"""Refuse deletions that are not plain.

Lines of the file that are missing between two neighbours of the snippet are deleted. That is plain
for a few of them and where the snippet marks what it elides; it is not for half a file, nor for a
whole definition in a snippet that knows no markers.

Does not know: where segments begin and end.
"""

from __future__ import annotations

from itertools import pairwise

from apply_edit.merge.outline import Outline, assigned_name
from apply_edit.merge.snippet import Segment, Snippet, undetermined

_LARGE = 100
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
    names = {snippet.outline.name(i) for i in range(len(snippet.outline.lines))} | {None}
    for previous, i in pairwise(found):
        gone = original.solid_between(matches[previous] + 1, matches[i])
        new = snippet.outline.solid_between(previous + 1, i)
        if len(gone) - len(new) > _LARGE:
            message = f"{len(gone)} lines of the file are missing before it, with no marker"
            raise undetermined(snippet, i, "large_deletion", message)
        if fragment and any(original.member(j) not in names for j in gone):
            message = "a definition of the file is missing before it, with no marker"
            raise undetermined(snippet, i, "deletion_unclear", message)
        if (
            not snippet.markers
            and language in _DATA
            and _lacks_key(gone, original, snippet.outline)
        ):
            message = "an entry of the file is missing before it, with no marker"
            raise undetermined(snippet, i, "deletion_unclear", message)


def _lacks_key(gone: list[int], original: Outline, lines: Outline) -> bool:
    """Say whether a key is gone that the snippet does not show anywhere."""
    shown = {assigned_name(text) for text in lines.stripped} | {None}
    return any(assigned_name(original.stripped[j]) not in shown for j in gone)
