import pytest
import torch

from apply_edit.decode.tree import merge
from apply_edit.decode.verify import accept, residual, verify_sampled
from proposers import Draft

P = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
Q = torch.tensor([0.2, 0.2, 0.6], dtype=torch.float64)


@pytest.mark.parametrize(
    ("q", "token", "uniform", "accepted"),
    [
        (Q, 0, 0.999, True),  # p > q
        (Q, 2, 0.33, True),  # 0.2 / 0.6
        (Q, 2, 0.34, False),
        (None, 2, 0.19, True),  # a copy: p(x)
        (None, 2, 0.21, False),
        (None, 3, 0.0, False),  # an id that the target does not have
        (None, -1, 0.0, False),
    ],
)
def test_a_token_is_accepted_with_p_over_q(q, token, uniform, accepted):
    """The chance is min(1, p/q), and p where nothing was drawn."""
    assert accept(P, q, token, uniform) is accepted


def test_the_residual_is_where_the_target_has_more():
    """Normalised max(0, p - q), or p without the token of a copy."""
    assert residual(P, Q, 2).tolist() == pytest.approx([0.75, 0.25, 0])
    assert residual(P, None, 0).tolist() == pytest.approx([0, 0.6, 0.4])
    assert residual(P, None, 7).tolist() == pytest.approx(P.tolist())


def test_an_empty_residual_is_the_target_itself():
    """Where p equals q but for rounding nothing is left, and p is the answer."""
    assert residual(P, P, 0).tolist() == P.tolist()
    sure = torch.tensor([0.0, 1.0], dtype=torch.float64)
    assert residual(sure, None, 1).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("size", [2, 5])
def test_vocabularies_of_different_size_are_compared_on_the_common_part(size):
    """What only one of the models has counts as zero for the other."""
    q = torch.zeros(size, dtype=torch.float64)
    q[:2] = torch.tensor([0.5, 0.5])
    assert residual(P, q, 0).tolist() == pytest.approx([0, 0, 1])


@pytest.mark.parametrize("length", range(4))
@pytest.mark.parametrize("kept", range(4))
def test_every_accept_count_has_its_extra_token(length, kept):
    """0, 1, K - 1 and K tokens are accepted, then the residual or the bonus token follows."""
    if kept > length:
        pytest.skip("more than was drafted")
    tree = merge([Draft((0,) * length)])
    rows = [torch.tensor([1.0, 0.0])] * kept + [torch.tensor([0.0, 1.0])]
    path, extra = verify_sampled(tree, lambda node: rows[node + 1], lambda: 0.5)
    assert (path, extra) == (list(range(kept)), 1)


def test_rows_behind_a_rejection_are_never_asked_for():
    """The rest of the draft continues a text that no longer exists."""
    asked = []

    def target(node):
        asked.append(node)
        return torch.tensor([0.0, 1.0])

    verify_sampled(merge([Draft((0, 0, 0))]), target, lambda: 0.5)
    assert asked == [-1]
