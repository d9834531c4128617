"""``apply-edit serve``: the local service."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from rich.console import Console

from apply_edit.cli import streams
from apply_edit.cli.models import ConsoleProgress
from apply_edit.errors import ApplyEditError, ConfigError, FileNotWritten

if TYPE_CHECKING:
    from apply_edit.service.loading import Loaded
    from apply_edit.service.serving import Bound, Stop
    from apply_edit.service.settings import Settings

_NEEDED = (
    "fastapi",
    "uvicorn",
    "pydantic_settings",
    "prometheus_client",
    "pythonjsonlogger",
    "sse_starlette",
)
_TELEMETRY = ("opentelemetry.sdk", "opentelemetry.exporter")


@click.command("serve")
@click.option("--host", metavar="ADDRESS", help="Address to listen on; 127.0.0.1 by default.")
@click.option("--port", type=int, help="TCP port, 8417 by default; 0 takes a free one.")
@click.option(
    "--uds", type=click.Path(path_type=Path), metavar="PATH", help="Unix socket instead of a port."
)
@click.option("--token", metavar="TEXT", help="Bearer token that clients must send.")
@click.option("--target", metavar="MODEL", help="Built-in name, local folder, GGUF or hub id.")
@click.option("--draft", metavar="MODEL", help="Small model that drafts novel text.")
@click.option("--draft-dtype", metavar="FORMAT", help="Number format of the draft model.")
@click.option("--device", help="auto, cpu, cuda or cuda:N.")
@click.option("--dtype", metavar="FORMAT", help="Number format of the target.")
@click.option("--max-concurrency", type=int, help="Applies that share the target's passes.")
@click.option("--max-queue", type=int, help="Applies that may wait; one more is refused.")
@click.option("--max-body-bytes", metavar="SIZE", help="Largest body: 32MiB by default.")
@click.option("--prefix-cache-bytes", metavar="SIZE", help="Memory for files seen before: 1GiB.")
@click.option("--deadline", "deadline_s", type=float, metavar="SECONDS", help="For one apply.")
@click.option("--allow-host", "allowed_hosts", multiple=True, metavar="NAME", help="Of this host.")
@click.option("--allow-origin", "allowed_origins", multiple=True, metavar="URL", help="Of a page.")
@click.option("--log-level", help="debug, info, warning or error.")
@click.option("--log-format", help="json or text.")
@click.option("--no-preload", is_flag=True, help="Load the target when it is first needed.")
@click.option("--config", type=click.Path(path_type=Path), metavar="TOML", help="Settings file.")
@click.option("--json-ready", is_flag=True, help="Say as one JSON object where it listens.")
def serve_command(config: Path | None, json_ready: bool, no_preload: bool, **flags: Any) -> None:  # noqa: ANN401 click hands over what it has parsed
    """Serve applies over HTTP to editors and agents on this machine.

    Prints one line once it listens and the target is loaded. Settings also come from APPLY_EDIT_*
    variables and from --config; see docs/service.md.
    """
    _require(_NEEDED, "the service", "service")
    # The web framework takes a while to import; other commands do not need it.
    from apply_edit.service import logs
    from apply_edit.service import settings as settings_module

    given = {name: value for name, value in flags.items() if value not in (None, ())}
    if no_preload:
        given["preload"] = False
    settings = settings_module.load(given, config)
    if settings.telemetry:
        _require(_TELEMETRY, "telemetry", "otel")
    logs.configure(settings.log_level, settings.log_format)
    serve(settings, json_ready=json_ready)


def serve(settings: Settings, *, json_ready: bool = False) -> None:
    """Serve until a signal comes.

    Args:
        settings: Settings of the service.
        json_ready: Say as JSON where it listens.

    Raises:
        ApplyEditError: It cannot listen, or the target cannot be loaded.
    """
    from apply_edit.service import serving
    from apply_edit.service.app import create_app
    from apply_edit.service.build import engine_source

    failures: list[ApplyEditError] = []
    stops: list[Stop] = []

    def failed(error: ApplyEditError) -> None:
        failures.append(error)
        for stop in stops:
            stop()

    app = create_app(
        settings, engine_source(settings, ConsoleProgress(Console(stderr=True))), failed
    )
    with ExitStack() as stack:
        bound = stack.enter_context(_bind(settings))

        def listening(stop: Stop) -> None:
            stops.append(stop)
            if failures:
                stop()
                return
            _announce(stack, settings, bound)
            if not settings.preload:
                _tell(bound, json_ready=json_ready)
                return
            # Edits that need no target are applied from now on, but who waits for the line wants
            # to be served at once, whatever the edit.
            loading: Future[Loaded] = app.state.loading.start()
            loading.add_done_callback(
                lambda done: None if done.exception() else _tell(bound, json_ready=json_ready)
            )

        serving.run(app, bound, listening)
    if failures:
        raise failures[0]
    if not app.state.ended:
        leave_threads()


def leave_threads() -> NoReturn:
    """End although a pass or a load holds a thread, which the interpreter would wait for."""
    streams.flush()
    os._exit(0)


def _bind(settings: Settings) -> AbstractContextManager[Bound]:
    from apply_edit.service import serving

    if settings.uds is not None:
        return serving.bind_unix(settings.uds)
    return serving.bind_tcp(settings.host, settings.port)


def _require(modules: Sequence[str], what: str, extra: str) -> None:
    """Refuse where packages are missing.

    Raises:
        ConfigError: They are; the message says how to install them.
    """
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        message = f"{what} needs {', '.join(missing)}; pip install 'apply-edit[{extra}]'"
        raise ConfigError(message, option=extra)


def _announce(stack: ExitStack, settings: Settings, bound: Bound) -> None:
    """Let other programs of this user find the service."""
    from apply_edit.service.discovery import Address, announce

    address = Address(bound.uds, bound.host, bound.port)
    try:
        stack.enter_context(
            announce(
                address,
                target=settings.target,
                device=settings.device,
                dtype=settings.dtype,
                token=settings.token_text,
            )
        )
    except FileNotWritten as error:
        click.echo(f"warning: {error.message}", err=True)


def _tell(bound: Bound, *, json_ready: bool) -> None:
    """Say on standard output where the service listens."""
    place = bound.url if bound.uds is None else f"unix:{bound.uds}"
    line = f"apply-edit listens on {place}"
    if json_ready:
        uds = None if bound.uds is None else str(bound.uds)
        line = json.dumps({"url": bound.url, "port": bound.port, "uds": uds, "pid": os.getpid()})
    try:
        click.echo(line)
    except OSError:
        # Nobody reads it, which is no reason not to serve.
        streams.drop_output()
