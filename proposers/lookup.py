"""Prompt lookup over one reference: copy what follows the last n tokens where they occurred.

The reference method, as simple as it can be: longest n-gram first, nearest occurrence ahead of a
cursor that follows the copying. It has one source and no memory of where it was before a change;
``cursor`` and ``router`` do better.

Source: arXiv:2304.04487 and the prompt lookup of public libraries, with "nearest ahead" instead of
"leftmost".
"""

from __future__ import annotations

from collections.abc import Sequence

from proposers.base import NOTHING, Draft
from proposers.ngram_index import NgramIndex


class Lookup:
    """Copy from a reference after a match of the last tokens.

    Args:
        reference: Ids to copy from.
        longest: Longest n-gram that is looked up.
        shortest: Shortest one; 1 also follows accidental matches of a single token.
    """

    def __init__(self, reference: Sequence[int], longest: int = 3, shortest: int = 1) -> None:
        if not 1 <= shortest <= longest:
            message = f"n-grams from {shortest} to {longest}: need 1 <= shortest <= longest"
            raise ValueError(message)
        self._reference = tuple(reference)
        self._index = NgramIndex(self._reference, longest)
        self._shortest = shortest
        self._cursor = 0
        self._seen = 0

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Return what follows the longest recent n-gram; see ``Proposer.propose``."""
        if limit <= 0 or not self._reference:
            return NOTHING
        self._advance(output)
        start = self._find(output)
        if start is None:
            return NOTHING
        self._cursor = start
        return Draft(self._reference[start : start + limit], "original")

    def _advance(self, output: Sequence[int]) -> None:
        """Move the cursor behind what was copied since the last proposal."""
        for token in output[self._seen :]:
            if self._cursor == len(self._reference) or self._reference[self._cursor] != token:
                break
            self._cursor += 1
        self._seen = len(output)

    def _find(self, output: Sequence[int]) -> int | None:
        if not output:
            return 0
        for n in range(min(self._index.longest, len(output)), self._shortest - 1, -1):
            place = self._index.nearest(output[-n:], self._cursor)
            if place is not None:
                return place if place < len(self._reference) else None
        return None
