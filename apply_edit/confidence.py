"""From the target's log-probabilities to how sure it was of each change.

The number is the smallest probability that the target gave to any token of a change, the first
line behind it included: where to stop changing is part of the decision. A mean would drown the one
doubtful token in a hundred that are copied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from apply_edit.line_ops import line_ops
from apply_edit.text import split_lines, strip_end
from apply_edit.types import HunkScore


class LineScore(Protocol):
    """The log-probabilities of one line's tokens; see ``decode.confidence``."""

    @property
    def total(self) -> float:
        """Their sum."""
        ...

    @property
    def weakest(self) -> float:
        """The smallest."""
        ...

    @property
    def tokens(self) -> int:
        """How many there are."""
        ...


def hunk_scores(
    before: str, after: str, lines: Sequence[LineScore], first_line: int = 0
) -> list[HunkScore]:
    """Return a score for each change that the target made.

    Args:
        before: What the target was shown.
        after: What it wrote.
        lines: A score per line of ``after``, and of what closed the answer; empty where unknown.
        first_line: Lines of the result before this text.
    """
    if not lines:
        return []
    old = [strip_end(line) for line in split_lines(before)]
    new = [strip_end(line) for line in split_lines(after)]
    found = []
    for op in line_ops(old, new):
        if op.kind == "equal":
            continue
        part = [line for line in lines[op.new_start : op.new_end + 1] if line.tokens]
        total, tokens = sum(line.total for line in part), sum(line.tokens for line in part)
        found.append(
            HunkScore(
                first_line + op.new_start + 1,
                first_line + op.new_end,
                mean_logprob=total / tokens if tokens else 0.0,
                confidence=least_sure(part),
            )
        )
    return found


def least_sure(lines: Sequence[LineScore]) -> float:
    """Return the smallest probability of any token, 1.0 where there is none."""
    return math.exp(min((line.weakest for line in lines), default=0.0))
