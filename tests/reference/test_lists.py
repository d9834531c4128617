"""Section A: the whole loop over lists of probabilities."""

import math
import random

import pytest

from apply_edit.reference import (
    CountingModel,
    UniformDraws,
    argmax,
    greedy_decode,
    lookup_proposer,
    model_proposer,
    sample,
    speculative_greedy,
    speculative_sample,
)

VOCAB = 11


def point(token, vocab=VOCAB):
    """Return the row that is sure of ``token``."""
    return [1.0 if x == token else 0.0 for x in range(vocab)]


def hash_model(seed, vocab=VOCAB):
    """Return a model whose row depends on the last eight ids and has no ties."""

    def fn(tokens):
        dice = random.Random(f"{seed}:{list(tokens[-8:])}")
        weights = [dice.random() for _ in range(vocab)]
        return [weight / sum(weights) for weight in weights]

    return fn


def script_model(text, prompt_length, vocab=VOCAB):
    """Return a model that writes ``text`` whatever came before."""
    return lambda tokens: point(text[len(tokens) - prompt_length], vocab)


def test_counting_model_counts_passes_not_rows():
    """A block is one pass and gives a row before, between and after its ids."""
    model = CountingModel(lambda tokens: [len(tokens), sum(tokens)])
    assert model.next_dist([1, 2]) == [2, 3]
    assert model.score_block([1], [5, 1]) == [[1, 1], [2, 6], [3, 7]]
    assert model.score_block([1], []) == [[1, 1]]
    assert model([1, 2]) == [2, 3], "it is a model itself"
    assert model.calls == 4


def test_counting_model_hands_out_a_fresh_list():
    """A model that changes its argument does not change the caller's tokens."""

    def greedy_eater(tokens):
        tokens.clear()
        return [0.0, 1.0]

    prompt = [1]
    assert greedy_decode(CountingModel(greedy_eater), prompt, 2) == [1, 1]
    assert prompt == [1]


def test_argmax_takes_the_lowest_id_among_equals():
    """Ties are broken by one rule everywhere, the lowest id."""
    assert argmax([0.1, 0.4, 0.1, 0.4]) == 1


def test_sample_survives_rounding():
    """A sum a little below one gives the last token with mass, never one without."""
    almost_one = UniformDraws(lambda: 1 - 2**-53)
    assert sample([0.3, 0.3, 0.3, 0.0], almost_one) == 2
    assert sample([0.0, 1.0], UniformDraws(lambda: 0.0)) == 1


def test_sample_of_nothing_is_refused():
    """A row without any mass is an error, not token 0."""
    with pytest.raises(ValueError, match="no token"):
        sample([0.0, 0.0], random.Random(1))


def test_sample_is_reproducible():
    """The same seed gives the same tokens."""
    row = [0.2, 0.5, 0.3]
    first = [sample(row, random.Random(seed)) for seed in range(20)]
    assert first == [sample(row, random.Random(seed)) for seed in range(20)]
    assert set(first) == {0, 1, 2}


def test_greedy_decode_stops_at_eos_and_includes_it():
    """EOS is the last token of the output; one pass per token."""
    target = CountingModel(script_model([4, 2, 9, 4], 1))
    assert greedy_decode(target, [9], 4, eos=9) == [4, 2, 9]
    assert target.calls == 3


PROPOSERS = {
    "good": model_proposer(hash_model(1)),
    "half": model_proposer(
        lambda tokens: hash_model(1 if len(tokens) % 2 else 2)(tokens),
    ),
    "useless": lambda seq, k: [0] * k,
    "empty": lambda seq, k: [],
    "too long": lambda seq, k: model_proposer(hash_model(1))(seq, k + 5),
    "outside the vocabulary": lambda seq, k: [VOCAB, 0, -1][:k],
    "negative": lambda seq, k: [-1] * k,
    "a tuple": lambda seq, k: (3,) * k,
    "copy": lookup_proposer([3, 1, 4, 1, 5, 9, 2, 6], ngram=1),
}


@pytest.mark.parametrize("eos", [None, 4, VOCAB + 1])
@pytest.mark.parametrize("k", [0, 1, 3, 6])
@pytest.mark.parametrize("name", PROPOSERS)
def test_speculative_greedy_equals_greedy(name, k, eos):
    """Whatever is proposed, the tokens are those of plain greedy decoding."""
    target = hash_model(1)
    for prompt in ([], [4], [4, 2, 4]):
        for max_new in (0, 1, 2, 5, 13):
            want = greedy_decode(target, prompt, max_new, eos)
            counted = CountingModel(target)
            got = speculative_greedy(counted, PROPOSERS[name], prompt, max_new, k, eos)
            assert got == want
            assert counted.calls <= len(want)


@pytest.mark.parametrize(("max_new", "k"), [(20, 4), (20, 3), (1, 4), (5, 4), (6, 4), (17, 1)])
def test_a_perfect_draft_needs_the_fewest_passes(max_new, k):
    """Every pass commits k + 1 tokens: ceil(max_new / (k + 1)) passes, 4 for 20 tokens at k = 4."""
    target = CountingModel(hash_model(5))
    out = speculative_greedy(target, model_proposer(hash_model(5)), [1], max_new, k)
    assert len(out) == max_new
    assert target.calls == math.ceil(max_new / (k + 1))


def test_an_always_wrong_draft_needs_as_many_passes_as_plain_decoding():
    """Each pass still commits the target's own token: max_new passes."""
    target = CountingModel(hash_model(5))

    def wrong(seq, k):
        return [(argmax(hash_model(5)(seq)) + 1) % VOCAB] * k

    assert len(speculative_greedy(target, wrong, [1], 20, 4)) == 20
    assert target.calls == 20


@pytest.mark.parametrize("position", range(6))
def test_eos_inside_an_accepted_block_ends_there(position):
    """Drafts accepted after an EOS are not emitted, wherever in the block it stands."""
    text = [3, 3, 3, 3, 3, 3]
    text[position] = 9
    out = speculative_greedy(
        script_model(text, 1), lambda seq, k: text[len(seq) - 1 :][:k], [9], 6, k=5, eos=9
    )
    assert out == text[: position + 1]


@pytest.mark.parametrize("k", [1, 4, 16])
@pytest.mark.parametrize("max_new", range(8))
def test_max_new_is_never_exceeded(max_new, k):
    """The bonus token counts too."""
    fn = hash_model(3)
    assert len(speculative_greedy(fn, model_proposer(fn), [1], max_new, k)) == max_new
    assert len(speculative_sample(fn, fn, [1], max_new, k, random.Random(1))) == max_new


def test_copying_a_reference_that_the_target_reproduces():
    """14 tokens to copy, ngram 1, k 6: 12 new tokens in at most 4 passes."""
    reference = [3, 1, 4, 15, 9, 2, 6, 5, 35, 8, 97, 93, 23, 84]
    target = CountingModel(lambda tokens: point(reference[len(tokens) - 1], 100))
    out = speculative_greedy(target, lookup_proposer(reference, ngram=1), [50], 12, k=6)
    assert out == reference[:12]
    assert target.calls <= 4


def test_lookup_takes_the_latest_occurrence_that_something_follows():
    """Of several places the latest counts; the very end has nothing to copy."""
    propose = lookup_proposer([1, 2, 7, 1, 2, 8, 9, 1, 2], ngram=2)
    assert propose([0, 1, 2], 2) == [8, 9]
    assert propose([1, 2], 1) == [8]
    assert propose([2], 3) == []
    assert propose([], 3) == []
    assert propose([2, 1], 3) == []
    assert lookup_proposer([], ngram=1)([1], 4) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: lookup_proposer([1, 2], ngram=0),
        lambda: greedy_decode(hash_model(1), [1], -1),
        lambda: speculative_greedy(hash_model(1), lambda seq, k: [], [1], 3, k=-1),
        lambda: speculative_sample(hash_model(1), hash_model(1), [1], -1, 2, random.Random(1)),
    ],
)
def test_impossible_arguments_are_refused(call):
    """Negative limits and an empty n-gram raise ValueError."""
    with pytest.raises(ValueError, match="must"):
        call()


def test_sampled_frequencies_are_the_targets():
    """40,000 one-token runs hit p within 0.01 each.

    The largest standard deviation is 0.0025, so a correct implementation fails at four of them:
    a level of about 1e-4 over the three tokens, for the fixed seed once and for all.
    """
    p, q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]
    rng = random.Random(20231)
    counts = [0, 0, 0]
    for _ in range(40_000):
        # Two new tokens, of which the first is counted: with one only, nothing would be drafted.
        counts[speculative_sample(lambda _: p, lambda _: q, [], 2, 1, rng)[0]] += 1
    assert [count / 40_000 for count in counts] == pytest.approx(p, abs=0.01)


@pytest.mark.parametrize("k", [0, 1, 4])
def test_one_token_outputs_have_the_targets_frequencies(k):
    """40,000 outputs of one token, which leave no room for a draft (level as above)."""
    p, q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]
    rng = random.Random(20232)
    counts = [0, 0, 0]
    for _ in range(40_000):
        (token,) = speculative_sample(lambda _: p, lambda _: q, [], 1, k, rng)
        counts[token] += 1
    assert [count / 40_000 for count in counts] == pytest.approx(p, abs=0.01)


def test_a_draft_model_with_more_ids_than_the_target_is_no_danger():
    """Ids that only the draft has are rejected, and the target never sees them."""

    def target(tokens):
        assert all(token < 3 for token in tokens)
        return [0.2, 0.3, 0.5]

    rng = random.Random(5)
    for _ in range(200):
        out = speculative_sample(target, lambda _: [0.2] * 5, [1], 6, 3, rng)
        assert len(out) == 6
        assert max(out) < 3


@pytest.mark.parametrize("k", [0, 1, 4])
def test_sampling_stops_at_eos(k):
    """A sure target and a sure draft: EOS ends the block, the rest is not emitted."""
    fn = script_model([3, 3, 9, 3, 3, 3, 3, 3], 1)
    assert speculative_sample(fn, fn, [9], 8, k, random.Random(1), eos=9) == [3, 3, 9]


def test_sampling_with_the_targets_own_draft_needs_the_fewest_passes():
    """With p = q all is accepted: ceil(20 / 5) target passes, k draft passes for each."""
    target, draft = CountingModel(hash_model(7)), CountingModel(hash_model(7))
    speculative_sample(target, draft, [1], 20, 4, random.Random(3))
    assert (target.calls, draft.calls) == (4, 16)
