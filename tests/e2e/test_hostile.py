"""Requests that nobody sends by accident, over real sockets: each gets a documented 4xx."""

import contextlib
import json
import socket
import threading
import urllib.parse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.fakes import writing_engine
from tests.service.kit import DIRECT, MERGED, PLAIN, Held, service, until
from tests.service.served import served

JSON = {"Content-Type": "application/json"}
DEEP = "[" * 100_000 + "]" * 100_000
MB = 1_000_000
# Much more than any answer takes, also on a machine that has other things to do.
WAIT_S = 120


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The base URL of a service with its usual settings; what is sent needs no target."""
    with served(service(preload=False)) as url:
        yield url
        # Whatever was sent, it still works.
        assert post(url, json=DIRECT).json()["text"] == MERGED


def refused(answer: httpx.Response, status: int, code: str) -> None:
    """Check a refusal: its status, its object and its code."""
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    assert answer.json()["error"]["code"] == code
    assert answer.json()["error"]["message"]


def post(url: str, route: str = "/v1/apply", **values: Any) -> httpx.Response:
    """Send a request."""
    return httpx.post(f"{url}{route}", timeout=WAIT_S, **values)


def connect(url: str) -> socket.socket:
    """Return a connection to a service."""
    parts = urllib.parse.urlsplit(url)
    return socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=WAIT_S)


def exchange(url: str, data: bytes) -> bytes:
    """Send bytes and return the first line that comes back."""
    with connect(url) as connection, connection.makefile("rb") as answer:
        # It may have seen enough before it has all.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(data)
        return answer.readline()


@pytest.mark.parametrize(
    "body",
    [
        b'{"original": ',
        b"\xff\xfe{",
        DEEP.encode(),
        b'{"original": "x", "edit": ' + DEEP.encode() + b"}",
        b'{"original": "x", "edit": "y", "max_new_tokens": 1' + b"0" * 5000 + b"}",
    ],
    ids=["unfinished", "no UTF-8", "deep", "deep inside", "a number of 5000 digits"],
)
@pytest.mark.parametrize("route", ["/v1/apply", "/v1/chat/completions", "/v1/code/apply"])
def test_what_is_no_json_is_400(url, route, body):
    """A body that cannot be read as JSON is refused with 400."""
    refused(post(url, route, content=body, headers=JSON), 400, "invalid_json")


@pytest.mark.parametrize(
    "body",
    ["null", "[]", '"x"', '{"original": NaN, "edit": Infinity}', '{"max_new_tokens": 1e400}'],
)
def test_json_of_another_shape_is_422(url, body):
    """JSON that is not the object that is expected is refused with 422, and names a field."""
    answer = post(url, content=body, headers=JSON)
    refused(answer, 422, "invalid_request")
    assert answer.json()["error"]["param"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"original": "\ud800", "edit": "x"}, 400),
        ({"original": "a\n", "edit": json.dumps({"old_str": "a", "new_str": "\ud800"})}, 422),
        ({"original": "a\n", "edit": json.dumps({"old_str": "\ud800", "new_str": "a"})}, 422),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_half_of_a_surrogate_pair_is_refused(url, body, status, stream):
    """What is no Unicode text is refused wherever it hides, and can be told so."""
    content = json.dumps({**body, "stream": stream, "strategy": "direct"})
    answer = post(url, content=content, headers=JSON)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["code"]


def test_a_body_of_another_kind_is_415(url):
    """A body that is not marked as JSON is not guessed at."""
    answer = post(url, content=json.dumps(DIRECT))
    refused(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_of_50_mb_is_413(url, declared):
    """With its length declared or in chunks, a body of 50 MB is refused while it comes in."""
    data = b'{"original": "' + b"x" * 50 * MB + b'"}'
    chunks = (data[at : at + MB] for at in range(0, len(data), MB))
    answer = httpx.post(
        f"{url}/v1/apply", content=data if declared else chunks, headers=JSON, timeout=WAIT_S
    )
    refused(answer, 413, "body_too_large")


@pytest.mark.parametrize("expect", [b"", b"Expect: 100-continue\r\n"])
def test_a_body_that_is_too_large_is_refused_before_it_is_sent(url, expect):
    """A client that declares a terabyte and sends nothing gets its refusal, too."""
    head = b"POST /v1/apply HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    line = exchange(url, head + expect + b"Content-Length: 1000000000000\r\n\r\n")
    assert line.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil", ""])
def test_another_host_is_421(url, host):
    """A name that was re-pointed to this machine gets nowhere."""
    answer = post(url, json=DIRECT, headers={"Host": host})
    refused(answer, 421, "host_not_allowed")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example", "file://"]
)
def test_another_site_is_403(url, origin):
    """A page of another site can neither ask nor find out beforehand whether it could."""
    headers = {"Origin": origin}
    refused(post(url, json=DIRECT, headers=headers), 403, "origin_not_allowed")
    headers |= {"Access-Control-Request-Method": "POST"}
    asked = httpx.options(f"{url}/v1/apply", headers=headers, timeout=WAIT_S)
    assert asked.status_code == 403
    assert "access-control-allow-origin" not in asked.headers


@pytest.mark.parametrize(
    "data",
    [
        b"GARBAGE\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
        b"POST /v1/apply HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X-Y: " + b"a" * 10 * MB + b"\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X-Y: abc\r\n" * MB + b"\r\n",
        b"GET /" + b"a" * MB + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ],
    ids=["garbage", "no host", "two hosts", "length", "long header", "many headers", "long path"],
)
def test_what_is_no_http_is_400(url, data):
    """What breaks the protocol, or would fill the memory with headers, is refused by the server."""
    assert exchange(url, data).startswith(b"HTTP/1.1 400 ")


def test_a_websocket_is_405(url):
    """There are no web sockets, and asking for one is no way around the checks."""
    head = b"GET /v1/apply HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    head += b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    assert exchange(url, head + b"Host: 127.0.0.1\r\n\r\n").startswith(b"HTTP/1.1 405 ")
    assert exchange(url, head + b"Host: evil\r\n\r\n").startswith(b"HTTP/1.1 421 ")


def test_clients_that_send_half_a_request_hold_up_nobody(url):
    """A hundred connections that never finish their request leave room for others."""
    half = b"POST /v1/apply HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    waiting = [connect(url) for _ in range(100)]
    for number, connection in enumerate(waiting):
        connection.sendall(half if number % 2 else half + b"Content-Length: 9\r\n\r\n{")
    try:
        assert post(url, json=DIRECT).json()["text"] == MERGED
    finally:
        for connection in waiting:
            connection.close()


def test_more_than_the_queue_holds_is_429():
    """Of 12 at once as many are taken as have a place or may wait; the others are told when."""
    engine = writing_engine(MERGED)
    held = Held(engine)
    app = service(engine, max_concurrency=2, max_queue=3, text_threads=12)
    with served(app) as url, ThreadPoolExecutor(12) as threads:
        # Before any of them may wait for a text place, so that only the target's queue counts.
        asked = [threads.submit(post, url, json=PLAIN) for _ in range(12)]
        try:
            until(lambda: sum(each.done() for each in asked) == 7)
            # Edits that need no target are not refused.
            assert post(url, json=DIRECT).json()["text"] == MERGED
        finally:
            held.free()
        answers = [each.result() for each in asked]
    refusals = [answer for answer in answers if answer.status_code != 200]
    assert [answer.json()["text"] for answer in answers if answer.status_code == 200] == [
        MERGED
    ] * 5
    for answer in refusals:
        refused(answer, 429, "busy")
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert answer.json()["error"]["retryable"] is True


def answered(url: str) -> float:
    """Return how many requests to merge have been answered to their end."""
    name = "apply_edit_http_responses_total{"
    lines = httpx.get(f"{url}/metrics", timeout=WAIT_S).text.splitlines()
    return sum(float(li.split()[-1]) for li in lines if li.startswith(name) and "/v1/" in li)


LINE = "x" * 999 + "\n"
LARGE = LINE * 6000 + "y = 1\n"
LARGE_EDIT = '{"old_str": "y = 1", "new_str": "y = 2"}'


@pytest.mark.parametrize("route", ["/v1/apply", "/v1/chat/completions"])
def test_a_client_that_reads_nothing_holds_up_nobody(route):
    """While a large answer waits for its reader others are served; then it is read to its end."""
    app = service(preload=False, text_threads=1)
    content = f"<code>{LARGE}</code>\n<update>{LARGE_EDIT}</update>"
    body = {"original": LARGE, "edit": LARGE_EDIT}
    if route != "/v1/apply":
        body = {"messages": [{"role": "user", "content": content}]}
    data = json.dumps({**body, "stream": True}).encode()
    head = f"POST {route} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    head += f"Connection: close\r\nContent-Length: {len(data)}\r\n\r\n"
    with served(app) as url, connect(url) as slow:
        slow.sendall(head.encode() + data)
        assert slow.recv(12) == b"HTTP/1.1 200"
        for _ in range(3):
            assert post(url, json=DIRECT).json()["text"] == MERGED
        # The answer does not fit between the two sockets, so it has not been sent yet.
        assert answered(url) == 3
        rest = b""
        while piece := slow.recv(1 << 20):
            rest += piece
        until(lambda: answered(url) == 4)
    assert rest.count(b"x") >= LARGE.count("x")
    assert b"y = 2" in rest
    assert rest.endswith(b"0\r\n\r\n")


def test_many_clients_at_once_are_answered_or_refused(url):
    """Of 300 edits from 50 clients each is answered rightly or refused with 429, and none hangs."""
    barrier = threading.Barrier(50)

    def ask() -> list[int]:
        barrier.wait(WAIT_S)
        statuses = []
        with httpx.Client(base_url=url, timeout=WAIT_S) as client:
            for _ in range(6):
                answer = client.post("/v1/apply", json=DIRECT)
                statuses.append(answer.status_code)
                if answer.status_code == 200:
                    assert answer.json()["text"] == MERGED
                else:
                    refused(answer, 429, "busy")
        return statuses

    with ThreadPoolExecutor(50) as threads:
        asked = [threads.submit(ask) for _ in range(50)]
        statuses = [status for each in asked for status in each.result()]
    assert len(statuses) == 300
    assert statuses.count(200) >= 36
