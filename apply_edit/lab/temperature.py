"""Experiment 3: how the acceptance rate depends on the temperature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from apply_edit.lab.result import LabResult, Plot, Series
from apply_edit.reference.theory import acceptance_rate
from apply_edit.reference.verify import one_hot

VOCAB = 1000
SPREAD = 3.0
CORRELATIONS = (0.5, 0.9, 0.99)
TEMPERATURES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)


def probabilities(logits: NDArray[np.floating], temperature: float) -> NDArray[np.float64]:
    """Return softmax(logits / temperature); the one-hot row of the argmax at temperature 0."""
    if temperature == 0:
        return one_hot(len(logits), int(np.argmax(logits)))
    # Divided in double precision: float32 logits over 0.1 would lose digits for nothing.
    scaled = logits.astype(np.float64) / temperature
    weights = np.exp(scaled - scaled.max())
    return np.asarray(weights / weights.sum())


def mean_alpha(correlation: float, runs: int, seed: int) -> tuple[float, ...]:
    """Return the mean acceptance rate at every temperature over ``runs`` pairs of logits."""
    rng = np.random.default_rng(seed)
    totals = np.zeros(len(TEMPERATURES))
    for _ in range(runs):
        target, noise = rng.normal(scale=SPREAD, size=(2, VOCAB))
        draft = correlation * target + np.sqrt(1 - correlation**2) * noise
        totals += [
            acceptance_rate(probabilities(target, t), probabilities(draft, t)) for t in TEMPERATURES
        ]
    return tuple((totals / runs).tolist())


def run(runs: int, seed: int) -> LabResult:
    """Average the acceptance rate over random pairs of correlated logit vectors.

    Args:
        runs: Pairs per correlation.
        seed: Seeds the random numbers; every correlation sees the same target logits.
    """
    series = tuple(
        Series(f"correlation {rho}", TEMPERATURES, mean_alpha(rho, runs, seed))
        for rho in CORRELATIONS
    )
    columns = tuple(line.ys for line in series)
    return LabResult(
        name="temperature",
        title=f"Acceptance rate of two correlated logit vectors ({VOCAB} normal logits with "
        f"standard deviation {SPREAD:g}, {runs:,} pairs)",
        columns=("temperature", *(line.label for line in series)),
        rows=tuple(
            ("0 (greedy)" if t == 0 else f"{t:g}", *(f"{alphas[i]:.3f}" for alphas in columns))
            for i, t in enumerate(TEMPERATURES)
        ),
        plot=Plot("temperature", "acceptance rate alpha", series),
        notes=(
            "At temperature 0 the rate is the share of equal argmaxes. Towards high temperatures "
            "both distributions become flat, and alike.",
        ),
    )
