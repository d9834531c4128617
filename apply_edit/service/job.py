"""One request between the thread that waits for it and the thread that runs it.

Everything is handed over through a queue: a reader who is slow, fails or goes away does not hold up
the thread that runs the passes. The caller's side is ``wait``; all else belongs to the worker.

Knows no HTTP and no batches.
"""

from __future__ import annotations

import copy
import queue
from collections.abc import Callable

from apply_edit.decode.loop import Output, Transcript
from apply_edit.decode.policy import GammaPolicy
from apply_edit.decode.row import CANCELLED, Event, Request, Row
from apply_edit.errors import ApplyEditError, EngineError
from apply_edit.report import Report
from proposers import Proposer

# How long a caller that is waiting takes to notice that it is cancelled.
_POLL_S = 0.05


class Job:
    """A request, its row once it has one, and the way back to the caller.

    Args:
        request: What to decode.
        proposer: Its draft source.
        policy: Its gamma.
        cancelled: Says whether the caller has lost interest; asked in both threads.
    """

    def __init__(
        self,
        request: Request,
        proposer: Proposer,
        policy: GammaPolicy,
        cancelled: Callable[[], bool],
    ) -> None:
        self.request = request
        self.proposer = proposer
        self.policy = policy
        self.row: Row | None = None
        self.kept_ids = request.prompt_ids[: request.keep_prefix]
        self._cancelled = cancelled
        self._given_up = False
        self._transcript = Transcript()
        self._mail: queue.SimpleQueue[Event | Output | Exception] = queue.SimpleQueue()

    def wait(self, watch: Callable[[Event], None]) -> Output:
        """Wait for the output, in the caller's thread.

        Args:
            watch: Told about every pass, in order.

        Raises:
            ApplyEditError: The request has failed.
        """
        try:
            while True:
                mail = self._next()
                if isinstance(mail, Output):
                    return mail
                if isinstance(mail, Exception):
                    raise mail
                watch(mail)
        finally:
            # A reader that fails and an interrupt end the request as well.
            self._given_up = True

    def _next(self) -> Event | Output | Exception:
        while True:
            self._ask()
            try:
                return self._mail.get(timeout=_POLL_S)
            except queue.Empty:
                continue

    def is_cancelled(self) -> bool:
        """Say whether nobody waits for the output any more."""
        self._ask()
        return self._given_up

    def _ask(self) -> None:
        # Once given up, for ever: two threads ask, and neither may take the other's answer back.
        if not self._given_up and self._cancelled():
            self._given_up = True

    @property
    def is_reading(self) -> bool:
        """Whether the part of the prompt that later requests may share is being read."""
        return self.row is not None and self.row.is_reading

    def deliver(self, event: Event) -> None:
        """Tell the caller about a pass, and behind the last one give the output."""
        if self.row is None:
            message = "an event came before the row was opened"
            raise RuntimeError(message)
        self._transcript.add(event)
        self._mail.put(event)
        if event.finish is not None:
            self._mail.put(self._transcript.output(self.row))

    def cancel(self) -> None:
        """Give the caller what is written so far as a cancelled output."""
        if self.row is not None:
            self.deliver(CANCELLED)
            return
        self._mail.put(CANCELLED)
        report = Report(prompt_tokens=len(self.request.prompt_ids))
        self._mail.put(Output("", (), "cancelled", report))

    def fail(self, error: Exception) -> None:
        """Have an error raised in the caller's thread.

        Args:
            error: Raised as it is (as a copy, because several requests can have one error) where
                it is meant for callers, else as an error that says nothing of our insides.
        """
        if isinstance(error, ApplyEditError):
            self._mail.put(copy.copy(error))
            return
        message = "the engine failed while it worked on this request; nothing was changed"
        self._mail.put(EngineError(message))
