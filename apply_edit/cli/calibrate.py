"""``apply-edit calibrate``: measure the target's passes, keep the figures, show them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from apply_edit.cli.models import ConsoleProgress
from apply_edit.config import DEFAULT_TARGET
from apply_edit.errors import ConfigError
from apply_edit.models import locate
from apply_edit.models.layout import default_home

if TYPE_CHECKING:
    from apply_edit.decode.cost import PassCost


@click.command("calibrate")
@click.option("--target", default=DEFAULT_TARGET, show_default=True, metavar="MODEL")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option(
    "--dtype",
    type=click.Choice(["auto", "float32", "bfloat16", "float16"]),
    default="auto",
    show_default=True,
)
@click.option(
    "--prefix",
    "prefixes",
    type=click.IntRange(min=1),
    multiple=True,
    default=(512,),
    show_default=True,
    help="Tokens in front of the measured pass; may be repeated (512, 2048, 8192).",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Time to spend on measuring.",
)
@click.option("--show", is_flag=True, help="Show the kept figures; measure only if there are none.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="PNG", help="Write a plot.")
def calibrate_command(  # noqa: PLR0913 one per option
    target: str,
    device: str,
    dtype: str,
    prefixes: tuple[int, ...],
    seconds: float,
    show: bool,
    plot: Path | None,
) -> None:
    """Measure how long passes of 1 to 512 tokens take, so that drafts get the best length.

    Without this, a usual shape is taken and corrected while edits are applied. Run it on a quiet
    machine.
    """
    # Torch takes seconds to import; other commands do not need it.
    from apply_edit.decode import calibrate
    from apply_edit.decode.cost import WIDTHS
    from apply_edit.decode.tokens import TextTokenizer
    from apply_edit.decode.transformers_target import load

    console = Console(stderr=True)
    if plot is not None:
        _require_matplotlib()
    model = locate(target, progress=ConsoleProgress(console)).path
    console.print(f"loading {target}", markup=False, highlight=False)
    loaded = load(model, TextTokenizer.load(model).vocab_size, device, dtype)
    folder = default_home() / "calibration"
    key = calibrate.key_of(loaded, model)
    cost = calibrate.load(folder, key) if show else None
    if cost is None:
        cost = calibrate.measure(
            loaded, prefixes, seconds, told=lambda line: console.print(line, highlight=False)
        )
        path = calibrate.save(folder, key, cost)
        missing = [width for width in WIDTHS if width not in cost.widths]
        if missing:
            named = ", ".join(map(str, missing))
            console.print(f"no time for widths {named}; --seconds gives more", highlight=False)
        console.print(f"kept in {path}", markup=False, highlight=False, soft_wrap=True)
    title = f"{target}, {key.device}, {key.dtype}, {key.threads} threads"
    show_cost(Console(), cost, title)
    if plot is not None:
        write_plot(cost, title, plot)


def show_cost(console: Console, cost: PassCost, title: str) -> None:
    """Print T as a table: seconds, and tokens per second if all are accepted."""
    console.print(title, markup=False, highlight=False)
    table = Table(box=None, pad_edge=False)
    table.add_column("width", justify="right")
    for prefix in cost.tables:
        table.add_column(f"seconds after {prefix}", justify="right")
        table.add_column("tokens/s", justify="right")
    for place, width in enumerate(cost.widths):
        cells = []
        for seconds in cost.tables.values():
            cells += [f"{seconds[place]:.4f}", f"{width / seconds[place]:.1f}"]
        table.add_row(str(width), *cells)
    console.print(table)


def write_plot(cost: PassCost, title: str, path: Path) -> None:
    """Write T over the width as a picture.

    Raises:
        ConfigError: The file cannot be written, or its kind is unknown.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for prefix, seconds in cost.tables.items():
        axes.plot(cost.widths, seconds, marker="o", label=f"after {prefix} tokens")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("width: new tokens in one pass")
    axes.set_ylabel("T(width) in seconds")
    axes.set_title(title, fontsize=9)
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        message = f"the plot {path} cannot be written: {error}"
        raise ConfigError(message, option="plot") from None


def _require_matplotlib() -> None:
    """Say so before minutes of measuring."""
    try:
        import matplotlib  # noqa: F401 only whether it is there
    except ImportError:
        message = "a plot needs matplotlib: pip install 'apply-edit[plot]'"
        raise ConfigError(message, option="plot") from None
