"""Many clients, many requests, some of whose senders go away: nothing wrong, nothing left behind.

What can be left behind is counted where it would be: rows that are open on the target, places in
the gates, threads, tasks of the event loop, and all objects that the garbage collector knows. Files
are few and repeat, and a first part of the load fills what is meant to be kept (prefixes, metrics,
pools); behind that nothing may grow with the number of requests. The process's memory is asked as
well, for what the collector does not know; it has a tolerance, because allocators keep what was
freed.
"""

import asyncio
import gc
import json
import random
import socket
import threading
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import httpx
import psutil
import pytest
from uvicorn.protocols.http.h11_impl import H11Protocol

from tests.e2e import load
from tests.fakes import writing_engine
from tests.service.kit import MERGED, Held, service, until
from tests.service.served import served

CLIENTS = 8
WARM_UP = 40
REQUESTS = 160
LEAVERS = 0.25
# Far more than it takes; only something that hangs takes longer.
BOUND_S = 600
# Objects and bytes that 1280 requests may leave behind: less than one and 16 KiB for each.
MORE_OBJECTS = 800
MORE_BYTES = 20 << 20


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the process holds.

    Args:
        tasks: Tasks that have not ended.
        objects: Objects that the garbage collector knows.
        resident: Bytes of memory.
    """

    tasks: int
    objects: int
    resident: int


def connections() -> int:
    """Count the connections that the server knows."""
    gc.collect()
    return sum(type(each) is H11Protocol for each in gc.get_objects())


def holdings() -> Holdings:
    """Count what the process holds."""
    # The timer that would have ended a connection holds it for up to 5 seconds when it is closed.
    until(lambda: connections() == 0)
    known = gc.get_objects()
    tasks = sum(type(each) is asyncio.Task and not each.done() for each in known)
    return Holdings(tasks, len(known), psutil.Process().memory_info().rss)


def run_client(url: str, seed: int, count: int) -> int:
    """Send requests one after the other, go away from some, and return how many were answered."""
    chance = random.Random(seed)
    answered = 0
    with httpx.Client(base_url=url) as client:
        for ask in islice(load.asks(seed), count):
            if chance.random() < LEAVERS:
                load.leave(url, ask, chance)
            else:
                load.send(client, ask)
                answered += 1
    return answered


def run_clients(url: str, seed: int, count: int) -> int:
    """Run all clients at once and return how many requests were answered."""
    with ThreadPoolExecutor(CLIENTS) as threads:
        running = [
            threads.submit(run_client, url, seed * CLIENTS + number, count)
            for number in range(CLIENTS)
        ]
        return sum(each.result(BOUND_S) for each in running)


@pytest.mark.slow
def test_nothing_is_wrong_and_nothing_is_left_behind():
    """Of 1600 requests of 8 clients every answer is right, and nothing is left of any."""
    engine = load.engine()
    before = set(threading.enumerate())
    app = service(engine)
    with served(app) as url:
        pool = app.state.pool

        def settle() -> None:
            until(lambda: pool.text.inside == 0 and pool.model.inside == 0)
            until(lambda: engine.target.rows == {})

        run_clients(url, 1, WARM_UP)
        settle()
        start, threads = holdings(), threading.active_count()
        answered = run_clients(url, 2, REQUESTS)
        settle()
        end = holdings()

        stats = app.state.loading.stats()
        assert answered > CLIENTS * REQUESTS * (1 - LEAVERS) * 0.9
        assert (stats.rows, stats.waiting, stats.failed) == (0, 0, 0)
        assert stats.cancelled >= 10, "too few left while the target was at work"
        assert (pool.text.waiting, pool.model.waiting) == (0, 0)
        # Pools of threads may still grow up to what was ever busy at once.
        assert threading.active_count() <= threads + CLIENTS
        assert end.tasks <= start.tasks
        assert end.objects <= start.objects + MORE_OBJECTS
        assert end.resident <= start.resident + MORE_BYTES
        figures = httpx.get(f"{url}/metrics").text
        assert 'status="500"' not in figures
    assert app.state.ended
    until(lambda: set(threading.enumerate()) <= before)


def ask(url: str, route: str, body: dict) -> socket.socket:
    """Send a request and return the connection."""
    parts = urllib.parse.urlsplit(url)
    data = json.dumps(body).encode()
    head = f"POST {route} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
    connection = socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=60)
    connection.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
    return connection


def written(number: int) -> tuple[str, dict]:
    """Return route and body of a request that the target answers with one token per pass."""
    original, sentence = load.original(number), "let it return more"
    if number % 2:
        content = f"<instruction>{sentence}</instruction><code>{original}</code>"
        body = {"messages": [{"role": "user", "content": content}]}
        route = "/v1/chat/completions"
    else:
        body = {"original": original, "instruction": sentence, "gamma": 0}
        route = "/v1/apply"
    return route, {**body, "stream": number % 4 > 1}


def test_the_target_stops_within_one_pass_for_whoever_left():
    """Of 8 clients of all kinds 4 leave at once: they are in the pass under way and in no other."""
    engine = load.engine()
    held = Held(engine)
    app = service(engine, max_concurrency=8)
    with served(app) as url:
        pool, rows = app.state.pool, engine.target.rows
        # Each has a file of its own, because a file that is being read is not read twice at once.
        asked = [ask(url, *written(number)) for number in range(8)]
        until(lambda: pool.model.inside == 8)
        for _ in range(20):
            if len(rows) < 8:
                held.allow(1)
        assert len(rows) == 8
        for connection in asked[:4]:
            connection.close()
        until(lambda: sum(errand.stopped() for errand in list(pool._errands)) == 4)
        # The pass under way ends; the worker then waits in the next one.
        held.allow(1)
        until(lambda: len(rows) == 4)
        passes = held.passes
        held.allow(1)
        assert held.passes == passes + 1
        assert len(rows) == 4
        held.free()
        for connection in asked[4:]:
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
            connection.close()
        until(lambda: pool.model.inside == 0)
        assert rows == {}
        assert app.state.loading.stats().cancelled == 4


@pytest.mark.parametrize("route", ["/v1/apply", "/v1/prewarm"])
def test_the_target_stops_within_one_pass_while_it_reads(route):
    """A long file whose client leaves is not read to its end."""
    engine = writing_engine(MERGED)
    held = Held(engine)
    app = service(engine)
    original = "# a line of a file that takes the target many passes to read\n" * 200
    body = {"original": original}
    with served(app) as url:
        connection = ask(url, route, body if "prewarm" in route else body | {"instruction": "x"})
        held.allow(2)
        connection.close()
        errands = app.state.pool._errands
        until(lambda: errands != {} and all(errand.stopped() for errand in list(errands)))
        held.free()
        until(lambda: app.state.pool.model.inside == 0)
        # Two before the client left, and the one that was under way.
        assert held.passes <= 3
        assert sum(engine.target.widths) < len(original)
        assert engine.target.rows == {}
