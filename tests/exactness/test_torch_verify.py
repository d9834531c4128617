"""The engine's verification on tensors decides as the reference does, given the same numbers."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from apply_edit.decode.tree import merge, walk_sampled
from apply_edit.decode.verify import verify_sampled
from apply_edit.reference.verify import (
    UniformDraws,
    acceptance_probability,
    residual,
    verify,
)
from proposers import Draft
from tests.exactness.profile import exact

VOCAB = 5

# Small whole weights give zeros, equal masses and equal rows often.
weights = st.lists(st.integers(0, 4), min_size=VOCAB, max_size=VOCAB).filter(any)
rows = weights.map(lambda masses: [mass / sum(masses) for mass in masses])
# Never on a border of two outcomes, where one rounding may differ from the other.
uniforms = st.lists(st.integers(0, 9972), min_size=40, max_size=40).map(
    lambda numbers: [(number + 0.5) / 9973 for number in numbers]
)


class ReferenceJudge:
    """The engine's questions, answered by the reference."""

    def __init__(self, draws):
        self.draws = draws

    def accepts(self, p, candidate):
        """Decide on a candidate."""
        q = None if candidate.q is None else candidate.q.tolist()
        return self.draws.bernoulli(acceptance_probability(p, q, candidate.token))

    def residual(self, p, candidate):
        """Return what a rejection leaves."""
        return residual(p, None if candidate.q is None else candidate.q.tolist(), candidate.token)

    def draw(self, p):
        """Draw a token."""
        return self.draws.categorical(p)


@st.composite
def rounds(draw):
    """Return a draft, its q or None, and rows of p, one more than tokens."""
    length = draw(st.integers(0, 5))
    p = draw(st.lists(rows, min_size=length + 1, max_size=length + 1))
    if draw(st.booleans()):
        return draw(st.lists(st.integers(0, VOCAB), min_size=length, max_size=length)), None, p
    q = [draw(st.one_of(rows, st.just(p[i]))) for i in range(length)]
    ids = [draw(st.sampled_from([i for i in range(VOCAB) if row[i] > 0])) for row in q]
    return ids, q, p


def tensor(values):
    """Return rows as the engine has them."""
    return torch.tensor(values, dtype=torch.float64)


@exact
@given(rounds(), uniforms)
def test_a_linear_round_is_that_of_the_reference(case, numbers):
    """Accepted run and extra token are equal, and so is how many numbers are used."""
    ids, q, p = case
    ours, theirs = iter(numbers), iter(numbers)
    tree = merge([Draft(tuple(ids), probs=None if q is None else tensor(q).view(-1, VOCAB))])
    path, extra = verify_sampled(tree, lambda node: tensor(p[node + 1]), ours.__next__)
    verdict = verify(ids, q or [None] * len(ids), p, UniformDraws(theirs.__next__))
    assert (len(path), extra) == (verdict.accepted, verdict.extra)
    assert next(ours) == next(theirs)


@st.composite
def bushes(draw):
    """Return drafts, drawn and copied ones, that often begin alike."""
    drafts = []
    for _ in range(draw(st.integers(1, 4))):
        length = draw(st.integers(1, 3))
        q = draw(st.lists(rows, min_size=length, max_size=length))
        ids = [draw(st.sampled_from([i for i in range(VOCAB) if row[i] > 0])) for row in q]
        drawn = draw(st.booleans())
        drafts.append(Draft(tuple(ids), probs=tensor(q) if drawn else None))
    return merge(drafts)


@exact
@given(bushes(), st.data(), uniforms)
def test_a_tree_is_judged_as_the_reference_judges_it(tree, data, numbers):
    """The same branch is accepted and the same token follows, with the same numbers."""
    p = data.draw(st.lists(rows, min_size=len(tree) + 1, max_size=len(tree) + 1))
    ours, theirs = iter(numbers), iter(numbers)
    got = verify_sampled(tree, lambda node: tensor(p[node + 1]), ours.__next__)
    judge = ReferenceJudge(UniformDraws(theirs.__next__))
    assert got == walk_sampled(tree, lambda node: p[node + 1], judge)
    assert next(ours) == next(theirs)


def test_swapping_p_and_q_would_be_seen():
    """The comparison tells a swapped ratio apart: 0.3 / 0.8 rejects where 0.8 / 0.3 accepts."""
    p, q, after = [0.7, 0.3], [0.2, 0.8], [0.5, 0.5]
    right = verify([1], [q], [p, after], UniformDraws(iter([0.5, 0.1]).__next__))
    tree = merge([Draft((1,), probs=tensor([p]))])
    rows = [tensor(q), tensor(after)]
    swapped = verify_sampled(tree, lambda node: rows[node + 1], iter([0.5, 0.1]).__next__)
    assert (right.accepted, right.extra) == (0, 0)
    assert (len(swapped[0]), swapped[1]) == (1, 0)
