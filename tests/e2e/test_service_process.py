"""``apply-edit serve`` as a process with a target: a tiny random model that it really loads.

The target writes noise, so a lazy edit comes out as the plain reading of its snippet after the
target was asked, which shows that it was.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from tests.e2e import sse, tiny_folder
from tests.service.kit import LAZY, MERGED, ORIGINAL, until

pytestmark = pytest.mark.slow

LONG = {"original": ORIGINAL, "instruction": "x", "gamma": 0, "max_new_tokens": 5000}
_STOP_S = 60


@dataclass(frozen=True, slots=True)
class Running:
    """A service process.

    Args:
        process: The process.
        url: Where it listens.
        target: Folder of its target.
        environment: Variables that it was started with; programs started with them find it.
        home: Its ``APPLY_EDIT_HOME``.
    """

    process: subprocess.Popen[str]
    url: str
    target: Path
    environment: dict[str, str]
    home: Path

    def applies(self) -> float:
        """Return how many requests to the native route have been answered."""
        name = 'apply_edit_http_responses_total{route="/v1/apply",status="200"}'
        figures = httpx.get(f"{self.url}/metrics", timeout=_STOP_S).text.splitlines()
        return sum(float(line.split()[-1]) for line in figures if line.startswith(name))


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Running]:
    """Start a service and wait until its target is loaded."""
    target = tiny_folder.make(folder / "target")
    home = folder / "home"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("APPLY_EDIT_")}
    environment |= {"APPLY_EDIT_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "apply_edit", "serve", "--port", "0", "--json-ready"]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(
            [*command, "--target", target],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
        )
    try:
        assert process.stdout is not None
        told = process.stdout.readline()
        assert told, (folder / "log").read_text()
        service = Running(process, json.loads(told)["url"], target, environment, home)
        # The line says that it listens and that the target is there.
        assert httpx.get(f"{service.url}/ready", timeout=_STOP_S).status_code == 200
        yield service
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Iterator[Running]:
    """A service whose target is loaded; it ends on SIGTERM, and takes its announcement along."""
    with running(tmp_path_factory.mktemp("service")) as service:
        assert len(list(service.home.rglob("service-*.json"))) == 1
        yield service
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(_STOP_S) == 0
        assert list(service.home.rglob("service-*.json")) == []


def test_a_lazy_edit_goes_through_the_target(service):
    """The target of the process runs, and the answer is the merged file."""
    body = {"original": ORIGINAL, "edit": LAZY, "max_new_tokens": 20}
    answer = httpx.post(f"{service.url}/v1/apply", json=body, timeout=60).json()
    assert (answer["text"], answer["strategy"]) == (MERGED, "merge")
    assert answer["report"]["passes"] > 0


def test_a_stream_of_the_target_ends_with_the_result(service):
    """What the target writes is streamed as it comes; the result is the last event."""
    body = {"original": ORIGINAL, "edit": LAZY, "max_new_tokens": 20, "stream": True}
    with httpx.stream("POST", f"{service.url}/v1/apply", json=body, timeout=60) as reply:
        events = list(sse.read(reply.iter_lines()))
    assert [name for name, _ in events].count("text") > 0
    assert (events[-1][0], events[-1][1]["text"]) == ("result", MERGED)


def test_a_file_can_be_read_ahead(service):
    """A second prewarm of a file finds what the first one has read."""
    original = {"original": ORIGINAL * 5, "path": "a.py"}
    first = httpx.post(f"{service.url}/v1/prewarm", json=original, timeout=60).json()
    again = httpx.post(f"{service.url}/v1/prewarm", json=original, timeout=60).json()
    # The newest token of a row is never cached.
    assert again["cached"] == first["tokens"] - 1 > first["cached"]


def command(service: Running, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``apply-edit`` on a file with a lazy edit."""
    (folder / "m.py").write_text(ORIGINAL)
    (folder / "edit.md").write_text(LAZY)
    options = ["--edit", "edit.md", "--target", service.target, "--max-new-tokens", "20"]
    return subprocess.run(
        [sys.executable, "-m", "apply_edit", "m.py", *options, "--json", *arguments],
        cwd=folder,
        env=service.environment | {"PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_the_command_line_has_the_service_do_it(service, tmp_path):
    """A command with the same target asks the service, and with --no-service it does not."""
    before = service.applies()
    done = command(service, tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["text"] == MERGED
    assert service.applies() == before + 1
    done = command(service, tmp_path, "--no-service")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["text"] == MERGED
    assert service.applies() == before + 1


def test_the_tool_server_has_the_service_do_it(service, tmp_path):
    """An agent's edit_file with a lazy snippet is answered by the running service."""
    before = service.applies()
    path = tmp_path / "m.py"
    path.write_text(ORIGINAL)
    answers = []

    async def session(log):
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "apply_edit", "mcp", "--root", ".", "--target", str(service.target)],
            cwd=tmp_path,
            env=service.environment,
        )
        values = {"path": "m.py", "code_edit": LAZY, "instruction": "a returns 42"}
        async with Client(stdio_client(server, errlog=log)) as client:
            answers.append(await client.call_tool("edit_file", values))

    with open(tmp_path / "log", "w") as log:
        anyio.run(session, log)
    assert not answers[0].is_error, answers[0].content
    assert "+    return 42\n" in answers[0].content[0].text
    assert path.read_text() == MERGED
    assert service.applies() == before + 1


def test_a_signal_in_the_middle_of_an_apply_ends_the_service(tmp_path):
    """With a target that is busy for minutes, SIGTERM still ends the service, with exit code 0."""
    with running(tmp_path) as service:
        address = httpx.URL(service.url)
        with socket.create_connection((address.host, address.port), timeout=_STOP_S) as asked:
            data = json.dumps(LONG | {"stream": True}).encode()
            head = f"POST /v1/apply HTTP/1.1\r\nHost: {address.netloc.decode()}\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
            asked.sendall(head.encode() + data)
            seen = b""
            while b"event: text" not in seen:
                seen += asked.recv(4096)
            service.process.send_signal(signal.SIGTERM)
            assert service.process.wait(_STOP_S) == 0
            while piece := asked.recv(1 << 16):
                seen += piece
        assert b"event: result" not in seen
        until(lambda: not list(service.home.rglob("service-*.json")))
        assert "Traceback" not in (tmp_path / "log").read_text()
