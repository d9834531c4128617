"""Carry a request through the pool and dress what comes back; the same for every dialect."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from apply_edit.config import Config
from apply_edit.errors import GuardRefused, RequestError
from apply_edit.service.dialects import continue_
from apply_edit.service.dialects.openai import Answer, usage_of
from apply_edit.service.dialects.records import Asked, Reply
from apply_edit.service.dialects.tokens import Tokens
from apply_edit.service.pool import Work, apply_for
from apply_edit.types import EditResult

_BOM = "\ufeff"
_UPDATE_FILE = ("<update_file>", "</update_file>")


@dataclass(frozen=True, slots=True)
class Call:
    """A request that has been read.

    Args:
        asked: What it asks for.
        prompt: All that the client wrote, to be counted.
        model: The model's name, told back.
        limit: Most tokens of the answer, None without a limit.
        path: Path of the file, a label, or None.
    """

    asked: Asked
    prompt: str
    model: str
    limit: int | None = None
    path: str | None = None


async def answer(request: Request, call: Call, tokens: Callable[[], Tokens]) -> Answer:
    """Apply, and return the answer.

    Args:
        request: The request; its body has been read.
        call: What it asks for.
        tokens: Returns what counts tokens; asked after the apply, which may have loaded the target.

    Raises:
        ApplyEditError: The edit is refused, or the answer would be cut by the client.
    """
    asked = call.asked
    if asked.reply is Reply.FENCED:
        continue_.require_survival(asked.original, "the file")
    # A byte order mark is no part of the first line; a snippet that quotes the line lacks it.
    mark = _BOM if asked.original.startswith(_BOM) else ""
    edit = asked.edit if asked.edit is None else asked.edit.removeprefix(_BOM)
    original = asked.original.removeprefix(_BOM)
    config: Config = request.app.state.config
    work = Work(original, edit, asked.instruction, call.path, config)
    result = await apply_for(request, work)
    if result.deleted:
        message = "the edit deletes the file, which an answer in this dialect cannot say"
        raise RequestError(message, option="messages")
    return await run_in_threadpool(_answer, call, mark + result.text, result, tokens())


def dressed(text: str, reply: Reply) -> str:
    """Return a file as the client expects it.

    Args:
        text: The file.
        reply: How it is dressed.

    Raises:
        GuardRefused: The client would read another text out of it.
    """
    match reply:
        case Reply.BARE:
            return text
        case Reply.FENCED:
            continue_.require_survival(text, "the result")
            return continue_.fenced(text)
        case Reply.UPDATE_FILE:
            opening, closing = _UPDATE_FILE
            if closing in text:
                message = f"the result has {closing} in it, where the client would cut it"
                raise GuardRefused(message, findings=[])
            return f"{opening}{text}{closing}"


def _answer(call: Call, text: str, result: EditResult, tokens: Tokens) -> Answer:
    content = dressed(text, call.asked.reply)
    # A token has at least one byte, so most limits need no count.
    short = call.limit is None or len(content.encode()) <= call.limit
    cut = None if short or call.limit is None else tokens.cut(content, call.limit)
    if cut is not None:
        content = cut
    usage = usage_of(call.prompt, content, result.report, tokens)
    return Answer(
        id=uuid.uuid4().hex,
        created=int(time.time()),
        model=call.model,
        text=content,
        cut=cut is not None,
        usage=usage,
        about=_about(result),
    )


def _about(result: EditResult) -> dict[str, Any]:
    return {
        "strategy": result.strategy,
        "format": str(result.format),
        "warnings": [
            {"code": notice.code, "message": notice.message} for notice in result.warnings
        ],
    }
