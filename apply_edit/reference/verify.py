"""One verification: which drafts stay, and which token the target adds.

Everything random happens through two seams, :meth:`Draws.categorical` and :meth:`Draws.bernoulli`.
That is what makes the proof by enumeration possible: a test hands in draws that walk through every
branch and multiply exact fractions, and runs the very code that is used here with random numbers.

This module knows nothing of models, prefixes, end-of-sequence tokens or caches.

Source: arXiv:2211.17192, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

# A next-token distribution. Tests put exact ``Fraction`` numbers in; nothing here minds.
Row: TypeAlias = Sequence[float] | NDArray[Any]


@runtime_checkable
class Draws(Protocol):
    """A source of random decisions."""

    def categorical(self, probabilities: Row) -> int:
        """Draw an index with the given probabilities (they sum to one, up to rounding)."""

    def bernoulli(self, probability: float) -> bool:
        """Return ``True`` with the given probability."""


class HasRandom(Protocol):
    """What ``random.Random`` and ``numpy.random.Generator`` have in common."""

    def random(self) -> float:
        """Return a uniform number in [0, 1)."""


class UniformDraws:
    """Draws made from uniform numbers in [0, 1), exactly one per decision.

    Because each decision takes one number, two implementations that are given the same numbers
    must decide alike; a fast implementation is tested against this one in that way.

    >>> draws = UniformDraws(iter([0.49, 0.5, 0.5]).__next__)
    >>> draws.bernoulli(0.5), draws.bernoulli(0.5), draws.categorical([0.5, 0.0, 0.5])
    (True, False, 2)

    Args:
        uniform: Returns the next number.
    """

    def __init__(self, uniform: Callable[[], float]) -> None:
        self._uniform = uniform

    def categorical(self, probabilities: Row) -> int:
        """Invert the cumulative distribution in the order of the ids.

        Rounding may leave the sum a little below the uniform number; the last token that has any
        mass is then the answer, never a token without mass.
        """
        u = self._uniform()
        total = 0.0
        last = None
        for token, mass in enumerate(probabilities):
            if mass > 0:
                total += mass
                last = token
                if u < total:
                    return token
        if last is None:
            message = "cannot sample: no token of the distribution has any mass"
            raise ValueError(message)
        return last

    def bernoulli(self, probability: float) -> bool:
        """Compare with one uniform number; probability 1 is always true, 0 never."""
        return self._uniform() < probability


def as_draws(rng: HasRandom | Draws) -> Draws:
    """Return ``rng`` itself where it draws already, else draws made from ``rng.random()``."""
    return rng if isinstance(rng, Draws) else UniformDraws(rng.random)


def argmax(dist: Row) -> int:
    """Return the most probable token; the lowest id among equals.

    >>> argmax([0.2, 0.4, 0.4])
    1
    """
    return max(range(len(dist)), key=dist.__getitem__)


def sample(dist: Row, rng: HasRandom | Draws) -> int:
    """Draw one token from ``dist`` with one number of ``rng`` (for example ``random.Random``).

    Raises:
        ValueError: No token has any mass.
    """
    return as_draws(rng).categorical(dist)


def probability(dist: Row, token: int) -> float:
    """Return the mass of ``token``: zero for an id that the distribution does not know."""
    return dist[token] if 0 <= token < len(dist) else 0


def acceptance_probability(p: Row, q: Row | None, token: int) -> float:
    """Return min(1, p(x) / q(x)), the probability of keeping draft ``token``.

    A proposer that does not draw but decides (a copy, an argmax) has all its mass on the token:
    q(x) = 1. It is written as ``q=None``.

    >>> acceptance_probability([0.5, 0.3, 0.2], [0.2, 0.2, 0.6], 0)
    1
    >>> round(acceptance_probability([0.5, 0.3, 0.2], [0.2, 0.2, 0.6], 2), 4)
    0.3333
    >>> acceptance_probability([0.5, 0.3, 0.2], None, 2)
    0.2

    Raises:
        ValueError: q(x) is zero, so that x cannot have been drawn from q.
    """
    if q is None:
        return probability(p, token)
    q_x = probability(q, token)
    if q_x <= 0:
        message = (
            f"draft token {token} has probability 0 under q: q has to be the distribution "
            "that the token was drawn from"
        )
        raise ValueError(message)
    p_x = probability(p, token)
    return 1 if p_x >= q_x else p_x / q_x


def residual(p: Row, q: Row | None, token: int) -> list[float]:
    """Return max(0, p - q), normalised: where the target has more mass than the draft had.

    It is the distribution of the token that takes the place of the rejected ``token``. With
    ``q=None`` (all mass on ``token``) it is p without that token.

    A rejection needs q(x) > p(x), and both sum to one, so that in exact arithmetic there is always
    something left. Rounding can lose it where p and q are equal but for the last bit; p itself is
    then the answer: the two differ by no more than the rounding that led here.

    >>> residual([0.5, 0.25, 0.25], [0.25, 0.0, 0.75], 2)
    [0.5, 0.5, 0.0]
    >>> residual([0.5, 0.25, 0.25], None, 0)
    [0.0, 0.5, 0.5]
    """
    # The plain 0 (not 0.0) keeps exact fractions exact.
    if q is None:
        left = [0 if x == token else mass for x, mass in enumerate(p)]
    else:
        left = [max(mass - probability(q, x), 0) for x, mass in enumerate(p)]
    total = sum(left)
    return [mass / total for mass in left] if total > 0 else list(p)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verification decides.

    Args:
        accepted: Accepted run length: how many drafts stay, 0 to gamma.
        extra: The token after them: the residual token if a draft was rejected, else the bonus
            token. A round therefore commits ``accepted + 1`` tokens.
    """

    accepted: int
    extra: int


def verify(
    draft: Sequence[int], q_rows: Sequence[Row | None], p_rows: Sequence[Row], draws: Draws
) -> Verdict:
    """Accept the longest run of drafts that the target agrees to, and add one token of its own.

    Args:
        draft: gamma proposed ids d[0] … d[gamma-1].
        q_rows: gamma rows; ``q_rows[i]`` is the distribution that d[i] was drawn from, ``None``
            for a proposer that decides instead of drawing.
        p_rows: gamma + 1 rows; ``p_rows[i]`` is the target's distribution *before* d[i], that is
            after the prefix and d[0] … d[i-1]. The last row comes after all drafts.
        draws: Source of the decisions.

    Returns:
        Accepted run length and the extra token. With two drafts of which the second is refused:

        >>> halves = [0.5, 0.5]
        >>> verify([0, 0], [None, None], [halves] * 3, UniformDraws(iter([0.2, 0.7, 0.1]).__next__))
        Verdict(accepted=1, extra=1)

    Raises:
        ValueError: The numbers of rows do not fit the number of drafts.
    """
    if len(q_rows) != len(draft) or len(p_rows) != len(draft) + 1:
        message = (
            f"{len(draft)} drafts need {len(draft)} rows of q and {len(draft) + 1} rows of p; "
            f"got {len(q_rows)} and {len(p_rows)}"
        )
        raise ValueError(message)
    for i, token in enumerate(draft):
        if not draws.bernoulli(acceptance_probability(p_rows[i], q_rows[i], token)):
            # Later drafts continue a text that no longer exists: they are dropped unseen.
            return Verdict(i, draws.categorical(residual(p_rows[i], q_rows[i], token)))
    return Verdict(len(draft), draws.categorical(p_rows[-1]))


def one_hot(size: int, token: int) -> NDArray[np.float64]:
    """Return the distribution of length ``size`` with all mass on ``token``."""
    row = np.zeros(size)
    row[token] = 1.0
    return row
