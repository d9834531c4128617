import json
import socket
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from apply_edit.service.pool import Pool
from tests.fakes import writing_engine
from tests.service.kit import DIRECT, MERGED, PLAIN, Held, service, until
from tests.service.served import served


@contextmanager
def held_service(**values: Any) -> Iterator[tuple[FastAPI, str, Held]]:
    """Serve a target whose passes are held up, and see that nothing is left behind."""
    engine = writing_engine(MERGED)
    held = Held(engine)
    app = service(engine, **values)
    with served(app) as url:
        try:
            yield app, url, held
        finally:
            held.free()
    pool: Pool = app.state.pool
    assert app.state.ended
    assert (pool.text.inside, pool.model.inside) == (0, 0)
    assert engine.target.rows == {}  # type: ignore[attr-defined]


def ask(url: str, body: dict[str, Any], missing: int = 0) -> socket.socket:
    """Send a request but for its last bytes; return the connection, the answer not read."""
    parts = urllib.parse.urlsplit(url)
    data = json.dumps(body).encode()
    head = f"POST /v1/apply HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
    connection = socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=20)
    sent = data[: len(data) - missing]
    connection.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + sent)
    return connection


@pytest.mark.parametrize("stream", [False, True])
def test_the_target_stops_within_one_pass_when_the_client_closes(stream):
    """A plain and a streamed request that are closed cost at most the pass under way."""
    with held_service() as (app, url, held):
        connection = ask(url, {**PLAIN, "stream": stream})
        held.allow(5)
        connection.close()
        pool: Pool = app.state.pool
        until(lambda: all(errand.stopped() for errand in list(pool._errands)))
        held.free()
        until(lambda: pool.model.inside == 0)
        assert held.passes <= 6
        assert httpx.post(f"{url}/v1/apply", json=DIRECT).json()["text"] == MERGED


@pytest.mark.parametrize("stream", [False, True])
def test_a_queued_request_that_is_closed_never_reaches_the_target(stream):
    """A request that waits for the batch is dropped when its client goes."""
    with held_service(max_concurrency=1) as (app, url, held):
        first = ask(url, PLAIN)
        held.allow(1)
        pool: Pool = app.state.pool
        queued = ask(url, {**PLAIN, "stream": stream})
        until(lambda: pool.model.inside == 2)
        queued.close()
        # Stopped, or gone already by the time that one looks.
        until(lambda: len(pool._errands) < 2 or any(e.stopped() for e in list(pool._errands)))
        held.free()
        until(lambda: pool.model.inside == 0)
        answer = first.recv(1 << 20)
        assert answer.startswith(b"HTTP/1.1 200")
        # The prompt, and a pass for each byte of the answer and for its closing tag; three times,
        # because an instruction is confirmed in two other wordings.
        stats = app.state.loading.stats()
        assert stats.cancelled == 1
        assert stats.passes <= 3 * (len(MERGED) + len("</updated-code>") + 2)
        first.close()


def test_a_client_that_goes_while_it_sends_is_forgotten():
    """Half a body and a closed connection cost no place."""
    with held_service() as (app, url, held):
        parts = urllib.parse.urlsplit(url)
        connection = socket.create_connection((str(parts.hostname), int(parts.port or 0)))
        head = f"POST /v1/apply HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        connection.sendall(
            f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode()
        )
        connection.close()
        assert httpx.post(f"{url}/v1/apply", json=DIRECT).status_code == 200
        assert app.state.pool.text.inside == 0
        assert held.passes == 0


def test_a_full_queue_answers_429_over_the_wire():
    """With the queue full, a plain and a streamed request get 429 and Retry-After."""
    with held_service(max_concurrency=1, max_queue=0) as (app, url, held):
        first = ask(url, PLAIN)
        until(lambda: app.state.pool.model.inside == 1)
        for stream in (False, True):
            refused = httpx.post(f"{url}/v1/apply", json={**PLAIN, "stream": stream})
            assert refused.status_code == 429
            assert int(refused.headers["retry-after"]) >= 1
            assert refused.json()["error"]["type"] == "rate_limit_error"
        held.free()
        assert first.recv(1 << 20).startswith(b"HTTP/1.1 200")
        first.close()


def test_a_deadline_answers_504_over_the_wire():
    """A request that takes longer than the service allows gets 504."""
    with held_service(deadline_s=0.1) as (_, url, held):
        refused = httpx.post(f"{url}/v1/apply", json=PLAIN)
        assert (refused.status_code, refused.json()["error"]["code"]) == (504, "deadline_exceeded")
        held.free()


def test_a_stream_that_has_begun_ends_with_the_deadlines_error():
    """Where the status has been sent, the error is the last event."""
    with held_service(deadline_s=0.3, keep_alive_s=0.05) as (_, url, held):
        answer = httpx.post(f"{url}/v1/apply", json={**PLAIN, "stream": True})
        assert answer.status_code == 200
        assert "event: error\ndata: " in answer.text
        assert '"deadline_exceeded"' in answer.text
        assert "event: result" not in answer.text
        held.free()


def test_a_quiet_stream_says_that_it_lives():
    """While the target says nothing, comments keep the connection open."""
    with held_service(keep_alive_s=0.05) as (_, url, held):
        lines: list[str] = []
        body = {**PLAIN, "stream": True}
        with httpx.stream("POST", f"{url}/v1/apply", json=body) as response:
            for line in response.iter_lines():
                lines.append(line)
                if lines.count(": keep-alive") == 2:
                    held.free()
        assert lines.count(": keep-alive") >= 2
        assert "event: result" in lines


def test_a_client_that_reads_slowly_holds_up_nobody():
    """An answer that nobody reads takes no place, and other requests are answered."""
    with held_service() as (app, url, held):
        held.free()
        slow = ask(url, {**PLAIN, "stream": True})
        until(lambda: held.passes > 0 and app.state.pool.model.inside == 0)
        assert httpx.post(f"{url}/v1/apply", json=PLAIN).json()["text"] == MERGED
        assert b"event: result" in _all_of(slow)


def _all_of(connection: socket.socket) -> bytes:
    """Read a chunked answer to its end."""
    data = b""
    while not data.endswith(b"0\r\n\r\n"):
        data += connection.recv(1 << 16)
    connection.close()
    return data
