import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.service.kit import DIRECT, MERGED, PLAIN, until
from tests.service.test_disconnect import ask

ROOT = Path(__file__).parents[2]
OPENAI = {
    "messages": [{"role": "user", "content": "return 42 from a"}],
    "prediction": {"type": "content", "content": "a = 1\n"},
}


@contextmanager
def slow_service(
    *, pass_s: float = 0.02, grace_s: float = 0.3, last_s: float = 5.0
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``tests.service.slow_service`` and yield its process and URL."""
    command = [sys.executable, "-m", "tests.service.slow_service"]
    command += [str(seconds) for seconds in (pass_s, grace_s, last_s)]
    running = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    try:
        yield running, running.stdout.readline().strip()
    finally:
        running.kill()
        running.communicate()


class Asking(threading.Thread):
    """A client that asks in a thread of its own."""

    def __init__(self, url: str, body: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self._url, self._body = url, body
        self.answer: httpx.Response | None = None
        self.start()

    def run(self) -> None:
        """Ask."""
        self.answer = httpx.post(self._url, json=self._body, timeout=60)

    def ended(self) -> httpx.Response:
        """Wait for the answer."""
        self.join(60)
        assert self.answer is not None, "the connection broke"
        return self.answer


def under_way(url: str) -> float:
    """Return how many applies have a row of the target."""
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return sum(
        float(line.split()[1]) for line in lines if line.startswith("apply_edit_worker_rows")
    )


def end(running: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """Wait for the process and return what it has logged; fail on anything but JSON lines."""
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (0, "")
    return [json.loads(line) for line in err.splitlines()]


def test_a_signal_while_busy_refuses_what_does_not_finish_with_an_error_object():
    """Plain and streamed applies that run or wait at the end get 503 or the last event, in JSON."""
    with slow_service() as (running, url):
        plain = Asking(f"{url}/v1/apply", PLAIN)
        streamed = Asking(f"{url}/v1/apply", {**PLAIN, "stream": True})
        chat = Asking(f"{url}/v1/chat/completions", OPENAI)
        batch = Asking(f"{url}/v1/batch", {"items": [PLAIN, DIRECT]})
        until(lambda: under_way(url) == 4)
        running.send_signal(signal.SIGTERM)
        for asking in (plain, chat):
            answer = asking.ended()
            assert answer.status_code == 503
            assert answer.headers["x-request-id"]
            error = answer.json()["error"]
            assert (error["code"], error["retryable"]) == ("stopping", True)
        assert streamed.ended().status_code == 200
        *_, last = streamed.ended().text.strip().split("\n\n")
        assert last.startswith("event: error\n")
        assert '"code":"stopping"' in last
        refused, merged = batch.ended().json()["results"]
        assert (refused["error"]["code"], merged["text"]) == ("stopping", MERGED)
        events = [line["event"] for line in end(running)]
    assert set(events) == {"the target is ready", "request", "stopped"}


def test_a_signal_lets_what_is_under_way_finish():
    """An apply that comes to its end within the time is answered, streamed or not."""
    with slow_service(pass_s=0.002, grace_s=30) as (running, url):
        plain = Asking(f"{url}/v1/apply", PLAIN)
        streamed = Asking(f"{url}/v1/apply", {**PLAIN, "stream": True})
        until(lambda: under_way(url) == 2)
        running.send_signal(signal.SIGTERM)
        assert plain.ended().json()["text"] == MERGED
        assert "event: result\n" in streamed.ended().text
        assert end(running)[-1]["event"] == "stopped"


def test_a_pass_that_does_not_end_does_not_hold_up_the_end():
    """The client is answered, and the process ends in order, though the target still computes."""
    with slow_service(pass_s=120, last_s=0.1) as (running, url):
        asking = Asking(f"{url}/v1/apply", PLAIN)
        until(lambda: under_way(url) == 1)
        running.send_signal(signal.SIGTERM)
        assert asking.ended().json()["error"]["code"] == "stopping"
        events = [line["event"] for line in end(running)]
    assert events[-2:] == ["the worker is stuck in a pass and was left behind", "stopped"]


def test_a_request_that_is_still_coming_in_is_refused_in_json():
    """A client that has sent half of its body at the end reads an error object as well."""
    with slow_service(last_s=0.1) as (running, url):
        connection = ask(url, DIRECT, missing=3)
        until(lambda: httpx.get(f"{url}/health").status_code == 200)
        running.send_signal(signal.SIGTERM)
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        connection.close()
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b'"code":"stopping"' in answer
        events = [line["event"] for line in end(running)]
    assert "Exception in ASGI application\n" not in events


def test_a_second_interrupt_ends_it_at_once():
    """Who does not want to wait presses Ctrl-C again; the answer is an error object even then."""
    with slow_service(pass_s=0.05, grace_s=60) as (running, url):
        asking = Asking(f"{url}/v1/apply", PLAIN)
        until(lambda: under_way(url) == 1)
        running.send_signal(signal.SIGINT)
        until(lambda: _refuses(url))
        running.send_signal(signal.SIGINT)
        assert asking.ended().json()["error"]["code"] == "stopping"
        assert end(running)[-1]["event"] == "stopped"


def _refuses(url: str) -> bool:
    try:
        httpx.get(f"{url}/health")
    except httpx.TransportError:
        return True
    return False
