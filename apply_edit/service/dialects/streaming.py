"""Answers in server-sent events that begin when the merge has passed, and not before.

A refusal has to be an HTTP error, so the headers are held back for some seconds, by which time most
applies have ended. After that they go out, comments keep the connection alive, and a refusal is an
event with an ``error`` object, which OpenAI's clients raise as an error; neither content nor
``[DONE]`` follows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from starlette.responses import Response, StreamingResponse

from apply_edit.errors import ApplyEditError
from apply_edit.service.dialects.openai import KEEP_ALIVE, Answer, event
from apply_edit.service.logs import log_bug, note
from apply_edit.service.problems import body_of, error_body

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@dataclass(frozen=True, slots=True)
class Pace:
    """When a stream says what.

    Args:
        hold_s: Seconds for which headers wait for the result.
        keep_alive_s: Seconds between comments after that.
    """

    hold_s: float = 5.0
    keep_alive_s: float = 5.0


async def stream(
    request: Request,
    applying: Coroutine[None, None, Answer],
    events: Callable[[Answer], Iterator[str]],
    pace: Pace,
) -> Response:
    """Return the response that streams an answer.

    Args:
        request: The request, for the log.
        applying: Gives the answer.
        events: Turns it into events.
        pace: When headers and comments go out.

    Raises:
        ApplyEditError: The edit was refused while headers were held back.
    """
    task = asyncio.ensure_future(applying)
    try:
        done, _ = await asyncio.wait({task}, timeout=pace.hold_s)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if done:
        task.result()
    body = _told(request, task, events, pace.keep_alive_s)
    return StreamingResponse(body, media_type="text/event-stream", headers=_HEADERS)


async def _told(
    request: Request,
    task: asyncio.Future[Answer],
    events: Callable[[Answer], Iterator[str]],
    keep_alive_s: float,
) -> AsyncIterator[str]:
    """Yield comments until the answer is there, then its events."""
    try:
        while not task.done():
            yield KEEP_ALIVE
            await asyncio.wait({task}, timeout=keep_alive_s)
        refused = _refusal(request, task)
        told = [event(refused)] if refused is not None else events(task.result())
        for each in told:
            yield each
    finally:
        # Nobody listens any more when this is reached early.
        task.cancel()


def _refusal(request: Request, task: asyncio.Future[Answer]) -> dict[str, Any] | None:
    """Return the error object of a task that has ended without an answer."""
    try:
        task.result()
    except ApplyEditError as error:
        note(request.scope, error_code=error.code)
        return body_of(error)
    except Exception as error:  # noqa: BLE001 the edge: the answer has begun, so it must say so itself
        log_bug(error, "a streamed request failed by a fault of the service")
        note(request.scope, error_code="internal_error")
        return error_body(500, "internal_error", "the service has failed; see its log")
    return None
