"""What is asked of an engine, and what it tells while it works.

Records and protocols only, so that whoever asks, watches or stands in for an engine needs no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from apply_edit.prompt import Task

if TYPE_CHECKING:
    from apply_edit.decode.loop import Output
    from apply_edit.decode.row import Event


class Observer(Protocol):
    """Told what the engine is doing; for progress displays."""

    def stage(self, name: str) -> None:
        """A stage begins: ``load``, ``prefill`` or ``decode``."""
        ...

    def decoded(self, event: Event, num_done: int, num_expected: int) -> None:
        """A pass has committed tokens; ``num_expected`` is a guess."""
        ...

    def explained(self, lines: Sequence[str]) -> None:
        """A text is written; one line per decision about a draft's length."""
        ...


class SilentObserver:
    """Tells nobody."""

    def stage(self, name: str) -> None:
        """Ignore it."""
        del name

    def decoded(self, event: Event, num_done: int, num_expected: int) -> None:
        """Ignore it."""
        del event, num_done, num_expected

    def explained(self, lines: Sequence[str]) -> None:
        """Ignore it."""
        del lines


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One file to be rewritten by the target.

    Args:
        original: The file.
        snippet: A lazy snippet, or None.
        patch: A structured edit in its own notation, or None.
        instruction: A sentence, or None.
        prediction: A guess of the result, used as a draft source only, or None.
        prediction_spans: ``(start, end)`` half-open 0-based line spans of the prediction that come
            from the edit and not from the original; empty where unknown.
        is_part: The text is a stretch of lines of a larger file.
        language: Name of the language, None where unknown.
    """

    original: str
    snippet: str | None = None
    patch: str | None = None
    instruction: str | None = None
    prediction: str | None = None
    prediction_spans: tuple[tuple[int, int], ...] = ()
    is_part: bool = False
    language: str | None = None

    @property
    def task(self) -> Task:
        """What a prompt says of it."""
        return Task(
            self.original,
            self.snippet,
            self.patch,
            self.instruction,
            self.is_part,
            self.language,
        )


@dataclass(frozen=True, slots=True)
class DecodeSettings:
    """How to decode.

    Args:
        proposer: Name of the draft source.
        gamma: Longest draft per pass, or ``auto``.
        max_new_tokens: Limit of the output, None for one derived from file and edit.
        dialect: Name of the prompt dialect; ``auto`` is the one that the model was trained on.
    """

    proposer: str = "router"
    gamma: int | Literal["auto"] = "auto"
    max_new_tokens: int | None = None
    dialect: str = "auto"


class Writes(Protocol):
    """Has a text written: an engine, or what stands in front of one."""

    def rewrite(
        self,
        job: Rewrite,
        settings: DecodeSettings,
        observer: Observer | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> tuple[str, Output]:
        """Return the merged text; see ``Engine.rewrite``."""
        ...
