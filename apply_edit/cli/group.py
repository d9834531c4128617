"""A command group whose first word may also be a file: ``apply-edit FILE`` is ``apply``."""

from __future__ import annotations

import click

DEFAULT = "apply"


class DefaultGroup(click.Group):
    """Runs ``apply`` when the first word is no command.

    A file that is called like a command is reached as ``./models``.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command in front where none is named."""
        own = {"--help", "-h", "--version"}
        if args and args[0] not in self.commands and args[0] not in own:
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the default command's usage first."""
        formatter.write_usage("apply-edit", "FILE --edit EDIT|- [OPTIONS]")
        formatter.write_usage("apply-edit", "FILE --instruction TEXT [OPTIONS]")
        formatter.write_usage("apply-edit", "COMMAND …")
