"""What speculation is worth: the formulas, under the assumption that acceptances are independent.

Text is not like that: acceptances cluster. ``apply-edit lab markov`` shows how far the formula is
off when they do.

Source: arXiv:2211.17192, sections 3.1 to 3.5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def acceptance_rate(p: ArrayLike, q: ArrayLike) -> float:
    """Return Σ min(p, q) = 1 - TV(p, q), the probability that a draft from q is accepted.

    >>> round(acceptance_rate([0.5, 0.3, 0.2], [0.3, 0.3, 0.4]), 12)
    0.8

    Raises:
        ValueError: The distributions have different lengths.
    """
    p_row, q_row = np.asarray(p), np.asarray(q)
    if p_row.shape != q_row.shape:
        message = f"p and q must have the same shape; got {p_row.shape} and {q_row.shape}"
        raise ValueError(message)
    return float(np.minimum(p_row, q_row).sum())


def _check(alpha: float, k: int) -> None:
    if not 0 <= alpha <= 1 or k < 0:
        message = f"alpha must be in 0..1 and k not negative; got alpha={alpha}, k={k}"
        raise ValueError(message)


def expected_tokens(alpha: float, k: int) -> float:
    """Return (1 - a^(k+1)) / (1 - a) for a = ``alpha``: the mean number of tokens per pass.

    The extra token counts. It is computed as 1 + a + … + a^k, the same number without the division
    by zero at a = 1: a round has more than i tokens with probability a^i.

    >>> round(expected_tokens(0.8, 4), 4), expected_tokens(0, 4), expected_tokens(1, 4)
    (3.3616, 1.0, 5.0)

    Raises:
        ValueError: ``alpha`` is outside 0..1 or ``k`` is negative.
    """
    _check(alpha, k)
    return float(sum(alpha**i for i in range(k + 1)))


def expected_speedup(alpha: float, k: int, cost_ratio: float) -> float:
    """Return expected_tokens / (k·c + 1): the speed against one pass per token.

    Args:
        alpha: Acceptance rate.
        k: Drafts per round (gamma).
        cost_ratio: c, time of a draft step over time of a target pass. A target pass over k + 1
            tokens is taken to be as quick as one over a single token, which holds on GPUs for
            small k and hardly ever on CPUs.

    >>> round(expected_speedup(0.8, 4, 0.05), 2)
    2.8

    Raises:
        ValueError: ``alpha`` is outside 0..1, or ``k`` or ``cost_ratio`` is negative.
    """
    if cost_ratio < 0:
        message = f"cost_ratio must not be negative; got {cost_ratio}"
        raise ValueError(message)
    return expected_tokens(alpha, k) / (k * cost_ratio + 1)


def break_even_cost(alpha: float, k: int) -> float:
    """Return the cost ratio below which speculation pays: (E[tokens] - 1) / k.

    >>> round(break_even_cost(0.8, 4), 2)
    0.59

    Raises:
        ValueError: ``alpha`` is outside 0..1 or ``k`` is below 1.
    """
    if k < 1:
        message = f"k must be at least 1; got {k}"
        raise ValueError(message)
    return (expected_tokens(alpha, k) - 1) / k


def best_gamma(alpha: float, cost_ratio: float, largest: int = 16) -> int:
    """Return the k in 0..largest with the greatest expected speedup; 0 where none pays.

    >>> best_gamma(0.8, 0.32), best_gamma(0.6, 0.32), best_gamma(0.1, 0.32)
    (3, 1, 0)
    """
    return max(range(largest + 1), key=lambda k: expected_speedup(alpha, k, cost_ratio))
