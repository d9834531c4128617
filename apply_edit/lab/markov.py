"""Experiment 2: acceptances are not independent, and what the formula makes of that."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from apply_edit.lab.chains import DRAFT, START, TARGET, markov, stationary
from apply_edit.lab.result import LabResult, Plot, Series
from apply_edit.reference.rounds import speculative_step
from apply_edit.reference.theory import acceptance_rate, expected_tokens

GAMMAS = tuple(range(1, 7))


def average_alpha() -> float:
    """Return the acceptance rate averaged over the positions of a text of the target."""
    rates = [acceptance_rate(p, q) for p, q in zip(TARGET, DRAFT, strict=True)]
    return float(np.dot(stationary(TARGET), rates))


def exact_length(gamma: int) -> float:
    """Return the exact mean number of tokens per round, in a long text.

    With ``keep[s, x] = min(p, q)``, the mass of drafting x after s and accepting it, a round with g
    drafts to go has the mean length L(g, s) = 1 + sum over x of keep[s, x] L(g - 1, x), and L(0) is
    the bonus token alone. Rounds do not begin after just any token of the text; the same recursion
    gives the distribution of a round's last token, and its stationary distribution the weights.
    """
    p, q = np.array(TARGET), np.array(DRAFT)
    keep = np.minimum(p, q)
    # Mass of rejecting after s and correcting to t; the residual before normalisation.
    correct = np.maximum(p - q, 0)
    length: NDArray[np.float64] = np.ones(len(p))
    last = p
    for _ in range(gamma):
        length = 1 + keep @ length
        last = keep @ last + correct
    return float(np.dot(stationary(list(last)), length))


def measured_length(gamma: int, rounds: int, seed: int) -> float:
    """Return the mean number of tokens of consecutive rounds."""
    rng = np.random.default_rng((seed, gamma))
    p_fn, q_fn = markov(TARGET), markov(DRAFT)
    prefix, emitted = START, 0
    for _ in range(rounds):
        tokens = speculative_step(p_fn, q_fn, prefix, gamma, rng)
        emitted += len(tokens)
        # The chain forgets all but the newest token, so the prefix need not grow.
        prefix = (tokens[-1],)
    return emitted / rounds


def run(runs: int, seed: int) -> LabResult:
    """Measure tokens per round for gamma 1 to 6 and put the formula beside them.

    Args:
        runs: Rounds per gamma.
        seed: Seeds the random numbers.
    """
    alpha = average_alpha()
    measured = tuple(measured_length(gamma, runs, seed) for gamma in GAMMAS)
    exact = tuple(exact_length(gamma) for gamma in GAMMAS)
    formula = tuple(expected_tokens(alpha, gamma) for gamma in GAMMAS)
    off = max(abs(f / e - 1) for f, e in zip(formula, exact, strict=True))
    return LabResult(
        name="markov",
        title="Tokens per round on a Markov chain: acceptance rate 0.6 after token 0, 0.5 after "
        f"1 and 2, {alpha:.4f} on average",
        columns=("gamma", f"measured ({runs:,} rounds)", "exact", "formula at the average", "off"),
        rows=tuple(
            (str(gamma), f"{m:.4f}", f"{e:.4f}", f"{f:.4f}", f"{100 * (f / e - 1):+.2f} %")
            for gamma, m, e, f in zip(GAMMAS, measured, exact, formula, strict=True)
        ),
        plot=Plot(
            "gamma",
            "tokens per round",
            (
                Series("measured", GAMMAS, measured),
                Series("exact for the chain", GAMMAS, exact, dashed=True),
                Series("formula at the average alpha", GAMMAS, formula, dashed=True),
            ),
        ),
        notes=(
            "The formula takes acceptances to be independent. Here they are not: which token was "
            "accepted decides how likely the next acceptance is. With rates as close as 0.5 and "
            f"0.6 it is nevertheless off by {100 * off:.2f} % at most.",
        ),
    )
