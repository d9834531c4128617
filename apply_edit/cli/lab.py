"""``apply-edit lab``: run an experiment, print its table, write its plot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import click
from rich.console import Console
from rich.table import Table

from apply_edit.lab import greedy_draft, markov, noise, plots, temperature
from apply_edit.lab.result import LabResult
from apply_edit.lab.seam import Bench, Decode, DecodeRun, Prompt


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment as the command line knows it.

    Args:
        summary: One line for the list.
        unit: What ``--runs`` counts.
        runs: How many of them by default.
        run: Carries it out, given the runs and the seed.
    """

    summary: str
    unit: str
    runs: int
    run: Callable[[int, int], LabResult]


EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {
        "noise": Experiment(
            "Noise or bias? The distance of right and wrong rounds from the truth, as runs grow.",
            "token pairs per variant",
            100_000,
            noise.run,
        ),
        "markov": Experiment(
            "Dependent acceptances: tokens per round on a Markov chain, against the formula.",
            "rounds per gamma",
            50_000,
            markov.run,
        ),
        "temperature": Experiment(
            "Acceptance rate against temperature, for correlated logits.",
            "pairs of logit vectors per correlation",
            200,
            temperature.run,
        ),
        "greedy-draft": Experiment(
            "A drafter that emits its argmax: exact with a one-hot q, wrong with its softmax.",
            "token pairs per variant",
            100_000,
            greedy_draft.run,
        ),
    }
)


_PREDICT = "Predict the speedup of a real pair of models before drafting, then measure it."


# A file or a pipe has no width; the widest table fits into this.
_WIDTH = 110


def show(result: LabResult, console: Console) -> None:
    """Print the table and what to read out of it."""
    table = Table(title=result.title, title_justify="left", box=None, padding=(0, 1))
    # The columns before the figures are names; figures line up on the right.
    for number, column in enumerate(result.columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    for row in result.rows:
        table.add_row(*row)
    console.print(table)
    for note in result.notes:
        console.print(note, markup=False, highlight=False)


def finish(result: LabResult, out: Path | None) -> None:
    """Print the result and, where a folder is given, write its plots there."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    show(result, console)
    if out is not None:
        for path in plots.save(result, out):
            console.print(f"written: {path}", markup=False, highlight=False, soft_wrap=True)


@click.group("lab")
def lab_group() -> None:
    """Experiments on speculative decoding: a table in the terminal, a plot as PNG and SVG."""


@lab_group.command("list")
def list_experiments() -> None:
    """List the experiments."""
    width = max(len(name) for name in lab_group.commands)
    for name, command in sorted(lab_group.commands.items()):
        if name != "list":
            click.echo(f"{name:{width}}  {command.get_short_help_str(limit=200)}")


_OUT = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("lab"),
    show_default=True,
    help="Folder for the plots.",
)
_PLOT = click.option("--plot/--no-plot", default=True, help="Write plots (needs matplotlib).")
_SEED = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)


def _command(name: str, experiment: Experiment) -> click.Command:
    """Return the command that runs one experiment."""

    @click.command(name, help=experiment.summary, short_help=experiment.summary)
    @_OUT
    @_PLOT
    @click.option(
        "--runs",
        type=click.IntRange(min=1),
        default=experiment.runs,
        show_default=True,
        help=f"How many {experiment.unit}.",
    )
    @_SEED
    def command(out: Path, plot: bool, runs: int, seed: int) -> None:
        if plot:
            # Before the work, not after it: nobody should wait a minute for this message.
            plots.require_matplotlib()
        finish(experiment.run(runs, seed), out if plot else None)

    return command


for _name, _experiment in EXPERIMENTS.items():
    lab_group.add_command(_command(_name, _experiment))


@lab_group.command("predict", short_help=_PREDICT)
@click.option("--target", default="qwen2.5-coder-1.5b-instruct", show_default=True)
@click.option("--draft", default="qwen2.5-coder-0.5b-instruct", show_default=True)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option(
    "--runs",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    help="How many prompts in all, code edits and chat.",
)
@click.option(
    "--tokens",
    type=click.IntRange(min=2),
    default=12,
    show_default=True,
    help="Longest output; a GPU can do with 128.",
)
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Single-token passes to time for the cost ratio.",
)
@_SEED
@_OUT
@_PLOT
def predict_command(  # noqa: PLR0913 one argument per option
    target: str,
    draft: str,
    device: str,
    runs: int,
    tokens: int,
    steps: int,
    seed: int,
    out: Path,
    plot: bool,
) -> None:
    """Predict what drafting brings from teacher-forced texts and pass times, then measure it.

    Greedy and at T = 0.7, on code edits and open chat, beside transformers' own assisted
    generation. Takes about 8 minutes on two idle cores.
    """
    if plot:
        plots.require_matplotlib()
    # The models' libraries take seconds to import; the other experiments do without.
    from apply_edit.lab import pair, predict

    sizes = pair.Sizes(prompts=runs, tokens=tokens)
    models = pair.load_pair(target, draft, device)
    work = pair.workloads(models.tokenizer, sizes)
    result = predict.run(_watched(pair.bench(models, sizes, seed)), work, steps)
    finish(result, out if plot else None)


def _watched(bench: Bench) -> Bench:
    """Tell on standard error about every decoding that is done."""

    def watch(name: str, decode: Decode) -> Decode:
        def watched(prompt: Prompt, temperature: float) -> DecodeRun:
            run = decode(prompt, temperature)
            line = f"T = {temperature:g}, {name}: {len(run.ids)} tokens in {run.seconds:.1f} s"
            click.echo(line, err=True)
            return run

        return watched

    drafters = tuple(
        replace(
            drafter,
            decode=watch(drafter.name, drafter.decode),
            library=drafter.library and watch(f"{drafter.name}, library", drafter.library),
        )
        for drafter in bench.drafters
    )
    return replace(bench, plain=watch("plain", bench.plain), drafters=drafters)
