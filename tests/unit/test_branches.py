import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apply_edit.decode.branches import MOST, Branches, Trunk, pays
from apply_edit.decode.cost import PassCost
from apply_edit.decode.gamma import CostGamma, explain_line
from apply_edit.decode.loop import Decoding
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from proposers import Draft
from tests.fakes import ByteTokenizer, scripted_target

BYTES = ByteTokenizer()
FLAT = PassCost({512: (0.020, 0.021, 0.030)}, (1, 128, 512))
STEEP = PassCost({512: (0.3, 0.9, 30.0)}, (1, 8, 512))
WRONG = Draft((0, 0, 0))


def trunk(draft=WRONG, right=0.3, token_s=0.001, per_token=0.1):
    """Return a trunk whose tokens are right with one chance, and a pass that grows evenly."""
    reached = [right**n for n in range(len(draft) + 1)]
    costs = [0.1 + token_s * n for n in range(MOST * Branches.longest + 1)]
    return Trunk(draft, reached, costs, per_token)


def others(count, length=8):
    """Return drafts that share nothing."""
    return [Draft((n,) * length) for n in range(1, count + 1)]


def test_branches_come_where_width_is_nearly_free():
    """All that is offered joins where a token costs nothing, nothing where it costs much."""
    branches = Branches()
    assert branches.choose(trunk(token_s=0.0), others(20)) == others(MOST)
    assert branches.choose(trunk(token_s=0.02), others(20)) == []
    between = branches.choose(trunk(token_s=0.002), others(20))
    assert 0 < sum(map(len, between)) < MOST * 8


def test_later_branches_pay_for_the_width_that_earlier_ones_left_them():
    """Where a pass gets dear behind 12 tokens, the first branch is whole, the second cut there."""
    cliff = [0.1 if n <= 12 else 9.0 for n in range(MOST * Branches.longest + 1)]
    flat = trunk()
    chosen = Branches().choose(Trunk(WRONG, flat.reached, cliff, flat.per_token), others(3))
    assert list(map(len, chosen)) == [8, 4]


def test_a_branch_is_cut_where_it_stops_paying():
    """The dearer a token, the shorter the branch."""
    lengths = [
        sum(map(len, Branches().choose(trunk(token_s=cost), others(1))))
        for cost in (0.0, 0.001, 0.003, 0.006, 0.05)
    ]
    assert lengths == sorted(lengths, reverse=True)
    assert (lengths[0], lengths[-1]) == (8, 0)
    assert len(set(lengths)) > 3


@settings(max_examples=60)
@given(st.floats(0.05, 0.95), st.floats(0.0001, 0.02), st.floats(0.02, 0.5))
def test_the_length_has_the_largest_expected_gain(right, token_s, per_token):
    """No other length of a branch gains more time, by adding up what it may accept."""
    branches = Branches()
    chosen = branches.choose(trunk(right=right, token_s=token_s, per_token=per_token), others(1))
    begins = (1 - right) * branches.chance(0)
    goes_on = (0.45, 0.6, 0.75, 0.75, 0.8, 0.85, 0.8)
    gains = [0.0]
    for length in range(1, 9):
        chances = itertools.accumulate((begins, *goes_on[: length - 1]), lambda a, b: a * b)
        gains.append(sum(chances) * per_token - token_s * length)
    assert gains[sum(map(len, chosen))] == pytest.approx(max(gains))


def test_what_a_branch_shares_is_paid_once():
    """A branch that leaves the trunk late is judged by the chance that the trunk is wrong there."""
    first = Draft((1, 2, 3, 4))
    late, same = Draft((1, 2, 3, 9)), Draft((1, 2, 3, 4))
    sure, unsure = trunk(first, right=1.0), trunk(first, right=0.7)
    assert Branches().choose(sure, [late]) == []
    assert Branches().choose(unsure, [late]) == [late]
    assert Branches().choose(unsure, [same]) == []
    # A draft that goes on behind the trunk.
    longer = Draft((1, 2, 3, 4, 5))
    assert Branches().choose(unsure, [longer]) == [longer]


def test_drawn_drafts_are_no_branches():
    """Whether a branch pays depends on its tokens, so a drawn one is never weighed."""
    drawn = Draft((5,), probs=[[1.0]])
    assert Branches().choose(trunk(token_s=0.0), [drawn, Draft((6,)), Draft()]) == [Draft((6,))]


def test_ranks_learn_from_what_was_written():
    """A draft that was right where those before it were wrong gains, one that was wrong loses."""
    drafts = [Draft((1, 2)), Draft((3, 4)), Draft((5, 6))]
    branches, before = Branches(), Branches()
    for _ in range(30):
        branches.learn(drafts, (5, 6, 7))
    assert branches.chance(1) > before.chance(1)
    assert branches.chance(0) < before.chance(0)
    assert branches.chance(2) == before.chance(2)


def test_nothing_is_learned_where_a_draft_before_was_right():
    """Behind the right draft nobody knows what the others would have been worth."""
    branches, before = Branches(), Branches()
    branches.learn([Draft((1, 2)), Draft((3, 4)), Draft((1, 9))], (1, 2, 7))
    branches.learn([Draft((1, 2)), Draft((1, 2))], (1, 8))  # nothing of its own
    branches.learn([Draft((1, 2)), Draft((1, 2, 3))], (1, 2))  # not known yet
    assert [branches.chance(n) for n in range(MOST)] == [before.chance(n) for n in range(MOST)]
    branches.learn([Draft((1, 2)), Draft((1, 9))], (1, 9))
    assert branches.chance(0) > before.chance(0)


def test_the_next_request_keeps_a_share():
    """Evidence fades from request to request, and a copy does not change its source."""
    branches = Branches()
    for _ in range(50):
        branches.learn([Draft((1,)), Draft((2,))], (2,))
    carried = branches.carried()
    assert Branches().chance(0) < carried.chance(0) < branches.chance(0)
    carried.learn([Draft((1,)), Draft((2,))], (3,))
    assert branches.carried().chance(0) > carried.chance(0)


def test_whether_to_look_for_branches_follows_the_cost():
    """A proposer is not asked for a tree where the second token costs too much."""
    assert CostGamma(FLAT).is_branching
    assert not CostGamma(STEEP).is_branching
    assert pays(1.0, 1.01)
    assert not pays(1.0, 1.2)


class Guesses:
    """Guesses wrong first and right next; the right one may be the only."""

    def __init__(self, script):
        self.script = script

    def propose(self, output, limit):
        """Return the wrong guess."""
        return self.propose_tree(output, limit)[0]

    def propose_tree(self, output, limit):
        """Return a wrong guess and a right one."""
        done = len(output)
        right = tuple(self.script[done : done + min(limit, 4)])
        return [
            Draft((33,) * len(right), "repeat", regions=(("novel", len(right)),)),
            Draft(right, "repeat", regions=(("novel", len(right)),)),
        ]


def decode(policy, script=b"a text that nobody has written before"):
    """Write a script."""
    target = scripted_target(1, [*script, 256], BYTES.vocab_size)
    request = Request((0,), len(script) + 1, eos_ids=BYTES.eos_ids)
    output = Decoding(target, BYTES, request, Guesses(script), policy).run()
    assert output.text.encode() == script
    return output.report


def test_a_tree_saves_passes_where_the_first_guess_is_wrong():
    """With a flat T the second guess joins, is accepted, and is explained."""
    policy = CostGamma(FLAT, learns_cost=False)
    report = decode(policy)
    assert report.passes < decode(FixedGamma(8)).passes / 3
    assert any("branches 4" in explain_line(decision) for decision in policy.decisions)
    assert policy.branches.chance(0) > Branches().chance(0)


def test_no_tree_where_width_is_dear():
    """With a steep T there is one draft a pass and nothing is said about branches."""
    policy = CostGamma(STEEP, learns_cost=False)
    decode(policy)
    assert not any("branches" in explain_line(decision) for decision in policy.decisions)


def test_no_branch_beside_a_drawn_draft():
    """A first draft that was drawn stays alone."""
    policy = CostGamma(FLAT)
    policy.choose(Draft((5, 5), "draft_model", probs=[None, None]), 0, 1)
    assert policy.branch([Draft((6, 6))]) == []
