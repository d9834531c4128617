"""Takes many requests through one target: who gets a row, who leaves, one pass after the other.

No threads here: whoever owns a scheduler calls ``turn`` as long as there is work. In each turn
those that nobody waits for any more are dropped, rows are given to those whose turn it is, and one
pass runs over all rows. A request that fails ends by itself: its row is closed, its caller gets a
typed error, the others and the next one do not notice.

Knows no HTTP, prompts or files.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from apply_edit.decode.batch import Batch
from apply_edit.decode.detokenize import Decodes
from apply_edit.decode.prefix_cache import PrefixCache
from apply_edit.decode.target import Target
from apply_edit.errors import ApplyEditError
from apply_edit.service.job import Job
from apply_edit.service.waiting import Waiting

_LOG = logging.getLogger("apply_edit.service")


class Scheduler:
    """Requests on their way through a target.

    Args:
        target: The model.
        tokenizer: Decodes ids.
        prefixes: Prefixes of prompts that are kept for later requests.
        max_rows: Most requests in one pass; the others wait, see ``waiting``.
        max_tokens_per_step: Most tokens in one pass, but for a single row that has more. A prompt
            that has more is long.
    """

    def __init__(
        self,
        target: Target,
        tokenizer: Decodes,
        prefixes: PrefixCache,
        max_rows: int,
        max_tokens_per_step: int,
    ) -> None:
        self._batch = Batch(target, tokenizer, max_tokens_per_step, prefixes)
        self._waiting = Waiting(max_rows, max_tokens_per_step)
        self._active: dict[int, Job] = {}
        self.passes = 0
        self.done = 0
        self.failed = 0
        self.cancelled = 0

    @property
    def rows(self) -> int:
        """Requests that have a row."""
        return len(self._active)

    @property
    def waiting(self) -> int:
        """Requests that wait for a row."""
        return len(self._waiting)

    def add(self, job: Job) -> None:
        """Put a request into the queue."""
        self._waiting.add(job)

    def turn(self) -> None:
        """Run one pass, with all that belongs between passes."""
        self._drop_cancelled()
        self._admit()
        self._step()

    def refuse_waiting(self, error: Callable[[], ApplyEditError]) -> None:
        """Let all requests fail that have no row."""
        for job in list(self._waiting):
            self._fail(job, error())

    def abort(self, error: Callable[[], ApplyEditError]) -> None:
        """Let all requests fail."""
        self.refuse_waiting(error)
        for job in list(self._active.values()):
            self._fail(job, error())

    def _drop_cancelled(self) -> None:
        for job in [*self._waiting, *self._active.values()]:
            with self._blamed(job):
                if job.is_cancelled():
                    self._retire(job)
                    self.cancelled += 1
                    job.cancel()

    def _admit(self) -> None:
        while (job := self._waiting.take(self._active.values())) is not None:
            with self._blamed(job):
                job.row = self._batch.join(job.request, job.proposer, job.policy)
                self._active[job.row.id] = job

    def _step(self) -> None:
        step = self._batch.step()
        self.passes += bool(step.events)
        for row_id, error in step.failures.items():
            self._fail(self._active[row_id], error)
        for row_id, event in step.events.items():
            job = self._active[row_id]
            if event.finish is not None:
                self._retire(job)
                self.done += 1
            job.deliver(event)

    @contextmanager
    def _blamed(self, job: Job) -> Iterator[None]:
        """Let what goes wrong be the failure of one job."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 whatever it is, it is no matter of the others
            self._fail(job, error)

    def _fail(self, job: Job, error: Exception) -> None:
        if not isinstance(error, ApplyEditError):
            _LOG.error("a request has failed", exc_info=error)
        try:
            self._retire(job)
        except Exception:  # noqa: BLE001 it has failed already; its row is closed all the same
            _LOG.exception("what a failed request held could not be given back")
        self.failed += 1
        job.fail(error)

    def _retire(self, job: Job) -> None:
        """Take a job out, wherever it is; its row is closed unless it has left by itself."""
        self._waiting.discard(job)
        if job.row is not None and self._active.pop(job.row.id, None) is not None:
            self._batch.cancel(job.row)
