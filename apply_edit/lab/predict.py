"""Experiment 5: predict before building, then measure, and put both side by side.

Prediction: the target writes a text; target and draft are teacher-forced over it, and the sum of
min(p, q) at each position, averaged, is alpha; c comes from single-token passes of both. Tokens per
pass and speedup follow. Measurement: the same prompts are decoded with drafts, by our own code and,
where there is a counterpart, by the model library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apply_edit.lab.forecast import Costs, Forecast, forecast, measure_costs
from apply_edit.lab.result import LabResult, Plot, Series
from apply_edit.lab.seam import Bench, Decode, DecodeRun, Drafter, Prompt, Workload

TEMPERATURES = (0.0, 0.7)
STEPS = 100

COLUMNS = (
    "workload",
    "T",
    "drafter",
    "alpha",
    "accepted",
    "tokens/pass",
    "flat",
    "timed",
    "measured",
    "library",
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row: a drafter on a workload at a temperature.

    Args:
        workload: Its name.
        temperature: 0 is greedy.
        drafter: Its name.
        predicted: Made before anything was decoded with drafts.
        runs: The decodings with our own code, one per prompt.
        speedup: Measured seconds per id, plain over speculative.
        library_speedup: The same for the library, ``None`` without a counterpart.
        different: How many greedy outputs were not the plain ones.
    """

    workload: str
    temperature: float
    drafter: str
    predicted: Forecast
    runs: tuple[DecodeRun, ...]
    speedup: float
    library_speedup: float | None
    different: int

    @property
    def share(self) -> float:
        """Return accepted over drafted ids, 0.0 where nothing was drafted."""
        drafted = sum(run.drafted for run in self.runs)
        return sum(run.accepted for run in self.runs) / drafted if drafted else 0.0

    @property
    def tokens_per_pass(self) -> float:
        """Return emitted ids per target pass."""
        return sum(len(run.ids) for run in self.runs) / sum(run.passes for run in self.runs)


def compare(
    bench: Bench,
    workloads: Sequence[Workload],
    temperatures: Sequence[float] = TEMPERATURES,
    steps: int = STEPS,
) -> tuple[Costs, list[Comparison]]:
    """Predict and measure every drafter on every workload at every temperature.

    Prompt lookup is left out on workloads that have nothing to copy from.
    """
    costs = measure_costs(bench, workloads[0].prompts[0].ids, steps)
    rows = [
        row
        for workload in workloads
        for temperature in temperatures
        for row in _compare_workload(bench, workload, temperature, costs)
    ]
    return costs, rows


def _compare_workload(
    bench: Bench, workload: Workload, temperature: float, costs: Costs
) -> list[Comparison]:
    plain = _decode(bench.plain, workload.prompts, temperature)
    texts = [(prompt, run.ids) for prompt, run in zip(workload.prompts, plain, strict=True)]
    copyable = all(prompt.reference for prompt in workload.prompts)
    drafters = [d for d in bench.drafters if d.ngram is None or copyable]
    # All predictions come before the first measurement.
    predicted = [forecast(bench, drafter, texts, temperature, costs) for drafter in drafters]
    return [
        _measure(drafter, workload, temperature, guess, plain)
        for drafter, guess in zip(drafters, predicted, strict=True)
    ]


def _measure(
    drafter: Drafter,
    workload: Workload,
    temperature: float,
    predicted: Forecast,
    plain: tuple[DecodeRun, ...],
) -> Comparison:
    runs = _decode(drafter.decode, workload.prompts, temperature)
    library = (
        None if drafter.library is None else _decode(drafter.library, workload.prompts, temperature)
    )
    changed = sum(run.ids != want.ids for run, want in zip(runs, plain, strict=True))
    return Comparison(
        workload=workload.name,
        temperature=temperature,
        drafter=drafter.name,
        predicted=predicted,
        runs=runs,
        speedup=_seconds_per_id(plain) / _seconds_per_id(runs),
        library_speedup=(
            None if library is None else _seconds_per_id(plain) / _seconds_per_id(library)
        ),
        different=changed if temperature == 0 else 0,
    )


def _decode(decode: Decode, prompts: Sequence[Prompt], temperature: float) -> tuple[DecodeRun, ...]:
    return tuple(decode(prompt, temperature) for prompt in prompts)


def _seconds_per_id(runs: Sequence[DecodeRun]) -> float:
    # Per id, since sampled outputs of the same prompt have different lengths.
    return sum(run.seconds for run in runs) / sum(len(run.ids) for run in runs)


def report(costs: Costs, rows: Sequence[Comparison]) -> LabResult:
    """Lay out the comparison as a table (predicted / measured) and bars."""
    labels = tuple(f"{row.workload}\n{row.drafter}\nT = {row.temperature:g}" for row in rows)
    places = tuple(float(place) for place in range(len(rows)))
    # A missing counterpart has no bar.
    bars = {
        "predicted, flat passes": [row.predicted.speedup_flat for row in rows],
        "predicted, timed passes": [row.predicted.speedup for row in rows],
        "measured": [row.speedup for row in rows],
        "library": [row.library_speedup or 0.0 for row in rows],
    }
    different = sum(row.different for row in rows)
    timed = ", ".join(f"{width}: {costs.target[width]:.4g}" for width in sorted(costs.target))
    return LabResult(
        name="predict",
        title="Predicted before anything was drafted, then measured (predicted / measured)",
        columns=COLUMNS,
        rows=tuple(_cells(row) for row in rows),
        plot=Plot(
            "",
            "speedup over plain decoding",
            tuple(Series(name, places, tuple(values)) for name, values in bars.items()),
            ticks=labels,
        ),
        notes=(
            f"c = {costs.ratio:.3f}: a draft step {costs.draft_step:.4g} s, a target pass by "
            f"width {timed} s.",
            "Speedups: flat, if a pass cost the same at any width; timed, with the times above; "
            "measured; and what transformers' own generation measured.",
            f"{different} greedy outputs with drafts differ from the plain ones.",
        ),
    )


def _cells(row: Comparison) -> tuple[str, ...]:
    guess = row.predicted
    return (
        row.workload,
        f"{row.temperature:g}",
        row.drafter,
        f"{guess.alpha:.3f}",
        f"{guess.share:.3f} / {row.share:.3f}",
        f"{guess.tokens_per_pass:.2f} / {row.tokens_per_pass:.2f}",
        f"{guess.speedup_flat:.2f}",
        f"{guess.speedup:.2f}",
        f"{row.speedup:.2f}",
        "-" if row.library_speedup is None else f"{row.library_speedup:.2f}",
    )


def run(bench: Bench, workloads: Sequence[Workload], steps: int = STEPS) -> LabResult:
    """Run the experiment, greedy and at T = 0.7.

    Args:
        bench: Models and decodings.
        workloads: For example code edits and open chat.
        steps: Single-token passes to time.
    """
    return report(*compare(bench, workloads, steps=steps))
