"""Proof by enumeration: linear rounds emit the target's distribution, exactly, whatever drafts."""

from fractions import Fraction
from itertools import product

import pytest

from apply_edit.lab.chains import DRAFT_TENTHS, START, TARGET_TENTHS, markov
from apply_edit.lab.mutants import MUTANTS, planted_step
from apply_edit.reference import speculative_sample, speculative_step, verify
from tests.exactness.enumeration import (
    TreeRng,
    argmax_one_hot,
    distribution,
    joint,
    table_model,
    total_variation,
)


def emitted(step, p_fn, q_fn, gamma, length, prefix=(0,)):
    """Return the exact distribution of the first ``length`` tokens that rounds of ``step`` emit."""

    def run(rng: TreeRng):
        out = []
        while len(out) < length:
            out += step(p_fn, q_fn, (*prefix, *out), gamma, rng)
        return tuple(out[:length])

    return distribution(run)


SHAPES = [  # (vocab, gamma, tokens to emit): the last is gamma + 2 or more, so two rounds at least
    (2, 0, 2),
    (2, 1, 4),
    (2, 3, 5),
    (3, 1, 3),
    (3, 2, 4),
    (4, 1, 3),
    (5, 1, 3),
]


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize(("vocab", "gamma", "length"), SHAPES)
def test_consecutive_rounds_emit_exactly_the_target_distribution(vocab, gamma, length, zeros):
    """The joint distribution over several rounds equals the target's, term by term."""
    p_fn, q_fn = table_model(vocab, 1, zeros), table_model(vocab, 2, zeros)
    want = joint(p_fn, (0,), length)
    assert emitted(speculative_step, p_fn, q_fn, gamma, length) == want


@pytest.mark.parametrize(("vocab", "gamma", "length"), SHAPES)
def test_a_deciding_drafter_is_exact_with_its_one_hot_row(vocab, gamma, length):
    """A draft model that takes its argmax is exact when q is the point mass on it."""
    p_fn, q_fn = table_model(vocab, 3), argmax_one_hot(table_model(vocab, 4))
    want = joint(p_fn, (0,), length)
    assert emitted(speculative_step, p_fn, q_fn, gamma, length) == want


def copying_step(copied):
    """Return a round that proposes ``copied`` from where the prefix stands, with q=None."""

    def step(p_fn, q_fn, prefix, gamma, rng):
        draft = list(copied[len(prefix) - 1 :][:gamma])
        p_rows = [p_fn((*prefix, *draft[:i])) for i in range(len(draft) + 1)]
        verdict = verify(draft, [None] * len(draft), p_rows, rng)
        return [*draft[: verdict.accepted], verdict.extra]

    return step


@pytest.mark.parametrize("copied", list(product(range(3), repeat=3)))
def test_copied_drafts_are_exact_as_point_masses(copied):
    """Whatever text is copied (q=None), the output has the target's distribution."""
    p_fn = table_model(3, 5, zeros=True)
    want = joint(p_fn, (0,), 4)
    assert emitted(copying_step(copied), p_fn, None, 3, 4) == want


def test_a_draft_may_mix_copied_and_drawn_tokens():
    """Two rows of q in one draft, one a point mass and one drawn from, are exact together."""
    p_fn, q_fn = table_model(3, 6), table_model(3, 7)

    def step(p_fn, q_fn, prefix, gamma, rng):
        copied = 2
        q_row = q_fn((*prefix, copied))
        draft = [copied, rng.categorical(q_row)]
        p_rows = [p_fn((*prefix, *draft[:i])) for i in range(3)]
        verdict = verify(draft, [None, q_row], p_rows, rng)
        return [*draft[: verdict.accepted], verdict.extra]

    assert emitted(step, p_fn, q_fn, 2, 4) == joint(p_fn, (0,), 4)


@pytest.mark.parametrize(("target_vocab", "draft_vocab"), [(3, 2), (2, 3), (4, 2)])
def test_vocabularies_of_different_size_are_exact(target_vocab, draft_vocab):
    """Ids that only the target has come out by the residual, ids that only the draft has never."""
    p_fn, q_fn = table_model(target_vocab, 8), table_model(draft_vocab, 9)

    def wide_p(prefix):
        # The rows after a draft id that the target lacks are never read.
        known = all(token < target_vocab for token in prefix)
        return p_fn(prefix) if known else [Fraction(0)] * target_vocab

    want = joint(p_fn, (0,), 3)
    assert emitted(speculative_step, wide_p, q_fn, 1, 3) == want


def plain_outputs(target, prompt, max_new, eos):
    """Return the exact distribution of whole outputs of plain sampling."""

    def run(rng: TreeRng):
        out = []
        while len(out) < max_new and (not out or out[-1] != eos):
            out.append(rng.categorical(target([*prompt, *out])))
        return tuple(out)

    return distribution(run)


@pytest.mark.parametrize("eos", [None, 0, 1])
@pytest.mark.parametrize(("max_new", "k"), [(0, 2), (1, 3), (2, 1), (3, 2), (4, 2), (4, 5)])
def test_whole_outputs_are_exact_under_limits_and_eos(max_new, k, eos):
    """Sampling to the end, EOS or limit, gives every output exactly its probability."""
    target, draft = table_model(2, 10), table_model(2, 11)
    got = distribution(
        lambda rng: tuple(speculative_sample(target, draft, [1], max_new, k, rng, eos))
    )
    assert got == plain_outputs(target, [1], max_new, eos)


def test_mean_round_length_is_the_formula():
    """With the same p and q everywhere a round emits 1 + a + ... + a^gamma tokens on average."""
    p = [Fraction(5, 10), Fraction(3, 10), Fraction(2, 10)]
    q = [Fraction(3, 10), Fraction(3, 10), Fraction(4, 10)]
    alpha, gamma = Fraction(8, 10), 4

    def mean_length(step):
        lengths = distribution(lambda rng: len(step(lambda _: p, lambda _: q, (), gamma, rng)))
        return sum(length * weight for length, weight in lengths.items())

    assert mean_length(speculative_step) == sum(alpha**i for i in range(gamma + 1))
    without_bonus = planted_step(MUTANTS["no bonus token"])
    assert mean_length(without_bonus) == sum(alpha**i for i in range(gamma))


def fractions(table):
    """Return a table of tenths as exact rows."""
    return [[Fraction(mass, 10) for mass in row] for row in table]


# Exact distance of each planted bug on the chain of the experiments, gamma 2, first two tokens.
PLANTED = {
    "residual replaced by p": "0.1664",
    "verifying on after a rejection": "0.18",
    "ratio inverted": "0.52",
    "argmax check while sampling": "0.64",
    "no verification": "0.52",
    "off by one in the target's position": "0.61",
    "no bonus token": "0",
}


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bugs_are_found(name):
    """Each bug misses the target's distribution by its known distance (no bonus: by nothing)."""
    p_fn, q_fn = markov(fractions(TARGET_TENTHS)), markov(fractions(DRAFT_TENTHS))
    got = emitted(planted_step(MUTANTS[name]), p_fn, q_fn, 2, 2)
    assert total_variation(got, joint(p_fn, START, 2)) == Fraction(PLANTED[name])


@pytest.mark.parametrize("name", [name for name in MUTANTS if name != "no bonus token"])
@pytest.mark.parametrize(("vocab", "gamma", "length"), [(2, 1, 3), (3, 2, 2)])
def test_planted_bugs_fail_the_very_proof(name, vocab, gamma, length):
    """The assertion that the correct round passes does not hold for any biased bug."""
    p_fn, q_fn = table_model(vocab, 1), table_model(vocab, 2)
    want = joint(p_fn, (0,), length)
    assert emitted(planted_step(MUTANTS[name]), p_fn, q_fn, gamma, length) != want


def test_a_deciding_drafter_is_wrong_with_its_softmax():
    """Emitting the argmax while claiming to have drawn it from the softmax is found."""
    p_fn, q_fn = table_model(3, 3), table_model(3, 4)
    decide = argmax_one_hot(q_fn)

    def step(p_fn, q_fn, prefix, gamma, rng):
        draft = []
        for _ in range(gamma):
            draft.append(rng.categorical(decide((*prefix, *draft))))
        q_rows = [q_fn((*prefix, *draft[:i])) for i in range(gamma)]
        p_rows = [p_fn((*prefix, *draft[:i])) for i in range(gamma + 1)]
        verdict = verify(draft, q_rows, p_rows, rng)
        return [*draft[: verdict.accepted], verdict.extra]

    assert emitted(step, p_fn, q_fn, 2, 4) != joint(p_fn, (0,), 4)
