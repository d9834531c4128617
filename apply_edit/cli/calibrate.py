"""``apply-edit calibrate``: measure the target's passes, keep the figures, show them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from rich.console import Console
from rich.table import Table

from apply_edit.cli.models import ConsoleProgress
from apply_edit.config import DEFAULT_TARGET, DraftDtype
from apply_edit.errors import ConfigError
from apply_edit.models import locate
from apply_edit.models.layout import default_home

if TYPE_CHECKING:
    from apply_edit.decode.calibrate import Key
    from apply_edit.decode.cost import PassCost
    from apply_edit.decode.tokens import TextTokenizer
    from apply_edit.decode.transformers_target import TransformersTarget


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
@click.option("--show", is_flag=True, help="Show the kept figures; measure nothing.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="PNG", help="Write a plot.")
@click.option(
    "--draft",
    default="none",
    show_default=True,
    metavar="MODEL|none",
    help="Also measure this draft model, and from which acceptance rate on it pays.",
)
@click.option(
    "--draft-dtype", type=click.Choice(get_args(DraftDtype)), default="auto", show_default=True
)
def calibrate_command(**options: Any) -> None:  # noqa: ANN401 click hands over what it has parsed
    """Measure how long passes of 1 to 512 tokens take, so that drafts get the best length.

    Without this, a usual shape is taken and corrected while edits are applied. Run it on a quiet
    machine.
    """
    # Torch takes seconds to import; other commands do not need it.
    from apply_edit.decode import calibrate
    from apply_edit.decode.tokens import TextTokenizer
    from apply_edit.decode.transformers_target import load

    console = Console(stderr=True)
    if options["plot"] is not None:
        _require_matplotlib()
    target, device = options["target"], options["device"]
    model = locate(target, progress=ConsoleProgress(console)).path
    _say(console, f"loading {target}")
    tokenizer = TextTokenizer.load(model)
    loaded = load(model, tokenizer.vocab_size, device, options["dtype"])
    key = calibrate.key_of(loaded, model)
    cost = _cost(console, loaded, key, options)
    title = _title(target, key)
    show_cost(Console(), cost, title)
    if options["plot"] is not None:
        write_plot(cost, title, options["plot"])
    if options["draft"] != "none":
        # Not beside each other: what a draft model costs is to be found out on a quiet machine.
        del loaded
        _calibrate_draft(console, tokenizer, cost, options)


def _calibrate_draft(
    console: Console, tokenizer: TextTokenizer, cost: PassCost, options: dict[str, Any]
) -> None:
    """Measure the draft model and say what it is good for."""
    from apply_edit.decode import calibrate
    from apply_edit.decode.draft_target import load_draft_target

    name = options["draft"]
    model = locate(name, progress=ConsoleProgress(console)).path
    _say(console, f"loading {name}")
    draft, kind = load_draft_target(model, tokenizer, options["device"], options["draft_dtype"])
    key = calibrate.key_of(draft, model, kind)
    own = _cost(console, draft, key, options)
    show_cost(Console(), own, f"draft model {_title(name, key)}")
    show_draft(Console(), cost, own)


def _cost(
    console: Console, loaded: TransformersTarget, key: Key, options: dict[str, Any]
) -> PassCost:
    """Return the kept figures where they are to be shown, otherwise measure and keep.

    Raises:
        ConfigError: They are to be shown, and none are kept.
    """
    from apply_edit.decode import calibrate
    from apply_edit.decode.cost import WIDTHS

    folder = default_home() / "calibration"
    if options["show"]:
        return _kept(calibrate.load(folder, key), key)
    cost = calibrate.measure(
        loaded,
        options["prefixes"],
        options["seconds"],
        told=lambda line: _say(console, line),
    )
    path = calibrate.save(folder, key, cost)
    missing = [width for width in WIDTHS if width not in cost.widths]
    if missing:
        named = ", ".join(map(str, missing))
        _say(console, f"no time for widths {named}; --seconds gives more")
    _say(console, f"kept in {path}")
    return cost


def _kept(cost: PassCost | None, key: Key) -> PassCost:
    if cost is not None:
        return cost
    model, _, _ = key.model.rpartition(" ")
    message = (
        f"nothing is kept for {_title(model, key)}; to measure, run `apply-edit calibrate` with "
        "the same options and without --show"
    )
    raise ConfigError(message, option="show")


def _title(name: str, key: Key) -> str:
    return f"{name}, {key.device}, {key.dtype}, {key.threads} threads"


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def show_draft(console: Console, cost: PassCost, draft: PassCost) -> None:
    """Print what a draft model costs beside its target, and when it pays.

    Args:
        console: Where to print.
        cost: T of the target.
        draft: T of the draft model.
    """
    from apply_edit.decode.drawn import break_even

    step, read = draft.seconds(1), 512 / draft.seconds(512)
    share = step / cost.seconds(1)
    _say(
        console,
        f"draft model: {step:.4f} s a token, {share:.2f} of a pass of the target; "
        f"reads {read:.0f} tokens a second",
    )
    least = break_even(cost, step)
    pays = "at no acceptance rate" if least is None else f"from an acceptance rate of {least} on"
    _say(console, f"drafting novel text pays {pays}, what it reads not counted")


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
