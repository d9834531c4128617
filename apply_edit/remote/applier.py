"""Applies edits here as far as no target is needed, and has a running service do the rest.

The service runs the whole apply, with the same ``Applier`` and the same guard, so that nothing is
judged in two places. An edit that needs no target never waits for anybody.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from apply_edit.applier import Applier
from apply_edit.config import Config
from apply_edit.remote.announcement import Announcement, announcements
from apply_edit.rewriting import DecodeSettings, Observer, Rewrite, SilentObserver
from apply_edit.types import EditResult

if TYPE_CHECKING:
    from apply_edit.decode.loop import Output
    from apply_edit.remote.client import Question


# Settings that a service has its own for. Which target it has is in its announcement, and the rest
# goes along with each question.
UNSAYABLE = (
    "dialect",
    "min_confidence",
    "confirm",
    "draft",
    "draft_dtype",
    "disabled_checks",
)


class ServiceApplier:
    """Merges as an ``Applier`` does, preferably with the target of a running service.

    Args:
        config: Settings; a service counts that has the same target, device and dtype.
        local: Loads a target here where no service can be used.
        observer: Told when a service is asked.
        note: Told in one sentence why a service was not used after all.
        cancelled: Asked while a service works.
    """

    def __init__(
        self,
        config: Config,
        local: Applier,
        *,
        observer: Observer | None = None,
        note: Callable[[str], None] = lambda text: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._config = config
        self._local = local
        self._observer = observer or SilentObserver()
        self._note = note
        self._cancelled = cancelled

    def apply(
        self,
        original: str | None,
        edit: str | None,
        *,
        path: str | None = None,
        instruction: str | None = None,
    ) -> EditResult:
        """Merge an edit into a text; see ``Applier.apply``.

        Raises:
            ApplyEditError: One of its kinds.
        """
        running = announcements()
        if running:
            without = Applier(self._config, engine=_NoEngine())
            try:
                return without.apply(original, edit, path=path, instruction=instruction)
            except _TargetNeeded:
                # The client's library takes a while to import; other edits do not need it.
                from apply_edit.remote.client import Question

                question = Question(original, edit, path, instruction, self._config)
                result = self._ask(question, running)
            if result is not None:
                return result
        return self._local.apply(original, edit, path=path, instruction=instruction)

    def _ask(self, question: Question, running: dict[Path, Announcement]) -> EditResult | None:
        """Return the first usable answer, None where there is none."""
        from apply_edit.remote.client import Service, ServiceUnusable

        for announced, announcement in running.items():
            unfit = _why_not(announcement, self._config)
            if unfit is not None:
                self._note(f"the running service was not used: {unfit}")
                continue
            self._observer.stage("service")
            try:
                return Service(announcement).apply(question, self._cancelled)
            except ServiceUnusable as error:
                if error.is_gone:
                    announced.unlink(missing_ok=True)
                self._note(f"the running service was not used: {error}")
        return None


def _why_not(announcement: Announcement, config: Config) -> str | None:
    """Say why a service would not do the same as a target loaded here; None where it would."""
    usual = Config()
    for name in UNSAYABLE:
        if getattr(config, name) != getattr(usual, name):
            return f"it has its own setting of {name}"
    return announcement.difference(config.target, config.device, config.dtype)


class _TargetNeeded(Exception):  # noqa: N818 no error: the signal that the work goes elsewhere
    """The edit needs a target."""


class _NoEngine:
    """Stands where the engine would be loaded, and says that one is needed."""

    def rewrite(
        self,
        job: Rewrite,
        settings: DecodeSettings,
        observer: Observer | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> tuple[str, Output]:
        """Give up; see ``_TargetNeeded``."""
        raise _TargetNeeded
