"""The outermost middleware: request ids, log lines, and an answer to faults of the service."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Callable

from sse_starlette.sse import SendTimeoutError
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from apply_edit.errors import Stopping
from apply_edit.service.logs import log, log_bug, note
from apply_edit.service.problems import refusal, response_of

_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_GONE = 499
_QUIET = frozenset({"/health", "/ready", "/metrics"})


class Edge:
    """Handles what must hold for every request, also for one that is refused further in.

    Args:
        app: What is inside.
        told: Called with the route template and the status of every answer.
    """

    def __init__(
        self, app: ASGIApp, told: Callable[[str, int], None] = lambda route, status: None
    ) -> None:
        self._app = app
        self._told = told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(Headers(scope=scope).get("x-request-id"))
        note(scope, request_id=request_id)
        started, status, sent = time.perf_counter(), 0, 0

        async def answer(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-Id"] = request_id
            elif message["type"] == "http.response.body":
                sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, answer)
        except SendTimeoutError:
            note(scope, error_code="reader_too_slow")
        except asyncio.CancelledError:
            # Only the end of the server cancels a request; it would answer in words of its own.
            error = Stopping("the service is stopping; nothing was changed")
            note(scope, error_code=error.code)
            if status == 0:
                await response_of(error)(scope, receive, answer)
        except Exception as error:  # noqa: BLE001 the edge: whatever it is, the client gets an answer
            log_bug(error, "a request failed by a fault of the service", request_id=request_id)
            note(scope, error_code="internal_error")
            if status == 0:
                message = f"the service has failed; its log has the details under {request_id}"
                await refusal(500, "internal_error", message)(scope, receive, answer)
        finally:
            # Without a status the client had gone before there was one.
            self._told(_route(scope), status or _GONE)
            _log_request(scope, status or _GONE, sent, time.perf_counter() - started)


def _log_request(scope: Scope, status: int, sent: int, seconds: float) -> None:
    facts = {
        "method": scope["method"] if scope["method"].isalpha() else "?",
        "route": _route(scope),
        "status": status,
        "seconds": round(seconds, 4),
        "response_bytes": sent,
        **scope["state"]["facts"],
    }
    level = logging.ERROR if status == 500 else logging.INFO
    if facts["route"] in _QUIET and status == 200:
        level = logging.DEBUG
    log(level, "request", **facts)


def _route(scope: Scope) -> str:
    """Return the template of the route; a path could hold anything."""
    return str(getattr(scope.get("route"), "path", "unknown"))


def _request_id(given: str | None) -> str:
    """Return the caller's id where it is a plain word, else a new one."""
    if given is not None and _ID.fullmatch(given):
        return given
    return secrets.token_hex(8)
