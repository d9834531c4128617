"""Accept or reject drafts by rejection sampling, on tensors.

Draft token x is accepted with probability min(1, p(x)/q(x)); where it is not, the next candidate is
judged by, or the residual token drawn from, the normalised max(0, p - q). The walk that asks these
questions is ``tree.walk_sampled``; greedy and position-seeded decoding compare picks instead
(``tree.walk_picks``) and need nothing of this.

Source: arXiv:2211.17192 algorithm 1; arXiv:2302.01318 theorem 1. Proof: docs/exactness.md.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from apply_edit.decode.sampling import draw
from apply_edit.decode.tree import Candidate, Tree, walk_sampled


class UniformJudge:
    """Judges with numbers in [0, 1), exactly one per decision.

    Args:
        uniform: Gives the next number.
    """

    def __init__(self, uniform: Callable[[], float]) -> None:
        self._uniform = uniform

    def accepts(self, p: torch.Tensor, candidate: Candidate) -> bool:
        """See ``Judge.accepts``."""
        return accept(p, candidate.q, candidate.token, self._uniform())

    def residual(self, p: torch.Tensor, candidate: Candidate) -> torch.Tensor:
        """See ``Judge.residual``."""
        return residual(p, candidate.q, candidate.token)

    def draw(self, p: torch.Tensor) -> int:
        """See ``Judge.draw``."""
        return draw(p, self._uniform())


def verify_sampled(
    tree: Tree, target: Callable[[int], torch.Tensor], uniform: Callable[[], float]
) -> tuple[list[int], int]:
    """Accept a branch by rejection sampling.

    Args:
        tree: What was drafted.
        target: Gives the target's distribution behind a node, ``[vocab]``.
        uniform: Gives numbers in [0, 1).

    Returns:
        The nodes of the accepted branch, and the residual or bonus token behind it.
    """
    return walk_sampled(tree, target, UniformJudge(uniform))


def accept(p: torch.Tensor, q: torch.Tensor | None, token: int, uniform: float) -> bool:
    """Decide on one draft token: true with probability min(1, p(x)/q(x)).

    An id that the target does not have (a draft model may have more) is never accepted.
    """
    if not 0 <= token < len(p):
        return False
    chance = float(p[token])
    if q is not None:
        drawn = float(q[token])
        chance = chance / drawn if drawn > 0 else 0.0
    return uniform < chance


def residual(p: torch.Tensor, q: torch.Tensor | None, token: int) -> torch.Tensor:
    """Return the distribution after a rejection, ``[vocab]``, normalised.

    For a point mass it is p without the token. Where rounding leaves nothing (p equals q), it is p:
    the rejection had probability zero but for rounding.
    """
    rest = p.clone()
    if q is None:
        if 0 <= token < len(p):
            rest[token] = 0.0
    else:
        common = min(len(p), len(q))
        # Vocabularies padded to different sizes: ids beyond the common part have q = 0.
        rest[:common] -= q[:common].to(rest)
        rest.clamp_(min=0.0)
    total = rest.sum()
    return rest / total if bool(total > 0) else p
