"""Experiment 4: a drafter that emits its argmax, verified by sampling. What is its q?"""

from __future__ import annotations

from collections.abc import Callable

from apply_edit.lab.chains import RoundFn
from apply_edit.lab.distance import GAMMA, checkpoints, distances, noise_series
from apply_edit.lab.result import LabResult, Plot, Series
from apply_edit.reference.rounds import PrefixFn, speculative_step
from apply_edit.reference.verify import HasRandom, Row, argmax, as_draws, one_hot, verify


def argmax_draft_step(claim: Callable[[Row], Row]) -> RoundFn:
    """Return a round whose drafts are the argmax of the draft model.

    Args:
        claim: Makes the q that is shown to the verification of the draft model's row.
    """

    def step(
        p_fn: PrefixFn, q_fn: PrefixFn, prefix: tuple[int, ...], k: int, rng: HasRandom
    ) -> list[int]:
        draft: list[int] = []
        q_rows: list[Row] = []
        for _ in range(k):
            row = q_fn((*prefix, *draft))
            draft.append(argmax(row))
            q_rows.append(claim(row))
        p_rows = [p_fn((*prefix, *draft[:i])) for i in range(k + 1)]
        verdict = verify(draft, q_rows, p_rows, as_draws(rng))
        return [*draft[: verdict.accepted], verdict.extra]

    return step


def point_mass(row: Row) -> Row:
    """Return what an argmax is drawn from: all mass on it."""
    return one_hot(len(row), argmax(row))


def softmax_as_it_is(row: Row) -> Row:
    """Return the row itself, from which the token was *not* drawn."""
    return row


def run(runs: int, seed: int) -> LabResult:
    """Compare three drafters by their distance from the target's exact distribution.

    Args:
        runs: Token pairs per variant.
        seed: Seeds the random numbers.
    """
    stops = checkpoints(runs)
    steps: dict[str, RoundFn] = {
        "sampled draft, q = its softmax": speculative_step,
        "argmax draft, q = one-hot": argmax_draft_step(point_mass),
        "argmax draft, q = its softmax": argmax_draft_step(softmax_as_it_is),
    }
    series = [
        Series(name, stops, distances(step, runs, (seed, number)))
        for number, (name, step) in enumerate(steps.items())
    ]
    series.append(noise_series(runs))
    return LabResult(
        name="greedy-draft",
        title=f"Greedy drafter, sampled verification: distance (TV), gamma {GAMMA}",
        columns=("variant", *(f"{stop:,} runs" for stop in stops)),
        rows=tuple((line.label, *(f"{tv:.4f}" for tv in line.ys)) for line in series),
        plot=Plot("runs", "total variation distance", tuple(series), log_x=True, log_y=True),
        notes=(
            "q is the distribution that the token was drawn from. An argmax is drawn from the "
            "point mass on it, whatever the softmax behind it says.",
        ),
    )
