"""One round of speculative sampling over functions of a prefix.

A model is a function ``fn(prefix: tuple) -> ndarray``. Compare :mod:`apply_edit.reference.lists`,
which adds the loop around the round: limits, EOS, counting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from apply_edit.reference.verify import Draws, HasRandom, Row, as_draws, verify

PrefixFn: TypeAlias = Callable[[tuple[int, ...]], Row]


def speculative_step(
    p_fn: PrefixFn, q_fn: PrefixFn, prefix: tuple[int, ...], k: int, rng: HasRandom | Draws
) -> list[int]:
    """Run one round: draft ``k`` tokens, verify them, return what is committed.

    Args:
        p_fn: The target. Draft i is judged by ``p_fn(prefix + drafts before i)``.
        q_fn: The draft model. It must return the distribution that its token is drawn from; a
            drafter that takes its argmax has to return the one-hot row, not its softmax.
        prefix: Committed ids.
        k: Drafts per round (gamma).
        rng: ``numpy.random.Generator`` (all randomness comes from it), or :class:`Draws`.

    Returns:
        1 to ``k + 1`` ids: the accepted drafts and one more. Whatever follows is drawn by the next
        round from the longer prefix.

        >>> import numpy as np
        >>> same = lambda prefix: np.array([0.5, 0.5])
        >>> len(speculative_step(same, same, (0,), 3, np.random.default_rng(1)))
        4

    Raises:
        ValueError: ``k`` is negative.
    """
    if k < 0:
        message = f"k must not be negative; got {k}"
        raise ValueError(message)
    prefix = tuple(prefix)
    draws = as_draws(rng)
    draft: list[int] = []
    q_rows: list[Row] = []
    for _ in range(k):
        q_rows.append(q_fn((*prefix, *draft)))
        draft.append(draws.categorical(q_rows[-1]))
    p_rows = [p_fn((*prefix, *draft[:i])) for i in range(k + 1)]
    verdict = verify(draft, q_rows, p_rows, draws)
    return [*draft[: verdict.accepted], verdict.extra]
