import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apply_edit.decode.acceptance import (
    STEPS,
    Acceptance,
    Trust,
    prior_of,
    runs_of,
    segments,
)
from apply_edit.decode.cost import WIDTHS, PassCost, monotone
from apply_edit.decode.drawn import LONGEST_DRAWN, Price, break_even
from apply_edit.decode.gamma import (
    CostGamma,
    best_cut,
    expectations,
    explain_line,
)
from apply_edit.decode.loop import Decoding
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from apply_edit.reference import expected_tokens
from apply_edit.report import PassRecord
from proposers import Draft
from tests.fakes import ByteTokenizer, scripted_target

BYTES = ByteTokenizer()
CPU = PassCost({512: (0.35, 0.65, 1.23, 1.85, 3.2, 5.4, 10.5)}, (1, 8, 32, 64, 128, 256, 512))
FLAT = PassCost({512: (0.020, 0.021, 0.030)}, (1, 128, 512))


def copy(count: int, source: str = "original", region: str = "unchanged") -> Draft:
    """Return a draft of ids 100, 101, …."""
    return Draft(tuple(range(100, 100 + count)), source, regions=((region, count),))


def record(width: int, drafted: int = 0, accepted: int = 0, seconds: float = 0.0) -> PassRecord:
    """Return the record of a pass."""
    return PassRecord(width, drafted, accepted, accepted + 1, seconds=seconds)


class Wrong:
    """Drafts the byte that the script never has."""

    def __init__(self, source):
        self.source = source

    def propose(self, output, limit):
        """Propose as many as asked for."""
        return Draft((33,) * limit, self.source, regions=(("unchanged", limit),))


class Told:
    """Hands T to a policy in place of the wall time, and adds it up."""

    def __init__(self, policy, cost):
        self.policy, self.cost, self.seconds = policy, cost, 0.0
        self.limit, self.choose = policy.limit, policy.choose
        self.is_branching = False

    def observe(self, record, ids):
        """Add T up."""
        self.seconds += self.cost.seconds(record.width)
        self.policy.observe(record, ids)


def cost_of_decoding(script: bytes, proposer, policy, cost: PassCost) -> float:
    """Return the seconds, by T, of writing a script."""
    told = Told(policy, cost)
    target = scripted_target(1, [*script, 256], BYTES.vocab_size)
    request = Request((0,), len(script) + 1, eos_ids=BYTES.eos_ids)
    output = Decoding(target, BYTES, request, proposer, told).run()
    assert output.text.encode() == script
    return told.seconds


def test_a_fixed_gamma_is_the_same_whatever_happens():
    """FixedGamma asks for its value, cuts at it, and never offers more than there is."""
    policy = FixedGamma(4)
    policy.observe(record(5, 4, 0), (1,))
    assert policy.limit() == 4
    assert [policy.choose(copy(n), 10, 1) for n in (2, 4, 9)] == [2, 4, 4]
    with pytest.raises(ValueError, match="must be 0 or more"):
        FixedGamma(-1)


def brute_force(alphas, costs, value):
    """Return the expected time of every g by enumerating which draft tokens are right."""
    times = []
    for g in range(len(alphas) + 1):
        total = 0.0
        for right in itertools.product((True, False), repeat=g):
            weight = math.prod(a if ok else 1 - a for a, ok in zip(alphas, right, strict=False))
            accepted = next((i for i, ok in enumerate(right) if not ok), g)
            total += weight * (costs[g] + value[accepted + 1])
        times.append(total)
    return times


@settings(max_examples=60)
@given(st.data())
def test_the_cut_is_the_best_of_all_cuts(data):
    """The chosen g has the least expected time among all, by enumeration of all outcomes."""
    n = data.draw(st.integers(0, 6))
    alphas = data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n))
    costs = sorted(data.draw(st.lists(st.floats(0.1, 9), min_size=n + 1, max_size=n + 1)))
    steps = data.draw(st.lists(st.floats(0, 2), min_size=n + 2, max_size=n + 2))
    value = np.cumsum(steps)[::-1]
    times = brute_force(alphas, costs, value)
    chosen = best_cut(np.array(alphas), np.array(costs), value)
    assert times[chosen] == pytest.approx(min(times))


def test_the_cut_of_equal_tokens_has_the_most_tokens_per_second():
    """With one alpha and no end in sight, the choice is the g that maximises E(g) / T(1 + g)."""
    for alpha in (0.5, 0.8, 0.95, 0.99, 0.999):
        alphas = np.full(600, alpha)
        costs = CPU.at(np.arange(1, 602))
        rates = expectations(alphas) / costs
        left = 100_000 - np.arange(602)
        assert best_cut(alphas, costs, left / rates.max()) == int(rates.argmax())


def test_expectations_are_the_formula_of_the_paper():
    """For equal acceptances E(g) is the reference's expected_tokens."""
    found = expectations(np.full(8, 0.8))
    assert found == pytest.approx([expected_tokens(0.8, k) for k in range(9)])


def test_a_posterior_counts_accepted_tokens_and_divergences():
    """A cell's mean moves from the prior by what was seen of it, and of no other cell."""
    acceptance = Acceptance()
    runs = runs_of(copy(10))
    before = acceptance.posterior("unchanged", "original", STEPS.index("256"))
    acceptance.learn(runs, Trust(300), 7, diverged=True)
    after = acceptance.posterior("unchanged", "original", STEPS.index("256"))
    assert after.accepted == before.accepted + 7
    assert after.diverged == before.diverged + 1
    assert after.mean == after.accepted / (after.accepted + after.diverged)
    other = ("unchanged", "prediction", STEPS.index("256"))
    assert acceptance.posterior(*other) == prior_of(*other)


def test_an_unjudged_end_teaches_nothing():
    """Where the output ended inside the draft, only what was written counts, no divergence."""
    acceptance = Acceptance()
    acceptance.learn(runs_of(copy(10)), Trust(300), 4, diverged=False)
    after = acceptance.posterior("unchanged", "original", STEPS.index("256"))
    prior = prior_of("unchanged", "original", STEPS.index("256"))
    assert (after.accepted - prior.accepted, after.diverged - prior.diverged) == (4, 0)


def test_trust_grows_with_agreement_and_falls_at_once():
    """Copying that has lasted is trusted more; one wrong token takes it all; misses are counted."""
    trust = Trust().after(0, diverged=True)
    assert (STEPS[Trust().step], STEPS[trust.step]) == ("start", "wrong 1")
    for _ in range(3):
        trust = trust.after(0, diverged=True)
    assert STEPS[trust.step] == "wrong 4"
    trust = trust.after(5, diverged=False)
    assert (trust, STEPS[trust.step]) == (Trust(5, 0), "4")
    assert STEPS[trust.after(9, diverged=True).step] == "wrong 1"


def test_a_draft_is_split_where_trust_or_source_changes():
    """Segments cover the draft in order; a new run begins with a step of its own."""
    draft = Draft((1,) * 9, "prediction", regions=(("unchanged", 6), ("edit", 3)))
    parts = list(segments(runs_of(draft), Trust(1)))
    assert [(p.region, STEPS[p.step], p.count) for p in parts] == [
        ("unchanged", "1", 1),
        ("unchanged", "2", 2),
        ("unchanged", "4", 3),
        ("edit", "border", 1),
        ("edit", "8", 2),
    ]


def test_a_draft_without_regions_is_of_its_source_s_region():
    """Unknown regions are told from the source."""
    draft = Draft((1, 2, 3), "original", sources=(("original", 2), ("snippet", 1)))
    assert runs_of(draft) == (("unchanged", "original", 2), ("edit", "snippet", 1))


def test_evidence_is_carried_to_the_next_request_at_a_discount():
    """The next request starts from part of the evidence, limited in weight."""
    acceptance = Acceptance()
    acceptance.learn(runs_of(copy(4000)), Trust(300), 4000, diverged=False)
    cell = ("unchanged", "original", STEPS.index("256"))
    prior, carried = prior_of(*cell), acceptance.carried(share=0.5, most=100).posterior(*cell)
    assert carried.accepted - prior.accepted == pytest.approx(100)
    assert acceptance.carried(share=0.5, most=1e9).posterior(*cell).accepted == pytest.approx(
        prior.accepted + 2000
    )


def test_a_wide_draft_is_offered_while_copying_goes_well():
    """In an undisturbed copy the draft goes in whole where a pass costs the same at any width."""
    policy = CostGamma(PassCost({512: (0.02, 0.02)}, (1, 512)), expected_tokens=4000)
    policy.choose(copy(400), 0, 1)
    policy.observe(record(401, 400, 400), (*copy(400).ids, 7))
    assert policy.choose(copy(2000), 401, 1) == 2000


def test_drafting_is_switched_off_by_wrong_drafts_and_on_again_by_what_was_written():
    """After wrong drafts nothing is offered; tokens that agree unseen bring drafting back."""
    policy = CostGamma(CPU)
    chosen = []
    for _ in range(6):
        chosen.append(policy.choose(copy(300), 0, 1))
        policy.observe(record(1 + chosen[-1], chosen[-1], 0), (9,))
    assert chosen[0] > 0
    assert chosen[2:] == [0, 0, 0, 0]
    for _ in range(12):
        policy.choose(copy(300), 0, 1)
        policy.observe(record(1), (100,))
    assert policy.choose(copy(300), 0, 1) > 8


def test_a_drawn_draft_is_never_cut():
    """A draft that carries its distributions is offered whole, whatever it costs."""
    policy = CostGamma(CPU)
    draft = Draft((5,) * 40, "draft_model", regions=(("novel", 40),), probs=[None] * 40)
    assert policy.choose(draft, 0, 1) == 40


def test_a_draft_model_is_asked_for_less_the_more_it_costs():
    """The length to draw is chosen before drawing and falls with the price per token."""
    lengths = [CostGamma(FLAT).drawn_limit(Price(price)) for price in (0.0, 0.001, 0.01, 1.0)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > 0
    assert lengths[-1] == 0
    # A target whose pass grows with its width leaves less to gain.
    assert CostGamma(CPU).drawn_limit(Price(0.02)) < CostGamma(FLAT).drawn_limit(Price(0.001))


def test_reading_a_prompt_is_paid_for_by_waiting():
    """What has to be read first is paid where so many passes have gone by that they would have."""
    policy = CostGamma(CPU)
    assert policy.drawn_limit(Price(0.08)) > 0
    asked = [policy.drawn_limit(Price(0.08, 6.0, waited)) > 0 for waited in range(400)]
    assert not any(asked[:10])
    assert asked == sorted(asked)
    policy.drawn_limit(Price(0.08, 6.0, asked.index(True)))
    policy.choose(Draft(), 0, 1)
    gain = policy.decisions[0].asked.saved_s * asked.index(True)
    assert gain == pytest.approx(6.0, rel=0.1)


def test_a_draft_model_that_is_always_wrong_is_not_asked_for_long():
    """Rejected tokens switch it off; the next request has forgotten part of them."""
    policy = CostGamma(CPU, learns_cost=False)
    draft = Draft((5,) * 4, "draft_model", regions=(("novel", 4),))
    limits = []
    for _ in range(12):
        limits.append(policy.drawn_limit(Price(0.08)))
        policy.choose(draft if limits[-1] else Draft(), 0, 1)
        policy.observe(record(5, 4, 0), (9,))
    assert limits[0] > 0
    assert limits[-1] == 0
    for _ in range(6):
        policy = CostGamma(CPU, policy.acceptance.carried(), learns_cost=False)
    assert policy.drawn_limit(Price(0.08)) > 0


def test_a_draft_model_that_is_right_is_asked_for_more():
    """Accepted tokens lengthen the next draft, and say nothing about copying."""
    policy = CostGamma(CPU, learns_cost=False)
    before = policy.drawn_limit(Price(0.08))
    trust = policy._trust
    for _ in range(20):
        policy.choose(Draft((5,) * 4, "draft_model", regions=(("novel", 4),)), 0, 1)
        policy.observe(record(5, 4, 4), (5, 5, 5, 5, 7))
    assert policy.drawn_limit(Price(0.08)) > before
    assert policy._trust == trust


def test_without_seconds_no_draft_model_is_asked():
    """A usual shape has no seconds to compare a price with, until a pass has run."""
    policy = CostGamma(PassCost.usual("cpu"))
    assert policy.drawn_limit(Price(1e-9)) == 0
    policy.choose(Draft(), 0, 1)
    policy.observe(record(1, seconds=0.3), (7,))
    assert policy.drawn_limit(Price(0.01)) > 0


def test_a_fixed_gamma_asks_a_draft_model_whatever_it_costs():
    """The fixed value holds for drawn drafts too, within a limit."""
    assert FixedGamma(3).drawn_limit(Price(1e9)) == 3
    assert FixedGamma(0).drawn_limit(Price(0.0)) == 0
    assert FixedGamma(500).drawn_limit(Price(0.0)) == LONGEST_DRAWN


def test_the_acceptance_rate_from_which_on_drafting_pays():
    """It rises with the price; where nothing is saved there is none."""
    rates = [break_even(FLAT, price) for price in (0.001, 0.005, 0.015)]
    assert rates == sorted(rates)
    assert rates[0] < 0.2
    assert break_even(FLAT, 0.021) is None


def test_the_rest_of_the_prompt_is_not_the_draft_s_cost():
    """Behind a long prompt only what the draft adds to the pass counts."""
    policy = CostGamma(CPU)
    gamma = policy.choose(copy(200), 0, 900)
    assert gamma > 30
    assert policy.decisions[0].seconds == pytest.approx(CPU.seconds(900 + gamma))


@pytest.mark.parametrize("cost", [CPU, FLAT], ids=["cpu", "flat"])
@pytest.mark.parametrize(
    ("source", "length"), [("original", 40), ("original", 400), ("prediction", 200)]
)
def test_zero_acceptance_costs_little_over_plain_decoding(cost, source, length):
    """Drafts that are always wrong cost at most 8 % more time than no drafts."""
    script = b"ab" * (length // 2)
    auto = cost_of_decoding(script, Wrong(source), CostGamma(cost, learns_cost=False), cost)
    plain = cost_of_decoding(script, Wrong(source), FixedGamma(0), cost)
    assert auto <= 1.08 * plain


def test_every_decision_is_explained():
    """Each pass leaves a decision whose line names draft, rates, costs, gamma and what it gives."""
    policy = CostGamma(CPU)
    gamma = policy.choose(copy(100), 700, 1)
    (decision,) = policy.decisions
    line = explain_line(decision)
    assert decision.tokens_per_second == pytest.approx(decision.expected / decision.seconds)
    for part in (
        "pass 1",
        "after 700 tokens",
        "unchanged/original 100",
        f"gamma {gamma}",
        "1:0.35s",
    ):
        assert part in line
    assert "x" in explain_line(_usual_decision())
    assert "draft model" not in line
    policy.drawn_limit(Price(0.08, 5.0, 2))
    policy.choose(copy(100), 700, 1)
    assert "draft model not asked" in explain_line(policy.decisions[1])
    policy.drawn_limit(Price(0.01))
    policy.choose(copy(100), 700, 1)
    assert "draft model asked for" in explain_line(policy.decisions[2])


def _usual_decision():
    policy = CostGamma(PassCost.usual("cpu"))
    policy.choose(Draft(), 0, 1)
    return policy.decisions[0]


def test_costs_never_fall_with_the_width():
    """A table that was disturbed is smoothed to one that rises, keeping its mean."""
    smooth = monotone([1.0, 5.0, 2.0, 2.0, 8.0, 7.0])
    assert smooth == (1.0, 3.0, 3.0, 3.0, 7.5, 7.5)
    assert list(smooth) == sorted(smooth)
    cost = PassCost({512: (3.0, 2.0, 4.0)}, (1, 2, 4))
    assert cost.at(np.arange(1, 9)).tolist() == [2.5, 2.5, 3.25, 4.0, 4.75, 5.5, 6.25, 7.0]


def test_costs_lie_between_those_of_measured_prefixes():
    """T is interpolated between two prefixes and constant beyond them."""
    cost = PassCost({100: (1.0, 2.0), 300: (3.0, 6.0)}, (1, 8))
    assert [cost.seconds(8, p) for p in (0, 100, 200, 300, 9000)] == [2, 2, 4, 6, 6]


def test_passes_correct_scale_and_shape_of_a_usual_table():
    """A machine with a flat T is found out from its passes, at the widths that ran."""
    cost = PassCost.usual("cpu")
    for width in (1, 1, 300, 1, 500, 1, 64, 1, 256):
        cost.observe(width, 512, 0.02)
    assert cost.seconds(1) == pytest.approx(0.02, rel=0.5)
    assert cost.seconds(256) / cost.seconds(1) < 4
    assert PassCost.usual("cpu").seconds(256) > 15
    assert list(cost.at(np.arange(1, 600))) == sorted(cost.at(np.arange(1, 600)))


def test_impossible_times_are_ignored_or_refused():
    """A clock that stood still corrects nothing; a table with it is refused."""
    cost = PassCost.usual("cuda")
    cost.observe(8, 0, 0.0)
    assert cost.seconds(1) == 1.0
    for row in ((1.0, math.nan), (1.0, 0.0), (1.0,)):
        with pytest.raises(ValueError, match="seconds of passes"):
            PassCost({512: row}, (1, 2))
    with pytest.raises(ValueError, match="ascending"):
        PassCost({512: (1.0, 1.0)}, (2, 1))
    assert len(WIDTHS) == len(PassCost.usual("cpu").tables[512])
