import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from apply_edit.config import Config
from apply_edit.engine import Engine
from apply_edit.errors import (
    AnchorNotFound,
    Busy,
    Cancelled,
    DeadlineExceeded,
    ModelLoadError,
    RequestError,
    Stopping,
)
from apply_edit.service.errand import Limits, Outcome
from apply_edit.service.gate import Gate
from apply_edit.service.pool import Pool, Work
from apply_edit.service.worker import Worker
from tests.fakes import writing_engine
from tests.service.kit import EDIT, LAZY, MERGED, ORIGINAL, Held

DIRECT = Work(ORIGINAL, EDIT)
# One token per pass.
WRITTEN = Work(ORIGINAL, None, "return 42 from a", config=Config(gamma=0))


async def stays() -> bool:
    """Never go."""
    await asyncio.Event().wait()
    return True


class Bench:
    """A pool over a worker whose passes are held up."""

    def __init__(self, **limits: Any) -> None:
        self.engine = writing_engine(MERGED)
        self.held = Held(self.engine)
        self.worker = Worker(
            self.engine.target,
            self.engine.tokenizer,
            max_rows=limits.get("max_concurrency", 4),
            prefix_bytes=0,
        )
        self.worker.start()
        self.engine.use(self.worker)
        self.told: list[Outcome] = []
        self.pool = Pool(self._given, Limits(**limits), lambda _, __, told: self.told.append(told))

    async def _given(self) -> Engine:
        return self.engine

    def start(self, work: Work, gone: Callable[[], Awaitable[bool]] = stays) -> asyncio.Task[Any]:
        """Start an apply."""
        return asyncio.ensure_future(self.pool.apply(work, gone=gone))

    async def close(self) -> None:
        """Stop everything."""
        self.held.free()
        assert await self.pool.close()
        await asyncio.to_thread(self.worker.stop)


def bench(test: Callable[[Bench], Coroutine[Any, Any, None]], **limits: Any) -> None:
    """Run a test in an event loop, and see that nothing is left behind."""

    async def run() -> None:
        made = Bench(**limits)
        try:
            await asyncio.wait_for(test(made), 30)
        finally:
            await made.close()
        assert (made.pool.text.inside, made.pool.model.inside) == (0, 0)
        assert made.engine.target.rows == {}  # type: ignore[attr-defined]

    asyncio.run(run())


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something holds."""
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    message = "what was waited for did not happen"
    raise AssertionError(message)


def test_an_edit_without_a_model_does_not_wait_for_those_with_one():
    """While every model place is taken and the target hangs, structured edits are applied."""

    async def test(b: Bench) -> None:
        tasks = [b.start(WRITTEN) for _ in range(3)]
        await until(lambda: b.pool.model.inside == 3)
        results = await asyncio.gather(*(b.start(DIRECT) for _ in range(4)))
        assert {result.text for result in results} == {MERGED}
        assert b.held.passes == 0
        b.held.free()
        assert [task.text for task in await asyncio.gather(*tasks)] == [MERGED] * 3

    bench(test, max_concurrency=1, max_queue=2, text_threads=2)


def test_one_more_than_may_wait_is_refused():
    """With batch and queue full the next apply is Busy, at once and with a time to come back."""

    async def test(b: Bench) -> None:
        tasks = [b.start(WRITTEN) for _ in range(3)]
        await until(lambda: b.pool.model.inside == 3)
        with pytest.raises(Busy) as refused:
            await b.start(WRITTEN)
        assert refused.value.fields["retry_after_s"] >= 1
        b.held.free()
        assert all(result.text == MERGED for result in await asyncio.gather(*tasks))
        assert (await b.start(WRITTEN)).text == MERGED

    bench(test, max_concurrency=1, max_queue=2)


def test_an_apply_that_takes_too_long_is_refused_and_stops():
    """At its deadline an apply is refused, and the target makes at most the pass under way."""

    async def test(b: Bench) -> None:
        task = b.start(Work(ORIGINAL, None, "x", config=Config(gamma=0), deadline_s=0.15))
        await asyncio.to_thread(b.held.allow, 3)
        with pytest.raises(DeadlineExceeded) as refused:
            await task
        assert refused.value.fields["deadline_s"] == 0.15
        b.held.free()
        await until(lambda: b.pool.model.inside == 0)
        assert b.held.passes <= 4
        assert [told.error for told in b.told] == ["deadline_exceeded"]

    bench(test)


def test_the_services_own_deadline_holds_as_well():
    """A client cannot ask for more time than the service allows."""

    async def test(b: Bench) -> None:
        with pytest.raises(DeadlineExceeded):
            await b.start(Work(ORIGINAL, None, "x", deadline_s=1000))

    bench(test, deadline_s=0.05)


def test_when_the_client_goes_the_target_stops_within_one_pass():
    """After the client has gone no pass begins for it; the one under way is the last."""

    async def test(b: Bench) -> None:
        left = asyncio.Event()

        async def gone() -> bool:
            return await left.wait()

        task = b.start(WRITTEN, gone)
        await asyncio.to_thread(b.held.allow, 5)
        left.set()
        with pytest.raises(Cancelled):
            await task
        b.held.free()
        await until(lambda: b.pool.model.inside == 0)
        assert b.held.passes <= 6

    bench(test)


def test_a_client_that_goes_while_queued_costs_no_pass():
    """An apply that waits for the target is dropped without ever reaching it."""

    async def test(b: Bench) -> None:
        first = b.start(WRITTEN)
        await asyncio.to_thread(b.held.allow, 1)
        queued = b.start(WRITTEN)
        await until(lambda: b.pool.model.inside == 2)
        queued.cancel()
        with pytest.raises(asyncio.CancelledError):
            await queued
        b.held.free()
        result = await first
        assert result.report is not None
        assert b.worker.stats().passes == result.report.passes + result.report.prefill_passes

    bench(test, max_concurrency=1)


def test_a_client_that_goes_before_there_is_a_thread_costs_nothing():
    """An apply that waits for a text place leaves the queue when its client goes."""

    async def test(b: Bench) -> None:
        b.pool.text._inside = 1
        task = b.start(DIRECT)
        await until(lambda: b.pool.text.waiting == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert b.pool.text.waiting == 0
        b.pool.text.leave()
        assert (await b.start(DIRECT)).text == MERGED

    bench(test, text_threads=1)


def test_random_disconnects_leave_nothing_behind():
    """Of many applies that are left at any moment, the rest is right and every place is free."""

    async def test(b: Bench) -> None:
        b.held.free()
        lazy = Work(ORIGINAL, LAZY, path="a.py")
        tasks = [b.start((DIRECT, WRITTEN, lazy)[i % 3]) for i in range(30)]
        for turn, task in enumerate(tasks):
            if turn % 4 == 1:
                await asyncio.sleep(0.001 * (turn % 5))
                task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        texts = {getattr(result, "text", None) for result in results}
        assert texts <= {MERGED, None}
        assert {type(r) for r in results if isinstance(r, BaseException)} <= {
            asyncio.CancelledError
        }
        assert (await b.start(WRITTEN)).text == MERGED

    bench(test, max_concurrency=3, max_queue=40)


def test_outcomes_are_told_with_times():
    """Every apply is told once: with its result and times, or with the code of its error."""

    async def test(b: Bench) -> None:
        b.held.free()
        await b.start(WRITTEN)
        with pytest.raises(AnchorNotFound):
            await b.start(Work(ORIGINAL, '{"old_str": "not in there at all", "new_str": ""}'))
        written, lost = b.told
        assert written.result is not None
        assert written.first_token_s is not None
        assert written.last_token_s is not None
        assert written.first_token_s <= written.last_token_s <= written.seconds
        assert (lost.result, lost.error, lost.first_token_s) == (None, "anchor_not_found", None)

    bench(test)


@pytest.mark.parametrize("name", ["original", "edit", "instruction", "path"])
def test_half_a_surrogate_pair_is_refused(name):
    """Text that cannot be encoded is refused by the name of its field."""

    async def test(b: Bench) -> None:
        given = {"original": ORIGINAL, "edit": EDIT, name: "a\udc00"}
        with pytest.raises(RequestError) as refused:
            await b.start(Work(**given))
        assert refused.value.fields["option"] == name

    bench(test)


def test_a_load_error_reaches_those_who_need_the_target_and_nobody_else():
    """When the target cannot be loaded, structured edits still are applied."""

    async def failing() -> Engine:
        message = "no model"
        raise ModelLoadError(message)

    async def run() -> None:
        pool = Pool(failing)
        with pytest.raises(ModelLoadError):
            await pool.apply(WRITTEN, gone=stays)
        assert (await pool.apply(DIRECT, gone=stays)).text == MERGED
        assert pool.model.inside == 0
        assert await pool.close()

    asyncio.run(run())


def test_a_client_that_asks_for_answers_now_and_then_is_asked_again():
    """``gone`` may also answer at once; it is then asked from time to time."""

    async def test(b: Bench) -> None:
        answers = iter([False, True])

        async def gone() -> bool:
            return next(answers)

        with pytest.raises(Cancelled):
            await b.start(WRITTEN, gone)

    bench(test)


def test_closing_stops_what_runs():
    """A pool that is closed ends its applies and says whether their threads have ended."""

    async def run() -> None:
        b = Bench()
        task = b.start(WRITTEN)
        await asyncio.to_thread(b.held.allow, 1)
        threading.Timer(0.05, b.held.free).start()
        assert await b.pool.close()
        with pytest.raises(Stopping):
            await task
        await asyncio.to_thread(b.worker.stop)

    asyncio.run(run())


def test_at_the_end_whatever_is_under_way_and_whatever_comes_is_refused():
    """An ending service refuses at once what runs, waits or arrives, and it may be sent again."""

    async def test(b: Bench) -> None:
        running = b.start(WRITTEN)
        await asyncio.to_thread(b.held.allow, 1)
        queued = b.start(WRITTEN)
        await until(lambda: b.pool.model.inside == 2)
        b.pool.end()
        for task in (running, queued, b.start(WRITTEN)):
            with pytest.raises(Stopping) as refused:
                await task
            assert refused.value.retryable
        b.held.free()
        await until(lambda: b.pool.model.inside == 0)
        assert b.held.passes <= 2

    bench(test, max_concurrency=1)


def test_a_gate_keeps_the_order_and_hands_places_on():
    """Who came first is let in first, and a cancelled turn is passed over."""

    async def run() -> None:
        gate, entered = Gate(1, 3, "test"), []

        async def enter(name: str) -> None:
            await gate.enter()
            entered.append(name)

        await gate.enter()
        turns = [asyncio.ensure_future(enter(name)) for name in "abc"]
        await asyncio.sleep(0)
        turns[0].cancel()
        await asyncio.sleep(0)
        for _ in range(3):
            gate.leave()
            await asyncio.sleep(0)
        assert entered == ["b", "c"]
        assert (gate.inside, gate.waiting) == (0, 0)

    asyncio.run(run())


def test_a_place_that_is_handed_over_to_one_who_leaves_is_not_lost():
    """Cancelled in the same moment as let in: the place goes to the next one."""

    async def run() -> None:
        gate = Gate(1, 2, "test")
        await gate.enter()
        first = asyncio.ensure_future(gate.enter())
        second = asyncio.ensure_future(gate.enter())
        await asyncio.sleep(0)
        gate.leave()
        first.cancel()
        await asyncio.wait_for(second, 5)
        assert gate.inside == 1

    asyncio.run(run())
