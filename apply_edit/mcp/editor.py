"""Carries out the tools' edits; blocking, to be called from threads. Knows no protocol.

The target is loaded by the first edit that needs one, unless a service runs that has it, and then
kept. One edit at a time has it; edits that need no target do not wait.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from apply_edit.applier import Applier
from apply_edit.config import Config
from apply_edit.edits import parse
from apply_edit.errors import Cancelled
from apply_edit.mcp.roots import Roots
from apply_edit.mcp.tools import ApplyPatchArguments, EditFileArguments
from apply_edit.mcp.watch import Watch
from apply_edit.remote.applier import ServiceApplier
from apply_edit.rewriting import DecodeSettings, Observer, Rewrite, Writes
from apply_edit.workspace import Applies, Merged, merge_inside, merge_patch, write

if TYPE_CHECKING:
    from apply_edit.decode.loop import Output

_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Change:
    """What an edit does, not written yet.

    Args:
        root: The root that all files are in.
        files: What becomes of each.
    """

    root: Path
    files: tuple[Merged, ...]

    @property
    def is_nothing(self) -> bool:
        """Whether all files stay as they are."""
        return all(each.is_unchanged for each in self.files)

    def write(self) -> None:
        """Write all files, or none.

        Raises:
            FileError: One has changed since it was read, or cannot be written.
        """
        changed = [each for each in self.files if not each.is_unchanged]
        if changed:
            write(changed, self.root)


class Editor:
    """Merges edits into files.

    Args:
        config: Settings.
        use_service: Ask a running service for what needs a target.
        engine: A loaded engine; None loads the one that ``config.target`` names.
    """

    def __init__(
        self, config: Config, *, use_service: bool = True, engine: Writes | None = None
    ) -> None:
        self._config = config
        self._use_service = use_service
        self._engine = _OneAtATime(config, engine)

    def edit_file(self, roots: Roots, arguments: EditFileArguments, watch: Watch) -> Change:
        """Merge an edit into a file.

        Raises:
            ApplyEditError: One of its kinds.
        """
        root, _ = roots.place(arguments.path)
        merged = merge_inside(
            root,
            arguments.path,
            arguments.code_edit,
            self._applier(watch),
            instruction=arguments.instruction.strip() or None,
        )
        _require_wanted(watch)
        return Change(root, (merged,))

    def apply_patch(self, roots: Roots, arguments: ApplyPatchArguments, watch: Watch) -> Change:
        """Merge a patch into the files that it names; no target is ever needed for that.

        The root is the first one that all paths are in.

        Raises:
            ApplyEditError: One of its kinds.
        """
        root = _root_of_patch(roots, arguments.patch)
        merged = merge_patch(root, arguments.patch, None, Applier(self._config))
        _require_wanted(watch)
        return Change(root, tuple(merged))

    def _applier(self, watch: Watch) -> Applies:
        local = Applier(self._config, engine=self._engine, observer=watch, cancelled=watch.stopped)
        if not self._use_service or self._engine.is_loaded:
            return local
        note = logging.getLogger(__name__).warning
        return ServiceApplier(
            self._config, local, observer=watch, note=note, cancelled=watch.stopped
        )


class _OneAtATime:
    """An engine for several threads, loaded when it is needed first."""

    def __init__(self, config: Config, engine: Writes | None) -> None:
        self._config = config
        self._engine = engine
        self._turn = threading.Lock()

    @property
    def is_loaded(self) -> bool:
        """Whether the target is here already."""
        return self._engine is not None

    def rewrite(
        self,
        job: Rewrite,
        settings: DecodeSettings,
        observer: Observer | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> tuple[str, Output]:
        """Wait for the turn, then have the target write; see ``Engine.rewrite``."""
        while not self._turn.acquire(timeout=_POLL_S):
            if cancelled():
                raise _cancelled()
        try:
            if self._engine is None:
                progress = observer if isinstance(observer, Watch) else None
                self._engine = Applier(self._config, observer=observer, progress=progress).engine
            return self._engine.rewrite(job, settings, observer, cancelled)
        finally:
            self._turn.release()


def _root_of_patch(roots: Roots, patch: str) -> Path:
    """Return the root of the first file that a patch names."""
    names = [part.path for part in parse(patch, None).files if part.path is not None]
    return roots.place(names[0])[0] if names else roots.folders[0]


def _require_wanted(watch: Watch) -> None:
    if watch.stopped():
        raise _cancelled()


def _cancelled() -> Cancelled:
    message = "cancelled; nothing was changed"
    return Cancelled(message)
