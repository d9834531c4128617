"""What decides how much of a draft goes into the next pass.

A policy sees the drafts of each pass before they are scored, cuts them, and is told what the target
wrote. ``FixedGamma`` always cuts at the same place; ``gamma.CostGamma`` where it pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from apply_edit.decode.drawn import LONGEST_DRAWN, Price
from apply_edit.report import PassRecord
from proposers import Draft


class GammaPolicy(Protocol):
    """Chooses gamma, the length of the draft of the next pass."""

    def limit(self) -> int:
        """Return the longest draft that is worth looking at; 0 asks for none."""
        ...

    def choose(self, draft: Draft, prefix_length: int, head: int) -> int:
        """Return how many of a draft's tokens to offer; 0 is plain decoding.

        Called once per pass. A draft that was drawn (``probs`` is not None) is offered whole,
        whatever is returned: cutting it by what was drawn would not be a fair draw.

        Args:
            draft: At most ``limit()`` tokens.
            prefix_length: Tokens that are in the cache.
            head: Tokens that the pass has to process in any case: the newest one, or what is left
                of the prompt.
        """
        ...

    @property
    def is_branching(self) -> bool:
        """Whether to look for further drafts, for a token tree."""
        ...

    def branch(self, others: Sequence[Draft]) -> list[Draft]:
        """Return which further drafts to offer beside the one that ``choose`` has cut.

        Args:
            others: The likeliest first; at most ``limit()`` tokens each.
        """
        ...

    def drawn_limit(self, price: Price) -> int:
        """Return how many tokens to ask a draft model for before the next pass.

        To be asked before drafting, because a drawn draft may not be cut afterwards.
        """
        ...

    def observe(self, record: PassRecord, ids: Sequence[int]) -> None:
        """Learn what became of the pass.

        Args:
            record: Its counts.
            ids: Tokens that were committed.
        """
        ...


class FixedGamma:
    """The same gamma for every pass.

    Args:
        value: Longest draft in tokens.
        branches: Most drafts of a token tree; 1 for no tree.
    """

    def __init__(self, value: int, branches: int = 1) -> None:
        if value < 0:
            message = f"gamma is {value}; it must be 0 or more"
            raise ValueError(message)
        self._value = value
        self._branches = branches

    def limit(self) -> int:
        """Return the fixed value."""
        return self._value

    def choose(self, draft: Draft, prefix_length: int, head: int) -> int:
        """Return the fixed value, or the draft's length where that is less."""
        del prefix_length, head
        return min(len(draft), self._value)

    @property
    def is_branching(self) -> bool:
        """Whether there may be more than one draft."""
        return self._branches > 1

    def branch(self, others: Sequence[Draft]) -> list[Draft]:
        """Return the first of them, whatever they are: so drawn drafts stay fair draws."""
        return [
            draft.clip(self._value) if draft.probs is None else draft
            for draft in others[: self._branches - 1]
        ]

    def drawn_limit(self, price: Price) -> int:
        """Return the fixed value whatever it costs, within ``LONGEST_DRAWN``."""
        del price
        return min(self._value, LONGEST_DRAWN)

    def observe(self, record: PassRecord, ids: Sequence[int]) -> None:
        """Learn nothing."""
        del record, ids
