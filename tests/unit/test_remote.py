import dataclasses
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import types

import httpx
import pytest

import apply_edit
from apply_edit import errors
from apply_edit.cli import main
from apply_edit.config import Config
from apply_edit.remote.announcement import Announcement, announcements, folder, target_key
from apply_edit.remote.applier import UNSAYABLE, ServiceApplier
from apply_edit.remote.client import Question, Service, ServiceUnusable
from apply_edit.service.app import create_app
from apply_edit.service.discovery import Address, announce
from apply_edit.service.loading import Loaded
from apply_edit.service.settings import Settings
from apply_edit.types import EditFormat
from tests.fakes import writing_engine
from tests.native_api import MERGED, REPORT, Native, answer, served

ORIGINAL = "def a():\n    return 1\n\n\ndef b():\n    return 2\n"
SENTENCE = "make b return twenty"
STRUCTURED = '{"old_str": "return 2", "new_str": "return 20"}'
DEFAULT = Config()


def leaves(kind=errors.ApplyEditError):
    """Return the classes of the error tree that have no children."""
    children = kind.__subclasses__()
    return [each for child in children for each in leaves(child)] if children else [kind]


def question(**config):
    """Return a question about an instruction."""
    return Question(ORIGINAL, None, "m.py", SENTENCE, Config(**config))


def told(handler, **other):
    """Return a service whose network is a function."""
    fields = {"pid": 1, "machine": "m", "version": "0", "target": "t", "device": "cpu"}
    announcement = Announcement(**fields, dtype="auto", host="127.0.0.1", port=9, **other)
    return Service(announcement, httpx.MockTransport(handler))


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Announcements of this test only."""
    monkeypatch.setenv("APPLY_EDIT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("APPLY_EDIT_NO_SERVICE", raising=False)
    return tmp_path / "home"


def announced(address=None, **other):
    """Announce a service with the default target."""
    names = {"target": DEFAULT.target, "device": "auto", "dtype": "auto"} | other
    return announce(address or Address(host="127.0.0.1", port=9), **names)


@pytest.fixture
def native(tmp_path):
    """A running imitation on a Unix socket, announced."""
    api = Native()
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(tmp_path / "sock"))
    sock.listen()
    with served(api.app, sock), announced(Address(uds=tmp_path / "sock")):
        yield api


class Local:
    """Stands for the applier of this process; says that it was asked."""

    def __init__(self):
        self.asked = 0

    def apply(self, original, edit, *, path=None, instruction=None):
        """Count."""
        self.asked += 1
        return "local"


def applied(config=DEFAULT, edit=None, instruction=SENTENCE):
    """Apply through a ServiceApplier; returns result, how often the local one ran, notes."""
    local, notes = Local(), []
    applier = ServiceApplier(config, local, note=notes.append)
    result = applier.apply(ORIGINAL, edit, path="m.py", instruction=instruction)
    return result, local.asked, notes


# -- announcements


def test_a_service_is_announced_while_it_runs():
    """The announcement is there in the context and gone behind it."""
    with announced() as path:
        assert list(announcements()) == [path]
        assert announcements()[path].difference(DEFAULT.target, "auto", "auto") is None
    assert announcements() == {}
    assert not path.exists()


def test_an_announcement_is_private():
    """File and folder are closed to other users, since the file may hold a token."""
    with announced(token="secret") as path:
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert announcements()[path].token == "secret"


def test_the_announcement_of_a_dead_process_is_removed():
    """A file whose process is gone is ignored and cleaned away."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    with announced() as path:
        data = json.loads(path.read_text()) | {"pid": process.pid}
        path.write_text(json.dumps(data))
        assert announcements() == {}
        assert not path.exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_can_touch_is_not_trusted(mode):
    """Whoever could write the file would be sent the user's code."""
    with announced() as path:
        path.chmod(mode)
        assert announcements() == {}


def test_a_folder_that_others_can_write_is_not_trusted():
    """In an open folder others could put a file in place."""
    with announced():
        folder().chmod(0o777)
        assert announcements() == {}


def test_a_file_of_another_user_is_not_trusted(monkeypatch):
    """Only what belongs to this user counts."""
    with announced():
        monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
        assert announcements() == {}


def test_a_link_is_not_trusted(tmp_path):
    """A symbolic link in the folder may lead to anybody's file."""
    with announced() as path:
        path.rename(tmp_path / "away.json")
        path.symlink_to(tmp_path / "away.json")
        assert announcements() == {}


def test_a_pipe_does_not_hang_the_search():
    """What is no regular file is passed over, without waiting for it."""
    with announced() as path:
        path.unlink()
        os.mkfifo(path, 0o600)
        assert announcements() == {}


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", "\ud800", '{"pid": 1}', "no json", {"pid": "1"}, {"more": 1}, {"port": None}],
)
def test_a_file_that_says_something_else_is_ignored(content):
    """A file of another version or a broken one is no service and no error."""
    with announced() as path:
        if isinstance(content, dict):
            content = json.dumps(json.loads(path.read_text()) | content)
        path.write_bytes(content.encode("utf-8", "surrogatepass"))
        assert announcements() == {}


def test_services_of_other_machines_are_ignored():
    """A home folder on a network has the files of several machines."""
    with announced() as path:
        path.write_text(path.read_text().replace('"machine": "', '"machine": "not-'))
        assert announcements() == {}
        assert path.exists()


@pytest.mark.parametrize("place", ["0.0.0.0", ""])
def test_an_address_that_stands_for_all_is_reached_by_loopback(place):
    """A service on all addresses is asked at 127.0.0.1."""
    with announced(Address(host=place, port=8)) as path:
        assert announcements()[path].host == "127.0.0.1"


def test_without_a_home_of_its_own_the_run_time_folder_is_taken(tmp_path, monkeypatch):
    """Announcements go below XDG_RUNTIME_DIR, where that folder is private."""
    monkeypatch.delenv("APPLY_EDIT_HOME")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    assert folder() == tmp_path / "apply-edit"
    tmp_path.chmod(0o755)
    assert folder().name == "run"


def test_a_service_serves_the_same_target_only():
    """Version, target, device and number format have to be the same."""
    with announced() as path:
        found = announcements()[path]
    assert found.version == apply_edit.__version__
    assert found.difference(DEFAULT.target.upper(), "auto", "auto") is None
    assert "other is wanted" in found.difference("other", "auto", "auto")
    assert "device auto, and cpu" in found.difference(DEFAULT.target, "cpu", "auto")
    assert "dtype auto, and bfloat16" in found.difference(DEFAULT.target, "auto", "bfloat16")
    other = Announcement(**{f: getattr(found, f) for f in found.__slots__} | {"version": "9"})
    assert "version 9" in other.difference(DEFAULT.target, "auto", "auto")


def test_a_folder_has_one_name_from_everywhere(tmp_path, monkeypatch):
    """A target given as a relative path is the same as its absolute path."""
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    assert target_key("model") == target_key(str(tmp_path / "model"))
    assert target_key("org/name") == "org/name"


def test_a_service_that_cannot_be_announced_says_why(home):
    """A folder that others can write holds no announcement, and the error names it."""
    (home / "run").mkdir(parents=True, mode=0o755)
    with pytest.raises(errors.FileNotWritten, match="closed to others"), announced():
        pass


# -- the native API


def test_the_question_is_the_native_api_s():
    """The body has text, edit and settings, and the token goes along."""
    seen = []

    def handler(request):
        seen.append(request)
        return httpx.Response(200, json=answer())

    asked = Question(ORIGINAL, "x", "m.py", None, Config(gamma=4, format=EditFormat.LAZY))
    told(handler, token="secret").apply(asked)
    assert (seen[0].method, str(seen[0].url)) == ("POST", "http://127.0.0.1:9/v1/apply")
    assert seen[0].headers["authorization"] == "Bearer secret"
    assert json.loads(seen[0].content) == {
        "original": ORIGINAL,
        "edit": "x",
        "path": "m.py",
        "format": "lazy",
        "strategy": "auto",
        "scope": "auto",
        "gamma": 4,
        "proposer": "router",
        "stream": False,
    }


def test_the_answer_becomes_a_result():
    """Text, strategy, warnings and report are those of the service."""
    result = told(lambda request: httpx.Response(200, json=answer(agreement=True))).apply(
        question()
    )
    assert (result.text, result.strategy, result.agreement) == (MERGED, "model", True)
    assert result.format is EditFormat.INSTRUCTION
    assert (result.warnings[0].code, result.warnings[0].lines) == ("odd", (2,))
    assert (result.confidence, result.hunks[0].start_line, result.tries[0].scope) == (
        0.8,
        6,
        "file",
    )
    report = result.report
    assert report.to_dict() == REPORT
    assert (report.passes, report.drafted, report.accepted, report.emitted) == (1, 8, 8, 9)
    assert (report.acceptance_rate, report.tokens_per_pass, report.run_lengths) == (1.0, 9.0, [8])
    assert (report.prompt_tokens, report.prefill_s) == (30, 0.5)


@pytest.mark.parametrize(
    "kind", [k for k in leaves() if k not in (errors.Cancelled, errors.Stopping)]
)
def test_a_refusal_comes_back_as_the_error_it_was(kind):
    """Every error of the tree keeps class, message and fields on its way through HTTP."""
    body = {"message": "no", "type": "t", "code": kind.code, "param": None, "retryable": True}

    def handler(request):
        return httpx.Response(422, json={"error": body | {"lines": [3, 4]}})

    with pytest.raises(errors.ApplyEditError) as caught:
        told(handler).apply(question())
    assert type(caught.value) is kind
    assert (caught.value.message, caught.value.fields) == ("no", {"lines": [3, 4]})


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"error": {"code": "not_found", "message": "no route"}}),
        (413, {"error": {"code": "body_too_large", "message": "large"}}),
        (499, {"error": {"code": "cancelled", "message": "shutting down"}}),
        (503, {"error": {"code": "stopping", "message": "shutting down"}}),
        (500, {"error": "no"}),
        (500, {}),
        (502, []),
        (200, []),
        (200, {"text": MERGED}),
        (200, answer(sha256="0")),
        (200, answer(format="magic")),
        (200, answer(report={})),
        (200, answer(warnings=[1])),
        (200, answer(tries=[{"odd": 1}])),
    ],
)
def test_an_answer_that_is_none_is_not_used(status, body):
    """Another program, another version or a damaged text is no answer about the edit."""
    with pytest.raises(ServiceUnusable):
        told(lambda request: httpx.Response(status, json=body)).apply(question())


def test_a_reply_that_is_no_json_is_not_used():
    """Some other program may listen at the port by now."""
    with pytest.raises(ServiceUnusable, match="no JSON"):
        told(lambda request: httpx.Response(200, text="<html>")).apply(question())


def test_cancelling_closes_the_connection(native):
    """The service sees the client go, so that it can stop."""
    native.hold = True
    (announcement,) = announcements().values()
    with pytest.raises(errors.Cancelled):
        Service(announcement).apply(question(), native.asked.is_set)
    assert native.left.wait(5)


# -- when a service is asked


def test_a_service_writes_what_needs_a_target(native):
    """With a running service no target is loaded here."""
    result, local, notes = applied()
    assert (result.text, local, notes) == (MERGED, 0, [])
    assert native.requests[0][1]["instruction"] == SENTENCE


def test_an_edit_that_needs_no_target_stays_here(native):
    """A structured edit is spliced without asking, even while the service is busy."""
    native.hold = True
    result, local, _ = applied(edit=STRUCTURED, instruction=None)
    assert (result.text, result.strategy, local) == (MERGED, "direct", 0)
    assert native.requests == []


def test_a_refusal_of_the_service_is_the_answer(native):
    """A refused edit is not tried again here: the same target would refuse it too."""
    native.status, native.reply = 422, {"error": {"code": "guard_refused", "message": "leak"}}
    with pytest.raises(errors.GuardRefused):
        applied()


def test_every_setting_is_said_or_keeps_the_work_here():
    """A new setting must go along with the question, or be one for which no service is asked."""
    said = set(question(format=EditFormat.LAZY, max_new_tokens=1).to_dict()) | {
        "target",
        "device",
        "dtype",
    }
    assert {field.name for field in dataclasses.fields(Config)} - said == set(UNSAYABLE)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (Config(device="cpu"), "it has device auto, and cpu is wanted"),
        (Config(target="org/other"), "it has target .*, and org/other is wanted"),
        (Config(disabled_checks=frozenset({"leaked_marker"})), "disabled_checks"),
        (Config(dialect="fastapply"), "dialect"),
        (Config(min_confidence=0.5), "min_confidence"),
        (Config(draft="qwen2.5-coder-0.5b-instruct"), "draft"),
    ],
)
def test_other_settings_stay_here(native, config, reason):
    """A service with another device, or one that cannot be told of a setting, is noted, not asked.

    The note comes only where a target is needed.
    """
    result, local, notes = applied(config)
    assert (result, local, len(notes)) == ("local", 1, 1)
    assert re.search(f"service was not used: .*{reason}", notes[0])
    assert native.requests == []
    assert applied(config, edit=STRUCTURED, instruction=None)[2] == []


def test_a_service_that_is_gone_is_noted_and_forgotten(tmp_path):
    """A refused connection means loading here, one note, and no announcement any more."""
    with announced(Address(uds=tmp_path / "nobody")) as path:
        result, local, notes = applied()
        assert (result, local) == ("local", 1)
        assert len(notes) == 1
        assert "nobody listens" in notes[0]
        assert not path.exists()


def test_a_service_that_answers_nonsense_is_noted_and_kept(native):
    """It may be right for others, so its file stays."""
    native.reply = {}
    result, local, notes = applied()
    assert (result, local, len(notes)) == ("local", 1, 1)
    assert len(announcements()) == 1


def test_an_address_with_a_token_works_like_a_socket():
    """A service on a TCP port gets its token in the header."""
    api = Native()
    sock = socket.create_server(("127.0.0.1", 0))
    address = Address(host="127.0.0.1", port=sock.getsockname()[1])
    with served(api.app, sock), announced(address, token="secret"):
        result, local, _ = applied()
    assert (result.text, local) == (MERGED, 0)
    assert api.requests[0][0]["authorization"] == "Bearer secret"


def test_no_proxy_is_asked_for_this_machine(native, monkeypatch):
    """A proxy for the web has nothing to do with a service on this machine."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert applied()[0].text == MERGED


@pytest.mark.parametrize("token", [None, "secret"])
def test_the_real_service_is_understood(tmp_path, token):
    """The service of this package merges what an imitation was asked for above."""
    settings = Settings(uds=tmp_path / "sock", token=token)
    app = create_app(settings, lambda: Loaded(writing_engine(MERGED), None))
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(tmp_path / "sock"))
    sock.listen()
    address = Address(uds=tmp_path / "sock")
    with served(app, sock, lifespan="on"), announced(address, token=token):
        result, local, notes = applied()
        (service,) = map(Service, announcements().values())
        with pytest.raises(errors.EditParseError):
            service.apply(Question(ORIGINAL, "", "m.py", None, DEFAULT))
    assert (result.text, local, notes) == (MERGED, 0, [])
    assert result.report.passes > 0
    assert result.report.to_dict()["emitted"] == result.report.emitted


# -- the command line


@pytest.fixture
def file(tmp_path):
    """A file to edit."""
    path = tmp_path / "m.py"
    path.write_text(ORIGINAL)
    return path


@pytest.fixture
def run(monkeypatch, capfdbinary):
    """Run the command line; returns exit code, standard output and standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["apply-edit", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(b"")))
        code = 0
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return call


@pytest.fixture
def loads(monkeypatch):
    """Makes it an error to load a target here; the error is the proof that it was wanted."""

    def refuse(target, **options):
        message = "a target was wanted here"
        raise errors.ModelNotFound(message)

    monkeypatch.setattr("apply_edit.applier.locate", refuse)


@pytest.mark.usefixtures("loads")
def test_the_command_line_uses_a_running_service(run, file, native):
    """The file is read and written here, and the text comes from the service."""
    code, out, err = run(file, "--instruction", SENTENCE, "--in-place", "--stats")
    assert (code, out) == (0, ""), err
    assert file.read_text() == MERGED
    assert "tokens per pass" in err
    assert len(native.requests) == 1


@pytest.mark.usefixtures("loads")
@pytest.mark.parametrize("how", ["--no-service", "--explain", "environment"])
def test_the_command_line_can_be_told_to_load_its_own(run, file, native, monkeypatch, how):
    """--no-service, its variable, and --explain (which looks into the decoder) load here."""
    if how == "environment":
        monkeypatch.setenv("APPLY_EDIT_NO_SERVICE", "1")
    extra = [how] if how.startswith("--") else []
    assert run(file, "--instruction", SENTENCE, *extra)[0] == 20
    assert native.requests == []


@pytest.mark.usefixtures("loads")
@pytest.mark.parametrize("quiet", [True, False])
def test_the_command_line_says_why_it_loads_after_all(run, file, native, quiet):
    """One note on standard error, none with --quiet."""
    native.reply = {}
    code, out, err = run(file, "--instruction", SENTENCE, *(["-q"] if quiet else []))
    assert (code, out) == (20, "")
    assert ("note: the running service was not used" in err) is not quiet


def test_ctrl_c_reaches_the_service(file, native):
    """An interrupt closes the connection, ends with 130, and leaves the file."""
    native.hold = True
    command = [sys.executable, "-m", "apply_edit", file, "--instruction", SENTENCE, "-i"]
    # A shell that runs the tests in the background ignores interrupts, and so would what it starts.
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert native.asked.wait(60)
        process.send_signal(signal.SIGINT)
        assert b"cancelled" in process.communicate(timeout=20)[1]
    assert process.returncode == 130
    assert native.left.wait(5)
    assert file.read_text() == ORIGINAL


def test_finding_services_costs_no_import_of_the_client(file, tmp_path):
    """A structured edit starts as fast as before: no HTTP library is imported."""
    edit = tmp_path / "edit.json"
    edit.write_text(STRUCTURED)
    code = (
        "import sys; from apply_edit.cli import cli; "
        f"cli(['apply', {str(file)!r}, '--edit', {str(edit)!r}, '-q'], standalone_mode=False); "
        "assert 'httpx' not in sys.modules, 'httpx'"
    )
    with announced():
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
