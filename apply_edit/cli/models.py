"""``apply-edit models``: list, pull, path, remove."""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as RichBar
from rich.table import Table

from apply_edit.errors import ModelNotFound
from apply_edit.models import State, Status, Store


class ConsoleProgress:
    """Shows a download or conversion on standard error: a bar on a terminal, lines elsewhere.

    Args:
        console: Where to; None is standard error.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = Console(stderr=True, soft_wrap=True) if console is None else console
        self._bar: RichBar | None = None
        self._task = TaskID(0)

    def start(self, total_bytes: int | None, label: str, done_bytes: int = 0) -> None:
        """Begin a bar; where nobody watches, say one line instead."""
        self.finish()
        if not self._console.is_terminal:
            size = "" if total_bytes is None else f" ({_size(total_bytes)})"
            self.message(f"{label}{size}")
            return
        self._bar = RichBar(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=self._console,
        )
        # The bar takes its speed from advances alone, so `completed` does not count towards it.
        self._task = self._bar.add_task(label, total=total_bytes, completed=done_bytes)
        self._bar.start()

    def advance(self, n_bytes: int) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.advance(self._task, n_bytes)

    def message(self, text: str) -> None:
        """Print a line (above the bar)."""
        self._console.print(text, markup=False, highlight=False)

    def finish(self) -> None:
        """Leave the bar as it is and end it."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@click.group(name="models")
def models_group() -> None:
    """Download, find and remove the models that run on this machine."""


@models_group.command("list")
def list_models() -> None:
    """Show the known models and what of them is on disk."""
    statuses = Store().statuses()
    console = Console()
    if not console.is_terminal:
        for status in statuses:
            click.echo("\t".join(_row(status)))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "role", "size", "state", "path"):
        table.add_column(heading, overflow="fold", no_wrap=heading != "path")
    for status in statuses:
        table.add_row(*_row(status))
    console.print(table, highlight=False)


@models_group.command("pull")
@click.argument("name")
@click.option("--keep", is_flag=True, help="Keep the downloaded GGUF file after the conversion.")
def pull_model(name: str, keep: bool) -> None:
    """Download NAME, check it, and convert it; goes on where an earlier pull was interrupted."""
    path = Store().pull(name, ConsoleProgress(), keep=keep)
    click.echo(f"ready: {path}", err=True)


@models_group.command("path")
@click.argument("name")
def show_path(name: str) -> None:
    """Print the folder of NAME; fails if it is not ready."""
    status = Store().status(name)
    if status.state is not State.READY:
        message = (
            f"{status.entry.name} is not ready ({_state(status)}); "
            f"run `apply-edit models pull {status.entry.name}`"
        )
        raise ModelNotFound(message, name=status.entry.name)
    click.echo(str(status.path))


@models_group.command("remove")
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def remove_model(name: str, yes: bool) -> None:
    """Delete NAME and whatever was downloaded of it."""
    store = Store()
    status = store.status(name)
    if status.disk_bytes == 0:
        click.echo(f"{status.entry.name} is not on disk; nothing to remove", err=True)
        return
    if not yes:
        if not _can_ask():
            message = "remove asks before it deletes, and there is no terminal to ask; add --yes"
            raise click.UsageError(message)
        question = f"Delete {status.entry.name} and free {_size(status.disk_bytes)}?"
        click.confirm(question, abort=True, err=True)
    freed = store.remove(status.entry.name)
    click.echo(f"removed {status.entry.name}, freed {_size(freed)}", err=True)


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _row(status: Status) -> tuple[str, ...]:
    entry = status.entry
    size = f"{_size(entry.size_bytes)} → {_size(entry.converted_bytes)}"
    return (entry.name, entry.role, size, _state(status), str(status.path))


def _state(status: Status) -> str:
    if status.state is State.PARTIAL:
        return f"partial {status.percent} %"
    return str(status.state)


def _size(size_bytes: int) -> str:
    if size_bytes < 1_000_000_000:
        return f"{size_bytes / 1_000_000:.0f} MB"
    return f"{size_bytes / 1_000_000_000:.1f} GB"
