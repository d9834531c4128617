import itertools
import logging
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from apply_edit.decode.cost import PassCost
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.prefix_cache import PrefixCache
from apply_edit.decode.row import Request
from apply_edit.decode.runner import Alone
from apply_edit.engine import Engine
from apply_edit.errors import (
    Cancelled,
    ConfigError,
    DeviceError,
    EngineError,
    PromptTooLong,
    Stopping,
)
from apply_edit.rewriting import DecodeSettings, Rewrite
from apply_edit.service.job import Job
from apply_edit.service.scheduler import Scheduler
from apply_edit.service.worker import Worker
from proposers import Lookup, Nothing
from tests.fakes import ByteTokenizer, hash_target, writing_engine
from tests.tiny import VOCAB, qwen2_config, tiny_target

BYTES = ByteTokenizer()
WAIT_S = 20


def never():
    """Say that nobody has lost interest."""
    return False


def ignore(event):
    """Do nothing with an event."""


def before_passes(target, hook):
    """Have ``hook(number)`` called in the worker's thread before each pass; the first is 1."""
    score = target.score

    def hooked(blocks):
        hook(target.num_passes + 1)
        return score(blocks)

    target.score = hooked


def some_request(seed, **options):
    """Return a random request and what drafts for it are copied from."""
    dice = random.Random(seed)
    prompt = tuple(dice.randrange(50) for _ in range(dice.choice([1, 5, 60, 300])))
    options = {"prefill_chunk": 40, "keep_prefix": len(prompt) // 2} | options
    return Request(prompt, dice.choice([1, 7, 40]), frozenset({dice.randrange(50)}), **options)


def drafts(request):
    """Return the proposer and the policy of a random request."""
    return Lookup(request.prompt_ids), FixedGamma(len(request.prompt_ids) % 6)


def alone(request):
    """Return what a request gives by itself."""
    return Alone(hash_target(), BYTES).run(request, *drafts(request), ignore, never)


def test_every_request_gets_what_it_would_get_alone():
    """Thirty requests of mixed lengths from eight threads come out as if each ran alone."""
    target = hash_target()
    requests = [some_request(seed) for seed in range(30)]
    texts = {}

    def run(request):
        pieces = texts.setdefault(request, [])
        watch = lambda event: pieces.append(event.text)  # noqa: E731
        return worker.run(request, *drafts(request), watch, never)

    with (
        Worker(target, BYTES, max_rows=5, max_tokens_per_step=100) as worker,
        ThreadPoolExecutor(8) as threads,
    ):
        outputs = list(threads.map(run, requests))
    stats = worker.stats()
    for request, output in zip(requests, outputs, strict=True):
        right = alone(request)
        assert (output.text, output.ids, output.finish) == (right.text, right.ids, right.finish)
        assert "".join(texts[request]) == output.text
    assert target.rows == {}
    assert (stats.done, stats.failed, stats.cancelled) == (30, 0, 0)
    assert (stats.rows, stats.waiting, stats.stalled_s) == (0, 0, 0.0)
    assert stats.passes == target.num_passes


@pytest.mark.parametrize("capacity", [None, 256])
def test_a_real_model_writes_the_same_in_the_workers_thread(capacity):
    """Passes, prefixes and rollbacks of a transformers model do not depend on the thread."""
    target = tiny_target(qwen2_config(), capacity)
    file = tuple((31 * n * n + 7 * n) % VOCAB for n in range(90))
    requests = [Request((*file, n, 3), 20, keep_prefix=90, prefill_chunk=32) for n in range(6)]

    def run(runner, request):
        return runner.run(request, Lookup(file), FixedGamma(4), ignore, never)

    plain = [run(Alone(target, BYTES), request) for request in requests]
    with Worker(target, BYTES, max_rows=3) as worker, ThreadPoolExecutor(6) as threads:
        ours = list(threads.map(lambda request: run(worker, request), requests))
    assert [output.ids for output in ours] == [output.ids for output in plain]
    assert sorted(output.report.cached_prompt_tokens for output in ours) == [0] + 5 * [90]


@pytest.mark.parametrize("seed", range(3))
def test_cancelled_requests_leave_no_row_open_and_disturb_nobody(seed):
    """Whenever callers lose interest, their rows go, and the others get what is right."""
    target = hash_target()
    dice = random.Random(seed)
    patience = {some_request(n): dice.choice([0, 1, 3, 9, 1000]) for n in range(30)}

    def run(request):
        asked = itertools.count()
        return worker.run(
            request, *drafts(request), ignore, lambda: next(asked) >= patience[request]
        )

    with Worker(target, BYTES, max_rows=4, max_tokens_per_step=100) as worker:
        with ThreadPoolExecutor(8) as threads:
            outputs = dict(zip(patience, threads.map(run, patience), strict=True))
        stats = worker.stats()
        assert target.rows == {}
    ends = [output.finish for output in outputs.values()]
    assert ends.count("cancelled") == stats.cancelled >= 6
    assert stats.done == 30 - stats.cancelled >= 1
    for request, output in outputs.items():
        right = alone(request)
        if output.finish == "cancelled":
            assert output.ids == right.ids[: len(output.ids)]
            assert right.text.startswith(output.text)
        else:
            assert (output.text, output.ids) == (right.text, right.ids)


@pytest.mark.parametrize("last", [1, 3, 12])
def test_no_pass_is_run_for_a_request_after_it_is_cancelled(last):
    """A request that is cancelled during a pass leaves before the next, in a long prompt as well.

    The prompt takes ten passes, so the first two cases are cancelled while it is read.
    """
    target = hash_target()
    gone = threading.Event()
    before_passes(target, lambda number: gone.set() if number == last else None)
    request = Request(tuple(range(50)) * 20, 100, prefill_chunk=100)
    events = []
    with Worker(target, BYTES) as worker:
        output = worker.run(request, Nothing(), FixedGamma(0), events.append, gone.is_set)
        assert (output.finish, target.num_passes, target.rows) == ("cancelled", last, {})
    assert [event.finish for event in events] == [None] * last + ["cancelled"]
    assert len(output.ids) == max(0, last - 9)


class Busy:
    """A worker with one row, which is in its first pass until ``release``."""

    def __init__(self, limit=5):
        self.target = hash_target()
        self.in_pass, self.released = threading.Event(), threading.Event()
        before_passes(self.target, self._hold)
        self.worker = Worker(self.target, BYTES, max_rows=1)
        self.threads = ThreadPoolExecutor(4)
        self.limit = limit

    def _hold(self, number):
        if number == 1:
            self.in_pass.set()
            assert self.released.wait(WAIT_S)

    def submit(self, request, watch=ignore, cancelled=never):
        """Run a request in a thread of its own."""
        proposer, policy = Nothing(), FixedGamma(0)
        return self.threads.submit(self.worker.run, request, proposer, policy, watch, cancelled)

    def __enter__(self):
        self.worker.start()
        self.first = self.submit(Request((1, 2), self.limit))
        assert self.in_pass.wait(WAIT_S)
        return self

    def __exit__(self, *_):
        self.released.set()
        self.worker.stop()
        self.threads.shutdown()


def until(condition):
    """Wait for something that another thread is about to do."""
    for _ in range(WAIT_S * 100):
        if condition():
            return
        threading.Event().wait(0.01)
    pytest.fail("it did not happen")


def test_a_request_can_be_cancelled_while_it_waits():
    """Whoever gives up before having a row never gets one."""
    with Busy() as busy:
        second = busy.submit(Request((3, 4), 5), cancelled=lambda: True)
        until(lambda: busy.worker.stats().waiting == 1)
        busy.released.set()
        assert second.result(WAIT_S).finish == "cancelled"
        assert second.result().report.prompt_tokens == 2
        assert busy.first.result(WAIT_S).finish == "length"
        assert busy.target._next == 1


def test_a_pass_that_fails_ends_its_own_requests_only(caplog):
    """The requests in the pass get an error that names no insides, and the next one works."""
    target = hash_target()

    def fail(number):
        if number == 1:
            message = "secret tensor"
            raise RuntimeError(message)

    before_passes(target, fail)
    request = some_request(1)
    with Worker(target, BYTES) as worker:
        # Logged with its traceback, for whoever runs the service.
        with (
            caplog.at_level(logging.ERROR, "apply_edit.service"),
            pytest.raises(EngineError) as caught,
        ):
            worker.run(request, *drafts(request), ignore, never)
        assert target.rows == {}
        # The first pass is counted when it has succeeded; the second request gets it.
        target.num_passes = 1
        output = worker.run(request, *drafts(request), ignore, never)
        stats = worker.stats()
    assert type(caught.value) is EngineError
    assert "tensor" not in caught.value.message
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert "secret tensor" in caplog.text
    assert output.ids == alone(request).ids
    assert (stats.done, stats.failed) == (1, 1)


def test_errors_for_callers_stay_what_they_are():
    """A typed error reaches every caller of the pass, each as an object of its own."""
    target = hash_target()
    both = threading.Barrier(2)

    def fail(number):
        until(lambda: worker.stats().waiting + worker.stats().rows == 2)
        if worker.stats().rows == 2:
            message = "the device has run out of memory"
            raise DeviceError(message, capacity=3)

    before_passes(target, fail)

    def run(first):
        both.wait(WAIT_S)
        with pytest.raises(DeviceError, match="out of memory") as caught:
            worker.run(Request((first, 2), 9), Nothing(), FixedGamma(0), ignore, never)
        return caught.value

    with Worker(target, BYTES) as worker, ThreadPoolExecutor(2) as threads:
        one, other = threads.map(run, [1, 2])
    assert one is not other
    assert one.fields == other.fields == {"capacity": 3}
    assert target.rows == {}


class Failing(Nothing):
    """Fails when it is asked; notes the thread that closes it."""

    closed_in = None

    def propose(self, output, limit):
        """Fail."""
        message = "no idea"
        raise LookupError(message)

    def close(self):
        """Note the thread."""
        self.closed_in = threading.current_thread().name


def test_a_proposer_that_fails_ends_its_own_request_only():
    """The others in the batch go on, and what the proposer held is given back by the worker."""
    with Busy() as busy:
        proposer = Failing()
        bad = busy.threads.submit(
            busy.worker.run, Request((3, 4), 5), proposer, FixedGamma(3), ignore, never
        )
        good = busy.submit(Request((5, 6), 5))
        busy.released.set()
        with pytest.raises(EngineError):
            bad.result(WAIT_S)
        assert len(good.result(WAIT_S).ids) == len(busy.first.result(WAIT_S).ids) == 5
        assert busy.target.rows == {}
    assert proposer.closed_in == "apply-edit-worker"


def test_a_prompt_that_does_not_fit_is_refused():
    """The error that a row refuses a prompt with reaches the caller."""
    target = hash_target()
    target.context_limit = 8
    with Worker(target, BYTES) as worker, pytest.raises(PromptTooLong) as caught:
        worker.run(Request((1,) * 8, 5), Nothing(), FixedGamma(0), ignore, never)
    assert caught.value.fields == {"limit": 8, "actual": 8}


def test_a_slow_reader_holds_nobody_up():
    """Events wait for their reader, in whose thread they are told; the passes go on meanwhile."""
    target = hash_target()
    reading, go_on = threading.Event(), threading.Event()
    names = set()

    def slow(event):
        names.add(threading.current_thread().name)
        reading.set()
        assert go_on.wait(WAIT_S)

    with Worker(target, BYTES) as worker, ThreadPoolExecutor(1, "reader") as threads:
        request = Request((1, 2), 30)
        first = threads.submit(worker.run, request, Nothing(), FixedGamma(0), slow, never)
        assert reading.wait(WAIT_S)
        worker.run(Request((3, 4), 40), Nothing(), FixedGamma(0), ignore, never)
        assert not first.done()
        assert worker.stats().done == 2
        go_on.set()
        assert len(first.result(WAIT_S).ids) == 30
    assert names == {"reader_0"}


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_a_reader_that_fails_takes_its_request_with_it(error):
    """The reader's error is its caller's, and by the next pass the row is gone."""
    target = hash_target()

    def fail(event):
        raise error

    with Worker(target, BYTES) as worker:
        with pytest.raises(error):
            worker.run(Request((1, 2), 1 << 20), Nothing(), FixedGamma(0), fail, never)
        worker.run(Request((3, 4), 1), Nothing(), FixedGamma(0), ignore, never)
        assert target.rows == {}
        assert worker.stats().cancelled == 1


def test_a_question_that_fails_ends_its_own_request():
    """When asking whether to go on fails, the request fails and nobody else."""
    target = hash_target()

    def fail():
        message = "asked in the wrong thread"
        raise RuntimeError(message)

    with Worker(target, BYTES) as worker:
        with pytest.raises((EngineError, RuntimeError)):
            worker.run(Request((1, 2), 1 << 20), Nothing(), FixedGamma(0), ignore, fail)
        worker.run(Request((3, 4), 1), Nothing(), FixedGamma(0), ignore, never)
        assert target.rows == {}


def test_stopping_lets_rows_finish_and_refuses_the_rest():
    """Who has a row gets its result; who waits, and who comes later, is told to go."""
    with Busy() as busy:
        second = busy.submit(Request((3, 4), 5))
        until(lambda: busy.worker.stats().waiting == 1)
        stopping = busy.threads.submit(busy.worker.stop, WAIT_S)
        until(lambda: busy.worker._stopping.is_set())
        busy.released.set()
        stopping.result(WAIT_S)
        with pytest.raises(Stopping, match="stopping"):
            second.result(WAIT_S)
        assert len(busy.first.result(WAIT_S).ids) == 5
        with pytest.raises(Stopping, match="stopping"):
            busy.submit(Request((5, 6), 5)).result(WAIT_S)
        assert busy.target.rows == {}
        assert not busy.worker.stats().alive


def test_stopping_does_not_wait_for_ever():
    """A request that is not finished in time fails when its pass is over."""
    with Busy(limit=1 << 20) as busy:
        busy.released.set()
        busy.worker.stop(timeout=0)
        with pytest.raises(Stopping, match="stopping"):
            busy.first.result(WAIT_S)
        assert busy.target.rows == {}


def test_a_worker_runs_once():
    """Before the start there is nobody to ask, and a second start is a mistake."""
    worker = Worker(hash_target(), BYTES)
    request = Request((1,), 1)
    with pytest.raises(EngineError, match="does not run"):
        worker.run(request, Nothing(), FixedGamma(0), ignore, never)
    with worker, pytest.raises(RuntimeError):
        worker.start()
    Worker(hash_target(), BYTES).stop()


def test_an_error_of_the_workers_own_answers_everybody(monkeypatch, caplog):
    """A worker that breaks down leaves no caller waiting and says that it is gone."""

    def fail(self):
        message = "a bug"
        raise RuntimeError(message)

    monkeypatch.setattr(Scheduler, "turn", fail)
    worker = Worker(hash_target(), BYTES)
    worker.start()
    for _ in range(2):
        with pytest.raises(EngineError, match="does not run"):
            worker.run(Request((1,), 1), Nothing(), FixedGamma(0), ignore, never)
    worker.stop()
    assert not worker.stats().alive
    assert "a bug" in caplog.text


def test_a_stuck_pass_can_be_told_from_an_idle_worker():
    """While there is work the time without progress grows; without work there is none."""
    with Busy() as busy:
        earlier = busy.worker.stats()
        until(lambda: busy.worker.stats().stalled_s > earlier.stalled_s > 0)
        busy.released.set()
        busy.first.result(WAIT_S)
        until(lambda: busy.worker.stats().stalled_s == 0)
        assert busy.worker.stats().alive


@pytest.mark.parametrize(
    "limits", [{"max_rows": 0}, {"max_tokens_per_step": 0}, {"prefix_bytes": -1}]
)
def test_impossible_limits_are_refused(limits):
    """The message names the limit."""
    with pytest.raises(ConfigError, match=next(iter(limits))):
        Worker(hash_target(), BYTES, **limits)


class Turns:
    """A scheduler without a thread, so that passes can be counted one by one."""

    def __init__(self, max_rows=4, max_tokens=100, prefix_bytes=0):
        self.target = hash_target()
        self.prefixes = PrefixCache(prefix_bytes)
        self.scheduler = Scheduler(self.target, BYTES, self.prefixes, max_rows, max_tokens)

    def add(self, request):
        """Put a request into the queue."""
        job = Job(request, Nothing(), FixedGamma(0), never)
        self.scheduler.add(job)
        return job

    def until_done(self, job):
        """Run passes until a job has its end; return how many."""
        before = self.target.num_passes
        while job.row is None or job.row.finish is None:
            self.scheduler.turn()
        return self.target.num_passes - before


def large(number=0, tokens=2000, limit=1):
    """Return a request with a long prompt, read in chunks of 50."""
    return Request((number, *[7] * (tokens - 1)), limit, prefill_chunk=50)


def test_a_small_request_gets_through_while_a_long_prompt_is_read():
    """It takes the passes that it takes alone, and the long one is read at the same time."""
    turns = Turns()
    long = turns.add(large(tokens=20_000))
    turns.scheduler.turn()
    small = turns.add(Request((1, 2, 3), 6))
    assert turns.until_done(small) == 6
    assert turns.target.length(long.row.id) == 7 * 50
    assert turns.until_done(long) == 20_000 // 50 - 7


def test_a_small_request_finds_a_row_among_many_long_ones():
    """Long prompts never have all rows, whoever came first."""
    turns = Turns()
    for number in range(10):
        turns.add(large(number))
    turns.scheduler.turn()
    assert (turns.scheduler.rows, turns.scheduler.waiting) == (2, 8)
    assert turns.until_done(turns.add(Request((1, 2, 3), 6))) <= 2 * 6


def test_long_requests_do_not_starve_among_small_ones():
    """With small requests coming all the time, each long one is read at its pace."""
    turns = Turns()
    jobs = [turns.add(large(number)) for number in range(4)]
    small = itertools.count(10)
    for _ in range(4 * 40):
        while turns.scheduler.waiting < 6:
            turns.add(Request((next(small) % 50, 2), 3))
        turns.scheduler.turn()
    # Two at a time, 40 chunks each, one or two chunks a pass.
    assert [job.row is not None and job.row.finish for job in jobs] == ["length"] * 4


def test_one_row_is_enough_for_all():
    """Where there is one row only, requests take it in the order in which they came."""
    turns = Turns(max_rows=1)
    jobs = [turns.add(large(tokens=200)), turns.add(Request((1, 2), 2)), turns.add(large())]
    assert [turns.until_done(job) for job in jobs] == [4, 2, 40]


def test_a_file_is_read_once_for_requests_that_come_together():
    """The second edit of a file waits until the first has read it, and begins behind it."""
    turns = Turns(prefix_bytes=1 << 20)
    file = tuple(n % 50 for n in range(300))
    first = turns.add(Request((*file, 1, 2), 3, prefill_chunk=50, keep_prefix=300))
    second = turns.add(Request((*file, 3, 4), 3, prefill_chunk=50, keep_prefix=300))
    other = turns.add(Request((*file[:250], 3), 3, prefill_chunk=50, keep_prefix=250))
    turns.scheduler.turn()
    assert [job.row is not None for job in (first, second, other)] == [True, False, True]
    turns.until_done(second)
    assert second.row.report.cached_prompt_tokens == 300
    assert sum(turns.target.widths) <= 302 + 251 + 2 + 3 * 3


def test_a_file_whose_reading_is_broken_off_is_read_on_by_the_next():
    """Nothing that was read is lost when the first of two edits is cancelled."""
    turns = Turns(prefix_bytes=1 << 20)
    file = tuple(n % 50 for n in range(300))
    gone = []
    first = Job(
        Request((*file, 1), 3, prefill_chunk=50, keep_prefix=300),
        Nothing(),
        FixedGamma(0),
        lambda: bool(gone),
    )
    turns.scheduler.add(first)
    second = turns.add(Request((*file, 2), 3, prefill_chunk=50, keep_prefix=300))
    turns.scheduler.turn()
    turns.scheduler.turn()
    gone.append(True)
    turns.until_done(second)
    assert second.row.report.cached_prompt_tokens == 100


def test_reading_ahead_spares_a_later_request_its_prompt():
    """A prefix that was read ahead is reused, and read ahead again it costs one pass of a token."""
    target = hash_target()
    file = tuple(n % 50 for n in range(300))
    with Worker(target, BYTES) as worker:
        read = worker.prefill(file, never)
        again = worker.prefill(file, never)
        assert (read.num_tokens, read.num_cached, again.num_cached) == (300, 0, 299)
        assert target.widths == [300, 1]
        request = Request((*file, 1, 2, 3), 4)
        output = worker.run(request, Nothing(), FixedGamma(0), ignore, never)
        stats = worker.stats()
    right = Alone(hash_target(), BYTES).run(request, Nothing(), FixedGamma(0), ignore, never)
    assert output.ids == right.ids
    assert target.widths[2:] == [3, 1, 1, 1]
    assert output.report.cached_prompt_tokens == 300
    assert (stats.prefix_hits, stats.prefix_misses, stats.prefix_tokens) == (2, 1, 599)
    assert stats.prefix_bytes == 300 * 8


def test_reading_ahead_can_be_cancelled():
    """Nobody is told that a file was read when it was not."""
    target = hash_target()
    gone = threading.Event()
    before_passes(target, lambda number: gone.set())
    with Worker(target, BYTES) as worker:
        with pytest.raises(Cancelled):
            worker.prefill(tuple(range(50)) * 100, gone.is_set)
        assert (target.num_passes, target.rows) == (1, {})


def test_reading_ahead_needs_a_place_to_keep_it():
    """Without a prefix cache it is refused, with a service and without one."""
    with Worker(hash_target(), BYTES, prefix_bytes=0) as worker, pytest.raises(ConfigError):
        worker.prefill((1, 2), never)
    with pytest.raises(ConfigError, match="by the service"):
        writing_engine("x").prewarm(Rewrite("a\n", snippet=""), DecodeSettings())


def test_an_engine_reuses_the_file_that_it_was_warmed_with():
    """Prewarming reads exactly what the prompts of a file's edits have in common."""
    plain = writing_engine("a\nb\n")
    with Worker(plain.target, BYTES) as worker:
        cost = PassCost.usual("cpu")
        shape = cost.at([1, 64], 0).tolist()
        engine = Engine(plain.target, plain.tokenizer, cost, runner=worker)
        file = "line\n" * 40
        read = engine.prewarm(Rewrite(file, snippet=""), DecodeSettings())
        assert read.num_tokens == sum(plain.target.widths)
        for snippet in ("b\n", "ccc\n"):
            text, output = engine.rewrite(Rewrite(file, snippet=snippet), DecodeSettings())
            assert text == "a\nb\n"
            assert output.report.cached_prompt_tokens == read.num_tokens
        # Without being warmed, the second of two edits of a file is spared what the first has read.
        edits = [Rewrite("x = 1\n" * 40, snippet=snippet) for snippet in ("b\n", "ccc\n")]
        reports = [engine.rewrite(edit, DecodeSettings())[1].report for edit in edits]
        assert reports[0].cached_prompt_tokens < read.num_tokens
        assert reports[1].cached_prompt_tokens == read.num_tokens + 40
        # Passes of a batch say nothing about what a pass of one request costs.
        assert cost.at([1, 64], 0).tolist() == shape
    assert plain.target.rows == {}
