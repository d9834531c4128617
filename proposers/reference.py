"""A text to copy from: token ids, and for each of them its source and its region.

Also the view of ids as text that some proposers are given. Not a proposer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from proposers.base import Draft

# A negative id is a wall between pieces of a reference: never drafted, never matched.
WALL = -1

UNCHANGED, EDIT, NOVEL = "unchanged", "edit", "novel"


class TextView(Protocol):
    """How ids and text belong together; only for vocabularies whose tokens are runs of bytes."""

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes of one token."""
        ...

    def encode_data(self, text: str) -> list[int]:
        """Split a text into ids."""
        ...


@dataclass(frozen=True, slots=True)
class References:
    """All that the drafts of one request can be copied from.

    Args:
        original: Ids of the text that is rewritten.
        snippet: Ids of the edit's new lines, a wall between pieces.
        prediction: Ids of a computed guess of the whole output, or None.
        prediction_edits: ``(start, end)`` half-open spans of ``prediction`` that come from the
            edit.
        closing: Ids that end the output once the text is complete.
        view: Ids as text, or None where there is no such view; drafts are then plain copies.
    """

    original: Sequence[int]
    snippet: Sequence[int] = ()
    prediction: Sequence[int] | None = None
    prediction_edits: Sequence[tuple[int, int]] = ()
    closing: Sequence[int] = ()
    view: TextView | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A run of a reference that has one source and one region."""

    ids: tuple[int, ...]
    source: str
    region: str = UNCHANGED


class Reference:
    """Parts put together to one text.

    >>> text = Reference([Part((1, 2, 3), "original"), Part((4, 5), "snippet", "edit")])
    >>> text.draft(2, 4)
    Draft(ids=(3, 4), source='original', sources=(('original', 1), ('snippet', 1)), \
regions=(('unchanged', 1), ('edit', 1)), probs=None)
    """

    def __init__(self, parts: Iterable[Part]) -> None:
        ids: list[int] = []
        self._starts: list[int] = []
        self._labels: list[tuple[str, str]] = []
        for part in parts:
            if part.ids:
                self._starts.append(len(ids))
                self._labels.append((part.source, part.region))
                ids += part.ids
        self.ids = tuple(ids)

    def __len__(self) -> int:
        return len(self.ids)

    def draft(self, start: int, stop: int) -> Draft:
        """Return the ids ``[start, stop)`` as a draft, up to the first wall."""
        ids = self.ids[start:stop]
        if WALL in ids:
            ids = ids[: ids.index(WALL)]
        return labelled(ids, self.runs(start, start + len(ids)))

    def runs(self, start: int, stop: int) -> list[tuple[str, str, int]]:
        """Return the ``(source, region, count)`` runs of ``[start, stop)``."""
        found: list[tuple[str, str, int]] = []
        run = bisect_right(self._starts, start) - 1
        while start < stop:
            end = self._starts[run + 1] if run + 1 < len(self._starts) else len(self.ids)
            end = min(end, stop)
            found.append((*self._labels[run], end - start))
            start, run = end, run + 1
        return found


def original_of(references: References) -> Reference:
    """Return the original, with what closes the answer behind it."""
    closing = Part(tuple(references.closing), "closing")
    return Reference([Part(tuple(references.original), "original"), closing])


def labelled(ids: Sequence[int], runs: Iterable[tuple[str, str, int]]) -> Draft:
    """Return a draft with the given ``(source, region, count)`` runs."""
    sources: list[tuple[str, int]] = []
    regions: list[tuple[str, int]] = []
    for source, region, count in runs:
        _extend(sources, source, count)
        _extend(regions, region, count)
    return Draft(tuple(ids), sources[0][0] if sources else "none", tuple(sources), tuple(regions))


def _extend(runs: list[tuple[str, int]], name: str, count: int) -> None:
    if runs and runs[-1][0] == name:
        runs[-1] = (name, runs[-1][1] + count)
    elif count:
        runs.append((name, count))


def reencoded(view: TextView, ids: Sequence[int], lead: bytes = b"") -> list[int] | None:
    """Split the text ``lead`` + ``ids`` anew; None where it is not a text by itself."""
    data = lead + b"".join(map(view.token_bytes, ids))
    try:
        return view.encode_data(data.decode("utf-8"))
    except UnicodeDecodeError:
        return None
