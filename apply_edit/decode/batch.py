"""A ragged batch: several requests, one forward pass per step.

Requests join and leave between passes. Every row has its own proposer, gamma, stops and length, and
rows accept different run lengths; nothing is padded, see ``attention``. Each request gets what it
would get alone.

What goes wrong stays where it belongs: a proposer, a policy or a choice that fails takes out its
own row, a pass that fails the rows that were in it, and the batch goes on with the others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from apply_edit.decode.detokenize import Decodes
from apply_edit.decode.policy import GammaPolicy
from apply_edit.decode.prefix_cache import PrefixCache
from apply_edit.decode.row import Event, Request, Row
from apply_edit.decode.target import Block, Scores, Target
from proposers import Proposer


@dataclass(frozen=True, slots=True)
class Step:
    """What one pass gave, by row.

    Args:
        events: Of each row that took part and did not fail. One with ``finish`` set has left.
        failures: Of each row that failed; it has left.
    """

    events: dict[int, Event] = field(default_factory=dict)
    failures: dict[int, Exception] = field(default_factory=dict)


class Batch:
    """Requests that are decoded together.

    Args:
        target: The model.
        tokenizer: Decodes ids.
        max_tokens_per_step: A step leaves rows out (in turn) rather than score more tokens than
            this, so that one long prompt does not hold up the others for long.
        prefixes: Where prefixes of prompts are looked up and kept, None for nowhere.
    """

    def __init__(
        self,
        target: Target,
        tokenizer: Decodes,
        max_tokens_per_step: int = 4096,
        prefixes: PrefixCache | None = None,
    ) -> None:
        self._target = target
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens_per_step
        self._prefixes = prefixes
        self._rows: dict[int, Row] = {}
        self._turn: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    def join(self, request: Request, proposer: Proposer, policy: GammaPolicy) -> Row:
        """Add a request; it takes part from the next step on.

        Raises:
            PromptTooLong: The prompt leaves no room for even one token.
        """
        row = Row(self._target, self._tokenizer, request, proposer, policy, self._prefixes)
        self._rows[row.id] = row
        self._turn.append(row.id)
        return row

    def cancel(self, row: Row) -> None:
        """Take a request out between passes; the others do not notice."""
        if row.id in self._rows:
            try:
                row.cancel()
            finally:
                self._leave(row)

    def step(self) -> Step:
        """Run one pass over the rows. With no rows, nothing happens."""
        step = Step()
        planned = self._planned(step.failures)
        scores: list[Scores] = []
        started = time.perf_counter()
        if planned:
            with _blamed(step.failures, *(row for row, _ in planned)):
                scores = self._target.score([block for _, block in planned])
        seconds = time.perf_counter() - started
        # After a failed pass there are no scores.
        for (row, _), row_scores in zip(planned, scores, strict=False):
            with _blamed(step.failures, row):
                event = row.commit(row_scores, seconds)
                self._turn.remove(row.id)
                self._turn.append(row.id)
                if row.finish is not None:
                    self._leave(row)
                step.events[row.id] = event
        for row_id in step.failures:
            if row_id in self._rows:
                failed = self._rows[row_id]
                with _blamed(step.failures, failed):
                    self._leave(failed)
        return step

    def _planned(self, failures: dict[int, Exception]) -> list[tuple[Row, Block]]:
        """Choose who takes part in a step.

        Whoever has waited longest, however wide: so each row takes part after at most as many steps
        as there are rows. Then the narrow ones, which are those that write, because next to chunks
        of prompts they cost little and wait in vain for room behind them.
        """
        ready: list[tuple[Row, Block]] = []
        for row in [self._rows[row_id] for row_id in self._turn]:
            with _blamed(failures, row):
                ready.append((row, row.plan()))
        chosen = ready[:1]
        total = sum(len(block.ids) for _, block in chosen)
        for row, block in sorted(ready[1:], key=lambda pair: len(pair[1].ids)):
            total += len(block.ids)
            if total > self._max_tokens:
                break
            chosen.append((row, block))
        return chosen

    def _leave(self, row: Row) -> None:
        del self._rows[row.id]
        self._turn.remove(row.id)
        row.close()


@contextmanager
def _blamed(failures: dict[int, Exception], *rows: Row) -> Iterator[None]:
    """Note what goes wrong as the failure of these rows, and go on."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 whatever it is, it is no matter of the other rows
        for row in rows:
            failures.setdefault(row.id, error)
