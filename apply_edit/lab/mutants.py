"""The usual bugs of speculative sampling, planted on purpose.

They exist so that the experiments and the tests can show that they are found: a test of exactness
that no wrong implementation fails has shown nothing. Nothing else may use this module.

Each function stands in the place of :func:`apply_edit.reference.verify` and returns the tokens that
the round commits; :func:`planted_step` makes a whole round of one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from apply_edit.reference.rounds import PrefixFn
from apply_edit.reference.verify import (
    Draws,
    HasRandom,
    Row,
    acceptance_probability,
    argmax,
    as_draws,
    residual,
    verify,
)

Commit: TypeAlias = Callable[[list[int], Sequence[Row], Sequence[Row], Draws], list[int]]
Step: TypeAlias = Callable[
    [PrefixFn, PrefixFn, tuple[int, ...], int, "HasRandom | Draws"], list[int]
]


def residual_replaced_by_p(
    draft: list[int], q_rows: Sequence[Row], p_rows: Sequence[Row], draws: Draws
) -> list[int]:
    """Draw the correction from p: tokens that the draft over-proposes come out too often."""
    for i, token in enumerate(draft):
        if not draws.bernoulli(acceptance_probability(p_rows[i], q_rows[i], token)):
            return [*draft[:i], draws.categorical(p_rows[i])]
    return [*draft, draws.categorical(p_rows[-1])]


def verify_on_after_rejection(
    draft: list[int], q_rows: Sequence[Row], p_rows: Sequence[Row], draws: Draws
) -> list[int]:
    """Correct the rejected draft and go on, with rows that were made for the text before it."""
    out: list[int] = []
    for i, token in enumerate(draft):
        accepted = draws.bernoulli(acceptance_probability(p_rows[i], q_rows[i], token))
        correction = residual(p_rows[i], q_rows[i], token)
        out.append(token if accepted else draws.categorical(correction))
    return [*out, draws.categorical(p_rows[-1])]


def ratio_inverted(
    draft: list[int], q_rows: Sequence[Row], p_rows: Sequence[Row], draws: Draws
) -> list[int]:
    """Accept with min(1, q/p): the surer the draft is, the less it is questioned."""
    for i, token in enumerate(draft):
        p_x, q_x = p_rows[i][token], q_rows[i][token]
        if not draws.bernoulli(1 if q_x >= p_x else q_x / p_x):
            return [*draft[:i], draws.categorical(residual(p_rows[i], q_rows[i], token))]
    return [*draft, draws.categorical(p_rows[-1])]


def argmax_check_while_sampling(
    draft: list[int], q_rows: Sequence[Row], p_rows: Sequence[Row], draws: Draws
) -> list[int]:
    """Use the greedy check: whatever was drawn, the target's argmax comes out."""
    for i, token in enumerate(draft):
        if token != argmax(p_rows[i]):
            return [*draft[:i], argmax(p_rows[i])]
    return [*draft, argmax(p_rows[-1])]


def no_verification(
    draft: list[int], q_rows: Sequence[Row], p_rows: Sequence[Row], draws: Draws
) -> list[int]:
    """Keep every draft: the output has the draft model's distribution."""
    return [*draft, draws.categorical(p_rows[-1])]


def target_off_by_one(
    draft: list[int], q_rows: Sequence[Row], p_rows: Sequence[Row], draws: Draws
) -> list[int]:
    """Judge each draft by the row after it, as if row 0 belonged to the prefix's last token."""
    verdict = verify(draft, q_rows, [*p_rows[1:], p_rows[-1]], draws)
    return [*draft[: verdict.accepted], verdict.extra]


def no_bonus_token(
    draft: list[int], q_rows: Sequence[Row], p_rows: Sequence[Row], draws: Draws
) -> list[int]:
    """Stop after the last accepted draft: the distribution is right, the rounds are shorter."""
    verdict = verify(draft, q_rows, p_rows, draws)
    if draft and verdict.accepted == len(draft):
        return draft
    return [*draft[: verdict.accepted], verdict.extra]


MUTANTS: Mapping[str, Commit] = MappingProxyType(
    {
        "residual replaced by p": residual_replaced_by_p,
        "verifying on after a rejection": verify_on_after_rejection,
        "ratio inverted": ratio_inverted,
        "argmax check while sampling": argmax_check_while_sampling,
        "no verification": no_verification,
        "off by one in the target's position": target_off_by_one,
        "no bonus token": no_bonus_token,
    }
)


def planted_step(commit: Commit) -> Step:
    """Return a round like :func:`apply_edit.reference.speculative_step` with the bug in it."""

    def step(
        p_fn: PrefixFn, q_fn: PrefixFn, prefix: tuple[int, ...], k: int, rng: HasRandom | Draws
    ) -> list[int]:
        draws = as_draws(rng)
        draft: list[int] = []
        q_rows: list[Row] = []
        for _ in range(k):
            q_rows.append(q_fn((*prefix, *draft)))
            draft.append(draws.categorical(q_rows[-1]))
        p_rows = [p_fn((*prefix, *draft[:i])) for i in range(k + 1)]
        return commit(draft, q_rows, p_rows, draws)

    return step
