"""The helper of the proofs is itself checked on cases that can be done by hand."""

from fractions import Fraction

import pytest

from tests.exactness.enumeration import distribution, total_variation

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def test_every_branch_is_walked_once_with_its_probability():
    """A decision that depends on another one gets the product of both probabilities."""

    def run(rng):
        if rng.bernoulli(THIRD):
            return "early"
        return rng.categorical([HALF, Fraction(0), HALF])

    assert distribution(run) == {"early": THIRD, 0: THIRD, 2: THIRD}


def test_a_run_without_decisions_is_certain():
    """Code that draws nothing has one outcome with probability one."""
    assert distribution(lambda rng: 7) == {7: 1}


@pytest.mark.parametrize("row", [[0.5, 0.5], [HALF, THIRD]])
def test_inexact_probabilities_are_refused(row):
    """A float, or a row that does not sum to one, would make a proof worthless."""
    with pytest.raises(AssertionError):
        distribution(lambda rng: rng.categorical(row))


def test_total_variation_counts_what_only_one_side_has():
    """Outcomes that one side lacks count as zero there."""
    assert total_variation({0: HALF, 1: HALF}, {0: HALF, 2: HALF}) == HALF
