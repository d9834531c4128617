"""One contract for every proposer."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import proposers
from benchmarks.drafting import Leftmost
from proposers import WALL, Draft, References, Router
from proposers.repeat import Repeat
from tests.fakes import ByteTokenizer

VIEW = ByteTokenizer()
VOCAB = 6


class Sequel:
    """A draft model for tests: the next id, always."""

    context_limit = 1 << 20

    def __init__(self):
        self.ids = []

    @property
    def length(self):
        """Cached ids."""
        return len(self.ids)

    def rollback(self, length):
        """Forget ids."""
        del self.ids[length:]

    def extend(self, ids, position):
        """Append ids."""
        del position
        self.ids += ids
        return proposers.Guess((self.ids[-1] + 1) % VOCAB, 1.0)


def without_view(references):
    """Return the same texts as ids only."""
    return References(
        references.original,
        references.snippet,
        references.prediction,
        references.prediction_edits,
        references.closing,
    )


MAKERS = {
    **{name: lambda texts, name=name: proposers.create(name, texts) for name in proposers.NAMES},
    "router without a view": lambda texts: Router(without_view(texts)),
    "router without echo": lambda texts: Router(texts, echo=False),
    "router with a draft model": lambda texts: Router(texts, proposers.DraftModel(Sequel(), (0,))),
    "draft model": lambda texts: proposers.DraftModel(Sequel(), (0,)),
    "repeat": lambda texts: Repeat(texts.original),
    "leftmost": lambda texts: Leftmost(texts.original, 10),
}

ids = st.lists(st.integers(0, VOCAB - 1), max_size=60).map(tuple)
pieces = st.lists(ids, max_size=3).map(
    lambda parts: tuple(token for part in parts for token in (*part, WALL))
)
texts = st.builds(
    References,
    original=ids,
    snippet=pieces,
    prediction=st.none() | ids,
    closing=st.lists(st.just(VOCAB), max_size=3).map(tuple),
    view=st.just(VIEW),
)


def drafts_of(proposer, output, steps, limit):
    """Return the drafts for an output that grows by the given steps."""
    written, drafts = [], []
    place = 0
    for step in (0, *steps):
        written += output[place : place + step]
        place += step
        before = list(written)
        drafts.append(proposer.propose(written, limit))
        assert written == before, "the output was changed"
    return drafts


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=40)
@given(
    references=texts,
    output=ids,
    steps=st.lists(st.integers(1, 9), max_size=8),
    limit=st.integers(0, 20),
)
def test_the_contract(name, references, output, steps, limit):
    """Drafts are short enough, of known ids, labelled throughout, and the same every time."""
    before = (references.original, references.snippet, references.prediction)
    drafts = drafts_of(MAKERS[name](references), output, steps, limit)
    for draft in drafts:
        assert len(draft) <= limit
        assert all(0 <= token <= VOCAB for token in draft.ids)
        assert sum(count for _, count in draft.source_runs()) == len(draft)
        assert not draft.regions or sum(count for _, count in draft.regions) == len(draft)
        assert {region for region, _ in draft.regions} <= {"unchanged", "edit", "novel"}
    assert drafts_of(MAKERS[name](references), output, steps, limit) == drafts
    assert before == (references.original, references.snippet, references.prediction)


@pytest.mark.parametrize("name", MAKERS)
def test_nothing_is_drafted_from_nothing_asked(name):
    """A limit of 0 gives an empty draft, and empty texts are no error."""
    assert len(MAKERS[name](References((1, 2, 3))).propose([1], 0)) == 0
    assert len(MAKERS[name](References(())).propose([], 5)) <= 5


# A draft model has to read what it has not read; the leftmost match is there for comparison.
BOUNDED = [name for name in MAKERS if "draft model" not in name and name != "leftmost"]


def lines_executed(run):
    """Count the lines of Python that a call executes: work, whatever the machine is busy with."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("kind", ["copied", "equal lines", "novel"])
def test_work_per_call_does_not_grow_with_the_text(name, kind):
    """A call on a text of 20,000 ids costs about what it costs on one of 2,000."""
    costs = []
    for size in (2_000, 20_000):
        lines = [10, *(32 + i % 90 for i in range(9))]
        original = (
            tuple(lines * (size // 10))
            if kind == "equal lines"
            else tuple((i * i + i // 7) % 256 for i in range(size))
        )
        output = list(original[: size // 2])
        proposer = MAKERS[name](References(original, view=VIEW))
        proposer.propose(output, 64)
        output += original[size // 2 : size // 2 + 64] if kind == "copied" else [250, 251] * 32
        costs.append(lines_executed(lambda: proposer.propose(output, 64)))  # noqa: B023
    assert costs[1] <= 2 * costs[0] + 500
    assert costs[1] < 40_000


def test_an_unknown_name_lists_the_known_ones():
    """A proposer that does not exist is an error that names those that do."""
    with pytest.raises(ValueError, match="router, cursor"):
        proposers.create("magic", References((1,)))


def test_a_clipped_draft_keeps_its_labels():
    """Sources and regions are cut with the ids."""
    draft = Draft((1, 2, 3), "a", (("a", 1), ("b", 2)), (("unchanged", 2), ("edit", 1)))
    assert draft.clip(2) == Draft((1, 2), "a", (("a", 1), ("b", 1)), (("unchanged", 2),))
