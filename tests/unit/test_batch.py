import pytest
import torch

from apply_edit.decode.batch import Batch, Step
from apply_edit.decode.loop import Decoding
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from apply_edit.errors import DeviceError, PromptTooLong
from proposers import Draft, Nothing, References, create
from tests.fakes import ByteTokenizer, FakeTarget, scripted_target

BYTES = ByteTokenizer()


def files_target(files):
    """Return a target that writes ``files[first prompt id]``, whatever else it is shown."""

    def next_logits(prefix):
        text = [*files[prefix[0]], 256]
        place = len(prefix) - 2
        row = torch.zeros(BYTES.vocab_size)
        row[text[place] if 0 <= place < len(text) else 256] = 1.0
        return row

    return FakeTarget(next_logits, BYTES.vocab_size)


FILES = [
    b"def one():\n    return 1\n",
    b"x = 2\n",
    "h\u00e9llo \U0001f600\n".encode(),
    b"four\n" * 9,
]


def ask(number, **options):
    """Return the request for one file."""
    return Request((number, 7), 200, BYTES.eos_ids, **options)


def finish(batch, texts):
    """Run a batch to its end, collecting text per row."""
    while len(batch):
        step = batch.step()
        assert step.failures == {}
        for row, event in step.events.items():
            texts[row] = texts.get(row, "") + event.text
    return texts


def test_four_files_at_once_equal_four_single_runs():
    """Each row drafts from its own file, accepts its own run length and ends by itself."""
    target = files_target(FILES)
    batch = Batch(target, BYTES)
    rows = [
        batch.join(
            ask(n), create("cursor", References(file[: len(file) // (n + 1)])), FixedGamma(n + 2)
        )
        for n, file in enumerate(FILES)
    ]
    texts = finish(batch, {})
    alone = []
    for n, file in enumerate(FILES):
        proposer = create("cursor", References(file[: len(file) // (n + 1)]))
        alone.append(Decoding(target, BYTES, ask(n), proposer, FixedGamma(n + 2)).run())
    assert [texts[row.id].encode() for row in rows] == [out.text.encode() for out in alone] == FILES
    assert [row.report.run_lengths for row in rows] == [out.report.run_lengths for out in alone]
    assert target.rows == {}


def test_cancelling_one_row_leaves_the_others_alone():
    """The cancelled row leaves between passes; nobody else notices."""
    target = files_target(FILES)
    batch = Batch(target, BYTES)
    rows = [batch.join(ask(n), Nothing(), FixedGamma(0)) for n in range(3)]
    batch.step()
    batch.cancel(rows[1])
    batch.cancel(rows[1])
    assert rows[1].finish == "cancelled"
    assert len(batch) == 2
    assert rows[1].id not in target.rows
    finish(batch, {})
    assert [bytes(row.output[:-1]) for row in (rows[0], rows[2])] == [FILES[0], FILES[2]]


def test_a_row_can_join_while_another_is_at_work():
    """A prompt that is read in chunks shares its passes with rows that are decoding."""
    target = files_target(FILES)
    batch = Batch(target, BYTES)
    first = batch.join(ask(3), Nothing(), FixedGamma(0))
    batch.step()
    second = batch.join(ask(1, prefill_chunk=1), Nothing(), FixedGamma(0))
    event = batch.step().events[second.id]
    assert event.record is None
    assert event.finish is None
    finish(batch, {})
    assert bytes(first.output[:-1]) == FILES[3]
    assert bytes(second.output[:-1]) == FILES[1]
    assert second.report.prefill_passes == 1


def test_drafts_reach_their_own_request():
    """Rows 0 and 2 draft, row 1 is still reading its prompt: no draft is judged by another row."""
    target = files_target(FILES)
    batch = Batch(target, BYTES)
    rows = [
        batch.join(ask(0), create("cursor", References(FILES[0])), FixedGamma(64)),
        batch.join(ask(1, prefill_chunk=1), Nothing(), FixedGamma(0)),
        batch.join(ask(2), create("cursor", References(FILES[2])), FixedGamma(64)),
    ]
    events = batch.step().events
    assert [len(events[row.id].ids) for row in rows] == [len(FILES[0]) + 1, 0, len(FILES[2]) + 1]
    assert [event.finish for event in events.values()] == ["eos", None, "eos"]


def test_a_step_takes_rows_in_turn_when_it_is_full():
    """No row waits for ever, and one that does not fit is left out, not cut."""
    target = files_target(FILES)
    batch = Batch(target, BYTES, max_tokens_per_step=2)
    rows = [batch.join(ask(n), Nothing(), FixedGamma(0)) for n in range(3)]
    seen = [set(batch.step().events) for _ in range(3)]
    assert seen == [{rows[0].id}, {rows[1].id}, {rows[2].id}]
    assert set(batch.step().events) == {rows[0].id, rows[1].id}


def test_a_row_that_is_left_out_keeps_its_draft():
    """A draft that waits is not drawn again: choosing among draws would not be a fair draw."""
    target = files_target(FILES)
    batch = Batch(target, BYTES, max_tokens_per_step=4)
    calls = []

    class Counting:
        def propose(self, output, limit):
            calls.append(tuple(output))
            return Draft((1, 2))

    batch.join(ask(0), Counting(), FixedGamma(2))
    batch.join(ask(1), Counting(), FixedGamma(2))
    for _ in range(4):
        batch.step()
    assert len(calls) == len(set(calls)) + 1  # both rows begin with an empty output


def test_an_empty_batch_does_nothing():
    """No row, no pass."""
    target = files_target(FILES)
    assert Batch(target, BYTES).step() == Step()
    assert target.num_passes == 0


def test_a_prompt_that_does_not_fit_is_refused_when_it_joins():
    """At the limit there is no room for a token; one below, there is."""
    target = scripted_target(2, b"ab", BYTES.vocab_size, context_limit=8)
    batch = Batch(target, BYTES)
    for length in (8, 9):
        with pytest.raises(PromptTooLong, match="context is 8"):
            batch.join(Request((1,) * length, 5), Nothing(), FixedGamma(0))
    row = batch.join(Request((1,) * 7, 5), Nothing(), FixedGamma(4))
    finish(batch, {})
    assert (len(row.output), row.finish) == (1, "length")


def fail(*_):
    """Stand in for something that does not work."""
    message = "out of memory"
    raise DeviceError(message)


def test_a_failed_pass_fails_the_rows_in_it_and_no_others():
    """Rows that were left out of a pass that failed go on as if nothing had happened."""
    target = files_target(FILES)
    batch = Batch(target, BYTES, max_tokens_per_step=4)
    rows = [
        batch.join(ask(n), create("cursor", References(FILES[n])), FixedGamma(1)) for n in range(2)
    ]
    batch.step()
    right, target.score = target.score, fail
    step = batch.step()
    target.score = right
    assert {row: type(error) for row, error in step.failures.items()} == {rows[1].id: DeviceError}
    assert step.events == {}
    assert list(target.rows) == [rows[0].id]
    finish(batch, {})
    assert bytes(rows[0].output[:-1]) == FILES[0]


class Failing:
    """A proposer that fails when asked for the second time."""

    closed = 0

    def propose(self, output, limit):
        """Fail behind an output."""
        return fail() if output else Draft()

    def close(self):
        """Count."""
        self.closed += 1


class FailingPolicy(FixedGamma):
    """A gamma policy that fails when it is told about a pass."""

    observe = fail


@pytest.mark.parametrize(
    ("proposer", "policy"), [(Failing(), FixedGamma(2)), (Nothing(), FailingPolicy(2))]
)
def test_a_request_that_fails_takes_no_other_one_with_it(proposer, policy):
    """What goes wrong while a row is planned or committed ends this row only, and closes it."""
    target = files_target(FILES)
    batch = Batch(target, BYTES)
    good = [batch.join(ask(0), Nothing(), FixedGamma(0))]
    bad = batch.join(ask(1), proposer, policy)
    good.append(batch.join(ask(2), Nothing(), FixedGamma(0)))
    failures = {}
    while len(batch):
        failures |= batch.step().failures
    assert list(failures) == [bad.id]
    assert [bytes(row.output[:-1]) for row in good] == [FILES[0], FILES[2]]
    assert target.rows == {}


@pytest.mark.parametrize("leaves", ["ends", "is cancelled", "fails"])
def test_a_proposer_gives_back_what_it_holds_however_its_row_ends(leaves):
    """A proposer that can be closed is closed once when its row ends."""
    target = files_target(FILES)
    batch = Batch(target, BYTES)
    proposer = Failing()
    limit = 1 if leaves == "ends" else 9
    row = batch.join(Request((0, 7), limit), proposer, FixedGamma(2))
    batch.step()
    if leaves == "is cancelled":
        batch.cancel(row)
    if leaves == "fails":
        batch.step()
    assert (proposer.closed, target.rows) == (1, {})


def test_a_proposer_that_cannot_be_closed_fails_its_own_row():
    """A row is given back to the target even where closing its proposer fails."""

    class Stubborn(Nothing):
        close = fail

    target = files_target(FILES)
    batch = Batch(target, BYTES)
    row = batch.join(Request((0, 7), 1), Stubborn(), FixedGamma(0))
    other = batch.join(ask(1), Nothing(), FixedGamma(0))
    step = batch.step()
    assert list(step.failures) == [row.id]
    assert list(step.events) == list(target.rows) == [other.id]


def test_rows_that_write_ride_along_with_every_chunk_of_a_prompt():
    """Narrow blocks are not left out for wide ones, and the wide ones still take their turns."""
    target = files_target(FILES)
    batch = Batch(target, BYTES, max_tokens_per_step=12)
    small = batch.join(Request((3, 7), 200, BYTES.eos_ids), Nothing(), FixedGamma(0))
    batch.step()
    large = [
        batch.join(Request((n, *[7] * 99), 1, prefill_chunk=10), Nothing(), FixedGamma(0))
        for n in range(2)
    ]
    steps = [set(batch.step().events) for _ in range(20)]
    assert all(small.id in events for events in steps)
    assert [sum(row.id in events for events in steps) for row in large] == [10, 10]
