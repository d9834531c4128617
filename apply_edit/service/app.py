"""The application: puts layers, routes, pool and loading together.

Layers, from the outside: request ids and log lines; Host and Origin; CORS; token; size of the body;
routes. Everything that a request needs is in ``app.state``: ``settings``, ``config``, ``loading``,
``pool``, ``metrics``; ``ended`` says at the end whether all threads have.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI, Security
from fastapi.security import HTTPBearer
from fastapi.telemetry import TelemetryConfig
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Scope

import apply_edit
from apply_edit.errors import ApplyEditError
from apply_edit.service import dialects, native, probes, problems
from apply_edit.service.build import config_of
from apply_edit.service.edge import Edge
from apply_edit.service.errand import Limits
from apply_edit.service.loading import EngineSource, Loading
from apply_edit.service.logs import log
from apply_edit.service.metrics import Metrics
from apply_edit.service.pool import Pool
from apply_edit.service.security import LOOPBACK_ORIGIN, BodyLimit, Doorkeeper, TokenCheck
from apply_edit.service.settings import Settings

# A pass cannot be interrupted; one that takes longer is left behind when the service ends.
_LAST_PASS_S = 3.0
_DESCRIPTION = """Merges an edit into a file: exactly, fast, on this machine.

Every refusal is an error object, `{"error": {"message", "type", "code", "param", …}}`, with a 4xx
or 5xx status; a doubtful merge is a refusal and never a result."""


def create_app(
    settings: Settings,
    source: EngineSource,
    failed: Callable[[ApplyEditError], None] = lambda error: None,
) -> FastAPI:
    """Build the application.

    Args:
        settings: Settings of the service.
        source: Loads the engine; called once, in a thread.
        failed: Told in that thread when loading fails; requests are refused with 503 then.
    """
    metrics = Metrics()
    loading = Loading(source, failed)
    limits = Limits(
        settings.max_concurrency, settings.max_queue, settings.text_threads, settings.deadline_s
    )
    pool = Pool(loading.engine, limits, metrics.applied)
    metrics.watch_gate("text", pool.text)
    metrics.watch_gate("model", pool.model)
    metrics.watch_worker(loading.stats)
    app = _framework(settings)
    app.state.settings = settings
    app.state.config = config_of(settings)
    app.state.loading = loading
    app.state.metrics = metrics
    app.state.pool = pool
    app.state.ended = False
    problems.install(app)
    app.include_router(native.router)
    for router in dialects.routers(dialects.Pace(settings.keep_alive_s, settings.keep_alive_s)):
        app.include_router(router)
    app.include_router(probes.router)
    _add_layers(app, settings, metrics)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Load the target when the server starts; stop everything when it ends."""
    loading: Loading = app.state.loading
    pool: Pool = app.state.pool
    settings: Settings = app.state.settings
    if settings.preload:
        loading.start()
    yield
    ended = await pool.close(_LAST_PASS_S)
    await asyncio.to_thread(loading.stop, _LAST_PASS_S if ended else 0.0)
    app.state.ended = ended and loading.state != "loading"
    log(logging.INFO, "stopped")


def _framework(settings: Settings) -> FastAPI:
    app: FastAPI = FastAPI(
        title="apply-edit",
        version=apply_edit.__version__,
        description=_DESCRIPTION,
        lifespan=_lifespan,
        # These pages run scripts of other servers, under the origin of this one.
        docs_url=None,
        redoc_url=None,
        dependencies=[] if settings.token is None else [Security(HTTPBearer(auto_error=False))],
        # Its logs would hold messages of exceptions, and these quote the file.
        telemetry=TelemetryConfig(
            tracing=settings.telemetry,
            metrics=settings.telemetry,
            logs=False,
            auto_configure=settings.telemetry,
            exclude=lambda scope: _is_private(scope, app),
        ),
    )
    return app


def _is_private(scope: Scope, app: FastAPI) -> bool:
    """Say whether a request is in no span, because the span would hold words of the client's.

    A span has path and query as they are. No route takes a query, and a path that is no route's
    could be anything.
    """
    return bool(scope["query_string"]) or scope["path"] not in app.openapi()["paths"]


def _add_layers(app: FastAPI, settings: Settings, metrics: Metrics) -> None:
    """Add the layers, the innermost first."""
    app.add_middleware(BodyLimit, max_bytes=int(settings.max_body_bytes))
    app.add_middleware(TokenCheck, token=settings.token_text)
    app.add_middleware(
        CORSMiddleware,
        allow_origins=settings.allowed_origins,
        allow_origin_regex=LOOPBACK_ORIGIN,
        allow_methods=("GET", "POST"),
        allow_headers=("Authorization", "Content-Type", "X-Request-Id"),
        expose_headers=("X-Request-Id", "Retry-After"),
    )
    # Who can open a Unix socket is decided by its mode, and no web page can.
    hosts = settings.allowed_hosts if settings.uds is None else ("*",)
    app.add_middleware(Doorkeeper, hosts=hosts, origins=settings.allowed_origins)
    app.add_middleware(Edge, told=metrics.answered)
