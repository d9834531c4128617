"""The command line: ``apply-edit FILE --edit EDIT`` and the commands around it.

Knows argv, exit codes, terminals and files; decides nothing about merging.
"""

from __future__ import annotations

import errno
import sys

import click
from rich.console import Console
from rich.table import Table

import apply_edit
from apply_edit.cli import streams
from apply_edit.cli.apply import apply_command
from apply_edit.cli.calibrate import calibrate_command
from apply_edit.cli.exit_codes import EXIT_CODES, INTERRUPTED, OK, exit_code
from apply_edit.cli.group import DefaultGroup
from apply_edit.cli.lab import lab_group
from apply_edit.cli.mcp import mcp_command
from apply_edit.cli.models import models_group
from apply_edit.cli.serve import serve_command
from apply_edit.cli.show import print_error, show_error, usage_error
from apply_edit.errors import ApplyEditError, Cancelled, FileNotWritten
from apply_edit.guard import CHECKS


@click.group(
    cls=DefaultGroup, context_settings={"help_option_names": ["-h", "--help"]}, name="apply-edit"
)
@click.version_option(apply_edit.__version__, prog_name="apply-edit")
def cli() -> None:
    """Merge an edit into a file: exactly, fast, locally, without wrecking the file."""


@cli.command("checks")
def checks_command() -> None:
    """List the checks of the guard; each can be switched off with --no-check NAME."""
    table = Table(box=None, pad_edge=False)
    for column in ("check", "severity", "what it finds"):
        table.add_column(column)
    for name, check in CHECKS.items():
        table.add_row(name, check.severity.value, check.description)
    Console().print(table)


cli.add_command(apply_command)
cli.add_command(models_group)
cli.add_command(calibrate_command)
cli.add_command(lab_group)
cli.add_command(mcp_command)
cli.add_command(serve_command)


def main() -> None:
    """Run the command line; every error is one message and a documented exit code."""
    streams.hold_closed()
    try:
        sys.exit(_run(Console(stderr=True), as_json=_wants_json(sys.argv[1:])))
    except BrokenPipeError:
        # The reader has gone (`| head`).
        streams.drop_output()
        sys.exit(1)
    except OSError as error:
        is_closed = error.errno == errno.EBADF
        reason = "standard output is closed" if is_closed else error.strerror
        Console(stderr=True).print(f"error: cannot write the output: {reason}", markup=False)
        streams.drop_output()
        sys.exit(EXIT_CODES[FileNotWritten])


def _run(console: Console, *, as_json: bool) -> int:
    """Run a command and return the exit code.

    Args:
        console: Standard error.
        as_json: Print errors as objects, too. Commands do so for their own errors; here are those
            that come before a command begins, and the interrupt.
    """
    try:
        cli(standalone_mode=False)
    except ApplyEditError as error:
        show_error(console, error)
        return exit_code(error)
    except click.ClickException as error:
        if as_json:
            print_error(usage_error(error))
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        cancelled = Cancelled("cancelled; nothing was written")
        if as_json:
            print_error(cancelled)
        console.print(cancelled.message)
        return INTERRUPTED
    return OK


def _wants_json(arguments: list[str]) -> bool:
    """Say whether --json is among the arguments, which may be wrong otherwise."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return "--json" in arguments[:end]
