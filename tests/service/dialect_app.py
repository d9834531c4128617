"""The service as the dialects' tests need it: no model on disk, streams that do not wait long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from apply_edit.engine import Engine
from apply_edit.service.app import create_app
from apply_edit.service.loading import Loaded
from apply_edit.service.settings import Settings
from tests.fakes import writing_engine

ORIGINAL = "import os\n\n\ndef a():\n    return 1\n\n\ndef b():\n    return 2\n"
DIFF = "@@ -4,2 +4,2 @@\n def a():\n-    return 1\n+    return 42\n"
MERGED = ORIGINAL.replace("return 1", "return 42")
LAZY = "# ... existing code ...\n\ndef a():\n    return 42\n\n# ... existing code ...\n"
NOWHERE = '{"old_str": "completely other text that is not there", "new_str": "x"}'


def no_engine() -> Engine:
    """Fail: the test is about edits that need no model."""
    message = "the model was asked"
    raise AssertionError(message)


def app_with(
    answer: str | Callable[[str], str] | None = None, keep_alive_s: float = 10.0
) -> FastAPI:
    """Return the service.

    Args:
        answer: What the target writes; None where it must not be asked.
        keep_alive_s: Seconds for which streams hold their headers, and between comments.
    """

    def source() -> Loaded:
        return Loaded(no_engine() if answer is None else writing_engine(answer))

    return create_app(Settings(preload=False, keep_alive_s=keep_alive_s), source)


def client_of(app: FastAPI) -> TestClient:
    """Return a client that goes by a name which the service answers to."""
    return TestClient(app, base_url="http://127.0.0.1")


def morph(code: str = ORIGINAL, update: str = DIFF, **fields: Any) -> dict[str, Any]:
    """Return the body of a request as Morph's clients send it."""
    content = (
        f"<instruction>I change a</instruction>\n<code>{code}</code>\n<update>{update}</update>"
    )
    return {
        "model": "morph-v3-large",
        "messages": [{"role": "user", "content": content}],
        **fields,
    }
