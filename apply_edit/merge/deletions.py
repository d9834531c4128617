"""Refuse deletions that are not plain.

Lines of the file that are missing between two neighbours of the snippet are deleted. That is plain
for a few of them and where the snippet marks what it elides; it is not for half a file, nor for a
whole definition in a snippet that knows no markers.

Does not know: where segments begin and end.
"""

from __future__ import annotations

from itertools import pairwise

from apply_edit.merge.outline import Outline, head_name
from apply_edit.merge.snippet import Segment, Snippet, undetermined

_LARGE = 100


def check_deletions(
    snippet: Snippet, original: Outline, matches: dict[int, int], segment: Segment
) -> None:
    """Look at every pair of matched neighbours of a segment.

    Raises:
        MergeUndetermined: What is missing between two of them is more than plainly deleted.
    """
    found = [i for i in range(segment.start, segment.end) if i in matches]
    # A snippet that shows most of the file is the new file.
    fragment = not snippet.markers and len(matches) < len(original.solid) // 2
    for previous, i in pairwise(found):
        gone = original.solid_between(matches[previous] + 1, matches[i])
        new = snippet.outline.solid_between(previous + 1, i)
        if len(gone) - len(new) > _LARGE:
            message = f"{len(gone)} lines of the file are missing before it, with no marker"
            raise undetermined(snippet, i, "large_deletion", message)
        if fragment and not new and _has_definition(gone, original):
            message = "a definition of the file is missing before it, with no marker"
            raise undetermined(snippet, i, "deletion_unclear", message)


def _has_definition(lines: list[int], original: Outline) -> bool:
    return any(
        original.parents[j] < 0 and head_name(original.stripped[j]) is not None for j in lines
    )
