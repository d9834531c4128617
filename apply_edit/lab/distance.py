"""Measure how far a round's output is from the truth while the number of runs grows."""

from __future__ import annotations

import numpy as np

from apply_edit.lab.chains import (
    DRAFT,
    TARGET,
    RoundFn,
    expected_noise,
    first_two_tokens,
    markov,
    pair_probabilities,
)
from apply_edit.lab.result import Series

GAMMA = 2


def checkpoints(runs: int) -> tuple[int, ...]:
    """Return two numbers of runs per power of ten from 1,000 on, and ``runs`` at the end.

    >>> checkpoints(100_000)
    (1000, 3162, 10000, 31623, 100000)
    >>> checkpoints(200)
    (200,)
    """
    steps = [round(10 ** (half / 2)) for half in range(6, 2 * len(str(runs)) + 1)]
    return (*(step for step in steps if step < runs), runs)


def distances(step: RoundFn, runs: int, seed: tuple[int, ...]) -> tuple[float, ...]:
    """Return the TV between sampled token pairs and the target's joint, at every checkpoint.

    Args:
        step: The round to judge; it runs on the chains of :mod:`apply_edit.lab.chains`.
        runs: How many pairs to draw.
        seed: Seeds the random numbers; give each round its own.
    """
    rng = np.random.default_rng(seed)
    p_fn, q_fn = markov(TARGET), markov(DRAFT)
    truth = pair_probabilities(TARGET)
    counts = np.zeros(len(truth))
    result = []
    done = 0
    for stop in checkpoints(runs):
        for _ in range(stop - done):
            counts[first_two_tokens(step, p_fn, q_fn, GAMMA, rng)] += 1
        done = stop
        result.append(float(0.5 * np.abs(counts / done - truth).sum()))
    return tuple(result)


def noise_series(runs: int) -> Series:
    """Return the distance that chance alone causes on average, at every checkpoint."""
    truth = pair_probabilities(TARGET)
    stops = checkpoints(runs)
    noise = tuple(expected_noise(truth, stop) for stop in stops)
    return Series("chance alone", stops, noise, dashed=True)
