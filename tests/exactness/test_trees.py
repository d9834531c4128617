"""Proof by enumeration: the engine's own walk over ragged rows and token trees is exact."""

from dataclasses import replace
from fractions import Fraction

import pytest

from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.tree import Candidate, merge, walk_sampled
from apply_edit.reference.verify import acceptance_probability, residual
from proposers import Draft
from tests.exactness.enumeration import (
    TreeRng,
    argmax_one_hot,
    distribution,
    joint,
    table_model,
)


class ExactJudge:
    """The engine's questions, answered with fractions and the reference's arithmetic."""

    def __init__(self, rng):
        self.rng = rng

    def accepts(self, p, candidate):
        """Decide on a candidate."""
        return self.rng.bernoulli(acceptance_probability(p, candidate.q, candidate.token))

    def residual(self, p, candidate):
        """Return what a rejection leaves."""
        return residual(p, candidate.q, candidate.token)

    def draw(self, p):
        """Draw a token."""
        return self.rng.categorical(p)


def walk(tree, p_fn, prefix, judge):
    """Run one round over a tree and return the committed tokens."""
    path, extra = walk_sampled(tree, lambda node: p_fn((*prefix, *tree.branch(node))), judge)
    return [*(tree.ids[node] for node in path), extra]


def rounds(offer, length, *, p_fn, make=merge, judge=ExactJudge):
    """Return the exact distribution of the first ``length`` tokens that rounds emit.

    ``offer(prefix, rng)`` gives the drafts of a round.
    """

    def run(rng: TreeRng):
        out = []
        while len(out) < length:
            prefix = (0, *out)
            out += walk(make(offer(prefix, rng)), p_fn, prefix, judge(rng))
        return tuple(out[:length])

    return distribution(run)


def drawn(q_fn, prefix, length, rng, stop=None):
    """Draw a draft of ``length`` tokens from a model, ending early behind ``stop``."""
    ids, probs = [], []
    while len(ids) < length and (not ids or ids[-1] != stop):
        probs.append(q_fn((*prefix, *ids)))
        ids.append(rng.categorical(probs[-1]))
    return Draft(tuple(ids), "draft_model", probs=probs)


def without(row, token):
    """Return a row without one token, renormalised."""
    return residual(row, None, token)


def tenths(*masses):
    """Return a row of tenths."""
    return [Fraction(mass, 10) for mass in masses]


P2, Q2 = table_model(2, 1), table_model(2, 2)
P3, Q3 = table_model(3, 1), table_model(3, 2)
# One row everywhere, chosen so that a rejection leaves the target a choice.
P4 = lambda _: tenths(1, 1, 3, 5)  # noqa: E731 a model is a function
Q4 = lambda _: tenths(5, 3, 1, 1)  # noqa: E731
P3Z, Q3Z = table_model(3, 5, zeros=True), table_model(3, 6, zeros=True)


def two_drawn(prefix, rng):
    """Two paths drawn from the same model, independently."""
    return [drawn(Q2, prefix, 2, rng) for _ in range(2)]


def three_siblings(prefix, rng):
    """Three single tokens drawn with replacement."""
    return [drawn(Q3, prefix, 1, rng) for _ in range(3)]


def three_of_four(prefix, rng):
    """Three single tokens of a draft model that prefers what the target does not."""
    return [drawn(Q4, prefix, 1, rng) for _ in range(3)]


def with_zeros(prefix, rng):
    """Two single tokens from a model that has no mass on some of them."""
    return [drawn(Q3Z, prefix, 1, rng) for _ in range(2)]


def two_models(prefix, rng):
    """A token of one model and one of another."""
    return [drawn(Q3, prefix, 1, rng), drawn(table_model(3, 9), prefix, 1, rng)]


def copies(prefix, rng):
    """Three copied texts that begin alike, the first twice."""
    return [Draft((1, 0, 2)), Draft((1, 2)), Draft((1, 0, 2)), Draft((2, 2))]


def copy_then_drawn(prefix, rng):
    """A copy, and a path drawn from a model, which may repeat it."""
    return [Draft((1, 0)), drawn(Q2, prefix, 2, rng)]


def drawn_then_copy(prefix, rng):
    """A path drawn from a model, and a copy, which may repeat it."""
    return [drawn(Q2, prefix, 2, rng), Draft((1, 0))]


def no_replacement(prefix, rng):
    """The second token is drawn from what the first has left, and its q says so."""
    first = drawn(Q3, prefix, 1, rng)
    rest = without(Q3(prefix), first.ids[0])
    return [first, Draft((rng.categorical(rest),), probs=[rest])]


def ends_early(prefix, rng):
    """Paths that end behind a token of their own, and so have different lengths."""
    return [drawn(Q2, prefix, 2, rng, stop=1) for _ in range(2)]


def second_only_after(prefix, rng):
    """Whether there is a second path depends on the first one, as a limit on width makes it."""
    first = drawn(Q2, prefix, 2, rng, stop=1)
    return [first, drawn(Q2, prefix, 3 - len(first), rng)]


def argmax_drafts(prefix, rng):
    """The argmax of a model is a copy, not a draw."""
    row = argmax_one_hot(Q3)(prefix)
    return [Draft((row.index(1),)), Draft((2,))]


def wider_vocabulary(prefix, rng):
    """The draft model has an id that the target does not have, and draws it."""
    return [drawn(Q3, prefix, 1, rng), drawn(Q3, prefix, 1, rng)]


OFFERS = [
    (two_drawn, P2, 3),
    (three_siblings, P3, 1),
    (three_of_four, P4, 2),
    (with_zeros, P3Z, 2),
    (two_models, P3, 2),
    (copies, P3Z, 3),
    (copy_then_drawn, P2, 3),
    (drawn_then_copy, P2, 3),
    (no_replacement, P3, 2),
    (ends_early, P2, 3),
    (second_only_after, P2, 3),
    (argmax_drafts, P3, 3),
    (wider_vocabulary, P2, 2),
]


@pytest.mark.parametrize(
    ("offer", "p_fn", "length"), OFFERS, ids=lambda x: getattr(x, "__name__", None)
)
def test_trees_emit_exactly_the_target_distribution(offer, p_fn, length):
    """However drafts are made and merged, the joint distribution is the target's, term by term."""
    assert rounds(offer, length, p_fn=p_fn) == joint(p_fn, (0,), length)


def test_a_choice_of_branches_that_does_not_look_is_exact():
    """A fixed number of branches leaves drawn ones out by count, not by value."""
    policy = FixedGamma(2, branches=2)

    def offer(prefix, rng):
        first, *others = [drawn(Q2, prefix, 2, rng, stop=1) for _ in range(3)]
        return [first, *policy.branch(others)]

    assert len(policy.branch([Draft((1, 1), probs=[0, 0])] * 3)) == 1
    assert rounds(offer, 2, p_fn=P2) == joint(P2, (0,), 2)


# Planted bugs: each is a way in which trees are got wrong, and each must be found.


def drop_repeats(drafts):
    """Merge as if a repeated draw were no draw."""
    tree = merge(drafts)
    offered = []
    for candidates in tree.offered:
        first = {}
        for candidate in candidates:
            first.setdefault(candidate.token, candidate)
        offered.append(tuple(first.values()))
    return replace(tree, offered=tuple(offered))


def by_token(drafts):
    """Judge siblings in an order that depends on what was drawn."""
    tree = merge(drafts)
    order = (tuple(sorted(c, key=lambda candidate: candidate.token)) for c in tree.offered)
    return replace(tree, offered=tuple(order))


def cut_by_width(drafts):
    """Leave out candidates once the tree has two nodes: a repeat stays, a new token does not."""
    tree = merge(drafts)
    offered = (tuple(c for c in candidates if c.node < 2) for candidates in tree.offered)
    return replace(tree, offered=tuple(offered))


class JudgesByP(ExactJudge):
    """Judges every sibling by p, without the residual of those before it."""

    def residual(self, p, candidate):
        """Return what a rejection leaves."""
        return p


class ForgetsQ(ExactJudge):
    """Takes drawn tokens for copies (which is no bug)."""

    def accepts(self, p, candidate):
        """Decide on a candidate."""
        return super().accepts(p, replace(candidate, q=None))

    def residual(self, p, candidate):
        """Return what a rejection leaves."""
        return super().residual(p, replace(candidate, q=None))


class HalfResidual(ExactJudge):
    """Draws the residual token from p, but judges siblings rightly."""

    def __init__(self, rng):
        super().__init__(rng)
        self.p = None

    def accepts(self, p, candidate):
        """Decide on a candidate."""
        self.p = p
        return super().accepts(p, candidate)

    def draw(self, p):
        """Draw a token."""
        return super().draw(p if self.p is None else self.p)


MUTANTS = [
    ("repeats dropped", {"make": drop_repeats}),
    ("ordered by value", {"make": by_token}),
    ("cut by width", {"make": cut_by_width}),
    ("siblings judged by p", {"judge": JudgesByP}),
    ("residual of the last sibling forgotten", {"judge": HalfResidual}),
]


@pytest.mark.parametrize(("name", "broken"), MUTANTS, ids=[name for name, _ in MUTANTS])
def test_planted_bugs_of_trees_are_found(name, broken):
    """The very assertion that the engine's walk passes does not hold for the bug."""
    assert rounds(three_of_four, 1, p_fn=P4) == joint(P4, (0,), 1)
    assert rounds(three_of_four, 1, p_fn=P4, **broken) != joint(P4, (0,), 1)


def test_forgetting_q_costs_speed_only():
    """A drawn token may be judged as a copy: exact for any token, and accepted less often."""
    assert rounds(three_of_four, 1, p_fn=P4, judge=ForgetsQ) == joint(P4, (0,), 1)


def test_a_child_judged_by_its_parents_row_is_found():
    """Being off by one row in the tree changes the distribution of the second token."""

    def late(tree, p_fn, prefix, judge):
        def target(node):
            seen = tree.branch(node)[:-1] if node >= 0 else ()
            return p_fn((*prefix, *seen))

        path, extra = walk_sampled(tree, target, judge)
        return [*(tree.ids[node] for node in path), extra]

    def run(rng):
        tree = merge([drawn(Q2, (0,), 2, rng)])
        return tuple([*late(tree, P2, (0,), ExactJudge(rng)), 0])[:2]

    assert distribution(run) != joint(P2, (0,), 2)


# Ragged rows: several requests in one step, each with its own gamma and length.

ROWS = [
    ((0,), 1, 2, False),
    ((1, 1), 2, 2, False),
    ((1, 0), 0, 1, True),
]  # prefix, gamma, length, copy


def ragged(rows, step):
    """Return the exact joint distribution of what all rows emit; rows leave when they have it."""

    def run(rng):
        outs = [[] for _ in rows]
        while True:
            live = [i for i, row in enumerate(rows) if len(outs[i]) < row[2]]
            if not live:
                return tuple(tuple(out[: row[2]]) for out, row in zip(outs, rows, strict=True))
            trees = {}
            for i in live:
                prefix, gamma, _, copy = rows[i]
                prefix = (*prefix, *outs[i])
                draft = Draft((1,) * gamma) if copy else drawn(Q2, prefix, gamma, rng)
                trees[i] = prefix, merge([draft])
            for i, tokens in step(trees, rng).items():
                outs[i] += tokens

    return distribution(run)


def product_of(rows):
    """Return the distribution of independent rows, each with the target's own."""
    result = {(): 1}
    for prefix, _, length, _ in rows:
        alone = joint(P2, prefix, length)
        result = {(*k, v): w * x for k, w in result.items() for v, x in alone.items()}
    return result


def own_runs(trees, rng):
    """Let every row accept a run of its own."""
    return {i: walk(tree, P2, prefix, ExactJudge(rng)) for i, (prefix, tree) in trees.items()}


def shortest_run(trees, rng):
    """Cut all rows to the shortest accepted run and keep each row's own extra token: a bug."""
    runs = own_runs(trees, rng)
    shortest = min(len(tokens) for tokens in runs.values())
    return {i: [*tokens[: shortest - 1], tokens[-1]] for i, tokens in runs.items()}


def neighbours_scores(trees, rng):
    """Judge every row by the scores of the first row: a bug."""
    first = next(iter(trees.values()))[0]
    return {i: walk(tree, P2, first, ExactJudge(rng)) for i, (_, tree) in trees.items()}


@pytest.mark.parametrize("rows", [ROWS[:2], ROWS[1:], ROWS[::2], [ROWS[0], ROWS[0]]])
def test_ragged_rows_are_independent_and_exact(rows):
    """Rows that share steps emit the product of their targets' distributions, term by term."""
    assert ragged(rows, own_runs) == product_of(rows)


@pytest.mark.parametrize("step", [shortest_run, neighbours_scores])
def test_planted_bugs_of_ragged_rows_are_found(step):
    """Cutting runs to the shortest, or mixing up rows, is found."""
    assert ragged(ROWS[:2], step) != product_of(ROWS[:2])


def test_candidates_without_draws_are_certain():
    """A point mass needs no q, and the walk draws nothing but what it decides."""
    tree = merge([Draft((1,))])
    assert tree.candidates(-1) == (Candidate(0, 1, None),)
