"""A chi-square test with a stated level, for samples that come from a seed."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping

# Quantile of the normal distribution: one false alarm in 10,000 honest samples.
_LEVEL_1E_4 = 3.719


def assert_drawn_from(expected: Mapping[Hashable, float], seen: Counter) -> None:
    """Fail if the sample is not from the distribution, at level 1e-4.

    Rare outcomes share a cell, so that every cell expects five or more. The critical value is the
    approximation of Wilson and Hilferty.

    Args:
        expected: Probability of each outcome.
        seen: How often each was seen.
    """
    runs = seen.total()
    possible = {outcome: runs * p for outcome, p in expected.items() if p > 0}
    assert set(seen) <= set(possible), "an impossible outcome was seen"
    cells = [(seen[outcome], n) for outcome, n in possible.items() if n >= 5]
    rare = [outcome for outcome, n in possible.items() if n < 5]
    if rare:
        wanted = sum(possible[outcome] for outcome in rare)
        cells.append((sum(seen[outcome] for outcome in rare), max(wanted, 1e-9)))
    statistic = sum((count - n) ** 2 / n for count, n in cells)
    freedom = max(len(cells) - 1, 1)
    spread = 2 / (9 * freedom)
    limit = freedom * (1 - spread + _LEVEL_1E_4 * math.sqrt(spread)) ** 3
    assert statistic < limit, (
        f"chi-square {statistic:.1f} with {freedom} degrees; limit {limit:.1f}"
    )
