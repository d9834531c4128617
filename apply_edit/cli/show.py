"""What a person sees: coloured diffs, progress, statistics, errors. All but results on stderr."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from apply_edit.errors import AnchorNotFound, ApplyEditError, ConfigError, GuardRefused
from apply_edit.report import Report

if TYPE_CHECKING:
    from apply_edit.decode.row import Event

_STAGES = {
    "load": "loading the target",
    "service": "asking the running service",
    "prefill": "reading file and edit",
    "decode": "writing",
}
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


class ProgressObserver:
    """Shows loading, prefill and decoding on a terminal; silent where nobody watches.

    Args:
        console: Where to show it.
        quiet: Show nothing.
        explain: Print each decision about a draft's length, on a terminal or not.
    """

    def __init__(self, console: Console, *, quiet: bool = False, explain: bool = False) -> None:
        self._console = console
        self._explain = explain
        self._shown = console.is_terminal and not quiet
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[detail]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task: TaskID | None = None
        self._passes = 0

    def __enter__(self) -> ProgressObserver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._bar.stop()

    def stage(self, name: str) -> None:
        """Show that a stage begins."""
        if not self._shown:
            return
        self._bar.start()
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(_STAGES.get(name, name), total=None, detail="")

    def decoded(self, event: Event, num_done: int, num_expected: int) -> None:
        """Show how far the output is."""
        if self._task is None or event.record is None:
            return
        self._passes += 1
        detail = f"{num_done} tokens, {num_done / self._passes:.0f} per pass"
        total = max(num_expected, num_done)
        self._bar.update(self._task, completed=num_done, total=total, detail=detail)

    def explained(self, lines: Sequence[str]) -> None:
        """Print the decisions."""
        if self._explain:
            for line in lines:
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def coloured(diff: str) -> str:
    """Return a unified diff with colours for a terminal, its characters untouched.

    Not through rich, which replaces tabs and drops control characters.
    """
    return "\n".join(_coloured_line(line) for line in diff.split("\n"))


def _coloured_line(line: str) -> str:
    if line.startswith(("---", "+++")):
        return click.style(line, bold=True)
    colour = _DIFF_COLOURS.get(line[:1])
    return click.style(line, fg=colour) if colour else line


def show_report(console: Console, report: Report) -> None:
    """Print the counts and times of one apply as a table."""
    data = report.to_dict()
    seconds = data["seconds"]
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    plain = report.emitted
    rows = (
        ("passes", f"{report.passes} for {report.emitted} tokens (plain greedy decoding: {plain})"),
        ("tokens per pass", f"{report.tokens_per_pass:.1f}"),
        ("drafted, accepted", f"{report.drafted}, {report.accepted}"),
        ("acceptance rate", f"{report.acceptance_rate:.2f}"),
        ("accepted runs", " ".join(str(n) for n in report.run_lengths)),
        ("prompt tokens", str(report.prompt_tokens)),
        (
            "seconds",
            f"load {seconds['load']:.1f}, prefill and first draft {seconds['prefill']:.1f}, "
            f"decode {seconds['decode']:.1f}",
        ),
    )
    for name, value in rows:
        table.add_row(name, value)
    console.print(table)


def show_error(console: Console, error: ApplyEditError) -> None:
    """Print an error: one sentence, then what helps to repair the edit."""
    console.print(Text.assemble(("error: ", "bold red"), error.message), soft_wrap=True)
    if isinstance(error, AnchorNotFound):
        _show_nearest(console, error.fields.get("nearest"))
    if isinstance(error, GuardRefused):
        for finding in error.fields.get("findings", [])[1:]:
            console.print(Text(f"  also {finding['check']}: {finding['message']}"), soft_wrap=True)
    console.print(Text(f"  ({error.code}; nothing was written)", style="dim"), soft_wrap=True)


def print_error(error: ApplyEditError) -> None:
    """Print an error as an object on standard output."""
    click.echo(json.dumps({"error": error.to_dict()}))


def usage_error(error: click.ClickException) -> ConfigError:
    """Return an error of the command line's syntax as one of ours."""
    param = getattr(error, "param", None)
    option = getattr(error, "option_name", None) if param is None else param.name
    return ConfigError(error.format_message(), option=option)


def _show_nearest(console: Console, nearest: object) -> None:
    if not isinstance(nearest, dict):
        return
    start, end = nearest.get("start_line"), nearest.get("end_line")
    where = f"line {start}" if start == end else f"lines {start} to {end}"
    console.print(Text(f"  nearest: {where} of the file"), soft_wrap=True)
    difference = nearest.get("first_difference")
    if isinstance(difference, dict):
        console.print(Text(f"  the edit has  {difference.get('expected')!r}"), soft_wrap=True)
        console.print(Text(f"  the file has  {difference.get('found')!r}"), soft_wrap=True)
