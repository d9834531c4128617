"""The engine's target as the reference and the experiments want it.

One adapter, two contracts: :class:`apply_edit.reference.CachedModel`, so that the text-book
decoding runs on our own models, and :class:`apply_edit.lab.seam.TimedModel`.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from apply_edit.decode.target import Block, Target
from apply_edit.reference.adapter import synchronise, to_numpy


class _CachedRow:
    """The cache of one sequence: a row of the target, given back when nobody holds it any more."""

    def __init__(self, target: Target) -> None:
        self.row = target.open_row()
        self.close = weakref.finalize(self, target.close_row, self.row)


class TargetModel:
    """Offers ``forward``, ``truncate_cache``, ``logits`` and ``pass_seconds`` over a target.

    Args:
        target: The target. It is shared, not owned; each cache is a row of its own in it.
    """

    def __init__(self, target: Target) -> None:
        self._target = target

    def forward(
        self,
        input_ids: list[int],
        use_cache: bool = True,
        past_key_values: _CachedRow | None = None,
    ) -> tuple[NDArray[Any], _CachedRow]:
        """Append ``input_ids`` to the cached positions; see ``CachedModel``.

        ``use_cache`` is part of the contract and must be true: a target has no pass without cache.
        """
        cache = _CachedRow(self._target) if past_key_values is None else past_key_values
        return self._score(cache.row, input_ids, len(input_ids)), cache

    def truncate_cache(self, past_key_values: _CachedRow, valid_length: int) -> None:
        """Shorten the cache in place."""
        self._target.rollback(past_key_values.row, valid_length)

    def logits(self, ids: Sequence[int]) -> NDArray[Any]:
        """Teacher-force ``ids`` in one pass: ``[len(ids), vocab]`` float32."""
        cache = _CachedRow(self._target)
        try:
            return self._score(cache.row, ids, len(ids))
        finally:
            cache.close()

    def pass_seconds(self, prefix: Sequence[int], width: int, repeats: int) -> list[float]:
        """Time passes of ``width`` ids behind ``prefix``; see ``TimedModel``.

        Behind a prefix all rows of logits are computed, as a verification needs them; without one,
        only the last, as a prefill does.
        """
        # Small ids that every vocabulary has; what they say does not matter for the time.
        ids = [position % 97 for position in range(width)]
        cache = _CachedRow(self._target)
        try:
            if prefix:
                self._score(cache.row, prefix, 1)
            seconds = []
            for _ in range(repeats):
                synchronise(self._target)
                start = time.perf_counter()
                self._score(cache.row, ids, width if prefix else 1)
                seconds.append(time.perf_counter() - start)
                self._target.rollback(cache.row, len(prefix))
            return seconds
        finally:
            cache.close()

    def _score(self, row: int, ids: Sequence[int], wanted: int) -> NDArray[Any]:
        scores = self._target.score([Block(row, tuple(ids), wanted)])[0]
        # Moving the rows to NumPy also waits for the device.
        return to_numpy(scores.logits(0, wanted))
