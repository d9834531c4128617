"""Speculative output equals plain output, for everything that a request and a draft can be.

Targets are tables looked up by a hash of the last tokens, so that every prefix has its own row and
a cache that holds a rejected token shows. Outputs are compared with plain decoding through the same
code, and greedy ones also with a loop of a few lines that shares nothing with the engine.
"""

import random
from dataclasses import dataclass, replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apply_edit.decode.batch import Batch
from apply_edit.decode.cost import PassCost
from apply_edit.decode.gamma import CostGamma
from apply_edit.decode.loop import Decoding
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from apply_edit.decode.sampling import Sampling
from proposers import NAMES, Draft, Nothing, References, create
from tests.exactness.profile import exact
from tests.fakes import FakeTarget, PieceTokenizer, hash_target, tie_target

PIECES = [
    *(b"a", b"b", b"ab", b"\n", b" ", b"<", b"/", b"</", b">"),
    *(b"\xc3", b"\xa9", b"\xf0\x9f", b"\x98", b"\x80", b"\xe4\xb8\xad", b"x", b"0", b"\r\n"),
]
TEXT = PieceTokenizer(PIECES)
VOCAB = len(PIECES)
STOPS = ["ab", "</", "\u00e9", "b<", "\n\n", "\U0001f600", "a>", "x0"]

# Drafts of a tree.
BRANCHES = 4


@cache
def table(seed: int, ties: bool):
    """Return the rule of a target; made once per seed."""
    return (tie_target if ties else hash_target)(VOCAB, 4, seed).next_logits


def fresh_target(world) -> FakeTarget:
    """Return a target without rows."""
    return FakeTarget(table(*world), VOCAB, 40)


class Plan:
    """Proposes a right beginning and a wrong end, as a script says; several drafts for trees.

    Args:
        truth: The output of plain decoding.
        script: Per call: drafts as (number of right ids, ids behind them).
    """

    def __init__(self, truth, script):
        self.truth, self.script, self.calls = truth, script, 0

    def propose_tree(self, output, limit):
        """Return the drafts of this call."""
        drafts = self.script[self.calls % len(self.script)]
        self.calls += 1
        done = len(output)
        return [
            Draft((*self.truth[done : done + right], *wrong)[:limit], f"plan {number}")
            for number, (right, wrong) in enumerate(drafts)
        ]

    def propose(self, output, limit):
        """Return the first draft of this call."""
        return self.propose_tree(output, limit)[0]


def run(world, request, proposer, gamma, branches=1):
    """Decode with a fixed gamma; see ``decode``."""
    return decode(world, request, proposer, FixedGamma(gamma, branches))


def decode(world, request, proposer, policy):
    """Decode; check what holds for every decoding."""
    target = fresh_target(world)
    decoding = Decoding(target, TEXT, request, proposer, policy)
    events = list(decoding)
    output = decoding.output
    report = output.report
    assert target.rows == {}, "a row was left open"
    assert "".join(event.text for event in events) == output.text
    assert [i for event in events for i in event.ids] == list(output.ids)
    assert len(output.ids) == report.emitted <= request.max_new_tokens
    assert all(event.finish is None for event in events[:-1])
    for event, record in ((e, e.record) for e in events if e.record is not None):
        assert record.drafted == record.accepted + record.rejected + record.discarded
        assert min(record.accepted, record.rejected, record.discarded) >= 0
        assert sum(count for _, count, _ in record.sources) == record.drafted
        assert sum(taken for _, _, taken in record.sources) == record.accepted
        assert sum(count for _, count in event.sources) == len(event.ids) == record.emitted
        assert record.emitted in (record.accepted, record.accepted + 1)
    return output


def oracle(world, request):
    """Decode greedily in the plainest way; share nothing with the engine."""
    ids, text, room = [], "", 40 - len(request.prompt_ids)
    rule = table(*world)
    while True:
        row = rule((*request.prompt_ids, *ids)).tolist()
        ids.append(row.index(max(row)))
        if ids[-1] in request.eos_ids:
            return tuple(ids), TEXT.decode(ids[:-1]), "eos"
        text = TEXT.decode(ids)
        found = [text.find(stop) for stop in request.stop if stop in text]
        if found:
            return tuple(ids), text[: min(found)], "stop"
        if len(ids) == min(request.max_new_tokens, room):
            return tuple(ids), text, "length"


tokens = st.integers(0, VOCAB - 1)
worlds = st.tuples(st.integers(0, 15), st.booleans())
# A wrong end may hold ids that the target does not have.
drafts = st.tuples(st.integers(0, 6), st.lists(st.integers(0, VOCAB + 1), max_size=4))
scripts = st.lists(st.tuples(drafts), min_size=1, max_size=4)
tree_scripts = st.lists(st.lists(drafts, min_size=1, max_size=3), min_size=1, max_size=3)
gammas = st.integers(0, 9)

greedy = st.builds(
    Sampling,
    repetition_penalty=st.sampled_from([1.0, 1.0, 1.0, 1.3]),
    presence_penalty=st.sampled_from([0.0, 0.0, 0.4]),
    frequency_penalty=st.sampled_from([0.0, 0.0, -0.3]),
)
noisy = st.builds(
    Sampling,
    temperature=st.sampled_from([0.2, 0.7, 1.0, 3.0]),
    top_k=st.sampled_from([0, 0, 1, 3]),
    top_p=st.sampled_from([1.0, 0.9, 0.5]),
    min_p=st.sampled_from([0.0, 0.0, 0.2]),
    repetition_penalty=st.sampled_from([1.0, 1.0, 1.3]),
    presence_penalty=st.sampled_from([0.0, 0.0, 0.4]),
    frequency_penalty=st.sampled_from([0.0, 0.0, 0.3]),
    seed=st.integers(0, 99),
    noise=st.just("position"),
)
SAMPLINGS = {"greedy": greedy, "noise": noisy}


def requests(sampling):
    """Return a strategy for requests; limits and context are met often."""
    return st.builds(
        Request,
        prompt_ids=st.lists(tokens, min_size=1, max_size=6).map(tuple),
        max_new_tokens=st.sampled_from([1, 2, 3, 5, 8, 13, 50]),
        eos_ids=st.frozensets(tokens, max_size=2),
        stop=st.lists(st.sampled_from(STOPS), max_size=2).map(tuple),
        sampling=sampling,
        prefill_chunk=st.sampled_from([1, 2, 3, 1024]),
    )


def same(fast, plain):
    """Compare what a caller sees."""
    assert (fast.ids, fast.text, fast.finish) == (plain.ids, plain.text, plain.finish)


@exact
@given(worlds, requests(st.just(Sampling())), scripts, gammas)
def test_greedy_output_is_that_of_the_plainest_loop(world, request, script, gamma):
    """Text, ids and the reason to end are those of a greedy loop without engine and drafts."""
    want = oracle(world, request)
    got = run(world, request, Plan(want[0], script), gamma)
    assert (got.ids, got.text, got.finish) == want


@pytest.mark.parametrize("mode", SAMPLINGS)
def test_speculative_equals_plain(mode):
    """With penalties, cuts, stops and limits of any kind, drafts change nothing."""

    @exact
    @given(worlds, requests(SAMPLINGS[mode]), scripts, gammas)
    def check(world, request, script, gamma):
        plain = run(world, request, Nothing(), 0)
        same(run(world, request, Plan(plain.ids, script), gamma), plain)

    check()


@pytest.mark.parametrize("mode", SAMPLINGS)
def test_trees_equal_plain(mode):
    """Several drafts in one pass change nothing either."""

    @exact
    @given(worlds, requests(SAMPLINGS[mode]), tree_scripts, gammas)
    def check(world, request, script, gamma):
        plain = run(world, request, Nothing(), 0)
        same(run(world, request, Plan(plain.ids, script), gamma, BRANCHES), plain)

    check()


@exact
@given(worlds, requests(st.one_of(greedy, noisy)), tree_scripts, st.floats(0.0, 0.3))
def test_the_cost_policy_equals_plain(world, request, script, slope):
    """Whatever it decides, at whatever cost of a wider pass, and whatever it has learned."""
    plain = run(world, request, Nothing(), 0)
    cost = PassCost({512: (1.0, 1.0 + slope, 1.0 + 511 * slope)}, (1, 2, 512))
    acceptance, branches = None, None
    for _ in range(2):
        policy = CostGamma(cost, acceptance, branches, learns_cost=False)
        same(decode(world, request, Plan(plain.ids, script), policy), plain)
        acceptance, branches = policy.acceptance.carried(), policy.branches.carried()


@exact
@given(worlds, requests(st.one_of(greedy, noisy)), tree_scripts, gammas, st.booleans())
def test_logprobs_equal_plain(world, request, script, gamma, trees):
    """There is one log-probability per token, and drafts do not change it."""
    request = replace(request, logprobs=True)
    plain = run(world, request, Nothing(), 0)
    fast = run(world, request, Plan(plain.ids, script), gamma, BRANCHES if trees else 1)
    assert len(fast.logprobs) == len(fast.ids)
    assert fast.logprobs == pytest.approx(plain.logprobs, abs=1e-9)
    rule = table(*world)
    first = rule(request.prompt_ids).double().log_softmax(-1)[plain.ids[0]]
    assert fast.logprobs[0] == pytest.approx(float(first), abs=1e-6)  # computed in float32


sources = st.lists(tokens, max_size=12)


@exact
@given(worlds, requests(greedy), st.sampled_from(NAMES), sources, sources, gammas, st.booleans())
def test_every_proposer_copes_with_any_source(world, request, name, original, snippet, gamma, sure):
    """Empty, short and unrelated sources, and a perfect prediction, change nothing."""
    plain = run(world, request, Nothing(), 0)
    prediction = plain.ids if sure else None
    references = References(original, snippet, prediction, closing=original[:2])
    same(run(world, request, create(name, references), gamma), plain)


@dataclass
class Guest:
    """A request that joins a batch at some step and may be cancelled at another."""

    request: Request
    script: list
    gamma: int
    joins: int
    leaves: int | None
    row: object = None
    text: str = ""
    finish: str | None = None


guests = st.builds(
    Guest,
    requests(st.one_of(greedy, noisy)),
    tree_scripts,
    gammas,
    st.integers(0, 4),
    st.one_of(st.none(), st.none(), st.integers(0, 6)),
)


@exact
@given(worlds, st.lists(guests, min_size=1, max_size=4), st.integers(1, 12), st.booleans())
def test_batches_give_every_request_what_it_gets_alone(world, party, width, trees):
    """Rows join, leave, end and are cancelled without disturbing each other."""
    target = fresh_target(world)
    batch = Batch(target, TEXT, max_tokens_per_step=width)
    alone = [run(world, guest.request, Nothing(), 0) for guest in party]
    step = 0
    while step <= 4 or len(batch):
        for guest, plain in zip(party, alone, strict=True):
            if guest.joins == step:
                plan = Plan(plain.ids, guest.script)
                policy = FixedGamma(guest.gamma, BRANCHES if trees else 1)
                guest.row = batch.join(guest.request, plan, policy)
            if guest.leaves == step and guest.row is not None and guest.row.finish is None:
                batch.cancel(guest.row)
        by_row = {guest.row.id: guest for guest in party if guest.row is not None}
        for row, event in batch.step().events.items():
            by_row[row].text += event.text
            by_row[row].finish = event.finish
        step += 1
    for guest, plain in zip(party, alone, strict=True):
        output = tuple(guest.row.output)
        if guest.row.finish == "cancelled":
            assert output == plain.ids[: len(output)]
            assert plain.text.startswith(guest.text)
        else:
            assert (output, guest.text, guest.finish) == (plain.ids, plain.text, plain.finish)
    assert target.rows == {}


class Sampled:
    """Draws drafts from a model that knows the target a little; carries the true q."""

    def __init__(self, world, prompt, seed, paths):
        self.rule, self.prompt, self.paths = table(*world), prompt, paths
        self.dice = random.Random(seed)

    def propose_tree(self, output, limit):
        """Draw several paths independently."""
        return [self.propose(output, limit) for _ in range(self.paths)]

    def propose(self, output, limit):
        """Draw a path."""
        ids, probs = [], []
        for _ in range(limit):
            logits = self.rule((*self.prompt, *output, *ids)).double()
            # One id more than the target has: it must never come out.
            row = (logits / 2).softmax(-1)
            row = row.new_tensor([*(0.9 * row).tolist(), 0.1])
            probs.append(row)
            ids.append(self.dice.choices(range(VOCAB + 1), row.tolist())[0])
        return Draft(tuple(ids), "draft_model", probs=probs)


@exact
@given(worlds, requests(noisy), gammas, st.integers(1, 3), st.integers(0, 99))
def test_rejection_sampling_keeps_every_limit(world, request, gamma, paths, seed):
    """Sampled output is repeatable, within limits, and made of tokens that p allows."""
    sampling = replace(request.sampling, noise="rejection")
    request = replace(request, sampling=sampling)

    def once():
        return run(world, request, Sampled(world, request.prompt_ids, seed, paths), gamma, BRANCHES)

    output = once()
    same(once(), output)
    if sampling.top_k == 1 and not sampling.has_penalties and not world[1]:
        same(output, run(world, replace(request, sampling=Sampling()), Nothing(), 0))
