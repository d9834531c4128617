"""Routes for those who watch the service: is it alive, is it ready, what has it done."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from apply_edit.service.loading import Loading
from apply_edit.service.metrics import CONTENT_TYPE, Metrics
from apply_edit.service.openapi import documented
from apply_edit.service.problems import ErrorResponse, body_of, error_body
from apply_edit.service.settings import Settings

router = APIRouter(tags=["probes"])
_RETRY_S = "2"


class Health(BaseModel):
    """The service lives."""

    status: str = Field(examples=["ok"])
    engine: str = Field(description="idle, loading, ready or failed.", examples=["ready"])
    version: str


@router.get("/health", response_model=Health, responses=documented(503))
async def health(request: Request) -> Health | ErrorResponse:
    """Say whether the service lives: not when its worker hangs in a pass, or has ended."""
    settings: Settings = request.app.state.settings
    loading: Loading = request.app.state.loading
    stats = loading.stats()
    if stats is not None and not stats.alive:
        message = "the worker has ended; start the service again"
        return ErrorResponse(error_body(503, "worker_ended", message), 503)
    if stats is not None and stats.stalled_s > settings.stuck_after_s:
        message = f"there is work, and no pass has ended for {stats.stalled_s:.0f} s"
        return ErrorResponse(error_body(503, "worker_stuck", message), 503)
    return Health(status="ok", engine=loading.state, version=request.app.version)


@router.get("/ready", response_model=Health, responses=documented(503))
async def ready(request: Request) -> Health | ErrorResponse:
    """Say whether requests that need the target are answered without waiting for it to load."""
    loading: Loading = request.app.state.loading
    state = loading.state
    if loading.error is not None:
        return ErrorResponse(body_of(loading.error), 503)
    if state == "loading":
        message = "the target is being loaded; edits that need none are applied already"
        headers = {"Retry-After": _RETRY_S}
        return ErrorResponse(error_body(503, "loading", message), 503, headers)
    return Health(status="ok", engine=state, version=request.app.version)


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"example": "apply_edit_model_inside 0.0\n"}}},
        **documented(),
    },
)
async def metrics(request: Request) -> Response:
    """Return all figures in Prometheus' text format."""
    figures: Metrics = request.app.state.metrics
    return Response(figures.render(), media_type=CONTENT_TYPE)
