"""The pieces of an atomic write: a stamp, a staged temporary file, a comparison, a rename.

:mod:`apply_edit.files` composes them and says what they promise.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from apply_edit.errors import FileChanged, FileNotWritten

_SUFFIX = ".apply-edit"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a file was when it was read.

    Args:
        path: The file itself, symbolic links resolved.
        sha256: Digest of its bytes; None where there was no file.
        mode: Permission bits; None where there was no file.
        owner: User and group id; None where there was no file.
        num_links: Number of names; above 1, writing cuts the others off.
    """

    path: Path
    sha256: str | None
    mode: int | None = None
    owner: tuple[int, int] | None = None
    num_links: int = 1


def temporary_name(path: Path) -> Path:
    """Return a name beside ``path`` that nothing has; short, so that long names stay legal."""
    return path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}{_SUFFIX}")


def stage(temporary: Path, data: bytes, stamp: Stamp, *, executable: bool | None = None) -> None:
    """Write bytes to a new file and to the disk, with mode and owner of the file to replace.

    Args:
        temporary: The new file.
        data: Its bytes.
        stamp: The file to replace.
        executable: Whether it shall be a program; None as the file to replace is.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # The umask decides for a new file; an old file's mode is set below.
    with open(os.open(temporary, flags, 0o777 if executable else 0o666), "wb") as file:
        file.write(data)
        file.flush()
        if sys.platform != "win32":
            if stamp.owner is not None and stamp.owner != (os.geteuid(), os.getegid()):
                with contextlib.suppress(PermissionError):
                    os.fchown(file.fileno(), *stamp.owner)
            if stamp.mode is not None:  # after the owner, because a new owner clears set-uid
                os.fchmod(file.fileno(), _mode(stamp.mode, executable))
        os.fsync(file.fileno())


def _mode(mode: int, executable: bool | None) -> int:
    """Return permission bits with those of a program: who may read it may run it."""
    if executable is None:
        return mode
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111


def check_unchanged(stamp: Stamp) -> None:
    """Compare the file on disk with what was read.

    Raises:
        FileChanged: It is another one, is gone, or is there where none was.
        FileNotWritten: It is marked as not writable.
    """
    try:
        found: str | None = hashlib.sha256(stamp.path.read_bytes()).hexdigest()
    except FileNotFoundError:
        found = None
    except OSError as error:
        message = f"{stamp.path} cannot be compared with what was read: {reason(error)}"
        raise FileNotWritten(message, path=str(stamp.path)) from error
    if found != stamp.sha256:
        what = "is gone" if found is None else "is there now" if stamp.sha256 is None else "changed"
        message = f"{stamp.path} {what} since it was read; nothing was written. Read it again"
        raise FileChanged(message, path=str(stamp.path))
    if found is not None and not os.access(stamp.path, os.W_OK):
        message = f"{stamp.path} is read-only; nothing was written"
        raise FileNotWritten(message, path=str(stamp.path))


@contextlib.contextmanager
def refusals(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses into our own error."""
    try:
        yield
    except OSError as error:
        kept = "The old file is untouched" if os.path.lexists(path) else "There is no such file yet"
        message = f"{path} was not written: {reason(error)}. {kept}"
        raise FileNotWritten(message, path=str(path), errno=error.errno) from error


def reason(error: OSError | ValueError) -> str:
    """Return what the system says, without number and path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def sync_folder(folder: Path) -> None:
    """Force the rename itself to the disk, where the system can."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def keep(source: Path, kept: Path) -> None:
    """Give a file a second name; a copy where the file system has no hard links.

    A copy gets its name only when it is complete: an interrupt must not leave half a file to be
    put back.
    """
    try:
        os.link(source, kept)
    except OSError:
        status = os.stat(source)
        owner = (status.st_uid, status.st_gid)
        copy = temporary_name(source)
        try:
            stage(
                copy, source.read_bytes(), Stamp(source, None, stat.S_IMODE(status.st_mode), owner)
            )
            os.replace(copy, kept)
        finally:
            copy.unlink(missing_ok=True)
