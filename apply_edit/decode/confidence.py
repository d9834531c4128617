"""How sure the target was of each line that it wrote.

Knows tokens and lines; what changed and what follows from doubt is for the applier.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LineScore:
    """The target's log-probabilities of the tokens of one line.

    Args:
        total: Their sum.
        weakest: The smallest of them.
        tokens: How many there are; a token belongs to the line that its first byte is in, so a line
            can have none.
    """

    total: float
    weakest: float
    tokens: int


_NONE = LineScore(0.0, 0.0, 0)


def line_scores(pieces: Iterable[bytes], logprobs: Sequence[float]) -> tuple[LineScore, ...]:
    r"""Return a score per line, for the text that the pieces join to.

    Args:
        pieces: The bytes of each token.
        logprobs: The log-probability of each token.

    >>> [s.tokens for s in line_scores([b"a", b"b\n", b"\n", b"c"], [-1.0, -2.0, -3.0, -4.0])]
    [2, 1, 1]
    """
    lines = [_NONE]
    for piece, logprob in zip(pieces, logprobs, strict=True):
        last = lines[-1]
        lines[-1] = LineScore(last.total + logprob, min(last.weakest, logprob), last.tokens + 1)
        lines += [_NONE] * piece.count(b"\n")
    if len(lines) > 1 and not lines[-1].tokens:
        lines.pop()
    return tuple(lines)
