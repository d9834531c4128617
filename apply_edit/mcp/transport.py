"""Run a server over standard input and output, or over HTTP."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from apply_edit.errors import ConfigError

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """How to listen.

    Args:
        host: Address to bind.
        port: TCP port; 0 takes a free one.
        token: Bearer token that requests must have; None where only this machine can connect.
        allowed_hosts: More names that the Host header may have.

    Raises:
        ConfigError: Other machines could connect without a token.
    """

    host: str = "127.0.0.1"
    port: int = 8766
    token: str | None = None
    allowed_hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse to be open to others without a token."""
        if not self.token and not _is_loopback(self.host):
            message = (
                f"--host {self.host} lets other machines in, who could edit your files; "
                "set a token as well (--token or APPLY_EDIT_MCP_TOKEN)"
            )
            raise ConfigError(message, option="host")


def run_stdio(server: Server[dict[str, Any]]) -> None:
    """Serve one client over standard input and output; logs go to standard error."""

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    _log_to_stderr()
    # A thread waits for input and cannot be woken, so Python's own handling would never come to an
    # end. Files are written by renaming, so that ending at any moment damages none.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(serve)


def run_http(
    server: Server[dict[str, Any]], settings: HttpSettings, ready: Callable[[str], None]
) -> None:
    """Serve clients over streamable HTTP until interrupted.

    Args:
        server: The server.
        settings: How to listen.
        ready: Told the URL once clients can connect.

    Raises:
        ConfigError: The address cannot be bound.
    """
    listening = _bind(settings)
    port = listening.getsockname()[1]
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    config = uvicorn.Config(http_app(server, settings), log_config=None, ws="none")
    _log_to_stderr()
    ready(f"http://{shown}:{port}/mcp")
    uvicorn.Server(config).run(sockets=[listening])


def http_app(server: Server[dict[str, Any]], settings: HttpSettings) -> Starlette:
    """Return the application: a server behind its checks of Host, Origin and token."""
    own = f"[{settings.host}]" if ":" in settings.host else settings.host
    hosts = [*_LOOPBACK, own, *settings.allowed_hosts]
    app = server.streamable_http_app(
        host=settings.host,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[*hosts, *(f"{host}:*" for host in hosts)],
            # Pages of this machine only; agents send no Origin at all.
            allowed_origins=[f"http://{host}:*" for host in _LOOPBACK],
        ),
    )
    if settings.token:
        app.user_middleware.insert(0, Middleware(BearerGate, token=settings.token))
    return app


class BearerGate:
    """Lets through requests with the right bearer token, compared in constant time.

    Args:
        app: What is behind it.
        token: The token.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 or pass the request on."""
        if scope["type"] == "http":
            given = Headers(scope=scope).get("authorization", "")
            if not hmac.compare_digest(given.encode(), self._wanted):
                headers = {"WWW-Authenticate": "Bearer"}
                response = PlainTextResponse("a bearer token is needed", 401, headers)
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _bind(settings: HttpSettings) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        return socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        message = f"cannot listen on {settings.host} port {settings.port}: {error.strerror}"
        raise ConfigError(message, option="port") from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
