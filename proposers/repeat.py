"""Novel text often resembles what stands nearby: copy what followed the last tokens before.

Looks in the original and in the output itself, and takes the latest place where the longest run of
the last tokens occurred. What it offers is a guess for text that nobody has written before; where
something can be copied, ``file_cursor`` is right far more often.

Source: arXiv:2304.04487, prompt lookup, with the output as part of what is looked up.
"""

from __future__ import annotations

from collections.abc import Sequence

from proposers.base import NOTHING, Draft
from proposers.reference import NOVEL

# In novel text hardly any run is longer.
_LENGTH = 16
_LONGEST = 4
# Output tokens that are entered per call.
_CAUGHT_UP = 128


class Repeat:
    """Guess from the text before.

    Args:
        original: Ids that count as written before the output.
    """

    def __init__(self, original: Sequence[int]) -> None:
        self._text: list[int] = []
        # Per length of n-gram: n-gram to the latest place behind it.
        self._places: list[dict[tuple[int, ...], int]] = [{} for _ in range(_LONGEST)]
        self._seen = 0
        self._add(original)

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Return what followed the last tokens the last time; see ``Proposer.propose``."""
        return self.guess(output, limit)[0]

    def guess(self, output: Sequence[int], limit: int) -> tuple[Draft, int]:
        """Return a draft, and how many tokens before it agree."""
        # What was copied in between stands in the original already.
        self._add(output[max(self._seen, len(output) - _CAUGHT_UP) :])
        self._seen = len(output)
        for size in range(min(_LONGEST, len(output)), 0, -1):
            place = self._places[size - 1].get(tuple(output[-size:]))
            if place is not None:
                ids = tuple(self._text[place : place + min(limit, _LENGTH)])
                draft = Draft(ids, "repeat", (), ((NOVEL, len(ids)),)) if ids else NOTHING
                return draft, size
        return NOTHING, 0

    def _add(self, ids: Sequence[int]) -> None:
        """Append ids; an n-gram is entered only once a token follows it."""
        text = self._text
        for token in ids:
            end = len(text)
            for size in range(1, min(_LONGEST, end) + 1):
                self._places[size - 1][tuple(text[end - size : end])] = end
            text.append(token)
