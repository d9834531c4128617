"""The hub's own client against a small hub on this machine: nothing leaves it."""

import hashlib
import http.server
import json
import threading

import pytest
from huggingface_hub import constants, hf_api

from apply_edit.errors import DownloadFailed, ModelLoadError, ModelNotFound
from apply_edit.models import Origin, locate
from apply_edit.models.hub import SourceError, download_file
from apply_edit.models.progress import Meter
from apply_edit.models.registry import HubFile
from tests.unit.models_kit import RecordingProgress, make_store

COMMIT = "0" * 40
FILES = {
    "config.json": b"{}",
    "tokenizer.json": b"{ }",  # not the same bytes: the cache keeps equal files once
    "model.safetensors": b"weights" * 1000,
    "pytorch_model.bin": b"pickle",
    "code.py": b"raise SystemExit",
}


class Handler(http.server.BaseHTTPRequestHandler):
    """Just enough of a hub: repository ``org/name`` with ``FILES``."""

    asked: list[str] = []  # noqa: RUF012  # one server per test, which clears it

    def do_HEAD(self):
        """Answer with the headers alone."""
        self.reply(body=False)

    def do_GET(self):
        """Answer with the content."""
        self.reply(body=True)

    def reply(self, *, body):
        """Answer with a file, the listing, or 404."""
        path = self.path.split("?")[0]
        name = path.rpartition("/")[2]
        if path.startswith("/org/name/resolve/") and name in FILES:
            if body:
                self.asked.append(name)
            self.send_file(FILES[name], body=body)
        elif path.startswith("/api/models/org/name/tree"):
            tree = [
                {"type": "file", "path": n, "size": len(d), "oid": hashlib.sha1(d).hexdigest()}
                for n, d in FILES.items()
            ]
            self.send_file(json.dumps(tree).encode(), body=body)
        elif path.startswith("/api/models/org/name"):
            siblings = [{"rfilename": n, "size": len(d)} for n, d in FILES.items()]
            info = {"id": "org/name", "sha": COMMIT, "siblings": siblings}
            self.send_file(json.dumps(info).encode(), body=body)
        else:
            self.send_response(404 if path != "/" else 200)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def send_file(self, data, *, body):
        """Send the whole or the range that is asked for."""
        start = 0
        if "Range" in self.headers:
            start = int(self.headers["Range"].removeprefix("bytes=").split("-")[0])
        self.send_response(206 if start else 200)
        self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(data) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        if body:
            self.wfile.write(data[start:])

    def log_message(self, format, *args):
        """Keep quiet."""


def point_hub_to(monkeypatch, address):
    """Make the hub's client use another address."""
    monkeypatch.setattr(constants, "ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(hf_api.api, "endpoint", address)


@pytest.fixture
def hub(monkeypatch):
    """Run the small hub."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Handler.asked.clear()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    point_hub_to(monkeypatch, f"http://127.0.0.1:{server.server_address[1]}")
    yield Handler
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def no_hub(monkeypatch):
    """Point to an address where nobody listens."""
    point_hub_to(monkeypatch, "http://127.0.0.1:1")


def test_one_file_is_downloaded_and_counted(tmp_path, hub):
    """The file lies in the folder, and the progress ends at its size."""
    progress = RecordingProgress()

    def begin(done):
        progress.start(None, "download", done)
        return Meter(progress, done)

    path = download_file(HubFile("org/name", "model.safetensors"), tmp_path / "hub", begin)

    assert path.read_bytes() == FILES["model.safetensors"]
    assert progress.advanced == [len(FILES["model.safetensors"])]


def test_a_file_that_is_not_there_is_a_failed_source(tmp_path, hub):
    """The hub's refusal becomes one line."""
    with pytest.raises(SourceError, match=r"^hub file org/other/x\.gguf: "):
        download_file(HubFile("org/other", "x.gguf"), tmp_path, lambda _done: Meter(None))


def test_a_hub_out_of_reach_is_said_within_seconds(tmp_path, no_hub):
    """No sign of life means no retries for half a minute."""
    with pytest.raises(SourceError, match="cannot be reached"):
        download_file(HubFile("org/name", "x.gguf"), tmp_path, lambda _done: Meter(None))


def test_a_switched_off_hub_is_not_asked(tmp_path, hub, monkeypatch):
    """The hub's own offline variable is honoured."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    with pytest.raises(SourceError, match="HF_HUB_OFFLINE"):
        download_file(HubFile("org/name", "x.gguf"), tmp_path, lambda _done: Meter(None))


def test_a_hub_id_brings_data_files_only_and_once(tmp_path, hub):
    """Neither code nor pickles are asked for; the second use asks for nothing."""
    store = make_store(tmp_path)

    first = locate("org/name", store=store)
    asked = sorted(hub.asked)
    second = locate("org/name", store=store, offline=True)

    assert first == second
    assert first.origin is Origin.HUB
    assert asked == ["config.json", "model.safetensors", "tokenizer.json"]
    assert sorted(hub.asked) == asked


def test_a_repository_without_safetensors_is_refused(tmp_path, hub, monkeypatch):
    """A repository that has only a pickle checkpoint cannot be used."""
    monkeypatch.delitem(FILES, "model.safetensors")

    with pytest.raises(ModelLoadError, match=r"has no \*\.safetensors weights"):
        locate("org/name", store=make_store(tmp_path))

    assert hub.asked == []


def test_an_unknown_repository_is_not_found(tmp_path, hub):
    """A hub id that the hub does not know is a model that is not there."""
    with pytest.raises(ModelNotFound, match="no repository 'org/other'"):
        locate("org/other", store=make_store(tmp_path))


def test_a_hub_id_without_a_hub_is_a_failed_download(tmp_path, no_hub):
    """It is retryable, since the network may come back."""
    with pytest.raises(DownloadFailed, match="cannot be reached"):
        locate("org/name", store=make_store(tmp_path))
