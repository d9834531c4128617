"""Listens: binds the socket, runs the server until a signal, cleans up.

Binding is done here and not by the server, so that a taken port is an error with a reason, a free
port is known, and a Unix socket is closed to others from its first moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI
from sse_starlette.sse import AppStatus

from apply_edit.errors import ConfigError
from apply_edit.service.pool import Pool

# What applies get to come to an end when the service is told to stop.
GRACE_S = 10.0
# After that their refusals are sent; whoever has not read its answer by then is cut off.
_SEND_S = 2.0
_BACKLOG = 512


@dataclass(frozen=True, slots=True)
class Bound:
    """A socket that is bound, and how it is reached.

    Args:
        socket: The socket.
        url: Base URL; for a Unix socket with the host name that clients use.
        host: The address, None for a Unix socket.
        port: The port, None for a Unix socket.
        uds: Path of the Unix socket, None for TCP.
    """

    socket: socket.socket
    url: str
    host: str | None = None
    port: int | None = None
    uds: Path | None = None


@contextlib.contextmanager
def bind_tcp(host: str, port: int) -> Iterator[Bound]:
    """Bind a TCP socket while the context lasts; port 0 takes a free one.

    Raises:
        ConfigError: The address is not one of this machine, or the port is taken.
    """
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, proto)
    except OSError as error:
        message = f"there is no address {host}: {error.strerror}"
        raise ConfigError(message, option="host") from None
    with listener:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError as error:
            raise _refusal(host, port, error) from None
        name, number = listener.getsockname()[:2]
        shown = f"[{name}]" if ":" in name else name
        yield Bound(listener, f"http://{shown}:{number}", name, number)


@contextlib.contextmanager
def bind_unix(path: Path) -> Iterator[Bound]:
    """Bind a Unix socket, mode 600, while the context lasts; the file is removed at the end.

    Raises:
        ConfigError: Somebody listens there, it is another kind of file, or it cannot be made.
    """
    _clear(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        mask = os.umask(0o177)
        try:
            listener.bind(str(path))
        except OSError as error:
            message = f"the socket {path} cannot be made: {error.strerror or error}"
            raise ConfigError(message, option="uds") from None
        finally:
            os.umask(mask)
        own = path.stat().st_ino
        try:
            yield Bound(listener, "http://localhost", uds=path)
        finally:
            with contextlib.suppress(OSError):
                if path.stat().st_ino == own:
                    path.unlink()


def run(
    app: FastAPI, bound: Bound, listening: Callable[[Stop], None], grace_s: float = GRACE_S
) -> None:
    """Serve until a signal comes or somebody calls ``stop``.

    Args:
        app: The application; its ``state.pool`` is told when the time of its applies is over.
        bound: The socket.
        listening: Called once connections are accepted, with a function that stops the server.
        grace_s: What applies get to finish.
    """
    # Its streams end as other answers do, and are not cut off at the first sign of an end.
    AppStatus.disable_automatic_graceful_drain()  # type: ignore[no-untyped-call] # their own
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        ws="none",
        lifespan="on",
        server_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=grace_s + _SEND_S,  # type: ignore[arg-type] # waits for any number
    )
    pool: Pool = app.state.pool
    with _signals_end_quietly():
        _Server(config, listening, Ending(pool.end, grace_s)).run(sockets=[bound.socket])


Stop = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Ending:
    """What is done when the time after a signal is over.

    Args:
        refuse: Has whatever is under way refused; called in the event loop.
        after_s: Seconds after the signal.
    """

    refuse: Callable[[], None]
    after_s: float


class _Server(uvicorn.Server):
    """Tells when it listens, and has what is under way refused before it would cut it off."""

    def __init__(
        self, config: uvicorn.Config, listening: Callable[[Stop], None], ending: Ending
    ) -> None:
        super().__init__(config)
        self._listening = listening
        self._ending = ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        if self.started:
            self._listening(self._stop)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take nothing on any more, wait for what is under way, then refuse it."""
        loop = asyncio.get_running_loop()
        refusing = loop.call_later(self._ending.after_s, self._ending.refuse)
        try:
            await super().shutdown(sockets)
        finally:
            refusing.cancel()
        if self.force_exit:
            # A second Ctrl-C: no more waiting, but still an answer to everybody.
            self._ending.refuse()
            await self.lifespan.shutdown()

    def _stop(self) -> None:
        self.should_exit = True


@contextlib.contextmanager
def _signals_end_quietly() -> Iterator[None]:
    """Let the server's handlers be the only ones: it raises the signal again when it has stopped,
    which would end the process before files are removed.
    """  # noqa: D205 one sentence needs two lines

    def ignore(number: int, frame: FrameType | None) -> None:
        del number, frame

    before = {number: signal.signal(number, ignore) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _refusal(host: str, port: int, error: OSError) -> ConfigError:
    if error.errno == errno.EADDRINUSE:
        message = (
            f"port {port} of {host} is taken, maybe by another apply-edit service; "
            "choose another with --port, or 0 for any"
        )
        return ConfigError(message, option="port")
    message = f"cannot listen on port {port} of {host}: {error.strerror}"
    return ConfigError(message, option="port" if error.errno == errno.EACCES else "host")


def _clear(path: Path) -> None:
    """Remove a socket that a service which died has left behind.

    Raises:
        ConfigError: Somebody listens there, or it is no socket.
    """
    try:
        mode = path.lstat().st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(mode):
        message = f"{path} exists and is no socket; choose another path with --uds"
        raise ConfigError(message, option="uds")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)
            return
    message = f"somebody listens on {path} already; choose another path with --uds"
    raise ConfigError(message, option="uds")
