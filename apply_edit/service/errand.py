"""One apply on its way through the pool: what to do, how far it is, whether anybody still waits.

Fields of an errand change in the event loop only; ``stopped`` is also read by its thread.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apply_edit.config import Config
from apply_edit.engine import Engine
from apply_edit.errors import Cancelled, RequestError
from apply_edit.rewriting import DecodeSettings, Observer, Rewrite
from apply_edit.service.gate import Gate
from apply_edit.types import EditResult

if TYPE_CHECKING:
    from apply_edit.decode.loop import Output
    from apply_edit.decode.row import Event


@dataclass(frozen=True, slots=True)
class Work:
    """One apply.

    Args:
        original: The file; None where there is no such file.
        edit: The edit; None for an instruction alone.
        instruction: What the edit is meant to do.
        path: Path of the file: a label, no file is opened.
        config: How to apply.
        deadline_s: Most seconds until the result; the service's own limit holds as well.
    """

    original: str | None
    edit: str | None
    instruction: str | None = None
    path: str | None = None
    config: Config = field(default_factory=Config)
    deadline_s: float | None = None

    @property
    def num_chars(self) -> int:
        """Size of the file in characters."""
        return len(self.original or "")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a pool takes on.

    Args:
        max_concurrency: Applies that share the target's passes.
        max_queue: Applies that wait for that; as many may wait for a text place.
        text_threads: Applies that are parsed, located and merged at once.
        deadline_s: Most seconds for an apply.
    """

    max_concurrency: int = 4
    max_queue: int = 32
    text_threads: int = 4
    deadline_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an apply, for metrics.

    Args:
        result: The result, None where there is none.
        error: Code of the error, None where there is none.
        seconds: From its arrival to its end.
        first_token_s: From its arrival to the first token of the target, None without one.
        last_token_s: As ``first_token_s``, to the last one.
    """

    result: EditResult | None
    error: str | None
    seconds: float
    first_token_s: float | None = None
    last_token_s: float | None = None


class Errand:
    """Something to do in a thread of the pool, for somebody who may lose interest.

    Args:
        listener: Told about the target's progress.
        deadline_s: Most seconds until it is done, None for the pool's own limit.
    """

    def __init__(self, listener: Observer, deadline_s: float | None = None) -> None:
        self.listener = listener
        self.deadline_s = deadline_s
        self.started = self.entered = time.perf_counter()
        self.first_token_s: float | None = None
        self.last_token_s: float | None = None
        self.place: Gate | None = None
        self.turn: asyncio.Task[object] | None = None
        self._stop = threading.Event()

    def stopped(self) -> bool:
        """Say whether nobody waits for the result any more."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Have it end before its next pass, or leave the queue."""
        self._stop.set()
        if self.turn is not None:
            self.turn.cancel()

    def leave(self) -> None:
        """Give its place back, where it has one."""
        place, self.place = self.place, None
        if place is not None:
            place.leave()

    # An errand is the observer of its own apply: it notes times and passes everything on.

    def stage(self, name: str) -> None:
        """Pass it on."""
        self.listener.stage(name)

    def decoded(self, event: Event, num_done: int, num_expected: int) -> None:
        """Note the time."""
        if event.ids:
            self.last_token_s = time.perf_counter() - self.started
            if self.first_token_s is None:
                self.first_token_s = self.last_token_s
        self.listener.decoded(event, num_done, num_expected)

    def explained(self, lines: Sequence[str]) -> None:
        """Pass it on."""
        self.listener.explained(lines)


class AtItsTurn:
    """An engine that an apply gets at once, and whose target it gets when it is its turn.

    Args:
        engine: Waits for the turn and returns the engine.
    """

    def __init__(self, engine: Callable[[], Engine]) -> None:
        self._engine = engine

    def rewrite(
        self,
        job: Rewrite,
        settings: DecodeSettings,
        observer: Observer | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> tuple[str, Output]:
        """Wait for the turn, then have the text written; see ``Engine.rewrite``."""
        return self._engine().rewrite(job, settings, observer, cancelled)


def gave_up() -> Cancelled:
    """Return the error of an errand that nobody waits for."""
    message = "nobody waits for the result any more; nothing was changed"
    return Cancelled(message)


def require_text(**texts: str | None) -> None:
    """Refuse what is no Unicode text: half of a surrogate pair cannot be encoded.

    Raises:
        RequestError: It is not.
    """
    for name, text in texts.items():
        try:
            (text or "").encode()
        except UnicodeEncodeError as error:
            message = (
                f"{name} has half of a surrogate pair at character {error.start}; "
                "send well-formed Unicode"
            )
            raise RequestError(message, option=name) from None
