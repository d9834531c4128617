import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from apply_edit.cli import cli
from apply_edit.errors import ConfigError
from apply_edit.service.serving import bind_tcp, bind_unix
from tests.service.kit import DIRECT, MERGED, until


def test_a_free_port_is_taken_and_told():
    """Port 0 binds a real one, and the URL has it."""
    with bind_tcp("127.0.0.1", 0) as bound:
        assert bound.port
        assert bound.url == f"http://127.0.0.1:{bound.port}"
        assert bound.socket.getsockname()[1] == bound.port


def test_a_taken_port_is_refused_with_a_hint():
    """A port that somebody listens on is an error that says what to do."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match="--port") as refused, bind_tcp("127.0.0.1", port):
            pass
    assert refused.value.fields["option"] == "port"


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_an_address_of_another_machine_is_refused(host):
    """An address that is not here is an error about the host."""
    with pytest.raises(ConfigError) as refused, bind_tcp(host, 0):
        pass
    assert refused.value.fields["option"] == "host"


def test_a_unix_socket_is_closed_to_others_and_removed(tmp_path):
    """The file is mode 600 from its first moment, and gone at the end."""
    path = tmp_path / "s.sock"
    mask = os.umask(0)
    try:
        with bind_unix(path) as bound:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert bound.uds == path
    finally:
        os.umask(mask)
    assert not path.exists()


def test_a_socket_of_a_dead_service_is_replaced(tmp_path):
    """A file that nobody listens on does not stand in the way."""
    path = tmp_path / "s.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with bind_unix(path):
        assert path.is_socket()


def test_a_socket_that_is_in_use_and_a_plain_file_are_left_alone(tmp_path):
    """Neither a living service's socket nor somebody's file is removed."""
    path, file = tmp_path / "s.sock", tmp_path / "file"
    file.write_text("mine")
    with bind_unix(path) as bound:
        bound.socket.listen()
        with pytest.raises(ConfigError, match="already"), bind_unix(path):
            pass
        assert path.is_socket()
    with pytest.raises(ConfigError, match="no socket"), bind_unix(file):
        pass
    assert file.read_text() == "mine"


def test_a_path_that_is_too_long_for_a_socket_is_refused(tmp_path):
    """What the system does not take as a socket's path is an error about --uds."""
    with pytest.raises(ConfigError) as refused, bind_unix(tmp_path / ("x" * 200)):
        pass
    assert refused.value.fields["option"] == "uds"


def test_without_the_extra_serve_says_what_to_install(monkeypatch):
    """A missing package is an error with the command that installs it, not a traceback."""
    monkeypatch.setattr("apply_edit.cli.serve.find_spec", lambda name: None)
    result = CliRunner().invoke(cli, ["serve"])
    assert isinstance(result.exception, ConfigError)
    assert "apply-edit[service]" in result.exception.message


def test_telemetry_without_its_extra_says_what_to_install(monkeypatch):
    """Asking for spans that nobody can export is refused with the command that installs it."""
    monkeypatch.setattr(
        "apply_edit.cli.serve.find_spec", lambda name: None if "telemetry" in name else name
    )
    monkeypatch.setenv("APPLY_EDIT_TELEMETRY", "true")
    result = CliRunner().invoke(cli, ["serve"])
    assert isinstance(result.exception, ConfigError)
    assert "apply-edit[otel]" in result.exception.message


@contextmanager
def process(tmp_path: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run ``apply-edit serve`` without loading a model."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("APPLY_EDIT_")}
    environment |= {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "apply_edit", "serve", "--no-preload", *arguments]
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment, "APPLY_EDIT_HOME": str(tmp_path / "home")},
    )
    try:
        yield running
    finally:
        if running.poll() is None:
            running.kill()
        running.communicate()


def test_serve_says_where_it_listens_serves_and_ends_on_sigterm(tmp_path):
    """The line comes when the service answers; a signal ends it cleanly with exit code 0."""
    tmp_path.chmod(0o700)
    with process(tmp_path, "--port", "0", "--json-ready") as running:
        assert running.stdout is not None
        ready = json.loads(running.stdout.readline())
        assert ready["pid"] == running.pid
        answer = httpx.post(f"{ready['url']}/v1/apply", json=DIRECT)
        assert answer.json()["text"] == MERGED
        announced = list(tmp_path.rglob("service-*.json"))
        assert len(announced) == 1
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=120)
    assert (running.returncode, out) == (0, "")
    assert not announced[0].exists()
    events = [json.loads(line)["event"] for line in err.splitlines()]
    assert events == ["request", "stopped"]


def test_serve_on_a_unix_socket(tmp_path):
    """With --uds the service answers there, and its file goes with it on Ctrl-C."""
    tmp_path.chmod(0o700)
    path = tmp_path / "s.sock"
    with process(tmp_path, "--uds", str(path)) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == f"apply-edit listens on unix:{path}\n"
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as asking:
            assert asking.post("http://anything/v1/apply", json=DIRECT).status_code == 200
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=120)
    assert running.returncode == 0
    until(lambda: not path.exists())


def test_serve_refuses_before_it_listens(tmp_path):
    """A port that is taken, and a wrong setting, end it with one message and exit code 2."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        for arguments, word in ((("--port", port), "is taken"), (("--host", "0.0.0.0"), "token")):
            with process(tmp_path, *arguments) as running:
                out, err = running.communicate(timeout=120)
            assert (running.returncode, out) == (2, "")
            assert word in " ".join(err.split())
            assert "Traceback" not in err


def test_serve_ends_when_its_target_cannot_be_loaded(tmp_path):
    """A target that does not exist ends the service with the error and its exit code."""
    folder = tmp_path / "no-model"
    folder.mkdir()
    file = tmp_path / "serve.toml"
    file.write_text(f'preload = true\nport = 0\ntarget = "{folder}"\n')
    command = [sys.executable, "-m", "apply_edit", "serve", "--config", str(file)]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert ended.returncode in (20, 21), ended.stderr
    assert "error" in ended.stderr
    assert "Traceback" not in ended.stderr
