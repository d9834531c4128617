"""Options of ``apply-edit FILE``, and how they become settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click

from apply_edit.config import DEFAULT_TARGET, Config, DraftDtype, Scope
from apply_edit.errors import ConfigError
from apply_edit.prompt import DIALECTS
from apply_edit.types import EditFormat
from proposers import NAMES

Command = Callable[..., Any]


class GammaType(click.ParamType[int | str]):
    """A whole number, or ``auto``."""

    name = "auto|N"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """Read the option; the range is checked by ``Config``."""
        if value == "auto":
            return "auto"
        try:
            return int(str(value))
        except ValueError:
            self.fail(f"{value!r} is neither auto nor a whole number", param, ctx)


_INPUT = (
    click.argument("file", required=False, type=click.Path(path_type=Path)),
    click.option(
        "--edit",
        "edit",
        metavar="EDIT|-",
        help="File with the edit; - reads it from standard input.",
    ),
    click.option("--instruction", metavar="TEXT", help="What to change, alone or with --edit."),
    click.option(
        "--root",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Apply a patch over several files below DIR: all of them, or none.",
    ),
    click.option(
        "--format",
        "edit_format",
        type=click.Choice([f.value for f in EditFormat]),
        help="Format of the edit; detected by default.",
    ),
)
_OUTPUT = (
    click.option("--diff", is_flag=True, help="Print a diff (default on a terminal)."),
    click.option("--stdout", is_flag=True, help="Print the merged file (default elsewhere)."),
    click.option("--in-place", "-i", is_flag=True, help="Write the file, atomically."),
    click.option(
        "--output",
        "-o",
        "destination",
        metavar="PATH",
        type=click.Path(path_type=Path),
        help="Write the merged file to PATH.",
    ),
    click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="Print one JSON object: text, strategy, warnings, report; and the diff with --diff.",
    ),
    click.option(
        "--stats", is_flag=True, help="Print counts and times of the target to standard error."
    ),
    click.option("--quiet", "-q", is_flag=True, help="No progress and no warnings."),
)
_WHO = (
    click.option(
        "--strategy",
        type=click.Choice(["auto", "direct", "model"]),
        default="auto",
        show_default=True,
        help="direct never runs a model, model always does.",
    ),
    click.option(
        "--target",
        default=DEFAULT_TARGET,
        show_default=True,
        metavar="MODEL",
        help="Built-in name, local folder, local GGUF or hub id.",
    ),
    click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N."),
    click.option(
        "--dtype",
        type=click.Choice(["auto", "float32", "bfloat16", "float16"]),
        default="auto",
        show_default=True,
        help="Number format of the target.",
    ),
    click.option(
        "--no-service",
        is_flag=True,
        envvar="APPLY_EDIT_NO_SERVICE",
        help="Load a model here even where `apply-edit serve` runs with the same one.",
    ),
)
_HOW = (
    click.option(
        "--scope",
        type=click.Choice(get_args(Scope)),
        default="auto",
        show_default=True,
        help="file shows the target the whole file, windows what is around the edit, auto windows "
        "unless the file is small.",
    ),
    click.option(
        "--dialect",
        type=click.Choice(["auto", *DIALECTS]),
        default="auto",
        show_default=True,
        help="How the target is asked; auto is the prompt that it was trained on.",
    ),
    click.option(
        "--min-confidence",
        type=float,
        metavar="P",
        help="Refuse a text of the target in which it gave any word a smaller probability.",
    ),
    click.option(
        "--confirm/--no-confirm",
        default=None,
        help="Ask the target again in other words, and refuse where it writes something else; by "
        "default for instructions.",
    ),
    click.option(
        "--proposer",
        type=click.Choice(NAMES),
        default="router",
        show_default=True,
        help="Where drafts come from.",
    ),
    click.option(
        "--draft",
        default="none",
        show_default=True,
        metavar="MODEL|none",
        help="Small model of the target's tokenizer that drafts novel text where that pays.",
    ),
    click.option(
        "--draft-dtype",
        type=click.Choice(get_args(DraftDtype)),
        default="auto",
        show_default=True,
        help="Number format of the draft model; auto is int8 on a CPU.",
    ),
    click.option(
        "--gamma",
        type=GammaType(),
        default="auto",
        show_default=True,
        help="Longest draft per pass; 0 is plain decoding, auto chooses for each pass.",
    ),
    click.option(
        "--explain",
        is_flag=True,
        help="Print to standard error how each draft's length was chosen.",
    ),
    click.option(
        "--max-new-tokens", type=int, help="Limit of the output; derived from the file by default."
    ),
    click.option(
        "--no-check",
        "disabled_checks",
        multiple=True,
        metavar="NAME",
        help="Switch a check of the guard off; see `apply-edit checks`.",
    ),
)


def apply_options(command: Command) -> Command:
    """Add all options of the apply command."""
    for option in reversed((*_INPUT, *_OUTPUT, *_WHO, *_HOW)):
        command = option(command)
    return command


def who_options(command: Command) -> Command:
    """Add the options that say who decides a text: strategy, target, or a running service."""
    for option in reversed(_WHO):
        command = option(command)
    return command


def to_config(options: dict[str, Any]) -> Config:
    """Return the settings that the options ask for.

    Raises:
        ConfigError: A value is impossible.
    """
    name = options["edit_format"]
    return Config(
        strategy=options["strategy"],
        format=None if name is None else EditFormat(name),
        target=options["target"],
        device=options["device"],
        dtype=options["dtype"],
        scope=options["scope"],
        gamma=options["gamma"],
        max_new_tokens=options["max_new_tokens"],
        dialect=options["dialect"],
        min_confidence=options["min_confidence"],
        confirm=options["confirm"],
        proposer=options["proposer"],
        draft=None if options["draft"] == "none" else options["draft"],
        draft_dtype=options["draft_dtype"],
        disabled_checks=frozenset(options["disabled_checks"]),
    )


def check_combination(options: dict[str, Any]) -> None:
    """Refuse options that contradict each other.

    Raises:
        ConfigError: They do.
    """
    if options["file"] is None and options["root"] is None:
        _refuse("say which file to edit: apply-edit FILE --edit EDIT", "file")
    if options["file"] is not None and options["root"] is not None:
        _refuse("give either FILE or --root, not both", "root")
    if options["edit"] is None and options["instruction"] is None:
        _refuse("say what to change: --edit EDIT, --edit - or --instruction TEXT", "edit")
    if options["root"] is not None and options["edit"] is None:
        _refuse("--root needs --edit with a patch that names its files", "edit")
    if options["root"] is not None and not options["root"].is_dir():
        what = "is no folder" if options["root"].exists() else "does not exist"
        _refuse(f"--root {options['root']} {what}; name the folder that the patch is for", "root")
    _check_outputs(options)


def _check_outputs(options: dict[str, Any]) -> None:
    """Refuse more than one place for the result."""
    if options["root"] is not None and options["destination"] is not None:
        _refuse("--output is for one file; with --root use --in-place or --diff", "output")
    if options["as_json"] and options["stdout"]:
        _refuse("--json prints an object that has the text in it; leave --stdout out", "output")
    places = {
        # With --json the diff is a field of the object and goes nowhere else.
        "--diff": options["diff"] and not options["as_json"],
        "--stdout": options["stdout"],
        "--in-place": options["in_place"],
        "--output": options["destination"] is not None,
    }
    given = [name for name, is_given in places.items() if is_given]
    if len(given) > 1:
        message = f"{' and '.join(given)} contradict each other: say once where the result goes"
        _refuse(message, "output")


def _refuse(message: str, option: str) -> None:
    raise ConfigError(message, option=option)
