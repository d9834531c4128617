"""An apply as server-sent events: what the target does, then the result or the refusal.

======== ==========================================================================================
progress ``{stage, done, expected}``: a stage began, or a pass has ended; tokens, a guess of them
text     ``{text, source, region, part}``: a piece that the target has written, and where it copied
         it from. Provisional: a text that the guard refuses, or that the merge takes the place of,
         was streamed all the same. With several windows, ``part`` counts them
result   the body that a plain request gets; the last event
error    the error object that a plain request gets; the last event, instead of ``result``
======== ==========================================================================================
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from fastapi import Request
from sse_starlette import EventSourceResponse, ServerSentEvent

from apply_edit.errors import ApplyEditError
from apply_edit.service.errand import Work
from apply_edit.service.logs import log_bug, note
from apply_edit.service.pool import apply_for
from apply_edit.service.problems import body_of, error_body
from apply_edit.service.schemas import answer_of
from apply_edit.types import EditResult

if TYPE_CHECKING:
    from apply_edit.decode.row import Event

_Told = tuple[str, dict[str, Any]]


class Listener:
    """An observer that hands everything over to the event loop; made there."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._told: asyncio.Queue[_Told | None] = asyncio.Queue()
        self._part = -1

    def stage(self, name: str) -> None:
        """Tell the beginning of a stage; every window begins with a prefill."""
        self._part += name == "prefill"
        self._tell("progress", {"stage": name, "done": 0, "expected": None})

    def decoded(self, event: Event, num_done: int, num_expected: int) -> None:
        """Tell the text of a pass, cut up by where it comes from."""
        for piece in pieces_of(event):
            self._tell("text", {**piece, "part": self._part})
        self._tell("progress", {"stage": "decode", "done": num_done, "expected": num_expected})

    def explained(self, lines: Sequence[str]) -> None:
        """Ignore it."""
        del lines

    def end(self) -> None:
        """Let ``next`` return None after what was told so far; call it in the event loop."""
        self._told.put_nowait(None)

    async def next(self) -> _Told | None:
        """Wait for the next event; None at the end."""
        return await self._told.get()

    def _tell(self, name: str, data: dict[str, Any]) -> None:
        self._loop.call_soon_threadsafe(self._told.put_nowait, (name, data))


def pieces_of(event: Event) -> list[dict[str, Any]]:
    """Return the text of a pass in runs of the same source and region; empty runs are left out.

    Text that could still become a stop string is held back, so a run may begin with the last
    characters of the one before.
    """
    pieces, place = [], 0
    for region, source, count in event.record.output_runs if event.record is not None else ():
        text = "".join(event.pieces[place : place + count])
        place += count
        if text:
            pieces.append({"text": text, "source": source, "region": region or "unknown"})
    return pieces


async def stream(
    request: Request, work: Work, keep_alive_s: float, send_timeout_s: float
) -> EventSourceResponse:
    """Start an apply and return the response that tells about it.

    A refusal that comes before there is anything to tell is an ordinary HTTP refusal.

    Args:
        request: The request.
        work: What to do.
        keep_alive_s: Longest silence, also before the response starts.
        send_timeout_s: How long a client may read nothing before its connection is closed.

    Raises:
        ApplyEditError: See ``apply_for``.
    """
    listener = Listener()
    applying = asyncio.ensure_future(apply_for(request, work, listener))
    applying.add_done_callback(lambda _: listener.end())
    first = asyncio.ensure_future(listener.next())
    try:
        await asyncio.wait((first,), timeout=keep_alive_s)
        if first.done() and first.result() is None and applying.exception() is not None:
            await applying
    except BaseException:
        first.cancel()
        applying.cancel()
        raise
    return EventSourceResponse(
        _events(request, listener, first, applying),
        ping=keep_alive_s,
        ping_message_factory=lambda: ServerSentEvent(comment="keep-alive"),
        send_timeout=send_timeout_s,
    )


async def _events(
    request: Request,
    listener: Listener,
    first: asyncio.Future[_Told | None],
    applying: asyncio.Future[EditResult],
) -> AsyncIterator[ServerSentEvent]:
    try:
        told = await first
        while told is not None:
            yield _event(*told)
            told = await listener.next()
        yield _event(*await _ending(request, applying))
    finally:
        # The client has gone, or nothing is left to cancel.
        applying.cancel()
        await asyncio.gather(applying, return_exceptions=True)


async def _ending(request: Request, applying: asyncio.Future[EditResult]) -> _Told:
    try:
        return "result", answer_of(await applying)
    except ApplyEditError as error:
        return "error", body_of(error)
    except Exception as error:  # noqa: BLE001 the edge: the answer has begun, so it must say so itself
        log_bug(error, "a streamed request failed by a fault of the service")
        note(request.scope, error_code="internal_error")
        return "error", error_body(500, "internal_error", "the service has failed; see its log")


def _event(name: str, data: dict[str, Any]) -> ServerSentEvent:
    # An error may quote what is no Unicode text; in ASCII it can be sent all the same.
    is_error = name == "error"
    text = json.dumps(data, ensure_ascii=is_error, allow_nan=False, separators=(",", ":"))
    return ServerSentEvent(text, event=name, sep="\n")
