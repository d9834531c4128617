"""Follow a computed guess of the whole output: the deterministic merge.

The guess may be wrong anywhere, so it is copied through a cursor like any other text. Its regions
tell which of its tokens come from the edit and which are the original's.
"""

from __future__ import annotations

from collections.abc import Sequence

from proposers.reference import EDIT, Part


def predicted(prediction: Sequence[int], edits: Sequence[tuple[int, int]]) -> list[Part]:
    """Return the parts of a prediction.

    Args:
        prediction: Its ids.
        edits: Ascending ``(start, end)`` half-open spans of ids that come from the edit.

    >>> [(part.ids, part.region) for part in predicted([1, 2, 3], [(1, 2)])]
    [((1,), 'unchanged'), ((2,), 'edit'), ((3,), 'unchanged')]
    """
    ids = tuple(prediction)
    parts: list[Part] = []
    done = 0
    for start, end in edits:
        parts += [Part(ids[done:start], "prediction"), Part(ids[start:end], "prediction", EDIT)]
        done = end
    parts.append(Part(ids[done:], "prediction"))
    return [part for part in parts if part.ids]
