import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from apply_edit.service import logs
from tests.service.kit import DIRECT, LAZY, MERGED, ORIGINAL, client

MARK = "xk27mark"


@contextmanager
def captured(form: logs.LogFormat = "json", level: str = "debug") -> Iterator[io.StringIO]:
    """Collect what the service logs."""
    stream = io.StringIO()
    logs.configure(level, form, stream)
    try:
        yield stream
    finally:
        for logger in (logs.LOGGER, logging.getLogger("uvicorn")):
            logger.handlers = []
            logger.propagate = True
            logger.setLevel(logging.NOTSET)


def lines_of(stream: io.StringIO) -> list[dict[str, Any]]:
    """Return the log lines."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_request_is_one_line_of_json():
    """A line says what was asked for and what became of it."""
    with captured() as stream, client(MERGED) as asking:
        answer = asking.post("/v1/apply", json={"original": ORIGINAL, "edit": LAZY})
    line = next(line for line in lines_of(stream) if line["event"] == "request")
    assert (line["method"], line["route"], line["status"]) == ("POST", "/v1/apply", 200)
    assert (line["strategy"], line["format"]) == ("model", "lazy")
    assert line["original_chars"] == len(ORIGINAL)
    assert line["edit_chars"] == len(LAZY)
    assert line["passes"] > 0
    assert line["seconds"] > 0
    assert line["response_bytes"] == len(answer.content)
    assert line["request_id"] == answer.headers["x-request-id"]


def test_a_refusal_is_logged_by_its_code():
    """The line of a refused request has the error's code."""
    with captured() as stream, client() as asking:
        asking.post(
            "/v1/apply", json={"original": "a\n", "edit": '{"old_str": "b", "new_str": ""}'}
        )
        asking.get("/v1/apply")
        asking.get("/health", headers={"host": "evil.example"})
    codes = [line.get("error_code") for line in lines_of(stream) if line["event"] == "request"]
    assert codes[:2] == ["anchor_not_found", "method_not_allowed"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("abc-1.2:x_Y", True),
        ("a b", False),
        ('"},{"', False),
        ("x" * 65, False),
        ("", False),
        ("\u00e4", False),
    ],
)
def test_the_callers_request_id_is_kept_where_it_is_a_plain_word(given, kept):
    """A request id is taken over and sent back; anything odd is replaced."""
    with client() as asking:
        answer = asking.get("/health", headers={"x-request-id": given.encode("latin-1")})
    assert (answer.headers["x-request-id"] == given) is kept
    assert answer.headers["x-request-id"]


def test_no_content_reaches_the_log(monkeypatch):
    """Not one word of file, edit, instruction, path, query, header or token is logged."""
    original = f"# {MARK}\n{ORIGINAL}"
    bodies: list[Any] = [
        {"original": original, "edit": DIRECT["edit"], "path": f"/{MARK}.py"},
        {"original": original, "edit": f'{{"old_str": "{MARK}s", "new_str": "{MARK}"}}'},
        {"original": original, "instruction": MARK},
        {"original": original, "instruction": MARK, "stream": True},
        {"original": [original], "edit": MARK},
        {"original": f"{MARK}\ud800", "edit": MARK},
        {"original": original, MARK: MARK},
        {"original": original, "edit": MARK, "language": MARK},
    ]
    with captured() as stream, client(f"{MARK}\n", token=MARK) as asking:
        headers = {"authorization": f"Bearer {MARK}", "content-type": "application/json"}
        for body in bodies:
            asking.post("/v1/apply", content=json.dumps(body), headers=headers)
            asking.post("/v1/batch", content=json.dumps({"items": [body]}), headers=headers)
            asking.post("/v1/chat/completions", content=json.dumps(body), headers=headers)
        asking.post("/v1/apply", content=b'{"original": "' + MARK.encode(), headers=headers)
        asking.post(f"/{MARK}?{MARK}={MARK}", content=MARK, headers={"authorization": MARK})
        asking.request(MARK, f"/v1/{MARK}", headers={"x-request-id": f"{MARK} {MARK}"})

        def broken(*args: object, **kwargs: object) -> None:
            raise RuntimeError(MARK)

        monkeypatch.setattr("apply_edit.service.pool.Applier.apply", broken)
        for stream_it in (False, True):
            ask = json.dumps({**DIRECT, "stream": stream_it})
            asking.post("/v1/apply", content=ask, headers=headers)
    text = stream.getvalue()
    assert MARK not in text
    assert text.count('"exception": "RuntimeError"') == 2
    assert "test_logs.py" in text


def test_exceptions_of_others_are_logged_without_their_message():
    """Whoever logs an exception through our logger, its type and place are kept, no message."""
    with captured() as stream:
        try:
            raise ValueError(MARK)
        except ValueError:
            logs.LOGGER.exception("something failed")
            logging.getLogger("uvicorn.error").exception("in the server")
    first, second = lines_of(stream)
    assert (first["event"], first["exception"]) == ("something failed", "ValueError")
    assert second["event"] == "in the server"
    assert MARK not in stream.getvalue()


def test_lines_for_people_hold_the_same():
    """The text format has the event and its facts as words."""
    with captured("text") as stream:
        logs.log(logging.INFO, "request", status=200, route="/v1/apply")
    assert stream.getvalue().rstrip().endswith("INFO request status=200 route=/v1/apply")


def test_probes_are_logged_at_debug_only():
    """Who watches the service every second does not fill its log."""
    with captured(level="info") as stream, client() as asking:
        asking.get("/health")
        asking.get("/nowhere")
    assert [line["route"] for line in lines_of(stream) if line["event"] == "request"] == ["unknown"]
