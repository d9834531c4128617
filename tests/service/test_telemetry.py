import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from tests.service.kit import DIRECT

pytest.importorskip("opentelemetry.sdk", reason="telemetry needs apply-edit[otel]")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs apply-edit[otel]")

# Each stands for something of a user's that must not leave the machine.
SECRETS = ("ORIGINALTEXT", "EDITTEXT", "INSTRUCTIONTEXT", "PATHNAME", "TOKENTEXT", "HEADERTEXT")


class Collector(ThreadingHTTPServer):
    """Takes what is exported, on a free port of the loopback."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.got: list[tuple[str, bytes]] = []

    def bodies(self, path: str) -> list[bytes]:
        """Return what came for one kind of signal."""
        return [body for place, body in self.got if place == path]


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        """Note a body."""
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((self.path, body))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def collector() -> Iterator[Collector]:
    """Run a collector."""
    taking = Collector()
    thread = threading.Thread(target=taking.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield taking
    finally:
        taking.shutdown()
        thread.join()
        taking.server_close()


def requests_to(url: str) -> None:
    """Send an apply, refusals of all kinds, and paths that do not exist."""
    secret = {
        "original": "a = 1  # ORIGINALTEXT\n",
        "edit": json.dumps({"old_str": "a = 1", "new_str": "EDITTEXT"}),
        "path": "PATHNAME.py",
    }
    with httpx.Client(base_url=url, headers={"Authorization": "Bearer TOKENTEXT"}) as asking:
        post = asking.post
        assert post("/v1/apply", json=secret).status_code == 200
        refused = {**secret, "edit": '{"old_str": "EDITTEXT", "new_str": ""}'}
        assert post("/v1/apply", json=refused).status_code == 422
        assert post("/v1/apply", json={**secret, "gamma": "EDITTEXT"}).status_code == 422
        assert post("/v1/apply", content=b'{"original": "ORIGINALTEXT').status_code == 415
        instruction = {**DIRECT, "edit": None, "instruction": "INSTRUCTIONTEXT"}
        assert post("/v1/apply", json={**instruction, "strategy": "direct"}).status_code == 422
        headers = {"X-Request-Id": "HEADERTEXT", "User-Agent": "HEADERTEXT"}
        assert asking.get("/PATHNAME?q=EDITTEXT", headers=headers).status_code == 404
        assert asking.get("/health?q=EDITTEXT", headers=headers).status_code == 200
        assert asking.get("/v1/models/PATHNAME").status_code == 200


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Collector:
    """Run ``apply-edit serve`` with telemetry and a collector; returns what that got."""
    folder = tmp_path_factory.mktemp("home")
    given = {k: v for k, v in os.environ.items() if not k.startswith(("APPLY_EDIT_", "OTEL_"))}
    with collector() as taking:
        environment = {
            **given,
            "XDG_RUNTIME_DIR": str(folder),
            "APPLY_EDIT_HOME": str(folder),
            "APPLY_EDIT_TELEMETRY": "true",
            "APPLY_EDIT_TOKEN": "TOKENTEXT",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{taking.server_port}",
        }
        command = [sys.executable, "-m", "apply_edit", "serve", "--no-preload", "--port", "0"]
        with subprocess.Popen(
            [*command, "--json-ready"], stdout=subprocess.PIPE, env=environment, text=True
        ) as running:
            try:
                assert running.stdout is not None
                requests_to(json.loads(running.stdout.readline())["url"])
                running.send_signal(signal.SIGTERM)
                assert running.wait(60) == 0
            finally:
                running.kill()
    return taking


def test_spans_and_metrics_of_requests_arrive(exported: Collector):
    """What is asked for is exported when the service ends at the latest: a span per request."""
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
    )
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    spans, metrics = [], set()
    for body in exported.bodies("/v1/traces"):
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            spans += [span.name for scope in resource.scope_spans for span in scope.spans]
    for body in exported.bodies("/v1/metrics"):
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            metrics |= {each.name for scope in resource.scope_metrics for each in scope.metrics}
    assert spans.count("POST /v1/apply") == 5
    assert "http.server.request.duration" in metrics


def test_nothing_of_a_file_is_exported(exported: Collector):
    """Neither file nor edit, instruction, path, query, header or token leaves the process."""
    everything = b"".join(body for _, body in exported.got)
    assert [word for word in SECRETS if word.encode() in everything] == []


def test_no_logs_are_exported(exported: Collector):
    """Messages of exceptions quote the file, so that signal stays off."""
    assert {path for path, _ in exported.got} == {"/v1/traces", "/v1/metrics"}
