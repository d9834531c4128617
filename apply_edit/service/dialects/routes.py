"""The routes of the dialects."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from apply_edit.service.dialects import chat, openai, relace
from apply_edit.service.dialects.bodies import (
    DEFAULT_MODEL,
    ChatBody,
    CompletionBody,
    RelaceBody,
)
from apply_edit.service.dialects.carry import Call, answer
from apply_edit.service.dialects.openai import Kind
from apply_edit.service.dialects.records import Message, Reply
from apply_edit.service.dialects.streaming import Pace, stream
from apply_edit.service.dialects.tokens import Tokens
from apply_edit.service.openapi import documented

_REFUSALS = (400, 413, 415, 422, 429, 503, 504)
_SSE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The merged file; with `stream`, server-sent events that end in `[DONE]`.",
        "content": {"application/json": {}, "text/event-stream": {}},
    },
    **documented(*_REFUSALS),
}


@dataclass(frozen=True, slots=True)
class Setup:
    """What the routes are given.

    Args:
        tokens: Returns what counts tokens for a request.
        pace: When streams say what.
    """

    tokens: Callable[[Request], Tokens]
    pace: Pace


def openai_router(setup: Setup) -> APIRouter:
    """Return the routes under ``/v1`` that speak as OpenAI, Morph and Relace do."""
    router = APIRouter(tags=["dialects"])

    async def chats(body: ChatBody, request: Request) -> Response:
        """Merge the edit of a chat message into its file."""
        return await _complete(setup, request, body, None)

    for path in ("/v1/chat/completions", "/v1/apply/chat/completions"):
        router.post(path, responses=_SSE)(chats)

    @router.post("/v1/completions", responses=_SSE)
    async def completions(body: CompletionBody, request: Request) -> Response:
        """Merge the edit of a prompt into its file."""
        return await _complete(setup, request, body, None)

    @router.post("/v1/code/apply", responses=documented(*_REFUSALS))
    async def code_apply(body: RelaceBody, request: Request) -> dict[str, Any]:
        """Merge a snippet as Relace's REST interface does."""
        return await _relace(setup, request, body)

    _add_models(router, "/v1")
    return router


def continue_router(setup: Setup) -> APIRouter:
    """Return the routes for Continue, whose answers are fenced."""
    router = APIRouter(prefix="/continue/v1", tags=["Continue"])

    @router.post("/chat/completions", responses=_SSE)
    async def continue_chats(body: ChatBody, request: Request) -> Response:
        """Merge the edit of a chat message; the file comes back in a code fence."""
        return await _complete(setup, request, body, Reply.FENCED)

    @router.post("/completions", responses=_SSE)
    async def continue_completions(body: CompletionBody, request: Request) -> Response:
        """Merge the edit of a prompt; the file comes back in a code fence."""
        return await _complete(setup, request, body, Reply.FENCED)

    _add_models(router, "")
    return router


async def _complete(
    setup: Setup, request: Request, body: ChatBody | CompletionBody, reply: Reply | None
) -> Response:
    body.require_offered()
    kind: Kind = "chat" if isinstance(body, ChatBody) else "text"
    messages = _messages(body)
    asked = await run_in_threadpool(chat.read, messages, body.predicted)
    if reply is not None:
        asked = replace(asked, reply=reply)
    prompt = "\n".join(message.text for message in messages)
    model = body.model or DEFAULT_MODEL
    call = Call(asked, prompt, model, body.limit, body.path)
    answering = answer(request, call, partial(setup.tokens, request))
    if body.stream:
        events = partial(openai.events, kind=kind, include_usage=body.include_usage)
        return await stream(request, answering, events, setup.pace)
    return JSONResponse(openai.whole(await answering, kind))


async def _relace(setup: Setup, request: Request, body: RelaceBody) -> dict[str, Any]:
    body.require_offered()
    asked = relace.read(
        relace.spelled("initial_code", "initialCode", body.initial_code, body.initial_code_camel),
        relace.spelled("edit_snippet", "editSnippet", body.edit_snippet, body.edit_snippet_camel),
        relace.spelled("instruction", "instructions", body.instruction, body.instructions),
    )
    prompt = "\n".join((asked.original, asked.edit or "", asked.instruction or ""))
    call = Call(asked, prompt, body.model or DEFAULT_MODEL)
    done = await answer(request, call, partial(setup.tokens, request))
    return {"mergedCode": done.text, "usage": done.usage.to_dict(), "apply_edit": done.about}


def _messages(body: ChatBody | CompletionBody) -> list[Message]:
    if isinstance(body, ChatBody):
        return [message.message() for message in body.messages]
    return [body.message()]


def _add_models(router: APIRouter, prefix: str) -> None:
    created = int(time.time())

    @router.get(f"{prefix}/models", responses=documented())
    async def models() -> dict[str, Any]:
        """List the one model; requests may name any."""
        return {"object": "list", "data": [_model(DEFAULT_MODEL, created)]}

    @router.get(f"{prefix}/models/{{model:path}}", responses=documented(404, 422))
    async def one_model(model: str) -> dict[str, Any]:
        """Describe a model of any name."""
        return _model(model, created)


def _model(name: str, created: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": created, "owned_by": DEFAULT_MODEL}
