"""The speculative loop for one request: propose, score, verify, roll back, until a stop.

Exact by construction: what is emitted depends on the target's scores only. A proposer decides how
many passes that takes.

Source: arXiv:2211.17192 algorithm 1, with copy drafts as point masses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from apply_edit.decode.confidence import LineScore
from apply_edit.decode.detokenize import Decodes
from apply_edit.decode.policy import GammaPolicy
from apply_edit.decode.row import Event, FinishReason, Request, Row
from apply_edit.decode.target import Target
from apply_edit.report import Report
from proposers import Proposer


@dataclass(frozen=True, slots=True)
class Output:
    """A finished output.

    Args:
        text: The text, without the stop string and the ending token.
        ids: All committed ids, the ending token included.
        finish: Why it ended.
        report: Counts and times.
        logprobs: The target's log-probability of each id where the request asks for them.
        lines: How sure the target was of each line; filled in by who knows the bytes of tokens.
        dialect: The prompt dialect that it was asked in; filled in by who asked.
    """

    text: str
    ids: tuple[int, ...]
    finish: FinishReason
    report: Report
    logprobs: tuple[float, ...] = ()
    lines: tuple[LineScore, ...] = ()
    dialect: str = ""


class Transcript:
    """What the events of one request have given so far."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._logprobs: list[float] = []

    def add(self, event: Event) -> None:
        """Take the next event."""
        self._pieces.append(event.text)
        self._logprobs += event.logprobs

    def output(self, row: Row) -> Output:
        """Return the output of the row that gave the events.

        Raises:
            RuntimeError: The row has not come to its end.
        """
        if row.finish is None:
            message = "the output is not finished; iterate the events first"
            raise RuntimeError(message)
        text, logprobs = "".join(self._pieces), tuple(self._logprobs)
        return Output(text, tuple(row.output), row.finish, row.report, logprobs)


class Decoding:
    """One request being decoded: iterate for the events, then read ``output``.

    Args:
        target: The model.
        tokenizer: Decodes ids.
        request: What to decode.
        proposer: Draft source.
        policy: Gamma.
        cancelled: Asked before every pass.
    """

    def __init__(
        self,
        target: Target,
        tokenizer: Decodes,
        request: Request,
        proposer: Proposer,
        policy: GammaPolicy,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._target = target
        self._row = Row(target, tokenizer, request, proposer, policy)
        self._cancelled = cancelled
        self._transcript = Transcript()

    def __iter__(self) -> Iterator[Event]:
        """Yield one event per pass; the last one has ``finish`` set."""
        row = self._row
        try:
            while row.finish is None:
                if self._cancelled():
                    yield row.cancel()
                    return
                block = row.plan()
                started = time.perf_counter()
                scores = self._target.score([block])[0]
                event = row.commit(scores, time.perf_counter() - started)
                self._transcript.add(event)
                yield event
        finally:
            row.close()

    def run(self) -> Output:
        """Decode to the end."""
        for _ in self:
            pass
        return self.output

    @property
    def report(self) -> Report:
        """Counts and times so far."""
        return self._row.report

    @property
    def output(self) -> Output:
        """The output as far as it is committed.

        Raises:
            RuntimeError: The events have not been iterated to the end.
        """
        return self._transcript.output(self._row)
