"""Where each run of tokens occurs in a reference: built once, answered in O(log n).

Not a proposer; ``lookup`` and ``cursor`` stand on it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


class NgramIndex:
    """All positions of every n-gram of a reference, for n from 1 to ``longest``.

    The position of an n-gram is the index *behind* it: of the token that follows.

    >>> index = NgramIndex([5, 6, 7, 5, 6, 8], longest=2)
    >>> index.after([5, 6])
    [2, 5]
    >>> index.nearest([5, 6], 3)
    5
    >>> index.after([9])
    []
    """

    def __init__(self, reference: Sequence[int], longest: int) -> None:
        if longest < 1:
            message = f"longest n-gram is {longest}; it must be at least 1"
            raise ValueError(message)
        self.longest = longest
        self._tables: list[dict[tuple[int, ...], list[int]]] = []
        ids = tuple(reference)
        for n in range(1, longest + 1):
            table: dict[tuple[int, ...], list[int]] = {}
            for end in range(n, len(ids) + 1):
                table.setdefault(ids[end - n : end], []).append(end)
            self._tables.append(table)

    def after(self, ngram: Sequence[int]) -> list[int]:
        """Return the ascending positions behind every occurrence of ``ngram``."""
        if not 1 <= len(ngram) <= self.longest:
            return []
        return self._tables[len(ngram) - 1].get(tuple(ngram), [])

    def nearest(self, ngram: Sequence[int], cursor: int) -> int | None:
        """Return the first position behind ``ngram`` at or after ``cursor``, else the last before.

        Args:
            ngram: 1 to ``longest`` ids.
            cursor: Position in the reference that the search starts from.

        Returns:
            A position in ``[len(ngram), len(reference)]``, or None when there is no occurrence.
        """
        places = self.after(ngram)
        if not places:
            return None
        ahead = bisect_left(places, cursor)
        return places[ahead] if ahead < len(places) else places[-1]
