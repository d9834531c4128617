"""How a long download or conversion tells what it is doing; the default is silence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Progress(Protocol):
    """What the store calls while it works. A command line shows it, a service may log it."""

    def start(self, total_bytes: int | None, label: str, done_bytes: int = 0) -> None:
        """Begin a stretch of work.

        Args:
            total_bytes: Size of the whole, or None where it is not known beforehand.
            label: What is being done, in two or three words.
            done_bytes: What an earlier run did already; it must not count towards the speed.
        """

    def advance(self, n_bytes: int) -> None:
        """Say that ``n_bytes`` more are done."""

    def message(self, text: str) -> None:
        """Say one sentence that the person should see."""

    def finish(self) -> None:
        """End the stretch that ``start`` began; harmless where none was begun."""


class SilentProgress:
    """Tells nobody."""

    def start(self, total_bytes: int | None, label: str, done_bytes: int = 0) -> None:
        """Ignore it."""

    def advance(self, n_bytes: int) -> None:
        """Ignore it."""

    def message(self, text: str) -> None:
        """Ignore it."""

    def finish(self) -> None:
        """Ignore it."""


@dataclass(slots=True)
class Meter:
    """Turns positions into advances, so that nothing is counted twice or taken back.

    A download is watched from outside (pip shows no progress of its own), and what is seen may run
    a little ahead of or behind the bytes that are finally kept.

    >>> meter = Meter(SilentProgress())
    >>> meter.to(10); meter.to(7); meter.position
    10
    """

    progress: Progress
    position: int = 0

    def to(self, position: int) -> None:
        """Advance to ``position`` (bytes of the whole); an earlier position is ignored."""
        if position > self.position:
            self.progress.advance(position - self.position)
            self.position = position
