"""Carries applies through threads: admission, deadlines, cancellation. Knows no routes.

Interface for routes::

    from apply_edit.service.pool import Work, apply_for

    result = await apply_for(request, Work(original, edit, path=path, config=config))

``apply_for`` returns an ``EditResult`` or raises an ``ApplyEditError`` (``problems.install`` turns
that into the answer): ``Busy`` when too many wait, ``DeadlineExceeded``, ``Cancelled`` when the
client has gone, ``Stopping`` when the service ends, and all that ``Applier.apply`` raises. A route
that streams runs it in a task and cancels that task when the client goes; a ``listener`` (an
``engine.Observer``) is called in another thread, while the target writes.

Two gates. Every apply first takes one of a few *text* places, where it is parsed, located, spliced
and merged; others queue. An apply that turns out to need the target exchanges it for one of the
*model* places; there are as many as rows in the worker's batch and requests that may wait for one.
So a structured edit never waits for a model, and nobody has to guess beforehand what an edit needs.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError as TurnCancelled
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from fastapi import Request

from apply_edit.applier import Applier
from apply_edit.engine import Engine
from apply_edit.errors import ApplyEditError, Busy, Cancelled
from apply_edit.rewriting import Observer, SilentObserver
from apply_edit.service.errand import (
    AtItsTurn,
    Errand,
    Limits,
    Outcome,
    Work,
    gave_up,
    require_text,
)
from apply_edit.service.gate import Gate
from apply_edit.service.logs import note
from apply_edit.service.race import Done, Gone, Rivals, race
from apply_edit.types import EditResult

__all__ = ["Gone", "Limits", "Outcome", "Pool", "Work", "apply_for", "client_gone", "route_of"]

Told = Callable[[str, Work, Outcome], None]


class Pool:
    """Applies in a bounded number of threads, on one engine.

    Args:
        engine: Gives the engine; awaited when an apply needs it, so it may wait for loading.
        limits: How much is taken on.
        told: Called with route, work and outcome of every apply, in the event loop.
    """

    def __init__(
        self,
        engine: Callable[[], Awaitable[Engine]],
        limits: Limits | None = None,
        told: Told = lambda route, work, outcome: None,
    ) -> None:
        self.limits = limits or Limits()
        self._engine = engine
        self._told = told
        # The worker decides who of the others in the model gate is next, so nobody waits before it.
        places = self.limits.max_concurrency + self.limits.max_queue
        self.text = Gate(self.limits.text_threads, self.limits.max_queue, "text")
        self.model = Gate(places, 0, "model")
        # Whoever has a place holds a thread; nobody else does.
        threads = self.limits.text_threads + places
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="apply")
        self._errands: dict[Errand, Future[Any]] = {}
        self._ending = asyncio.Event()
        self._mean_s = 1.0

    async def apply(
        self, work: Work, *, gone: Gone, listener: Observer | None = None, route: str = ""
    ) -> EditResult:
        """Carry out an apply.

        Args:
            work: What to do.
            gone: Asked whether the client has gone; it may wait until it has.
            listener: Told about the target's progress, in another thread.
            route: The route it came by, for metrics.

        Raises:
            ApplyEditError: See the module.
        """
        errand = Errand(listener or SilentObserver(), work.deadline_s)
        result: EditResult | None = None
        failed: str | None = "internal_error"
        try:
            result = await self._race(errand, _apply(work), gone)
            failed = None
        except ApplyEditError as refused:
            failed = refused.code
            raise
        except asyncio.CancelledError:
            failed = Cancelled.code
            raise
        finally:
            seconds = time.perf_counter() - errand.started
            times = (seconds, errand.first_token_s, errand.last_token_s)
            self._told(route, work, Outcome(result, failed, *times))
        return result

    async def run(
        self, action: Callable[[Engine, Callable[[], bool]], Done], *, gone: Gone
    ) -> Done:
        """Do something else with the engine, under the same limits.

        Args:
            action: Called in a thread with the engine and a function that says when to stop.
            gone: As for ``apply``.

        Raises:
            ApplyEditError: See the module.
        """

        def work(errand: Errand, engine: Callable[[], Engine]) -> Done:
            return action(engine(), errand.stopped)

        return await self._race(Errand(SilentObserver()), work, gone)

    def end(self) -> None:
        """Have all errands fail with ``Stopping``, also those to come; call it in the loop."""
        self._ending.set()

    async def close(self, last_pass_s: float = 10.0) -> bool:
        """Stop all errands and say whether all their threads have ended.

        Args:
            last_pass_s: How long to wait for a pass that is under way.
        """
        self.end()
        running = dict(self._errands)
        for errand in running:
            errand.stop()
        ended = [asyncio.ensure_future(_ended(future)) for future in running.values()]
        late: set[asyncio.Task[None]] = set()
        if ended:
            _, late = await asyncio.wait(ended, timeout=last_pass_s)
        for task in late:
            task.cancel()
        self._threads.shutdown(wait=not late)
        return not late

    async def _race(
        self, errand: Errand, action: Callable[[Errand, Callable[[], Engine]], Done], gone: Gone
    ) -> Done:
        """Let the errand race against its deadline, the client's patience and the end."""
        allowed = self.limits.deadline_s
        if errand.deadline_s is not None:
            allowed = min(allowed, errand.deadline_s)
        try:
            return await race(self._carry(errand, action), Rivals(gone, self._ending, allowed))
        finally:
            errand.stop()

    async def _carry(
        self, errand: Errand, action: Callable[[Errand, Callable[[], Engine]], Done]
    ) -> Done:
        """Have it done in a thread, once there is a text place."""
        await self._enter(self.text, errand)
        loop = asyncio.get_running_loop()
        known: list[Engine] = []

        def engine() -> Engine:
            if errand.stopped():
                raise gave_up()
            if not known:
                turn = asyncio.run_coroutine_threadsafe(self._to_model(errand), loop)
                try:
                    known.append(turn.result())
                except TurnCancelled:
                    raise gave_up() from None
            return known[0]

        def work() -> Done:
            if errand.stopped():
                raise gave_up()
            return action(errand, engine)

        future = self._errands[errand] = self._threads.submit(work)

        def free(_: Future[Done]) -> None:
            # A thread that was left behind at the end finds the loop closed.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._end, errand)

        # A caller may have had its answer before (a deadline); the place is free only then.
        future.add_done_callback(free)
        return await asyncio.wrap_future(future)

    def _end(self, errand: Errand) -> None:
        del self._errands[errand]
        if errand.place is self.model:
            self._mean_s += 0.2 * (time.perf_counter() - errand.entered - self._mean_s)
        errand.leave()

    async def _to_model(self, errand: Errand) -> Engine:
        """Exchange the text place for a model place, and wait for the engine."""
        if errand.stopped():
            raise gave_up()
        errand.turn = asyncio.current_task()
        errand.leave()
        await self._enter(self.model, errand)
        errand.entered = time.perf_counter()
        engine = await self._engine()
        errand.turn = None
        return engine

    async def _enter(self, gate: Gate, errand: Errand) -> None:
        try:
            await gate.enter()
        except Busy as error:
            # A place gets free about as often as an apply ends.
            seconds = min(60, max(1, round(self._mean_s / self.limits.max_concurrency)))
            raise Busy(error.message, **error.fields, retry_after_s=seconds) from None
        errand.place = gate


async def apply_for(request: Request, work: Work, listener: Observer | None = None) -> EditResult:
    """Carry out an apply for a request; it stops when the client goes.

    Call it after the body has been read: it listens for the end of the connection.

    Args:
        request: The request; ``request.app.state.pool`` is the pool.
        work: What to do.
        listener: Told about the target's progress, in another thread.

    Raises:
        ApplyEditError: See the module.
    """
    pool: Pool = request.app.state.pool
    note(request.scope, original_chars=work.num_chars, edit_chars=len(work.edit or ""))
    gone = client_gone(request)
    try:
        result = await pool.apply(work, gone=gone, listener=listener, route=route_of(request))
    except ApplyEditError as error:
        note(request.scope, error_code=error.code)
        raise
    passes = 0 if result.report is None else result.report.passes
    note(request.scope, strategy=result.strategy, format=result.format.value, passes=passes)
    return result


def client_gone(request: Request) -> Gone:
    """Return a function that waits until the client of a request has gone."""

    async def gone() -> bool:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        return True

    return gone


def route_of(request: Request) -> str:
    """Return the path template of a request's route, never the path itself."""
    return str(getattr(request.scope.get("route"), "path", "unknown"))


def _apply(work: Work) -> Callable[[Errand, Callable[[], Engine]], EditResult]:
    def action(errand: Errand, engine: Callable[[], Engine]) -> EditResult:
        require_text(
            original=work.original,
            edit=work.edit,
            instruction=work.instruction,
            path=work.path,
        )
        applier = Applier(
            work.config, engine=AtItsTurn(engine), observer=errand, cancelled=errand.stopped
        )
        return applier.apply(work.original, work.edit, path=work.path, instruction=work.instruction)

    return action


async def _ended(future: Future[Any]) -> None:
    """Wait until a thread has ended; what it says is heard and of no interest."""
    await asyncio.gather(asyncio.wrap_future(future), return_exceptions=True)
