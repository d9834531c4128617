"""The command line: ``apply-edit FILE --edit EDIT`` and the commands around it.

Knows argv, exit codes, terminals and files; decides nothing about merging.
"""

from __future__ import annotations

import os
import sys

import click
from rich.console import Console
from rich.table import Table

import apply_edit
from apply_edit.cli.apply import apply_command
from apply_edit.cli.calibrate import calibrate_command
from apply_edit.cli.exit_codes import EXIT_CODES, INTERRUPTED, exit_code
from apply_edit.cli.group import DefaultGroup
from apply_edit.cli.lab import lab_group
from apply_edit.cli.mcp import mcp_command
from apply_edit.cli.models import models_group
from apply_edit.cli.serve import serve_command
from apply_edit.cli.show import show_error
from apply_edit.errors import ApplyEditError, FileNotWritten
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
    console = Console(stderr=True)
    try:
        cli(standalone_mode=False)
    except ApplyEditError as error:
        show_error(console, error)
        sys.exit(exit_code(error))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        console.print("cancelled; nothing was written")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone (`| head`).
        _drop_output()
        sys.exit(1)
    except OSError as error:
        console.print(f"error: cannot write the output: {error.strerror}", markup=False)
        _drop_output()
        sys.exit(EXIT_CODES[FileNotWritten])


def _drop_output() -> None:
    """Let the interpreter close standard output without a complaint of its own."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
