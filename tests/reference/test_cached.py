"""Section C: speculative decoding with caches equals plain decoding, and counts its passes."""

import math
import random

import pytest

from apply_edit.reference import autoregressive_decode, speculative_decode
from tests.reference.fakes import VOCAB, FakeModel, hash_choice, plain

NO_EOS = VOCAB + 5


@pytest.mark.parametrize("agree", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("gamma", [1, 2, 5, 16])
def test_speculation_equals_plain_decoding(gamma, agree):
    """For any draft, prompt, limit and EOS the output is the target's own."""
    dice = random.Random(f"{gamma}:{agree}")
    for _ in range(25):
        target = hash_choice(dice.random())
        seed = dice.random()
        draft = hash_choice(seed, agree)
        prompt = [dice.randrange(VOCAB) for _ in range(dice.randint(1, 9))]
        max_new = dice.randint(1, 40)
        eos = dice.choice([NO_EOS, None, dice.randrange(VOCAB)])
        for first, second in ((target, draft), (hash_choice(seed), draft)):
            got, rate = speculative_decode(
                FakeModel(first), FakeModel(second), prompt, max_new, gamma, eos
            )
            assert got == plain(first, prompt, max_new, eos)
            assert 0 <= rate <= 1


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("style", ["tuple", "object"])
@pytest.mark.parametrize("form", ["flat", "nested", "array"])
def test_every_form_of_model_is_served(form, style, in_place):
    """Flat lists or a batch of one, pairs or objects, a new cache or one changed in place."""
    rule, draft_rule = hash_choice(1), hash_choice(1, 0.6)
    target = FakeModel(rule, form, style, in_place)
    draft = FakeModel(draft_rule, form, style, in_place)
    got, rate = speculative_decode(target, draft, [3, 1, 4], 30, 4, NO_EOS)
    assert got == plain(rule, [3, 1, 4], 30, NO_EOS)
    assert 0 < rate < 1


@pytest.mark.parametrize(("max_new", "gamma"), [(20, 4), (21, 4), (1, 4), (5, 4), (40, 16)])
def test_a_perfect_draft_needs_the_fewest_passes(max_new, gamma):
    """The prompt and the first draft share a pass: ceil(max_new / (gamma + 1)) in all."""
    rule = hash_choice(2)
    target = FakeModel(rule)
    got, rate = speculative_decode(target, FakeModel(rule), [1, 2], max_new, gamma, NO_EOS)
    assert len(got) == max_new
    assert len(target.passes) == math.ceil(max_new / (gamma + 1))
    assert rate == (1.0 if max_new > 1 else 0.0)
    # Where everything is accepted there is nothing to roll back in the target's cache.
    assert target.truncations == []


def test_an_always_wrong_draft_needs_max_new_passes():
    """Each pass commits the correction only, and the acceptance rate is zero."""
    target = FakeModel(hash_choice(2))
    got, rate = speculative_decode(target, FakeModel(hash_choice(2, 0.0)), [1], 20, 4, NO_EOS)
    assert len(got) == len(target.passes) == 20
    assert rate == 0.0


def test_the_caches_hold_all_but_the_newest_token_after_each_round():
    """Each pass of the target begins where the committed ids end, less one."""
    rule = hash_choice(3)
    target, draft = FakeModel(rule), FakeModel(hash_choice(3, 0.5))
    prompt = [1, 2, 3]
    got, rate = speculative_decode(target, draft, prompt, 40, 4, NO_EOS)
    assert 0 < rate < 1
    committed = len(prompt)
    for number, (cached, fed) in enumerate(target.passes):
        assert cached == (0 if number == 0 else committed - 1)
        drafts = fed - (committed - cached)
        assert 0 <= drafts <= 4
        following = target.passes[number + 1 :]
        committed = following[0][0] + 1 if following else len(prompt) + len(got)
    # Both caches are cut to the same places, and never beyond what they hold.
    assert {length for _, length in target.truncations} >= {
        length for _, length in draft.truncations[:-1]
    }
    assert all(length < before for before, length in target.truncations + draft.truncations)


def test_the_draft_stops_at_eos():
    """Nothing is proposed after an EOS, and an accepted EOS ends the output without a bonus."""
    text = [5, 5, 9, 5, 5, 5]
    rule = lambda tokens: text[len(tokens) - 1]  # noqa: E731 - a named rule reads better here
    target, draft = FakeModel(rule), FakeModel(rule)
    got, rate = speculative_decode(target, draft, [9], 6, 5, 9)
    assert (got, rate) == ([5, 5, 9], 1.0)
    assert target.passes == [(0, 4)]
    assert len(draft.passes) == 3


def test_an_eos_that_the_target_does_not_want_is_only_a_wrong_draft():
    """A drafted and rejected EOS does not end the output."""
    target = FakeModel(lambda tokens: 4)
    got, rate = speculative_decode(target, FakeModel(lambda tokens: 9), [1], 5, 3, 9)
    assert (got, rate) == ([4] * 5, 0.0)


def test_nothing_drafted_is_a_rate_of_zero():
    """One new token leaves no room for a draft; the draft model is not asked."""
    draft = FakeModel(hash_choice(1))
    got, rate = speculative_decode(FakeModel(hash_choice(1)), draft, [1], 1, 8, NO_EOS)
    assert (len(got), rate, draft.passes) == (1, 0.0, [])


def test_the_same_object_may_be_target_and_draft():
    """Each side keeps a cache of its own."""
    model = FakeModel(hash_choice(6), in_place=True)
    got, rate = speculative_decode(model, model, [1, 2], 30, 4, NO_EOS)
    assert (got, rate) == (plain(hash_choice(6), [1, 2], 30, NO_EOS), 1.0)


def test_the_prompt_is_left_alone():
    """The caller's list is not changed."""
    prompt = [1, 2]
    model = FakeModel(hash_choice(6))
    speculative_decode(model, model, prompt, 5, 4, NO_EOS)
    assert prompt == [1, 2]


@pytest.mark.parametrize(
    ("name", "prompt", "max_new", "gamma"),
    [
        ("len\\(input_ids\\)", [], 4, 4),
        ("len\\(input_ids\\)", [1] * 2049, 4, 4),
        ("max_new_tokens", [1], 0, 4),
        ("max_new_tokens", [1], 513, 4),
        ("gamma", [1], 4, 0),
        ("gamma", [1], 4, 17),
    ],
)
def test_values_outside_their_range_are_refused(name, prompt, max_new, gamma):
    """The error names the value and its range, before any pass is made."""
    target, draft = FakeModel(hash_choice(1)), FakeModel(hash_choice(1))
    with pytest.raises(ValueError, match=f"^{name} must be in 1"):
        speculative_decode(target, draft, prompt, max_new, gamma, NO_EOS)
    assert target.passes == draft.passes == []


def test_the_ends_of_the_ranges_are_allowed():
    """2048 ids, 16 drafts and 512 new tokens are still served."""
    rule = lambda tokens: len(tokens) % VOCAB  # noqa: E731 - a named rule reads better here
    got, rate = speculative_decode(FakeModel(rule), FakeModel(rule), [1] * 2048, 512, 16, NO_EOS)
    assert (len(got), rate) == (512, 1.0)


@pytest.mark.parametrize("eos", [None, 4])
def test_autoregressive_decoding_is_one_pass_per_token(eos):
    """The baseline uses the cache: the prompt once, then single ids."""
    rule = hash_choice(8)
    model = FakeModel(rule)
    got = autoregressive_decode(model, [1, 2, 3], 12, eos)
    assert got == plain(rule, [1, 2, 3], 12, eos)
    assert model.passes == [(0, 3)] + [(2 + i, 1) for i in range(1, len(got))]
