"""A ragged batch: several requests, one forward pass per step.

Requests join and leave between passes. Every row has its own proposer, gamma, stops and length, and
rows accept different run lengths; nothing is padded, see ``attention``. Each request gets what it
would get alone.
"""

from __future__ import annotations

import time

from apply_edit.decode.detokenize import Decodes
from apply_edit.decode.gamma import GammaPolicy
from apply_edit.decode.row import Event, Request, Row
from apply_edit.decode.target import Block, Target
from proposers import Proposer


class Batch:
    """Requests that are decoded together.

    Args:
        target: The model.
        tokenizer: Decodes ids.
        max_tokens_per_step: A step leaves rows out (in turn) rather than score more tokens than
            this, so that one long prompt does not hold up the others for long.
    """

    def __init__(self, target: Target, tokenizer: Decodes, max_tokens_per_step: int = 4096) -> None:
        self._target = target
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens_per_step
        self._rows: dict[int, Row] = {}
        self._turn: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    def join(self, request: Request, proposer: Proposer, policy: GammaPolicy) -> Row:
        """Add a request; it takes part from the next step on.

        Raises:
            PromptTooLong: The prompt leaves no room for even one token.
        """
        row = Row(self._target, self._tokenizer, request, proposer, policy)
        self._rows[row.id] = row
        self._turn.append(row.id)
        return row

    def cancel(self, row: Row) -> None:
        """Take a request out between passes; the others do not notice."""
        if row.id in self._rows:
            row.cancel()
            self._leave(row)

    def step(self) -> dict[int, Event]:
        """Run one pass over the rows and return an event per row that took part.

        A row whose event has ``finish`` set has left. With no rows, nothing happens.
        """
        planned: list[tuple[int, Block]] = []
        total = 0
        for row_id in list(self._turn):
            block = self._rows[row_id].plan()
            if planned and total + len(block.ids) > self._max_tokens:
                break
            planned.append((row_id, block))
            total += len(block.ids)
        if not planned:
            return {}
        started = time.perf_counter()
        scores = self._target.score([block for _, block in planned])
        seconds = time.perf_counter() - started
        events: dict[int, Event] = {}
        for (row_id, _), row_scores in zip(planned, scores, strict=True):
            row = self._rows[row_id]
            events[row_id] = row.commit(row_scores, seconds)
            self._turn.remove(row_id)
            if row.finish is None:
                self._turn.append(row_id)
            else:
                self._leave(row)
        return events

    def _leave(self, row: Row) -> None:
        del self._rows[row.id]
        if row.id in self._turn:
            self._turn.remove(row.id)
        row.close()
