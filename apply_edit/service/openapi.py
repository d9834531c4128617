"""How refusals are documented: one example per status, for every route alike."""

from __future__ import annotations

from typing import Any

from apply_edit.service.problems import error_body
from apply_edit.service.schemas import ErrorAnswer

_EXAMPLES: dict[int, tuple[str, str, str]] = {
    400: ("The request contradicts itself, or is no JSON.", "invalid_json", "the body is no JSON"),
    401: ("There is no token, or the wrong one.", "unauthorized", "a token is needed"),
    403: ("The Origin is another site.", "origin_not_allowed", "the request comes from elsewhere"),
    404: ("There is no such thing.", "not_found", "there is no such route"),
    413: (
        "Too large: the body, or file and edit for the target's context.",
        "prompt_too_long",
        "file and edit take 40000 tokens, the context is 32768",
    ),
    415: ("The body is not marked as JSON.", "unsupported_media_type", "send application/json"),
    421: ("The Host header names another host.", "host_not_allowed", "use a loopback address"),
    422: (
        "The edit cannot be applied, its result was refused, or a field is not valid.",
        "ambiguous_anchor",
        "the text of hunk 1 is there 2 times, in lines 3 and 9",
    ),
    429: ("Too many requests; see Retry-After.", "busy", "no more are taken on; try again later"),
    500: ("A fault of the service.", "internal_error", "the service has failed; see its log"),
    503: (
        "The target is not there, or the service is ending.",
        "model_load_error",
        "the model cannot be used",
    ),
    504: ("The time has run out.", "deadline_exceeded", "there was no result within 600 s"),
}
# What the layers around the routes can answer, whichever route it is.
EVERYWHERE = (401, 403, 421, 500)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the ``responses`` of a route that can refuse with these statuses."""
    return {status: _documented(status) for status in sorted({*statuses, *EVERYWHERE})}


def _documented(status: int) -> dict[str, Any]:
    description, code, message = _EXAMPLES[status]
    answer: dict[str, Any] = {
        "model": ErrorAnswer,
        "description": description,
        "content": {"application/json": {"example": error_body(status, code, message)}},
    }
    if status == 429:
        seconds = {"description": "Seconds to wait.", "schema": {"type": "integer"}}
        answer["headers"] = {"Retry-After": seconds}
    return answer
