"""One JSON line per request, without a byte of anybody's file.

A line holds what was asked for and what became of it: request id, method, route template, status,
seconds, sizes, strategy, error code. It never holds content, edits, paths, query strings, header
values or messages of errors, because messages quote the file.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import MutableMapping
from typing import Any, Literal, TextIO

from pythonjsonlogger.json import JsonFormatter

LOGGER = logging.getLogger("apply_edit.service")
LogFormat = Literal["json", "text"]


def configure(level: str, form: LogFormat, stream: TextIO | None = None) -> None:
    """Send the service's log lines somewhere.

    Args:
        level: ``debug``, ``info``, ``warning`` or ``error``.
        form: ``json``, or ``text`` for people.
        stream: Where to; standard error by default.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_formatter(form))
    handler.addFilter(_without_messages)
    LOGGER.handlers = [handler]
    LOGGER.setLevel(level.upper())
    LOGGER.propagate = False
    # The server's own lines are about starting and stopping; ours say that, too.
    server = logging.getLogger("uvicorn")
    server.handlers = [handler]
    server.setLevel(max(LOGGER.level, logging.WARNING))
    # At debug it logs what it sends, which is what is in files.
    logging.getLogger("sse_starlette").setLevel(logging.WARNING)
    server.propagate = False


def _formatter(form: LogFormat) -> logging.Formatter:
    if form == "json":
        names = {"asctime": "time", "levelname": "level"}
        return JsonFormatter("%(asctime)s %(levelname)s", rename_fields=names)
    return _TextFormatter("%(asctime)s %(levelname)s %(event)s %(words)s")


class _TextFormatter(logging.Formatter):
    """The same fields as words, for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a line."""
        facts: dict[str, object] = dict(record.msg) if isinstance(record.msg, dict) else {}
        record.event = facts.pop("event", "")
        record.words = " ".join(f"{name}={value}" for name, value in facts.items())
        return super().format(record)


def _without_messages(record: logging.LogRecord) -> bool:
    """Let a line say the type of an exception and where it was raised, never its message."""
    if not isinstance(record.msg, dict):
        record.msg, record.args = {"event": record.getMessage()}, None
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        record.msg = {**record.msg, **_facts_of(error)}
    record.exc_info = record.exc_text = None
    return True


def log(level: int, event: str, **facts: object) -> None:
    """Write a line.

    Args:
        level: One of ``logging``'s levels.
        event: What happened, a constant text.
        **facts: Numbers and names; never content.
    """
    LOGGER.log(level, {"event": event, **facts})


def log_bug(error: BaseException, doing: str, **facts: object) -> None:
    """Log an error that should not have happened: its type and where, never its message.

    Args:
        error: The error; its message may quote the file.
        doing: What was being done, a constant text.
        **facts: More to say.
    """
    log(logging.ERROR, doing, **_facts_of(error), **facts)


def _facts_of(error: BaseException) -> dict[str, object]:
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return {"exception": type(error).__name__, "places": places}


def note(scope: MutableMapping[str, Any], **facts: object) -> None:
    """Leave facts for the log line of a request."""
    scope.setdefault("state", {}).setdefault("facts", {}).update(facts)
