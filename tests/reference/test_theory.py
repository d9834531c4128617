"""The formulas give the figures that the specification names."""

import numpy as np
import pytest

from apply_edit.reference import (
    acceptance_rate,
    best_gamma,
    break_even_cost,
    expected_speedup,
    expected_tokens,
)

# (tokens per pass, speedup at c = 0.05) for gamma 1 to 10.
SPEED_TABLE = {
    0.6: "1.60/1.52 1.96/1.78 2.18/1.89 2.31/1.92 2.38/1.91 "
    "2.43/1.87 2.46/1.82 2.47/1.77 2.48/1.71 2.49/1.66",
    0.8: "1.80/1.71 2.44/2.22 2.95/2.57 3.36/2.80 3.69/2.95 "
    "3.95/3.04 4.16/3.08 4.33/3.09 4.46/3.08 4.57/3.05",
}


@pytest.mark.parametrize("alpha", SPEED_TABLE)
def test_speed_table(alpha):
    """Tokens per pass and speedup agree with the published table to two decimals."""
    got = " ".join(
        f"{expected_tokens(alpha, k):.2f}/{expected_speedup(alpha, k, 0.05):.2f}"
        for k in range(1, 11)
    )
    assert got == SPEED_TABLE[alpha]


def test_acceptance_rate_is_the_overlap():
    """The overlap of the example is 0.8, and it is 1 minus the total variation distance."""
    p, q = [0.5, 0.3, 0.2], [0.3, 0.3, 0.4]
    assert acceptance_rate(p, q) == pytest.approx(0.8)
    assert acceptance_rate(p, q) == pytest.approx(1 - 0.5 * np.abs(np.subtract(p, q)).sum())
    assert acceptance_rate(p, p) == pytest.approx(1)
    assert acceptance_rate([1, 0], [0, 1]) == 0


def test_expected_tokens_at_the_ends():
    """No acceptance gives exactly one token, certain acceptance exactly k + 1."""
    assert expected_tokens(0, 7) == 1.0
    assert expected_tokens(1, 7) == 8.0
    assert expected_tokens(0.8, 0) == 1.0
    assert expected_tokens(0.8, 4) == pytest.approx(3.3616)
    assert expected_tokens(0.8, 4) == pytest.approx((1 - 0.8**5) / (1 - 0.8))


def test_speedup_example():
    """At alpha 0.8, k 4, c 0.05 speculation is 2.80 times as fast."""
    assert round(expected_speedup(0.8, 4, 0.05), 2) == 2.80


@pytest.mark.parametrize(("alpha", "cost"), [(0.8, "0.59"), (0.6, "0.33")])
def test_break_even(alpha, cost):
    """Speculation pays below this cost ratio and not above it."""
    limit = break_even_cost(alpha, 4)
    assert f"{limit:.2f}" == cost
    assert expected_speedup(alpha, 4, limit) == pytest.approx(1)
    assert expected_speedup(alpha, 4, limit - 0.01) > 1 > expected_speedup(alpha, 4, limit + 0.01)


@pytest.mark.parametrize(("alpha", "gamma", "speedup"), [(0.8, 3, "1.51"), (0.6, 1, "1.21")])
def test_best_gamma_of_an_expensive_draft(alpha, gamma, speedup):
    """At c = 0.32 short drafts are best."""
    assert best_gamma(alpha, 0.32) == gamma
    assert f"{expected_speedup(alpha, gamma, 0.32):.2f}" == speedup


def test_best_gamma_is_zero_where_nothing_pays():
    """A draft that costs as much as the target and is mostly wrong is best left out."""
    assert best_gamma(0.1, 1.0) == 0


def test_copy_drafting():
    """A copy that is right with 0.95 at 16 drafts gives about 11.6 tokens per pass."""
    assert round(expected_tokens(0.95, 16), 1) == 11.6


@pytest.mark.parametrize(
    "call",
    [
        lambda: expected_tokens(1.1, 4),
        lambda: expected_tokens(-0.1, 4),
        lambda: expected_tokens(0.5, -1),
        lambda: expected_speedup(0.5, 4, -0.1),
        lambda: break_even_cost(0.5, 0),
        lambda: acceptance_rate([0.5, 0.5], [1.0]),
    ],
)
def test_impossible_values_are_refused(call):
    """Values outside their range raise ValueError instead of giving a number."""
    with pytest.raises(ValueError, match="must"):
        call()
