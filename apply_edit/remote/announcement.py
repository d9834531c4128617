"""What a running service tells about itself in a small file, and which such files are trusted.

A file is read only if it and its folder belong to this user and nobody else can change them, since
whoever writes it is sent the user's code. It counts only while its process lives; others are
removed. The service's side is ``service.discovery``.
"""

from __future__ import annotations

import json
import os
import platform
import stat
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import apply_edit
from apply_edit.models import registry
from apply_edit.models.layout import default_home

_MAX_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Announcement:
    """A service that runs on this machine.

    Args:
        pid: Its process.
        machine: Name of the machine; a home folder may be shared with others.
        version: Version of apply-edit.
        target: Its target, see ``target_key``.
        device: The device as it was asked for (``auto`` too).
        dtype: The number format as it was asked for.
        uds: Path of its Unix socket; None where it has an address.
        host: Where to connect to; None with a socket.
        port: TCP port; None with a socket.
        token: Bearer token that it wants, or None.
    """

    pid: int
    machine: str
    version: str
    target: str
    device: str
    dtype: str
    uds: str | None = None
    host: str | None = None
    port: int | None = None
    token: str | None = None

    def to_json(self) -> str:
        """Return the content of the file."""
        return json.dumps(asdict(self))

    def difference(self, target: str, device: str, dtype: str) -> str | None:
        """Say what it has that is not wanted; None for this version with the same target."""
        wanted = {
            "version": apply_edit.__version__,
            "target": target_key(target),
            "device": device,
            "dtype": dtype,
        }
        for name, value in wanted.items():
            if getattr(self, name) != value:
                return f"it has {name} {getattr(self, name)}, and {value} is wanted"
        return None


def target_key(target: str) -> str:
    """Return a target's name so that two processes in different folders mean the same by it."""
    entry = registry.find(target)
    if entry is not None:
        return entry.name
    path = Path(target).expanduser()
    return str(path.resolve()) if path.exists() else target


def folder() -> Path:
    """Return the folder of the files: below the user's run-time folder, else below the cache.

    Where ``APPLY_EDIT_HOME`` is set they are there, because a target's name means what is there.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and not os.environ.get("APPLY_EDIT_HOME") and is_private(Path(runtime)):
        return Path(runtime) / "apply-edit"
    return default_home() / "run"


def announcements() -> dict[Path, Announcement]:
    """Return the services that run, by the file that names them; removes files of dead ones."""
    place = folder()
    found: dict[Path, Announcement] = {}
    if not is_private(place):
        return found
    for path in sorted(place.glob("service-*.json")):
        announcement = _read(path)
        if announcement is None or announcement.machine != platform.node():
            continue
        if _is_alive(announcement.pid):
            found[path] = announcement
        else:
            path.unlink(missing_ok=True)
    return found


def is_private(path: Path) -> bool:
    """Say whether a folder is this user's and closed to others."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and _is_ours(status)


def _is_ours(status: os.stat_result) -> bool:
    if sys.platform == "win32":
        return True  # below the user's own profile; there are no modes to look at
    return status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077


def _read(path: Path) -> Announcement | None:
    """Read a file that can be trusted, None for any other."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | _nonblocking())
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or not _is_ours(status):
                return None
            data = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError):
        return None
    return _from_data(data)


def _nonblocking() -> int:
    """Return the flag that keeps the opening of a pipe from waiting for its writer."""
    return getattr(os, "O_NONBLOCK", 0)


def _from_data(data: Any) -> Announcement | None:  # noqa: ANN401 any JSON value
    if not isinstance(data, dict) or set(data) != {f.name for f in fields(Announcement)}:
        return None
    numbers = ("pid", "port")
    optional = ("uds", "host", "port", "token")
    for name, value in data.items():
        kind = int if name in numbers else str
        if not (isinstance(value, kind) or (value is None and name in optional)):
            return None
    if data["uds"] is None and (data["host"] is None or data["port"] is None):
        return None
    return Announcement(**data)


def _is_alive(pid: int) -> bool:
    """Say whether a process of this user has the number."""
    if pid <= 0:
        return False
    if sys.platform == "win32":
        return True  # a signal would end it; a refused connection tells as well
    with suppress(OSError):
        os.kill(pid, 0)
        return True
    return False
