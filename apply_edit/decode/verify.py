"""Accept or reject a draft: pure functions over scores.

Greedy and position-seeded decoding *pick* a token per position, whatever was drafted; the draft is
accepted as far as it agrees. Rejection sampling accepts draft token x with probability
min(1, p(x)/q(x)) and draws from the normalised max(0, p - q) where it does not. In both cases the
emitted token behind the accepted run is the residual token, or the bonus token after a full run.

Source: arXiv:2211.17192 algorithm 1; arXiv:2302.01318 theorem 1. Proof: docs/exactness.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from apply_edit.decode.sampling import draw

# Rows of the language model head that are computed at once: enough for good matrix products, few
# enough that memory stays flat and rows behind a rejection are rarely computed.
CHUNK = 64

Picker = Callable[[int, int], Sequence[int]]
"""``picker(start, stop)`` gives the picked ids of rows ``[start, stop)``."""


def verify_picks(draft: Sequence[int], pick: Picker) -> tuple[int, int]:
    """Accept a draft as far as it agrees with the picks.

    Args:
        draft: Draft ids.
        pick: Gives the target's choice for rows ``0..len(draft)``; row i follows draft[:i].

    Returns:
        Length of the accepted run, and the token behind it.

    >>> verify_picks([7, 8, 9], lambda a, b: [7, 8, 5, 6][a:b])
    (2, 5)
    >>> verify_picks([7], lambda a, b: [7, 3][a:b])
    (1, 3)
    """
    total = len(draft) + 1
    start = 0
    while True:
        stop = min(start + CHUNK, total)
        for offset, choice in enumerate(pick(start, stop)):
            row = start + offset
            if row == len(draft) or draft[row] != choice:
                return row, choice
        start = stop


def verify_sampled(
    draft: Sequence[int],
    q: torch.Tensor | None,
    p: Callable[[int], torch.Tensor],
    uniform: Callable[[], float],
) -> tuple[int, int]:
    """Accept a draft by rejection sampling.

    Args:
        draft: Draft ids.
        q: ``[len(draft), vocab]`` distributions that they were sampled from, or None for a
            deterministic draft (a point mass on each token).
        p: Gives row i of the target's distribution, ``[vocab]``, conditioned on draft[:i].
        uniform: Gives numbers in [0, 1).

    Returns:
        Length of the accepted run, and the residual or bonus token behind it.
    """
    for row, token in enumerate(draft):
        target = p(row)
        proposed = None if q is None else q[row]
        if accept(target, proposed, token, uniform()):
            continue
        return row, draw(residual(target, proposed, token), uniform())
    return len(draft), draw(p(len(draft)), uniform())


def accept(p: torch.Tensor, q: torch.Tensor | None, token: int, uniform: float) -> bool:
    """Decide on one draft token: true with probability min(1, p(x)/q(x))."""
    if not 0 <= token < len(p):
        return False
    chance = float(p[token])
    if q is not None:
        drawn = float(q[token])
        chance = chance / drawn if drawn > 0 else 0.0
    return uniform < chance


def residual(p: torch.Tensor, q: torch.Tensor | None, token: int) -> torch.Tensor:
    """Return the distribution after a rejection, ``[vocab]``, not normalised.

    For a point mass it is p without the token. Where rounding leaves nothing (p equals q), it is p:
    the rejection had probability zero but for rounding.
    """
    if q is None:
        rest = p.clone()
        if 0 <= token < len(p):
            rest[token] = 0.0
    else:
        common = min(len(p), len(q))
        rest = p.clone()
        # Vocabularies padded to different sizes: ids beyond the common part have q = 0.
        rest[:common] -= q[:common].to(rest.dtype)
        rest.clamp_(min=0.0)
    return rest if bool(rest.sum() > 0) else p
