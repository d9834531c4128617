"""The native API: apply, batch, prewarm. Turns requests into work and results into answers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from apply_edit.errors import ApplyEditError, ConfigError
from apply_edit.rewriting import DecodeSettings
from apply_edit.service.errand import require_text
from apply_edit.service.logs import log_bug, note
from apply_edit.service.openapi import documented
from apply_edit.service.pool import Gone, Pool, apply_for, client_gone, route_of
from apply_edit.service.problems import body_of, error_body
from apply_edit.service.schemas import (
    ApplyAnswer,
    ApplyRequest,
    BatchAnswer,
    BatchRequest,
    Item,
    PrewarmAnswer,
    PrewarmRequest,
    answer_of,
)
from apply_edit.service.settings import Settings
from apply_edit.service.stream import stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from apply_edit.decode.runner import Prefilled
    from apply_edit.engine import Engine

router = APIRouter(prefix="/v1", tags=["native"])
_STREAM = {"text/event-stream": {"example": "event: result\n…"}}


@router.post(
    "/apply",
    response_model=ApplyAnswer,
    responses={200: {"content": _STREAM}, **documented(400, 413, 415, 422, 429, 503, 504)},
)
async def apply(request: Request, body: ApplyRequest) -> Response:
    """Merge an edit into a file.

    With `stream` the answer is server-sent events: `progress`, provisional `text`, and at the end
    `result` with what a plain request gets, or `error` with the error object.
    """
    settings: Settings = request.app.state.settings
    work = body.to_work(request.app.state.config)
    if body.stream:
        return await stream(request, work, settings.keep_alive_s, settings.deadline_s)
    return JSONResponse(answer_of(await apply_for(request, work)))


@router.post(
    "/batch",
    response_model=BatchAnswer,
    responses=documented(400, 413, 415, 422),
)
async def batch(request: Request, body: BatchRequest) -> Response:
    """Merge several edits, independent of each other; one that is refused leaves the others be."""
    settings: Settings = request.app.state.settings
    if len(body.items) > settings.max_batch:
        message = f"the batch has {len(body.items)} items; at most {settings.max_batch} are taken"
        raise ConfigError(message, option="items", limit=settings.max_batch)
    note(request.scope, items=len(body.items))
    # Not all at once, so that the requests of others find a place, too.
    places = asyncio.Semaphore(settings.max_concurrency)
    leaving = asyncio.ensure_future(client_gone(request)())

    async def gone() -> bool:
        return await asyncio.shield(leaving)

    async def one(item: Item) -> dict[str, Any]:
        async with places:
            return await _one(request, item, gone)

    try:
        results = await asyncio.gather(*(one(item) for item in body.items))
    finally:
        leaving.cancel()
    return JSONResponse({"results": results})


@router.post(
    "/prewarm",
    response_model=PrewarmAnswer,
    responses=documented(400, 413, 415, 422, 429, 503, 504),
)
async def prewarm(request: Request, body: PrewarmRequest) -> Response:
    """Have the target read a file while its edit is still being written."""
    pool: Pool = request.app.state.pool
    require_text(original=body.original, path=body.path)
    note(request.scope, original_chars=len(body.original))
    job = body.to_job()

    def read(engine: Engine, cancelled: Callable[[], bool]) -> Prefilled:
        return engine.prewarm(job, DecodeSettings(), cancelled)

    done = await pool.run(read, gone=client_gone(request))
    return JSONResponse({"tokens": done.num_tokens, "cached": done.num_cached})


async def _one(request: Request, item: Item, gone: Gone) -> dict[str, Any]:
    """Return the answer for one item of a batch, a refusal as its error object."""
    pool: Pool = request.app.state.pool
    try:
        work = item.to_work(request.app.state.config)
        return answer_of(await pool.apply(work, gone=gone, route=route_of(request)))
    except ApplyEditError as error:
        return body_of(error)
    except Exception as error:  # noqa: BLE001 the edge: the other items have nothing to do with it
        log_bug(error, "an item of a batch failed by a fault of the service")
        return error_body(500, "internal_error", "the service has failed; see its log")
