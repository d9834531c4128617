"""``apply-edit mcp``: the tool server for agents."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from apply_edit.cli import streams
from apply_edit.cli.options import who_options
from apply_edit.config import Config
from apply_edit.errors import ConfigError


@click.command("mcp")
@click.option(
    "--root",
    "roots",
    metavar="DIR",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Folder whose files may be edited; may be repeated. By default the client's roots, or "
    "the working directory.",
)
@click.option("--http", is_flag=True, help="Serve streamable HTTP; standard input otherwise.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address, with --http.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8766,
    show_default=True,
    help="TCP port, with --http; 0 takes a free one.",
)
@click.option(
    "--token",
    metavar="TEXT",
    envvar="APPLY_EDIT_MCP_TOKEN",
    help="Bearer token that clients must send, with --http.",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    metavar="NAME",
    multiple=True,
    help="Another name that clients reach the server by, with --http.",
)
@who_options
def mcp_command(**options: Any) -> None:  # noqa: ANN401 click hands over what it has parsed
    """Offer the tools edit_file and apply_patch to an agent (Model Context Protocol).

    An agent starts this itself; see docs/mcp.md for its settings. Only files below the roots are
    read or written.
    """
    if find_spec("mcp") is None:
        message = "the tool server needs another package; pip install 'apply-edit[mcp]'"
        raise ConfigError(message, option="mcp")
    # The protocol's library takes a while to import; other commands do not need it.
    from apply_edit.mcp.editor import Editor
    from apply_edit.mcp.roots import given, working_directory
    from apply_edit.mcp.server import build
    from apply_edit.mcp.transport import HttpSettings, run_http, run_stdio

    config = Config(
        strategy=options["strategy"],
        target=options["target"],
        device=options["device"],
        dtype=options["dtype"],
    )
    if not options["http"]:
        streams.require_both()
    editor = Editor(config, use_service=not options["no_service"])
    roots = given(options["roots"]) if options["roots"] else None
    if not options["http"]:
        run_stdio(build(editor, roots))
        return
    settings = HttpSettings(
        options["host"], options["port"], options["token"], options["allowed_hosts"]
    )
    # Whoever can connect must not choose what is opened to them.
    server = build(editor, roots or working_directory())
    run_http(server, settings, lambda url: click.echo(f"listening on {url}", err=True))
