"""Section B by statistics: the correct round passes, and every usual bug is caught.

The proofs without statistics are in tests/exactness. These tests show that the sampled test, which
is all that one can run on a big model, tells right from wrong.
"""

import numpy as np
import pytest

from apply_edit.lab.chains import (
    DRAFT,
    TARGET,
    expected_noise,
    first_two_tokens,
    markov,
    pair_probabilities,
)
from apply_edit.lab.greedy_draft import argmax_draft_step, point_mass, softmax_as_it_is
from apply_edit.lab.mutants import MUTANTS, planted_step
from apply_edit.reference import acceptance_rate, speculative_step

RUNS = 30_000
P_FN, Q_FN = markov(TARGET), markov(DRAFT)


def distance(step):
    """Return the TV between 30,000 sampled token pairs (gamma 2) and the exact joint."""
    rng = np.random.default_rng(1)
    pairs = [first_two_tokens(step, P_FN, Q_FN, 2, rng) for _ in range(RUNS)]
    frequencies = np.bincount(pairs, minlength=9) / RUNS
    return 0.5 * np.abs(frequencies - pair_probabilities(TARGET)).sum()


def test_two_tokens_have_the_targets_joint_distribution():
    """TV below 0.015 over 30,000 runs.

    One run changes the TV by at most 1/30,000, so by the bounded-differences inequality a correct
    round exceeds its mean of 0.0056 by 0.0094 with a probability below 0.005 (observed: the 99th
    percentile is 0.010). The seed is fixed.
    """
    assert distance(speculative_step) < 0.015


def test_the_noise_of_a_correct_round_is_as_expected():
    """The mean distance that chance alone causes is 0.0056 for this joint and 30,000 runs."""
    assert round(expected_noise(pair_probabilities(TARGET), RUNS), 4) == 0.0056


FIGURES = {
    "residual replaced by p": 0.17,
    "verifying on after a rejection": 0.18,
    "ratio inverted": 0.52,
    "argmax check while sampling": 0.64,
    "no verification": 0.52,
    "off by one in the target's position": 0.61,
}


@pytest.mark.parametrize("name", FIGURES)
def test_planted_bugs_are_far_from_the_target(name):
    """Each bug is caught at about its known distance, ten times the limit and more.

    Level: as above, a deviation of 0.015 from the exact distance has a probability below 0.005.
    """
    tv = distance(planted_step(MUTANTS[name]))
    assert tv == pytest.approx(FIGURES[name], abs=0.015)


def test_without_the_bonus_token_the_distribution_is_still_right():
    """This bug costs speed only, so the TV test must pass it (level as for the correct round)."""
    assert distance(planted_step(MUTANTS["no bonus token"])) < 0.015


def mean_length(step):
    """Return the mean number of tokens of 20,000 rounds at alpha = 0.8, gamma = 4."""
    rng = np.random.default_rng(4)
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.3, 0.4])
    assert acceptance_rate(p, q) == pytest.approx(0.8)
    return np.mean([len(step(lambda _: p, lambda _: q, (0,), 4, rng)) for _ in range(20_000)])


def test_rounds_are_as_long_as_the_formula_says():
    """20,000 rounds have a mean length within 2 % of 3.3616.

    A round's standard deviation is below 1.6, the mean's below 0.0114; 2 % are almost six of them
    (level about 4e-9).
    """
    assert mean_length(speculative_step) == pytest.approx(3.3616, rel=0.02)


def test_the_length_gives_the_missing_bonus_token_away():
    """Without it the mean is 1 + 0.8 + 0.64 + 0.512 = 2.95 (level as above)."""
    assert mean_length(planted_step(MUTANTS["no bonus token"])) == pytest.approx(2.952, rel=0.02)


def test_a_drafter_that_emits_its_argmax_is_exact_with_the_one_hot_q():
    """The point mass is what the token was drawn from (level as for the correct round)."""
    assert distance(argmax_draft_step(point_mass)) < 0.015


def test_a_drafter_that_emits_its_argmax_is_wrong_with_its_softmax():
    """The same drafts with the softmax as q are far from the target."""
    assert distance(argmax_draft_step(softmax_as_it_is)) > 0.1


def test_a_round_is_reproducible_and_within_its_length():
    """All randomness comes from the generator; 1 to k + 1 plain ints come back."""
    for seed in range(50):
        k = seed % 5
        first = speculative_step(P_FN, Q_FN, (0,), k, np.random.default_rng(seed))
        again = speculative_step(P_FN, Q_FN, (0,), k, np.random.default_rng(seed))
        assert first == again
        assert 1 <= len(first) <= k + 1
        assert all(type(token) is int for token in first)


def test_arrays_and_lists_give_the_same_round():
    """Rows may be NumPy arrays or lists of numbers."""
    as_array = markov([np.array(row) for row in TARGET])
    q_array = markov([np.array(row) for row in DRAFT])
    for seed in range(30):
        lists = speculative_step(P_FN, Q_FN, (0,), 3, np.random.default_rng(seed))
        assert speculative_step(as_array, q_array, (0,), 3, np.random.default_rng(seed)) == lists


def test_each_draft_is_judged_after_the_drafts_before_it():
    """The target is asked for the prefix and for every draft added to it, in order."""
    asked = []

    def p_fn(prefix):
        asked.append(prefix)
        return [0.0, 1.0]

    tokens = speculative_step(p_fn, lambda _: [0.0, 1.0], (5,), 3, np.random.default_rng(1))
    assert tokens == [1, 1, 1, 1]
    assert asked == [(5,), (5, 1), (5, 1, 1), (5, 1, 1, 1)]


def test_a_negative_k_is_refused():
    """A k below zero raises ValueError."""
    with pytest.raises(ValueError, match="k must not be negative"):
        speculative_step(P_FN, Q_FN, (0,), -1, np.random.default_rng(1))
