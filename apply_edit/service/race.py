"""What ends an apply: its result, its deadline, the client's leaving or the service's end.

Knows neither applies nor threads: what is done is handed in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from apply_edit.errors import Cancelled, DeadlineExceeded, Stopping

Gone = Callable[[], Awaitable[bool]]
Done = TypeVar("Done")
_GONE_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Rivals:
    """What may end something before it is done.

    Args:
        gone: Asked whether the client has gone; it may wait until it has.
        ending: Set when the service ends.
        deadline_s: Most seconds.
    """

    gone: Gone
    ending: asyncio.Event
    deadline_s: float


async def race(doing: Awaitable[Done], rivals: Rivals) -> Done:
    """Return what is done, unless one of its rivals is first; it is cancelled then.

    Args:
        doing: What is done.
        rivals: What may end it before.

    Raises:
        Cancelled: The client has gone.
        DeadlineExceeded: The time has run out.
        Stopping: The service ends.
    """
    work = asyncio.ensure_future(doing)
    leaving = asyncio.ensure_future(_until(rivals.gone))
    ending = asyncio.ensure_future(rivals.ending.wait())
    try:
        done, _ = await asyncio.wait(
            (work, leaving, ending),
            timeout=rivals.deadline_s,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if work in done:
            return await work
        if leaving in done:
            leaving.result()
            message = "the client has gone; nothing was changed"
            raise Cancelled(message)
        if ending in done:
            message = "the service is stopping; nothing was changed. Send the request again later"
            raise Stopping(message)
        limit = rivals.deadline_s
        message = f"there was no result within {limit:g} s; nothing was changed"
        raise DeadlineExceeded(message, deadline_s=limit)
    finally:
        others = (work, leaving, ending)
        for task in others:
            task.cancel()
        # What they say now is of no interest, but somebody has to have heard it.
        await asyncio.gather(*others, return_exceptions=True)


async def _until(gone: Gone) -> None:
    while not await gone():
        await asyncio.sleep(_GONE_POLL_S)
