"""Disk space: asked for beforehand, and a full disk recognised when it happens all the same."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from apply_edit.errors import DiskFull

FreeBytes = Callable[[Path], int]


def free_bytes(path: Path) -> int:
    """Return the free bytes of the disk that holds ``path``, which need not exist yet."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def folder_bytes(folder: Path) -> int:
    """Return the sum of the sizes of all files below ``folder``; 0 where there is no folder."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            # Another process works in the folder (a download moves its file to its place).
            continue
    return total


def disk_full(path: Path, needed: int, free: int, purpose: str) -> DiskFull:
    """Build the error that says how much is needed, how much is there, and what to do."""
    message = (
        f"not enough disk space at {path} to {purpose}: {needed:,} bytes needed, {free:,} free; "
        "free some space or set APPLY_EDIT_HOME to a folder on another disk"
    )
    return DiskFull(message, path=str(path), needed_bytes=needed, free_bytes=free)


def require_space(path: Path, needed: int, purpose: str, free: FreeBytes = free_bytes) -> None:
    """Refuse to begin what cannot be finished.

    Raises:
        DiskFull: Fewer than ``needed`` bytes are free.
    """
    available = free(path)
    if available < needed:
        raise disk_full(path, needed, available, purpose)


@contextmanager
def full_disk_guard(path: Path, needed: int, purpose: str) -> Iterator[None]:
    """Turn the operating system's "no space" and "over quota" into ``DiskFull``.

    Raises:
        DiskFull: The disk filled up (somebody else writes to it, too) or the quota is used up.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise disk_full(path, needed, free_bytes(path), purpose) from error
