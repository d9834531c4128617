"""The verification that all layers share, at its edges."""

import pytest

from apply_edit.reference import (
    UniformDraws,
    Verdict,
    acceptance_probability,
    residual,
    verify,
)


def uniforms(*numbers):
    """Return draws that use up the given numbers."""
    return UniformDraws(iter(numbers).__next__)


def test_one_uniform_number_per_decision():
    """Two acceptances and the bonus take three numbers, in this order."""
    rows = [[0.5, 0.5]] * 3
    assert verify([0, 1], rows[:2], rows, uniforms(0.9, 0.9, 0.6)) == Verdict(2, 1)


def test_drafts_after_a_rejection_are_dropped():
    """The first rejection decides; nothing is drawn for later drafts."""
    p, q = [0.1, 0.9], [1.0, 0.0]
    assert verify([0, 0, 0], [q] * 3, [p] * 4, uniforms(0.05, 0.5, 0.0)) == Verdict(1, 1)


def test_the_bonus_comes_from_the_last_row():
    """After full acceptance the row behind the last draft is drawn from."""
    p_rows = [[1.0, 0.0], [0.0, 1.0]]
    assert verify([0], [None], p_rows, uniforms(0.0, 0.0)) == Verdict(1, 1)


def test_equal_rows_are_accepted_for_certain():
    """p(x) = q(x) is a ratio of one: even the largest uniform number accepts."""
    row = [0.1, 0.7, 0.2]
    assert verify([2], [row], [row, row], uniforms(1 - 2**-53, 0.0)) == Verdict(1, 0)


def test_a_residual_lost_to_rounding_falls_back_to_p():
    """Rows p and q that differ by less than rounding leave nothing; p stands in."""
    p = [0.1, 0.9]
    q = [0.1 + 2**-50, 0.9]
    assert residual(p, q, 0) == p
    assert verify([0], [q], [p, p], uniforms(1 - 2**-53, 0.5)) == Verdict(0, 1)


def test_a_certain_copy_leaves_no_residual():
    """A point mass that the target shares cannot be rejected; asked anyway, p is returned."""
    assert residual([0.0, 1.0], None, 1) == [0.0, 1.0]


@pytest.mark.parametrize("token", [-1, 2, 99])
def test_an_id_outside_the_vocabulary_is_rejected_for_certain(token):
    """A copied id that the target does not know has no mass; p itself is the residual."""
    p = [0.25, 0.75]
    assert verify([token], [None], [p, p], uniforms(0.0, 0.3)) == Verdict(0, 1)


def test_a_token_that_q_could_not_have_drawn_is_an_error():
    """A wrong q would bias the output in silence; zero mass gives it away."""
    with pytest.raises(ValueError, match="token 1 has probability 0"):
        acceptance_probability([0.5, 0.5], [1.0, 0.0], 1)


@pytest.mark.parametrize(("num_q", "num_p"), [(0, 2), (1, 1), (1, 3)])
def test_rows_must_fit_the_drafts(num_q, num_p):
    """One row of q per draft and one more of p, or an error that says so."""
    row = [0.5, 0.5]
    with pytest.raises(ValueError, match="1 drafts need 1 rows of q and 2 rows of p"):
        verify([0], [row] * num_q, [row] * num_p, uniforms())
