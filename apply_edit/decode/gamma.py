"""How long the next draft may be.

A policy is asked before each pass and told the outcome after it. ``FixedGamma`` always gives the
same answer.
"""

from __future__ import annotations

from typing import Protocol


class GammaPolicy(Protocol):
    """Chooses gamma, the longest draft of the next pass."""

    def gamma(self) -> int:
        """Return the longest draft that is worth offering now; 0 is plain decoding."""
        ...

    def observe(self, drafted: int, accepted: int) -> None:
        """Learn what became of a draft."""
        ...


class FixedGamma:
    """The same gamma for every pass.

    Args:
        value: Longest draft in tokens.
    """

    def __init__(self, value: int) -> None:
        if value < 0:
            message = f"gamma is {value}; it must be 0 or more"
            raise ValueError(message)
        self._value = value

    def gamma(self) -> int:
        """Return the fixed value."""
        return self._value

    def observe(self, drafted: int, accepted: int) -> None:
        """Learn nothing."""
        del drafted, accepted
