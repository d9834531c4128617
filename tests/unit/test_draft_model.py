import random

import pytest
import torch

from apply_edit.decode.loop import Decoding
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from apply_edit.decode.sampling import Sampling
from apply_edit.decode.small_model import TargetSmallModel
from proposers import Cursor, Draft, DraftModel, Guess, Nothing, References
from proposers.reference import original_of
from tests.fakes import FakeTarget, PieceTokenizer, hash_target

VOCAB = 20
TEXT = PieceTokenizer([bytes([97 + i]) for i in range(VOCAB)])


class Script:
    """A small model that writes successors and becomes unsure at a given id."""

    context_limit = 12

    def __init__(self, unsure=None):
        self.ids, self.unsure, self.fed, self.positions = [], unsure, [], []

    @property
    def length(self):
        """Number of cached ids."""
        return len(self.ids)

    def rollback(self, length):
        """Forget."""
        assert 0 <= length <= len(self.ids)
        del self.ids[length:]

    def extend(self, ids, position):
        """Return the successor of the last id."""
        assert ids
        self.ids += ids
        self.fed.append(list(ids))
        self.positions.append(position)
        token = self.ids[-1] + 1
        return Guess(token, 0.1 if token == self.unsure else 0.9)


def test_each_id_is_fed_once_and_rejected_ones_are_forgotten():
    """The prompt goes in once; after a rejection the cache holds what was committed."""
    model = Script()
    proposer = DraftModel(model, [1, 2])
    assert proposer.propose([], 3).ids == (3, 4, 5)
    assert model.ids == [1, 2, 3, 4]
    # 3 was accepted, 4 was not: the target wrote 8.
    assert proposer.propose([3, 8], 2).ids == (9, 10)
    assert model.ids == [1, 2, 3, 8, 9]
    # Everything was accepted, and the bonus token is 20.
    assert proposer.propose([3, 8, 9, 10, 20], 1).ids == (21,)
    assert model.fed == [[1, 2], [3], [4], [8], [9], [10, 20]]


def test_drafting_stops_before_an_unsure_token_and_behind_an_end():
    """The floor is compared before a token is used; an ending token is the last of its draft."""
    assert DraftModel(Script(unsure=5), [1, 2], floor=0.5).propose([], 9).ids == (3, 4)
    assert DraftModel(Script(unsure=3), [1, 2], floor=0.5).propose([], 9).ids == ()
    assert DraftModel(Script(), [1, 2], ends=frozenset({4})).propose([], 9).ids == (3, 4)


def test_the_small_models_context_is_not_exceeded():
    """A draft gets shorter, then empty, where the small model has no room left."""
    model = Script()
    proposer = DraftModel(model, range(10))
    assert len(proposer.propose([], 9)) == 3
    assert len(model.ids) <= model.context_limit
    assert len(proposer.propose([10, 11], 9)) == 1
    assert proposer.propose([10, 11, 12], 9).ids == ()
    assert proposer.propose([10, 11, 12], 0).ids == ()


def test_of_a_long_output_only_the_end_is_read():
    """Where much is unread, what is before a window is left out, and the prompt stays cached."""
    model = Script()
    model.context_limit = 99
    proposer = DraftModel(model, [1, 2], window=3)
    output = [10, 11, 12, 13, 14]
    assert proposer.unread(output) == 5
    assert proposer.propose(output, 2).ids == (15, 16)
    assert model.ids == [1, 2, 12, 13, 14, 15]
    # Little is unread: it is read, and nothing is left out.
    assert proposer.unread([*output, 15, 20, 21]) == 2
    assert proposer.propose([*output, 15, 20, 21], 1).ids == (22,)
    assert model.ids == [1, 2, 12, 13, 14, 15, 20, 21]
    # Much was copied meanwhile.
    output = [*output, 15, 20, 21, *range(40, 60)]
    assert proposer.unread(output) == 3
    assert proposer.unread([*output, 60]) == 3
    assert proposer.propose([*output, 60], 1).ids == (61,)
    assert model.ids == [1, 2, 58, 59, 60]
    assert model.fed[-1] == [58, 59, 60]


def test_the_small_model_is_told_where_a_token_stands():
    """Positions are those of the output, whatever of it is left out: noise depends on them."""
    model = Script()
    DraftModel(model, [1], window=2).propose([5, 6, 7, 8, 9], 3)
    assert model.positions == [5, 6, 7]


def test_drafting_stops_where_copying_resumes():
    """Tokens that lead back into the original end the draft; a decided one goes on with a copy."""
    text = original_of(References((90, 91, 6, 7, 8, 9, 80, 81, 82), closing=(99,)))
    proposer = DraftModel(Script(), [3], resume=Cursor(text))
    output = [90, 91, 4]
    draft = proposer.propose(output, 9)
    assert draft.ids == (5, 6, 7, 8, 9)
    assert draft.regions == (("novel", 5),)
    longer = proposer.continued(output, draft, 8)
    assert longer.ids == (5, 6, 7, 8, 9, 80, 81, 82)
    assert longer.source_runs() == (("draft_model", 5), ("original", 3))
    assert longer.regions == (("novel", 5), ("unchanged", 3))
    assert proposer.continued(output, draft, 99).ids[-2:] == (82, 99)


def test_a_draft_that_was_drawn_or_leads_nowhere_is_not_continued():
    """A drawn draft ends where copying resumes; without a place there is nothing to add."""
    text = original_of(References((6, 7, 8, 9, 80, 81)))
    proposer = DraftModel(Script(), [3], resume=Cursor(text))
    drawn = Draft((5, 6, 7, 8, 9), "draft_model", probs=[None] * 5)
    assert proposer.continued([], drawn, 9) is drawn
    short = Draft((5, 6), "draft_model")
    assert proposer.continued([], short, 9) is short
    assert DraftModel(Script(), [3]).continued([], short, 9) is short


def test_a_small_model_that_is_never_asked_holds_no_row():
    """The row is opened by the first id and given back once."""
    target = hash_target(VOCAB)
    model = small(target, Sampling())
    model.close()
    assert target._next == 0
    model = small(target, Sampling())
    model.extend([1, 2], 0)
    assert (model.passes, model.length, list(target.rows.values())) == (1, 2, [[1, 2]])
    model.close()
    model.close()
    assert target.rows == {}


def small(target, sampling, vocab=VOCAB, prompt=2):
    """Return a small model over a fake target."""
    return TargetSmallModel(target, sampling, prompt, vocab)


def test_a_greedy_draft_is_decided_and_a_sampled_one_carries_its_q():
    """Q is None where nothing was drawn, and otherwise the row that the token came from."""
    model = small(hash_target(VOCAB), Sampling())
    draft = DraftModel(model, [1, 2]).propose([], 4)
    assert len(draft) == 4
    assert draft.probs is None
    sampled = small(hash_target(VOCAB), Sampling(temperature=0.7, top_k=3, seed=1))
    draft = DraftModel(sampled, [1, 2]).propose([], 4)
    assert len(draft.probs) == 4
    for token, row in zip(draft.ids, draft.probs, strict=True):
        assert row[token] > 0
        assert int((row > 0).sum()) == 3
        assert float(row.sum()) == pytest.approx(1)


def test_what_only_the_small_model_has_is_never_drawn():
    """A head that is padded to more rows is cut to the common part before anything is drawn."""
    wide = FakeTarget(lambda _: torch.tensor([0.0, 0.0, 50.0]), 3)
    draft = DraftModel(small(wide, Sampling(temperature=1.0, seed=0), vocab=2), [0, 1]).propose(
        [], 6
    )
    assert set(draft.ids) <= {0, 1}
    assert all(len(row) == 2 for row in draft.probs)


@pytest.mark.parametrize(
    "sampling",
    [Sampling(), Sampling(temperature=1.0, seed=3, noise="position", repetition_penalty=1.2)],
)
def test_a_model_that_drafts_for_itself_is_always_right(sampling):
    """Greedy, and with position noise of the same seed, every token of its own is accepted."""
    request = Request((1, 2), 20, sampling=sampling)
    plain = Decoding(hash_target(VOCAB), TEXT, request, Nothing(), FixedGamma(0)).run()
    model = small(hash_target(VOCAB), sampling)
    proposer = DraftModel(model, request.prompt_ids)
    fast = Decoding(hash_target(VOCAB), TEXT, request, proposer, FixedGamma(4)).run()
    assert fast.ids == plain.ids
    assert fast.report.acceptance_rate == 1.0
    assert fast.report.passes == 4
    model.close()


def test_sampled_drafts_of_the_same_model_are_nearly_always_accepted():
    """With p equal to q the ratio is 1, and the seeds of drawing and judging are not the same."""
    sampling = Sampling(temperature=1.0, seed=5)
    model = small(hash_target(VOCAB), sampling)
    request = Request((1, 2), 40, sampling=sampling)
    proposer = DraftModel(model, request.prompt_ids)
    fast = Decoding(hash_target(VOCAB), TEXT, request, proposer, FixedGamma(4)).run()
    assert fast.report.acceptance_rate == 1.0


def test_drawing_and_judging_use_different_numbers():
    """A draft that used the judge's own numbers would not be independent of them."""
    first = small(hash_target(VOCAB), Sampling(temperature=1.0, seed=5))
    assert first._dice.random() != random.Random(5).random()
