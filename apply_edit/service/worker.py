"""The thread that owns the target.

A target and its rows are not for several threads. So one thread has them, and callers wait in
threads of their own (``Worker.run``), where they are also told about every pass. Between two passes
the thread takes in what has arrived.

Knows no HTTP, prompts or files.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType

from apply_edit.decode.detokenize import Decodes
from apply_edit.decode.loop import Output
from apply_edit.decode.policy import FixedGamma, GammaPolicy
from apply_edit.decode.prefix_cache import DEFAULT_BYTES, PrefixCache
from apply_edit.decode.row import Event, Request
from apply_edit.decode.runner import Prefilled
from apply_edit.decode.target import Target
from apply_edit.errors import Cancelled, ConfigError, EngineError, Stopping
from apply_edit.service.job import Job
from apply_edit.service.scheduler import Scheduler
from proposers import Nothing, Proposer

_LOG = logging.getLogger("apply_edit.service")
# A pass in flight cannot be interrupted; a worker that is stopping waits for it this long.
_LAST_PASS_S = 60.0


@dataclass(frozen=True, slots=True)
class WorkerStats:
    """What a worker has done and is doing.

    Args:
        alive: The thread runs.
        passes: Passes of the target that gave something.
        rows: Requests that have a row.
        waiting: Requests that wait for one.
        done: Requests that came to their end.
        failed: Requests that ended with an error.
        cancelled: Requests that were dropped because nobody waited for them any more.
        prefix_hits: Requests that began with a prefix of an earlier one.
        prefix_misses: Requests that did not.
        prefix_tokens: Tokens that were not read again.
        prefix_bytes: Memory that prefixes hold.
        stalled_s: Seconds since the last sign of progress while there is work; 0 without work.
    """

    alive: bool
    passes: int
    rows: int
    waiting: int
    done: int
    failed: int
    cancelled: int
    prefix_hits: int
    prefix_misses: int
    prefix_tokens: int
    prefix_bytes: int
    stalled_s: float


class Worker:
    """Runs the requests of many threads on one target; a ``Runner``.

    Use it as a context manager, or call ``start`` and ``stop``. It is started once.

    Args:
        target: The model; nobody else may use it meanwhile.
        tokenizer: Decodes ids.
        max_rows: Most requests in one pass; the others wait, see ``waiting``.
        max_tokens_per_step: Most tokens in one pass, but for a single row that has more. A prompt
            that has more is long.
        prefix_bytes: Most bytes of prefixes that are kept for later requests; 0 keeps none.

    Raises:
        ConfigError: A limit is out of range.
    """

    shares_passes = True

    def __init__(
        self,
        target: Target,
        tokenizer: Decodes,
        *,
        max_rows: int = 8,
        max_tokens_per_step: int = 2048,
        prefix_bytes: int = DEFAULT_BYTES,
    ) -> None:
        _require("max_rows", max_rows, 1)
        _require("max_tokens_per_step", max_tokens_per_step, 1)
        _require("prefix_bytes", prefix_bytes, 0)
        self._prefixes = PrefixCache(prefix_bytes)
        self._scheduler = Scheduler(
            target, tokenizer, self._prefixes, max_rows, max_tokens_per_step
        )
        self._inbox: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="apply-edit-worker", daemon=True)
        # Guards the inbox: once it is closed nothing is put into it any more.
        self._gate = threading.Lock()
        self._is_open = False
        self._stopping = threading.Event()
        self._aborting = threading.Event()
        self._is_idle = True
        self._progress_at = time.monotonic()

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the thread.

        Raises:
            RuntimeError: It was started before.
        """
        with self._gate:
            self._thread.start()
            self._is_open = True

    def stop(self, timeout: float = 10.0, last_pass_s: float = _LAST_PASS_S) -> None:
        """Stop the thread. Requests that wait for a row fail with ``Stopping``.

        Args:
            timeout: Seconds that requests with a row get to come to their end; after that they
                fail with ``Stopping``, too, when the pass that is running is over.
            last_pass_s: Seconds that this pass gets; then the thread is left behind.
        """
        with self._gate:
            self._is_open = False
        self._stopping.set()
        self._inbox.put(None)
        if self._thread.ident is None:
            return
        self._thread.join(timeout)
        self._aborting.set()
        self._thread.join(last_pass_s)
        if self._thread.is_alive():
            _LOG.warning("the worker is stuck in a pass and was left behind")

    def run(
        self,
        request: Request,
        proposer: Proposer,
        policy: GammaPolicy,
        watch: Callable[[Event], None],
        cancelled: Callable[[], bool],
    ) -> Output:
        """Decode a request together with those of other threads; see ``Runner.run``.

        Args:
            request: What to decode.
            proposer: Its draft source; used, and closed, in the worker's thread.
            policy: Its gamma; used in the worker's thread.
            watch: Told about every pass, in this thread.
            cancelled: Asked in this thread and, before every pass, in the worker's; must be quick.

        Raises:
            PromptTooLong: The prompt leaves no room for even one token.
            Stopping: The worker is stopping.
            EngineError: The request has failed, or the worker does not run.
        """
        job = Job(request, proposer, policy, cancelled)
        with self._gate:
            if not self._is_open:
                raise self._closed()
            self._inbox.put(job)
        return job.wait(watch)

    def prefill(self, ids: Sequence[int], cancelled: Callable[[], bool]) -> Prefilled:
        """Read the first tokens of prompts to come; see ``Runner.prefill``.

        Raises:
            ConfigError: This worker keeps no prefixes.
            Cancelled: It was cancelled.
            EngineError: See ``run``.
        """
        if not self._prefixes.keeps:
            message = "this service keeps no prefixes, so there is no use in reading a file ahead"
            raise ConfigError(message, option="prefix_bytes")
        # A prompt that nothing follows: one token is written, which costs next to nothing.
        request = Request(tuple(ids), max_new_tokens=1, keep_prefix=len(ids))
        output = self.run(request, Nothing(), FixedGamma(0), lambda event: None, cancelled)
        if output.finish == "cancelled":
            message = "cancelled before the file was read"
            raise Cancelled(message)
        return Prefilled(len(ids), output.report.cached_prompt_tokens)

    def stats(self) -> WorkerStats:
        """Return counts and state; from any thread, at any time."""
        stalled_s = 0.0 if self._is_idle else time.monotonic() - self._progress_at
        return WorkerStats(
            alive=self._thread.is_alive(),
            passes=self._scheduler.passes,
            rows=self._scheduler.rows,
            waiting=self._scheduler.waiting + self._inbox.qsize(),
            done=self._scheduler.done,
            failed=self._scheduler.failed,
            cancelled=self._scheduler.cancelled,
            prefix_hits=self._prefixes.hits,
            prefix_misses=self._prefixes.misses,
            prefix_tokens=self._prefixes.reused_tokens,
            prefix_bytes=self._prefixes.num_bytes,
            stalled_s=stalled_s,
        )

    def _closed(self) -> EngineError:
        if self._stopping.is_set():
            message = "the service is stopping; nothing was changed"
            return Stopping(message)
        message = "the service's worker does not run; start the service again"
        return EngineError(message)

    def _work(self) -> None:
        """Run until stopped; everything below is done in this thread."""
        try:
            while self._receive():
                self._scheduler.turn()
                self._progress_at = time.monotonic()
        except Exception:  # noqa: BLE001 whoever waits has to be answered all the same
            _LOG.exception("the worker has stopped by an error of its own")
        finally:
            self._close()

    def _receive(self) -> bool:
        """Take in what has arrived, wait for it where there is no work; return False to end."""
        self._is_idle = self._scheduler.rows + self._scheduler.waiting == 0
        while True:
            try:
                job = self._inbox.get(block=self._is_idle and not self._stopping.is_set())
            except queue.Empty:
                break
            self._progress_at = time.monotonic()
            self._is_idle = False
            if job is not None:
                self._scheduler.add(job)
        if not self._stopping.is_set():
            return True
        self._scheduler.refuse_waiting(self._closed)
        return self._scheduler.rows > 0 and not self._aborting.is_set()

    def _close(self) -> None:
        """Answer whoever still waits, and let go of the memory."""
        with self._gate:
            self._is_open = False
        while not self._inbox.empty():
            job = self._inbox.get()
            if job is not None:
                self._scheduler.add(job)
        self._scheduler.abort(self._closed)
        self._prefixes.clear()
        self._is_idle = True


def _require(name: str, value: int, least: int) -> None:
    if value < least:
        message = f"{name} is {value}; it must be at least {least}"
        raise ConfigError(message, option=name)
