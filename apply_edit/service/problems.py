"""What a refusal looks like on the wire: one table from error to HTTP status, one shape of body.

::

    {"error": {"message": "…", "type": "invalid_request_error", "code": "anchor_not_found",
               "param": null, "retryable": false, …fields of the error}}

Every route answers with this object: our own errors, validation errors, unknown paths and methods,
bodies that are too large or no JSON. It never holds the input that was refused, except where a
field of the error shows the near miss in the caller's own file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from apply_edit import errors
from apply_edit.errors import ApplyEditError
from apply_edit.service import bodies
from apply_edit.service.logs import note

# The most specific class that an error is an instance of decides.
STATUSES: dict[type[ApplyEditError], int] = {
    errors.RequestError: 400,
    errors.EditParseError: 422,
    errors.UnsupportedLanguage: 422,
    errors.PromptTooLong: 413,
    errors.ConfigError: 400,
    errors.FileError: 422,
    errors.ApplyError: 422,
    errors.EngineError: 503,
    errors.Busy: 429,
    errors.DeadlineExceeded: 504,
    # Nobody reads it: the client has gone. nginx's number, so that logs say what happened.
    errors.Cancelled: 499,
}
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    421: "permission_error",
    429: "rate_limit_error",
    499: "cancelled",
}
_CODES = {
    400: "invalid_json",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    413: "body_too_large",
    415: "unsupported_media_type",
}
_HINTS = {
    404: "there is no such route; see /openapi.json for those there are",
    405: "this route does not take this method; see the Allow header",
    413: "the body is larger than the service accepts; see max_body_bytes",
}


class ErrorResponse(JSONResponse):
    """JSON in ASCII, so that a lone surrogate in a name that is told back can be sent."""

    def render(self, content: Any) -> bytes:  # noqa: ANN401 any JSON value
        """Serialise the body."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def status_of(error: ApplyEditError) -> int:
    """Return the HTTP status of an error."""
    for kind in type(error).__mro__:
        if kind in STATUSES:
            return STATUSES[kind]
    return 500


def error_body(status: int, code: str, message: str, /, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 any JSON value
    """Return the body of a refusal.

    Args:
        status: The HTTP status; it decides the ``type``.
        code: A stable word for programs.
        message: What happened and what to do.
        **fields: ``param`` and whatever else a program can use.
    """
    kind = "server_error" if status >= 500 else "invalid_request_error"
    error = {"message": message, "type": _TYPES.get(status, kind), "code": code, "param": None}
    # What is said above stays, whatever a field is called.
    named = {"param": fields.get("param")}
    return {"error": {**error, **fields, **error, **named}}


def body_of(error: ApplyEditError) -> dict[str, Any]:
    """Return the body of a refusal for one of our errors."""
    fields = {"retryable": error.retryable, "param": error.fields.get("option"), **error.fields}
    return error_body(status_of(error), error.code, error.message, **fields)


def response_of(error: ApplyEditError) -> ErrorResponse:
    """Return the whole answer for one of our errors."""
    seconds = error.fields.get("retry_after_s")
    headers = {} if seconds is None else {"Retry-After": str(math.ceil(seconds))}
    return ErrorResponse(body_of(error), status_of(error), headers)


def refusal(
    status: int,
    code: str,
    message: str,
    *,
    headers: Mapping[str, str] | None = None,
    param: str | None = None,
) -> ErrorResponse:
    """Return the answer for a refusal that is about HTTP and not about an edit."""
    return ErrorResponse(error_body(status, code, message, param=param), status, headers)


def invalid(error: RequestValidationError) -> ErrorResponse:
    """Return the answer for a body or parameter that does not fit its schema."""
    found = error.errors()
    first: Any = found[0] if found else {"type": "unknown", "loc": ()}
    if first["type"] == "json_invalid":
        line, column = bodies.place_in(str(error.body), first["loc"][-1])
        reason = first["ctx"]["error"]
        message = f"the body is no JSON: {reason} at line {line}, column {column}"
        found_at = error_body(400, "invalid_json", message, line=line, column=column)
        return ErrorResponse(found_at, 400)
    if isinstance(error.body, bytes):
        message = "the body was not read as JSON; send it with Content-Type: application/json"
        return refusal(415, "unsupported_media_type", message)
    if (first["type"], first["loc"]) == ("missing", ("body",)):
        return refusal(400, "invalid_json", "the body is empty; send a JSON object")
    details = bodies.faults(found, error.body)
    worst = details[0] if details else {"param": None, "message": "the request is not valid"}
    message = f"{worst['param']}: {worst['message']}"
    body = error_body(422, "invalid_request", message, param=worst["param"], errors=details)
    return ErrorResponse(body, 422)


def http_problem(error: HTTPException) -> ErrorResponse:
    """Return the answer for what the framework refuses."""
    status = error.status_code
    if status == 400 and error.__cause__ is not None:
        return refusal(400, "invalid_json", bodies.unreadable(error.__cause__))
    message = _HINTS.get(status, str(error.detail))
    return refusal(status, _CODES.get(status, "http_error"), message, headers=error.headers)


def install(app: FastAPI) -> None:
    """Have an application answer every refusal in this shape."""

    @app.exception_handler(ApplyEditError)
    async def ours(request: Request, error: ApplyEditError) -> ErrorResponse:
        return _noted(request, response_of(error), error.code)

    @app.exception_handler(RequestValidationError)
    async def not_valid(request: Request, error: RequestValidationError) -> ErrorResponse:
        return _noted(request, invalid(error), "invalid_request")

    @app.exception_handler(HTTPException)
    async def framework(request: Request, error: HTTPException) -> ErrorResponse:
        return _noted(request, http_problem(error), _CODES.get(error.status_code, "http_error"))


def _noted(request: Request, answer: ErrorResponse, code: str) -> ErrorResponse:
    """Leave the code for the log line of the request."""
    note(request.scope, error_code=code)
    return answer
