"""Whether a draft model is asked before a pass, and for how many tokens.

Copies cost nothing to make; a draft model costs seconds per token, and seconds to read what it has
not seen: the prompt at first, later whatever was copied meanwhile. It is asked for as many tokens
as give the most tokens per second,

    gamma = argmax over g of  E(g) / (T(1 + g) + g c)

where it pays: where this very pass gains what there is to read, or where the passes in novel text
that have gone by without it would have gained it together. So a correction of a few tokens never
pays for reading a prompt, and in long novel text at most about as much is lost by waiting as
reading costs. Nobody knows how long novel text will be; this loses at most about twice the least
that could have been lost.

Knows neither models nor texts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apply_edit.decode.acceptance import Floats, expectations
from apply_edit.decode.cost import PassCost
from apply_edit.decode.decision import Asked

# A draft model is never asked for more at once.
LONGEST_DRAWN = 16


@dataclass(frozen=True, slots=True)
class Price:
    """What asking a draft model costs now.

    Args:
        token_s: Seconds per token that it drafts.
        reading_s: Seconds until it has read what it has not seen.
        waited: Passes in novel text that went by without it.
    """

    token_s: float
    reading_s: float = 0.0
    waited: int = 0


def ask(alphas: Floats, costs: Floats, price: Price) -> Asked:
    """Decide how many tokens to ask for.

    Args:
        alphas: Chance of each draft token given those before it, ``[n]``.
        costs: Time of the target's pass with 0, 1, …, n draft tokens, ``[n + 1]``.
        price: What the draft model costs.

    >>> ask(np.array([0.8, 0.8]), np.array([1.0, 1.0, 1.0]), Price(0.1)).limit
    2
    >>> ask(np.array([0.8, 0.8]), np.array([1.0, 1.0, 1.0]), Price(0.1, reading_s=9)).limit
    0
    >>> ask(np.array([0.8, 0.8]), np.array([1.0, 1.0, 1.0]), Price(0.1, 9, waited=20)).limit
    2
    """
    drafted = np.arange(len(alphas) + 1)
    expected, total = expectations(alphas), costs + price.token_s * drafted
    best = int(np.argmax(expected / total))
    saved = float(total[0] - total[best] / expected[best])
    if price.reading_s > saved * price.waited:
        # What is read costs the same however much is drafted.
        total = total + price.reading_s * (drafted > 0)
        best = int(np.argmax(expected / total))
    alpha = float(alphas[0]) if len(alphas) else 0.0
    return Asked(best, alpha, price.token_s, price.reading_s, price.waited, saved)


def break_even(cost: PassCost, token_s: float) -> float | None:
    """Return the acceptance rate from which on drafting at a price beats plain decoding.

    Args:
        cost: T of the target.
        token_s: Seconds per token that the draft model drafts.

    Returns:
        A multiple of 0.01, or None where even a draft model that is always right does not pay.
    """
    costs = cost.at(np.arange(1, LONGEST_DRAWN + 2))
    for percent in range(1, 101):
        alphas = np.full(LONGEST_DRAWN, percent / 100)
        if ask(alphas, costs, Price(token_s)).limit:
            return percent / 100
    return None
