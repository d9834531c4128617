"""Loads the engine once, in a thread, and tells who waits for it.

Knows neither models nor HTTP: what loads is handed in.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from apply_edit.engine import Engine
from apply_edit.errors import ApplyEditError, ModelLoadError
from apply_edit.service.logs import log, log_bug

if TYPE_CHECKING:
    from apply_edit.service.worker import WorkerStats

State = Literal["idle", "loading", "ready", "failed"]


class RunningWorker(Protocol):
    """What runs beside an engine and has to be stopped with it: the worker's thread."""

    def stop(self, timeout: float, last_pass_s: float) -> None:
        """Stop it, and wait until it has stopped; see ``Worker.stop``."""
        ...

    def stats(self) -> WorkerStats:
        """Return what it has done and is doing."""
        ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """An engine that is ready to be used.

    Args:
        engine: The engine, warmed up.
        worker: The worker behind it, started; None where every apply runs its own passes.
    """

    engine: Engine
    worker: RunningWorker | None = None


EngineSource = Callable[[], Loaded]


class Loading:
    """An engine that may not be there yet.

    Args:
        source: Loads, warms up and starts the worker; takes seconds to minutes.
        failed: Called in the loading thread with the error, should there be one.
    """

    def __init__(
        self,
        source: EngineSource,
        failed: Callable[[ApplyEditError], None] = lambda error: None,
    ) -> None:
        self._source = source
        self._failed = failed
        self._future: Future[Loaded] | None = None

    @property
    def state(self) -> State:
        """How far it is."""
        if self._future is None:
            return "idle"
        if not self._future.done():
            return "loading"
        return "failed" if self._future.exception() else "ready"

    @property
    def error(self) -> ApplyEditError | None:
        """Why loading failed, None where it did not."""
        failure = self._future.exception() if self._future and self._future.done() else None
        return failure if isinstance(failure, ApplyEditError) else None

    @property
    def loaded(self) -> Loaded | None:
        """What was loaded, None where it is not there (yet)."""
        return self._future.result() if self._future and self.state == "ready" else None

    def stats(self) -> WorkerStats | None:
        """Return what the worker does, None while there is no worker."""
        loaded = self.loaded
        return None if loaded is None or loaded.worker is None else loaded.worker.stats()

    def start(self) -> Future[Loaded]:
        """Begin, unless that was done before; call it from the event loop."""
        if self._future is None:
            self._future = Future()
            # A daemon: a download that hangs must not keep the process from ending.
            threading.Thread(target=self._load, args=(self._future,), daemon=True).start()
        return self._future

    async def engine(self) -> Engine:
        """Wait for the engine.

        Raises:
            EngineError: Loading failed.
        """
        # Whoever gives up waiting must not cancel it for the others.
        loaded = await asyncio.shield(asyncio.wrap_future(self.start()))
        return loaded.engine

    def stop(self, last_pass_s: float) -> None:
        """Stop the worker, where there is one; blocks until it has stopped or was left behind.

        Args:
            last_pass_s: Seconds that a pass under way gets.
        """
        loaded = self.loaded
        if loaded is not None and loaded.worker is not None:
            loaded.worker.stop(0.0, last_pass_s)

    def _load(self, future: Future[Loaded]) -> None:
        started = time.perf_counter()
        try:
            loaded = self._source()
        except ApplyEditError as error:
            failure = error
        except Exception as unexpected:  # noqa: BLE001 whatever it is, those who wait must hear of it
            log_bug(unexpected, "loading the target")
            failure = ModelLoadError(
                f"the target could not be loaded: {type(unexpected).__name__}; see the log"
            )
        else:
            log(
                logging.INFO, "the target is ready", seconds=round(time.perf_counter() - started, 1)
            )
            future.set_result(loaded)
            return
        log(logging.ERROR, "the target cannot be loaded", error_code=failure.code)
        future.set_exception(failure)
        self._failed(failure)
