"""Weave the pieces of a snippet into the original: where would each of them go?

A piece of a lazy snippet mostly begins and ends with lines of the file. Where its first and last
agreeing tokens stand in the original, the piece takes the place of what is between. The woven text
is no merge, only a text to draft from: it lets one draft run from the original into a piece,
through it and out again. A piece that agrees with nothing is left out, and ``router`` copies it by
itself when the output comes to it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from proposers.ngram_index import NgramIndex
from proposers.reference import EDIT, WALL, Part, TextView, reencoded

# Tokens that must agree for a piece to be put somewhere.
_ANCHOR = 4
_LONGEST = 64
_CANDIDATES = 16
# Tokens on each side of a seam that are encoded anew.
_SEAM = 8


def pieces_of(snippet: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the pieces of a snippet, which walls separate.

    >>> list(pieces_of([1, 2, WALL, 3, WALL]))
    [(1, 2), (3,)]
    """
    piece: list[int] = []
    for token in (*snippet, WALL):
        if token != WALL:
            piece.append(token)
        elif piece:
            yield tuple(piece)
            piece = []


def weave(
    original: Sequence[int], snippet: Sequence[int], view: TextView | None = None
) -> list[Part]:
    """Put the pieces of a snippet where they seem to belong.

    Args:
        original: Ids of the file.
        snippet: Ids of the snippet, a wall between pieces.
        view: Ids as text; tokens at the seams are then those of the whole text.

    Returns:
        Parts of the woven text; empty where no piece found a place.
    """
    weaver = _Weaver(tuple(original), view)
    parts: list[Part] = []
    done = 0
    for piece in pieces_of(snippet):
        place = weaver.place(piece, done)
        if place is not None:
            parts += [Part(weaver.ids[done : place.start], "original")]
            parts += [Part(place.ids, "snippet", EDIT)]
            done = place.stop
    if not parts:
        return []
    parts.append(Part(weaver.ids[done:], "original"))
    return parts if view is None else _mended(parts, view)


@dataclass(frozen=True, slots=True)
class _Place:
    """``ids`` take the place of the original's ``[start, stop)``."""

    ids: tuple[int, ...]
    start: int
    stop: int


class _Weaver:
    def __init__(self, ids: tuple[int, ...], view: TextView | None) -> None:
        self.ids = ids
        self._view = view
        self._index = NgramIndex(ids, 2)

    def place(self, piece: tuple[int, ...], done: int) -> _Place | None:
        """Find where a piece goes, at or after ``done``."""
        heads = (self._head(piece, here, done) for here in range(len(piece) - 1))
        head = next(((here, at) for here, at in enumerate(heads) if at is not None), None)
        if head is None:
            return None
        here, start = head
        # The head is long enough to be found again as the end, so there is one that agrees.
        ends = ((end, self._tail(piece, end, start)) for end in range(len(piece), here, -1))
        end, stop = next((end, at) for end, at in ends if at is not None)
        # A border that the original splits otherwise: the same text need not be written twice.
        begin = here if self._is_before(piece[:here], start) else 0
        finish = end if self._is_behind(piece[end:], stop) else len(piece)
        return _Place(piece[begin:finish], start, stop)

    def _head(self, piece: tuple[int, ...], here: int, done: int) -> int | None:
        """Return where in the original, from ``done`` on, ``piece[here:]`` agrees longest."""
        behind = self._index.after(piece[here : here + 2])
        first = bisect_left(behind, done + 2)
        best, longest = None, _ANCHOR - 1
        for at in behind[first : first + _CANDIDATES]:
            size = _same(piece[here : here + _LONGEST], self.ids[at - 2 : at - 2 + _LONGEST])
            if size > longest:
                best, longest = at - 2, size
        return best

    def _tail(self, piece: tuple[int, ...], end: int, start: int) -> int | None:
        """Return behind what in the original, from ``start`` on, ``piece[:end]`` agrees longest."""
        behind = self._index.after(piece[end - 2 : end])
        first = bisect_left(behind, start + _ANCHOR)
        best, longest = None, _ANCHOR - 1
        for at in behind[first : first + _CANDIDATES]:
            ours, theirs = piece[max(0, end - _LONGEST) : end], self.ids[max(0, at - _LONGEST) : at]
            size = _same(ours[::-1], theirs[::-1])
            if size > longest:
                best, longest = at, size
        return best

    def _is_before(self, ids: tuple[int, ...], place: int) -> bool:
        if self._view is None or not 0 < len(ids) <= _SEAM:
            return False
        before = _bytes(self._view, self.ids[max(0, place - _SEAM) : place])
        return before.endswith(_bytes(self._view, ids))

    def _is_behind(self, ids: tuple[int, ...], place: int) -> bool:
        if self._view is None or not 0 < len(ids) <= _SEAM:
            return False
        behind = _bytes(self._view, self.ids[place : place + _SEAM])
        return behind.startswith(_bytes(self._view, ids))


def _same(left: Sequence[int], right: Sequence[int]) -> int:
    """Count the tokens that two texts have in common at their beginnings."""
    return sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    )


def _bytes(view: TextView, ids: Sequence[int]) -> bytes:
    return b"".join(map(view.token_bytes, ids))


def _mended(parts: list[Part], view: TextView) -> list[Part]:
    """Split the text at every seam as if it were one text."""
    mended = [parts[0]]
    for right in parts[1:]:
        left = mended.pop()
        mended += _seam(left, right, view)
    return mended


def _seam(left: Part, right: Part, view: TextView) -> tuple[Part, Part]:
    before, behind = left.ids[-_SEAM:], right.ids[:_SEAM]
    ids = reencoded(view, before + behind)
    # Where the ends of the window come out otherwise, the change reaches beyond it.
    if not before or not behind or not ids or ids[0] != before[0] or ids[-1] != behind[-1]:
        return left, right
    size = len(_bytes(view, before))
    border = 0
    while size > 0:
        size -= len(view.token_bytes(ids[border]))
        border += 1
    kept, rest = left.ids[: -len(before)], right.ids[len(behind) :]
    return (
        Part((*kept, *ids[:border]), left.source, left.region),
        Part((*ids[border:], *rest), right.source, right.region),
    )
