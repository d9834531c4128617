"""Tell other programs of this user that a service runs here: one small file, removed at the end.

What is in it and who believes it is in ``remote.announcement``.
"""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apply_edit
from apply_edit.errors import FileNotWritten
from apply_edit.remote.announcement import Announcement, folder, is_private, target_key

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a service listens: a Unix socket, or host and port.

    Args:
        uds: Path of the socket.
        host: Host or address as it was bound; an address that stands for all becomes loopback.
        port: TCP port, the true one where 0 was asked for.
    """

    uds: str | Path | None = None
    host: str | None = None
    port: int | None = None


@contextmanager
def announce(
    address: Address, *, target: str, device: str, dtype: str, token: str | None = None
) -> Iterator[Path]:
    """Announce a service while the context lasts. Enter it when the service listens.

    Args:
        address: Where it listens.
        target: Its target as it was asked for.
        device: Its device as it was asked for (``auto`` too).
        dtype: Its number format as it was asked for.
        token: Bearer token that it wants, or None.

    Yields:
        The file.

    Raises:
        FileNotWritten: The file cannot be written.
    """
    uds = None if address.uds is None else str(Path(address.uds).resolve())
    host = None if uds is not None else _ANYWHERE.get(address.host or "", address.host)
    announcement = Announcement(
        pid=os.getpid(),
        machine=platform.node(),
        version=apply_edit.__version__,
        target=target_key(target),
        device=device,
        dtype=dtype,
        uds=uds,
        host=host,
        port=None if uds is not None else address.port,
        token=token,
    )
    path = _write(announcement)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _write(announcement: Announcement) -> Path:
    """Write the file under a name of its own, complete from the first moment."""
    place = folder()
    path = place / f"service-{announcement.pid}-{secrets.token_hex(4)}.json"
    unfinished = path.with_suffix(".new")
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(place):
            message = f"{place} must belong to you and be closed to others (mode 700); it is not"
            raise FileNotWritten(message, path=str(place))
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(announcement.to_json())
        os.replace(unfinished, path)
    except OSError as error:
        message = f"the service cannot be announced in {place}: {error.strerror}"
        raise FileNotWritten(message, path=str(path)) from error
    return path
