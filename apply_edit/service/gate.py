"""A bounded number of places and a bounded queue in front of them.

Lives in the event loop, so it needs no locks. Does not know what the places are for.
"""

from __future__ import annotations

import asyncio
from collections import deque

from apply_edit.errors import Busy


class Gate:
    """Lets in a bounded number at once, the others in the order in which they came.

    Args:
        limit: Most that are in at once.
        max_waiting: Most that wait; one more is refused.
        name: What the places are, for the message of a refusal.
    """

    def __init__(self, limit: int, max_waiting: int, name: str) -> None:
        self._limit = limit
        self._max_waiting = max_waiting
        self._name = name
        self._turns: deque[asyncio.Future[None]] = deque()
        self._inside = 0

    @property
    def inside(self) -> int:
        """How many are in."""
        return self._inside

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._turns)

    async def enter(self) -> None:
        """Wait for a place and take it; whoever has one calls ``leave`` once.

        Raises:
            Busy: As many wait already as may.
        """
        if self._inside < self._limit:
            self._inside += 1
            return
        if len(self._turns) >= self._max_waiting:
            message = (
                f"{self._inside + len(self._turns)} {self._name} requests are under way, and no "
                "more are taken on; try again later"
            )
            raise Busy(message, running=self._inside, waiting=len(self._turns))
        turn = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._turns.remove(turn)
            else:
                # The place was handed over in the same moment.
                self.leave()
            raise

    def leave(self) -> None:
        """Give the place to the next in the queue, or free it."""
        while self._turns:
            turn = self._turns.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._inside -= 1
