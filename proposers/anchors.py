"""Where in a reference the output may go on, after it has left the reference.

Places are compared by what speaks for them and against them, both in bits:

- for a place speak the tokens before it that agree with the output's last ones, each by how rare it
  is in the reference: an indentation or a bracket says little about which line it is. That both
  stand at the same column of a line (the agreeing tokens begin it) says something, too;
- against it speaks its distance from *home*, the last place that was trusted: a bit for each
  doubling, more for going back, and less where one of the next lines begins, because that is
  where copying goes on after new lines that took the place of some.

Places with the same next token vote together, since a draft that gets that token right at least
tells the one behind it. Not a proposer; ``file_cursor`` stands on it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proposers.ngram_index import NgramIndex
from proposers.reference import TextView

# Agreement is counted up to here.
_LONGEST = 32
# Bits of one agreeing token: this part of its information, and no more than so much of it. Tokens
# of a text are no independent draws.
_PART = 0.7
_MOST = 5.0
# A line's end is rare where lines are long, and yet says nothing about the line behind it.
_LINE_END = 0.3
# Bits for agreeing tokens that begin a line in both texts.
_ALIGNED = 3.0
# Bits against going back.
_BACKWARD = 4.0
# Lines ahead of home that may be the next one, and bits against each further one.
_LINES = 5
_PER_LINE = 0.7
# Occurrences looked at on each side of home.
_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place to go on, and how many tokens before it agree with the output's last.

    Args:
        place: Where in the reference.
        agreed: Number of agreeing tokens; at least 1, the line's beginning counts as one.
        score: Bits that speak for it.
    """

    place: int
    agreed: int
    score: float


class Anchors:
    """Finds places in one reference.

    Args:
        ids: The reference.
        view: Ids as text; without it nothing is known of lines.
    """

    def __init__(self, ids: tuple[int, ...], view: TextView | None = None) -> None:
        self._ids = ids
        self._view = view
        self._index = NgramIndex(ids, 2)
        self._bits: dict[int, float] = {}
        ends = (place for place, token in enumerate(ids, 1) if self.ends_line(token))
        self._line_starts = [0, *ends]

    def ends_line(self, token: int) -> bool:
        """Return whether a line ends with the token; False where there is no view."""
        return self._view is not None and self._view.token_bytes(token).endswith(b"\n")

    def ranked(
        self, output: Sequence[int], end: int, homes: Sequence[tuple[int, float]]
    ) -> list[Anchor]:
        """Return places to go on after ``output[:end]``, the best first.

        Args:
            output: Ids.
            end: How many of them are looked at; at least 1.
            homes: Places to start from, and bits against each.

        Returns:
            The best place for every next token.
        """
        votes: dict[int, float] = {}
        best: dict[int, Anchor] = {}
        # How many tokens back the last line ended, and what the last 0, 1, … tokens say.
        last = range(1, min(_LONGEST, end) + 1)
        line = next((size for size in last if self.ends_line(output[end - size])), _LONGEST + 1)
        said = [0.0]
        for home, against in homes:
            for place, distance in self._candidates(output, end, home):
                agreed = self._agreed(output, end, place)
                for size in range(len(said), agreed + 1):
                    said.append(said[-1] + self._bits_of(output[end - size]))
                score = said[agreed] - distance - against
                if agreed >= line or (agreed == line - 1 and self._begins_line(place - agreed)):
                    score += _ALIGNED
                following = self._ids[place] if place < len(self._ids) else -1
                votes[following] = votes.get(following, 0.0) + 2.0**score
                known = best.get(following)
                # The first of equally good places.
                if known is None or (score, -place) > (known.score, -known.place):
                    best[following] = Anchor(place, max(1, agreed), score)
        return sorted(
            best.values(),
            key=lambda one: (
                -votes[self._ids[one.place] if one.place < len(self._ids) else -1],
                -one.score,
                one.place,
            ),
        )

    def _candidates(
        self, output: Sequence[int], end: int, home: int
    ) -> Iterator[tuple[int, float]]:
        """Yield the places around ``home`` that something speaks for, and their distances."""
        found: dict[int, float] = {}
        for size in (2, 1):
            places = self._index.after(output[max(0, end - size) : end])
            ahead = bisect_left(places, home)
            for place in places[max(0, ahead - _CANDIDATES) : ahead + _CANDIDATES]:
                found[place] = math.log2(1 + abs(place - home))
                found[place] += _BACKWARD if place < home else 0.0
        if self.ends_line(output[end - 1]):
            ahead = bisect_left(self._line_starts, home)
            for number, place in enumerate(self._line_starts[ahead : ahead + _LINES]):
                distance = math.log2(1 + place - home)
                found[place] = min(found.get(place, distance), distance, 1 + _PER_LINE * number)
        yield from found.items()

    def _agreed(self, output: Sequence[int], end: int, place: int) -> int:
        """Count how many tokens before ``output[end]`` and before ``place`` are the same."""
        longest = min(_LONGEST, end, place)
        agreed = 0
        while agreed < longest and self._ids[place - 1 - agreed] == output[end - 1 - agreed]:
            agreed += 1
        return agreed

    def _begins_line(self, place: int) -> bool:
        return place > 0 and self.ends_line(self._ids[place - 1])

    def _bits_of(self, token: int) -> float:
        bits = self._bits.get(token)
        if bits is None:
            count = len(self._index.after((token,)))
            bits = _PART * min(_MOST, math.log2((len(self._ids) + 1) / (count + 1)))
            bits *= _LINE_END if self.ends_line(token) else 1.0
            self._bits[token] = bits
        return bits
