"""The small world of the experiments: a target and a draft over three tokens.

Both are Markov chains, so the next token depends on the newest one only, and the whole truth about
them can be computed. The draft is a bad one on purpose (acceptance rate 0.6 after token 0, 0.5
after 1 and 2): with a good one even a wrong implementation looks right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from apply_edit.reference.rounds import PrefixFn
from apply_edit.reference.verify import HasRandom, Row

# Row i is the distribution after token i, in tenths, so that tests can have it as exact fractions.
TARGET_TENTHS = ((6, 3, 1), (2, 1, 7), (2, 7, 1))
DRAFT_TENTHS = ((2, 6, 2), (5, 3, 2), (5, 2, 3))

START = (0,)
VOCAB = 3

# Runs one round; like ``speculative_step``, a planted bug, or something in between.
RoundFn = Callable[[PrefixFn, PrefixFn, tuple[int, ...], int, HasRandom], list[int]]


def markov(rows: Sequence[Row]) -> PrefixFn:
    """Return the model whose distribution after a prefix is ``rows[newest id]``."""

    def model(prefix: tuple[int, ...]) -> Row:
        return rows[prefix[-1]]

    return model


def tenths(table: Sequence[Sequence[int]]) -> list[list[float]]:
    """Return a table of tenths as probabilities (lists, since three numbers make no array)."""
    return [[mass / 10 for mass in row] for row in table]


TARGET = tuple(map(tuple, tenths(TARGET_TENTHS)))
DRAFT = tuple(map(tuple, tenths(DRAFT_TENTHS)))


def pair_probabilities(rows: Sequence[Row], start: int = START[-1]) -> NDArray[np.float64]:
    """Return the exact distribution of the first two tokens after ``start``.

    Returns:
        ``[9]``; entry ``3 * x + y`` belongs to the tokens x, y.
    """
    pairs = product(range(VOCAB), repeat=2)
    return np.array([rows[start][x] * rows[x][y] for x, y in pairs])


def first_two_tokens(
    step: RoundFn, p_fn: PrefixFn, q_fn: PrefixFn, gamma: int, rng: HasRandom
) -> int:
    """Run rounds from the start until two tokens are out; return their index ``3 * x + y``."""
    out: list[int] = []
    while len(out) < 2:
        out += step(p_fn, q_fn, (*START, *out), gamma, rng)
    return VOCAB * out[0] + out[1]


def expected_noise(probabilities: NDArray[np.float64], runs: int) -> float:
    """Return about how far the frequencies of ``runs`` correct runs are from the truth, as TV.

    A frequency is off by sqrt(p(1-p)/n) in the root mean square, and by sqrt(2/pi) times that in
    the mean; TV is half the sum.
    """
    spread = np.sqrt(probabilities * (1 - probabilities) / runs)
    return float(np.sqrt(2 / np.pi) * spread.sum() / 2)


def stationary(rows: Sequence[Row]) -> NDArray[np.float64]:
    """Return the long-run share of each token in a text of the chain."""
    matrix = np.array(rows, dtype=float)
    # The left eigenvector for eigenvalue 1, by solving w (M - I) = 0 together with sum(w) = 1.
    equations = np.vstack([matrix.T - np.eye(len(matrix)), np.ones(len(matrix))])
    right = np.append(np.zeros(len(matrix)), 1.0)
    return np.asarray(np.linalg.lstsq(equations, right, rcond=None)[0])
