"""Who may talk to the service: Host, Origin, token, size of bodies.

A service on a loopback address is reachable by every web page that a browser on the same machine
shows. Two checks keep them out: the Host header must name this machine (so that a domain that was
re-pointed to 127.0.0.1 gets nowhere), and an Origin, which browsers send, must be a page of this
machine as well. A token, where one is set, is compared in constant time.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import re
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from apply_edit.service.problems import ErrorResponse, refusal

# How long a body that is refused is read all the same.
_DRAIN_S = 5.0
# Reachable without a token, so that whoever starts the service can watch it.
OPEN_ROUTES = frozenset({"/health"})
LOOPBACK_ORIGIN = r"https?://(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?"
_HOST = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^:\[\]@/\s]+))(?::\d{1,5})?")


def is_loopback(host: str) -> bool:
    """Say whether a host name or address means this machine and nothing else.

    >>> is_loopback("localhost"), is_loopback("127.8.8.8"), is_loopback("::1"), is_loopback("a.b")
    (True, True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Doorkeeper:
    """Refuses requests that name another host, or come from a page of another site.

    Args:
        app: What is inside.
        hosts: Host names that are allowed beside loopback ones; ``*`` allows any.
        origins: Origins that are allowed beside loopback ones.
    """

    def __init__(
        self, app: ASGIApp, hosts: Collection[str] = (), origins: Collection[str] = ()
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = self._refusal(Headers(scope=scope))
        if answer is None:
            await self._app(scope, receive, send)
        else:
            await answer(scope, receive, send)

    def _refusal(self, headers: Headers) -> ErrorResponse | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._host_allowed(hosts[0]):
            message = (
                "the Host header names a host that this service does not answer for; use a "
                "loopback address, or start it with --allow-host"
            )
            return refusal(421, "host_not_allowed", message)
        if not all(self._origin_allowed(origin) for origin in origins):
            message = (
                "the request comes from a web page of another site; start the service with "
                "--allow-origin to allow it"
            )
            return refusal(403, "origin_not_allowed", message)
        return None

    def _host_allowed(self, value: str) -> bool:
        match = _HOST.fullmatch(value)
        if match is None:
            return False
        host = (match["v6"] or match["name"]).lower()
        return "*" in self._hosts or host in self._hosts or is_loopback(host)

    def _origin_allowed(self, origin: str) -> bool:
        lower = origin.lower()
        return lower in self._origins or re.fullmatch(LOOPBACK_ORIGIN, lower) is not None


class TokenCheck:
    """Refuses requests without the bearer token.

    Args:
        app: What is inside.
        token: The token; None lets everybody in.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request."""
        if scope["type"] != "http" or self._allowed(scope):
            await self._app(scope, receive, send)
            return
        message = "a token is needed: Authorization: Bearer TOKEN"
        headers = {"WWW-Authenticate": 'Bearer realm="apply-edit"'}
        await refusal(401, "unauthorized", message, headers=headers)(scope, receive, send)

    def _allowed(self, scope: Scope) -> bool:
        if self._token is None or scope["path"] in OPEN_ROUTES:
            return True
        scheme, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
        # Header values are Latin-1 on the wire; so the bytes are those that were sent.
        same = hmac.compare_digest(given.strip().encode("latin-1"), self._token)
        return same and scheme.lower() == "bearer"


class BodyLimit:
    """Refuses bodies that are too large: by their declared length, and counted while they come in.

    Args:
        app: What is inside.
        max_bytes: Most bytes of a body.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._counted = RequestBodyLimitMiddleware(app, max_body_size=max_bytes)
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request."""
        declared = ""
        if scope["type"] == "http":
            declared = Headers(scope=scope).get("content-length", "")
        if not declared.isdecimal() or (len(declared) < 19 and int(declared) <= self._max_bytes):
            await self._counted(scope, receive, send)
            return
        message = (
            f"the body has {declared} bytes and the limit is {self._max_bytes}; send the part of "
            "the file that is edited, or start the service with a larger --max-body-bytes"
        )
        # Who asks before it sends has sent nothing, and who sends nothing is not waited for.
        if Headers(scope=scope).get("expect", "").lower() != "100-continue":
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(_drain(receive, self._max_bytes), _DRAIN_S)
        await refusal(413, "body_too_large", message)(scope, receive, send)


async def _drain(receive: Receive, at_most: int) -> None:
    """Read a body and forget it, so that a client that is still sending gets to read the answer."""
    seen = 0
    while seen <= at_most:
        message = await receive()
        seen += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            return
