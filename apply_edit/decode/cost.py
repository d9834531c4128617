"""``T(width)``: what one target pass costs, by the number of new tokens and of tokens before them.

A table holds measured seconds at a few widths, per prefix length; everything between is
interpolated. Without a measurement the table is a usual *shape* (width 1 costs 1), which is all
that choosing gamma needs: the choice does not depend on the unit. Each pass that really ran then
corrects scale and shape.

Knows neither torch nor models; ``calibrate`` measures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_USUAL_PREFIX = 512
# Measured with a 1.5B model in float32 on two cores with AVX2: a wide pass costs less per token
# than a narrow one, and is far from free.
_CPU_SHAPE = (1.0, 1.15, 1.4, 1.85, 2.5, 3.5, 5.3, 9.1, 15.4, 30.0)
# Reading the weights takes longer than computing on them up to some hundred tokens.
_CUDA_SHAPE = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.02, 1.06, 1.15, 1.4)
# An observed pass corrects widths up to this many octaves away, the nearer the more.
_REACH = 2.0
# Old passes count less, because the machine's load changes and the first pass is a slow one.
_KEPT = 0.95
# How many observed passes weigh as much as the table in a question of shape.
_TRUST_IN_SHAPE = 1.0
_TRUST_IN_MEASUREMENT = 6.0


class PassCost:
    """``T(width)`` after a prefix: a table, and what observed passes say about it.

    Args:
        tables: Prefix length → seconds at ``widths``.
        widths: Ascending, at least one.
        measured: The table is a measurement of this model on this machine, not a usual shape.

    Raises:
        ValueError: A table does not fit the widths or holds something that is no time.
    """

    def __init__(
        self,
        tables: Mapping[int, Sequence[float]],
        widths: Sequence[int] = WIDTHS,
        *,
        measured: bool = True,
    ) -> None:
        if not tables or not widths or list(widths) != sorted(set(widths)) or widths[0] < 1:
            message = f"a cost table needs prefixes and ascending widths; got {list(widths)}"
            raise ValueError(message)
        for seconds in tables.values():
            if len(seconds) != len(widths) or not all(0 < s < math.inf for s in seconds):
                message = f"{list(seconds)} are not the seconds of passes of widths {list(widths)}"
                raise ValueError(message)
        self.widths = tuple(widths)
        self.tables = {prefix: monotone(tables[prefix]) for prefix in sorted(tables)}
        self.measured = measured
        self._octaves = np.log2(np.asarray(self.widths, dtype=float))
        self._near = np.zeros(len(self.widths))
        self._near_sum = np.zeros(len(self.widths))
        self._count = 0.0
        self._sum = 0.0

    @classmethod
    def usual(cls, device: str) -> PassCost:
        """Return the usual shape for a kind of device, ``cpu`` or ``cuda``; T(1) is 1."""
        shape = _CUDA_SHAPE if device.startswith("cuda") else _CPU_SHAPE
        return cls({_USUAL_PREFIX: shape}, measured=False)

    @property
    def is_in_seconds(self) -> bool:
        """Whether T is in seconds: measured, or corrected by at least one pass that ran."""
        return self.measured or self._count > 0

    def seconds(self, width: int, prefix: int = _USUAL_PREFIX) -> float:
        """Return T(width).

        >>> PassCost({512: (1.0, 3.0)}, (1, 3)).seconds(2)
        2.0
        >>> PassCost({512: (1.0, 3.0)}, (1, 3)).seconds(5)
        5.0
        """
        return float(self.at(np.asarray([width]), prefix)[0])

    def at(self, widths: NDArray[Any], prefix: int = _USUAL_PREFIX) -> Floats:
        """Return T at each of several widths (at least 1), beyond the table on a straight line."""
        marks = self._marks(prefix)
        result = np.interp(widths, self.widths, marks)
        last = self.widths[-1]
        if len(marks) > 1:
            slope = (marks[-1] - marks[-2]) / (last - self.widths[-2])
            result = result + slope * np.maximum(np.asarray(widths) - last, 0)
        return np.asarray(result, dtype=np.float64)

    def observe(self, width: int, prefix: int, seconds: float) -> None:
        """Take notice of a pass that ran; all its rows have been through the head."""
        if width < 1 or not 0 < seconds < math.inf:
            return
        table = self._table(prefix)
        known = float(np.interp(width, self.widths, table))
        if width > self.widths[-1] and len(table) > 1:
            slope = (table[-1] - table[-2]) / (self.widths[-1] - self.widths[-2])
            known += float(slope) * (width - self.widths[-1])
        error = math.log(seconds / known)
        distance = np.abs(self._octaves - math.log2(min(width, self.widths[-1])))
        weight = np.maximum(0.0, 1.0 - distance / _REACH)
        self._near = _KEPT * self._near + weight
        self._near_sum = _KEPT * self._near_sum + weight * error
        self._count = _KEPT * self._count + 1.0
        self._sum = _KEPT * self._sum + error

    def _marks(self, prefix: int) -> Floats:
        """Return the corrected seconds at the table's widths."""
        table = self._table(prefix)
        if not self._count:
            return table
        scale = self._sum / self._count
        trust = _TRUST_IN_MEASUREMENT if self.measured else _TRUST_IN_SHAPE
        local = (self._near_sum - self._near * scale) / (self._near + trust)
        return np.asarray(monotone(table * np.exp(scale + local)), dtype=np.float64)

    def _table(self, prefix: int) -> Floats:
        """Return the table between those of the two nearest prefixes that were measured."""
        known = list(self.tables)
        columns = np.asarray([self.tables[p] for p in known], dtype=np.float64)
        if len(known) == 1:
            return np.asarray(columns[0], dtype=np.float64)
        high = min(max(int(np.searchsorted(known, prefix)), 1), len(known) - 1)
        low = high - 1
        share = (prefix - known[low]) / (known[high] - known[low])
        share = min(max(share, 0.0), 1.0)
        return np.asarray((1 - share) * columns[low] + share * columns[high], dtype=np.float64)


def monotone(values: Sequence[float] | Floats) -> tuple[float, ...]:
    """Return the nearest values (least squares) that never fall: pools of neighbours are averaged.

    A wider pass that was measured as quicker than a narrower one was disturbed.

    >>> monotone([1.0, 3.0, 2.0, 4.0])
    (1.0, 2.5, 2.5, 4.0)
    """
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, count = float(value), 1
        while pools and pools[-1][0] > mean:
            before, size = pools.pop()
            mean = (before * size + mean * count) / (size + count)
            count += size
        pools.append((mean, count))
    return tuple(mean for mean, count in pools for _ in range(count))
