import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from apply_edit.decode.loop import Decoding
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from apply_edit.decode.sampling import (
    Sampling,
    Uniforms,
    draw,
    penalise,
    position_noise,
    probabilities,
)
from apply_edit.errors import ConfigError
from proposers import Draft, Nothing
from tests.chi_square import assert_drawn_from
from tests.fakes import FakeTarget, PieceTokenizer, hash_target


def probs(logits, **options):
    """Return the distribution of one row of logits."""
    options.setdefault("temperature", 1.0)
    return probabilities(torch.tensor([logits]), Sampling(**options))[0].tolist()


LOGITS = [math.log(p) for p in (0.5, 0.3, 0.15, 0.05)]


def test_greedy_is_a_point_mass_on_the_lowest_best_id():
    """Ties go to the lowest id, on every path."""
    assert probs([1.0, 3.0, 3.0], temperature=0.0) == [0, 1, 0]
    assert int(torch.tensor([1.0, 3.0, 3.0]).argmax()) == 1


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({}, [0.5, 0.3, 0.15, 0.05]),
        ({"temperature": 0.5}, [0.25 / 0.365, 0.09 / 0.365, 0.0225 / 0.365, 0.0025 / 0.365]),
        ({"top_k": 2}, [0.625, 0.375, 0, 0]),
        ({"top_k": 9}, [0.5, 0.3, 0.15, 0.05]),
        ({"top_p": 0.79}, [0.625, 0.375, 0, 0]),
        ({"top_p": 0.81}, [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0]),
        ({"top_p": 0.01}, [1, 0, 0, 0]),
        ({"min_p": 0.4}, [0.625, 0.375, 0, 0]),
        ({"min_p": 1.0}, [1, 0, 0, 0]),
        # top-k first, then top-p on what it leaves: 0.625 is enough for 0.6.
        ({"top_k": 2, "top_p": 0.6}, [1, 0, 0, 0]),
    ],
)
def test_each_cut_keeps_what_it_should(options, want):
    """Temperature, top-k, top-p and min-p on four probabilities that can be done by hand."""
    assert probs(LOGITS, **options) == pytest.approx(want, abs=1e-6)


def test_top_k_takes_the_lowest_ids_among_equals():
    """A tie at the border is decided by id, so that it is decided alike everywhere."""
    assert probs([1.0, 2.0, 1.0, 1.0], top_k=2)[0] > 0
    assert probs([1.0, 2.0, 1.0, 1.0], top_k=2)[2:] == [0, 0]


def test_penalties_on_a_row_by_hand():
    """Repetition counts prompt and output once; the others count the output only."""
    logits = torch.tensor([[2.0, -2.0, 1.0, 1.0]])
    sampling = Sampling(repetition_penalty=2.0, presence_penalty=0.5, frequency_penalty=0.25)
    got = penalise(logits, sampling, prompt=[0, 0], outputs=[[1, 2, 2]])[0].tolist()
    assert got == pytest.approx([1.0, -4 - 0.75, 0.5 - 1.0, 1.0])
    assert logits.tolist() == [[2.0, -2.0, 1.0, 1.0]], "the argument was changed"


def test_row_i_sees_the_drafts_before_it_and_no_others():
    """A token that is drafted twice is penalised from its second place on only."""
    target = FakeTarget(lambda _: torch.tensor([1.0, 0.9]), 2)
    text = PieceTokenizer([b"a", b"b"])
    request = Request((1,), 4, sampling=Sampling(presence_penalty=0.5))

    class Copies:
        def propose(self, output, limit):
            return Draft((0, 0, 0)[:limit])

    plain = Decoding(target, text, request, Nothing(), FixedGamma(0)).run()
    fast = Decoding(target, text, request, Copies(), FixedGamma(3)).run()
    assert plain.ids == fast.ids == (0, 1, 0, 0)


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": -1.0},
        {"temperature": math.inf},
        {"temperature": math.nan},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"min_p": -0.1},
        {"repetition_penalty": 0.0},
        {"presence_penalty": 1e9},
        {"noise": "none"},
    ],
)
def test_impossible_settings_are_refused(options):
    """The message names the option and what it may be."""
    with pytest.raises(ConfigError, match=next(iter(options))):
        Sampling(**options)


@pytest.mark.parametrize("option", ["grammar", "json_schema", "bad_words", "min_length"])
def test_what_is_not_supported_is_refused(option):
    """There is no constraint that is taken and then ignored."""
    with pytest.raises(TypeError, match=option):
        Sampling(**{option: "x"})


def test_drawing_never_gives_a_token_without_mass():
    """Rounding behind the last token falls back on the last one that has mass."""
    row = torch.tensor([0.3, 0.7 - 1e-9, 0.0])
    assert draw(row, 1 - 1e-17) == 1
    assert [draw(row, u) for u in (0.0, 0.29, 0.31)] == [0, 0, 1]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any), st.floats(0, 0.999999))
def test_a_draw_has_mass(weights, uniform):
    """Whatever the number, the token is possible."""
    assert weights[draw(torch.tensor(weights, dtype=torch.float64), uniform)] > 0


def test_position_noise_depends_on_seed_and_position_only():
    """The same place gets the same noise, another place or seed another."""
    assert torch.equal(position_noise(1, 2, 9), position_noise(1, 2, 9))
    assert not torch.equal(position_noise(1, 2, 9), position_noise(1, 3, 9))
    assert not torch.equal(position_noise(1, 2, 9), position_noise(2, 2, 9))
    assert torch.isfinite(position_noise(1, 2, 9)).all()


def test_position_noise_draws_from_p():
    """Chi-square over 4,000 seeds at level 1e-4: the argmax with noise is a draw."""
    row = torch.tensor([0.5, 0.3, 0.15, 0.05]).double()
    picks = Counter(int((row.log() + position_noise(s, 0, 4)).argmax()) for s in range(4000))
    assert_drawn_from(dict(enumerate(row.tolist())), picks)


def test_the_chi_square_test_can_fail():
    """A sample from another distribution is told apart."""
    with pytest.raises(AssertionError, match="chi-square"):
        assert_drawn_from({0: 0.5, 1: 0.5}, Counter({0: 1700, 1: 1300}))
    with pytest.raises(AssertionError, match="impossible"):
        assert_drawn_from({0: 1.0}, Counter({0: 9, 1: 1}))


def test_the_same_seed_repeats_and_the_numbers_are_its_own():
    """A seed gives the same numbers; none gives others each time."""
    assert Uniforms(4).next() == Uniforms(4).next()
    assert Uniforms(None).next() != Uniforms(None).next()


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0.2},
        {"temperature": 0.7, "top_p": 0.9},
        {"temperature": 1.0, "top_k": 3},
    ],
)
def test_sampled_tokens_have_the_targets_distribution(options):
    """First two tokens of 3,000 drafted outputs against the exact joint: chi-square at 1e-4."""
    target = hash_target(4, 3, 11)
    text = PieceTokenizer([b"a", b"b", b"c", b"d"])

    class Copies:
        def propose(self, output, limit):
            return Draft((2, 1, 2)[len(output) :][:limit])

    def row(*ids):
        logits = target.next_logits((0, *ids))[None]
        return probabilities(logits, Sampling(**options))[0].tolist()

    want = {(a, b): row()[a] * row(a)[b] for a in range(4) for b in range(4)}
    got = Counter()
    for seed in range(3000):
        request = Request((0,), 2, sampling=Sampling(**options, seed=seed))
        got[Decoding(target, text, request, Copies(), FixedGamma(2)).run().ids] += 1
    assert_drawn_from(want, got)
