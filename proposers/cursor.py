"""A cursor that copies one reference and finds its place again after every change.

While the output follows the reference, the cursor walks along. When the output leaves it (an
insertion, a deletion, a replacement, a moved block) the cursor stays where it was lost, and after
every token it looks for the place to go on: the nearest one ahead whose preceding tokens are the
last ones of the output. Going ahead is cheap to be wrong about; going back is allowed only for a
long match (a moved block), so that runs of equal lines never make it oscillate.

``router`` combines several of these.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from proposers.base import NOTHING, Draft
from proposers.ngram_index import NgramIndex

# Tokens that must agree before the cursor may jump: one token ahead is no evidence in code, where
# "(" and "\n" are everywhere; going back needs as much as tells a moved line from a repeated one.
_AHEAD = 2
_BACK = 8
# How far ahead a jump on weak evidence may go, in tokens; about a screen of code.
_NEAR = 1024


class Cursor:
    """Copy from one reference with re-anchoring.

    Args:
        reference: Ids to copy from. Negative ids are walls: never drafted, never matched.
        source: Name of the reference in reports.
        at_start: The output is expected to begin where the reference begins.
    """

    def __init__(self, reference: Sequence[int], source: str, *, at_start: bool = True) -> None:
        self._reference = tuple(reference)
        self._source = source
        self._index = NgramIndex(self._reference, _AHEAD)
        self._seen = 0
        self._lost_at = 0
        self.position: int | None = 0 if at_start and self._reference else None
        self.matched = 0

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Return the reference from the cursor on; see ``Proposer.propose``."""
        self.follow(output)
        ids = self.upcoming(limit)
        return Draft(ids, self._source) if ids else NOTHING

    def upcoming(self, limit: int) -> tuple[int, ...]:
        """Return up to ``limit`` ids from the cursor to the next wall or the end."""
        if self.position is None or limit <= 0:
            return ()
        ids = self._reference[self.position : self.position + limit]
        wall = next((i for i, token in enumerate(ids) if token < 0), len(ids))
        return ids[:wall]

    def ends_with(self, num_upcoming: int) -> bool:
        """Return whether the reference ends after the next ``num_upcoming`` ids."""
        return self.position is not None and self.position + num_upcoming == len(self._reference)

    def follow(self, output: Sequence[int]) -> None:
        """Take notice of output that was committed since the last call.

        Amortised O(1) per token while copying; O(log n) per token while lost.
        """
        while self._seen < len(output):
            token = output[self._seen]
            self._seen += 1
            if self.position is not None:
                if self._at(self.position) == token:
                    self.position += 1
                    self.matched += 1
                    continue
                self._lost_at = self.position
                self.position = None
                self.matched = 0
            self._anchor(output)

    def _at(self, position: int) -> int:
        return self._reference[position] if position < len(self._reference) else -1

    def _anchor(self, output: Sequence[int]) -> None:
        """Look for the place to go on; leaves the cursor lost when there is none."""
        end = self._seen
        if end < _AHEAD:
            return
        places = self._index.after(output[end - _AHEAD : end])
        if not places:
            return
        ahead = bisect_left(places, self._lost_at)
        best: int | None = None
        best_length = 0
        for place in places[ahead : ahead + 8]:
            if place - self._lost_at > _NEAR and best is not None:
                break
            length = self._agreement(output, end, place)
            if length > best_length:
                best, best_length = place, length
        if best is None or best - self._lost_at > _NEAR:
            back = self._look_back(output, end, places[max(0, ahead - 8) : ahead])
            if back is not None:
                best = back
            elif best is not None and best_length < _BACK:
                best = None
        if best is not None:
            self.position = best
            self.matched = self._agreement(output, end, best)

    def _look_back(self, output: Sequence[int], end: int, places: Sequence[int]) -> int | None:
        for place in reversed(places):
            if self._agreement(output, end, place) >= _BACK:
                return place
        return None

    def _agreement(self, output: Sequence[int], end: int, place: int, longest: int = 32) -> int:
        """Count how many tokens before ``output[end]`` and before ``place`` are the same."""
        length = 0
        while (
            length < longest
            and length < end
            and length < place
            and self._reference[place - 1 - length] == output[end - 1 - length]
        ):
            length += 1
        return length
