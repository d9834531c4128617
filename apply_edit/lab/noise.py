"""Experiment 1: noise or bias? Distance against the number of runs, right and wrong rounds."""

from __future__ import annotations

from apply_edit.lab.chains import RoundFn
from apply_edit.lab.distance import GAMMA, checkpoints, distances, noise_series
from apply_edit.lab.mutants import MUTANTS, planted_step
from apply_edit.lab.result import LabResult, Plot, Series
from apply_edit.reference.rounds import speculative_step


def run(runs: int, seed: int) -> LabResult:
    """Compare the correct round and every planted bug with the target's exact distribution.

    Args:
        runs: Token pairs per variant.
        seed: Seeds the random numbers.
    """
    stops = checkpoints(runs)
    steps: dict[str, RoundFn] = {"correct": speculative_step}
    steps |= {name: planted_step(commit) for name, commit in MUTANTS.items()}
    series = [
        Series(name, stops, distances(step, runs, (seed, number)))
        for number, (name, step) in enumerate(steps.items())
    ]
    series.append(noise_series(runs))
    return LabResult(
        name="noise",
        title=f"Distance (TV) from the target's joint of two tokens, gamma {GAMMA}",
        columns=("variant", *(f"{stop:,} runs" for stop in stops)),
        rows=tuple((line.label, *(f"{tv:.4f}" for tv in line.ys)) for line in series),
        plot=Plot("runs", "total variation distance", tuple(series), log_x=True, log_y=True),
        notes=(
            "Noise shrinks with the square root of the runs, bias stays where it is. Chance alone "
            "is a mean: one correct series is now below it, now up to twice as far.",
            "A missing bonus token is no bias: the distribution is right, only the rounds are "
            "shorter.",
        ),
    )
