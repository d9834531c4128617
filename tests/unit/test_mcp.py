import contextlib
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading

import anyio
import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import ListRootsResult, Root

from apply_edit import workspace
from apply_edit.config import Config
from apply_edit.errors import Cancelled, ConfigError
from apply_edit.mcp.editor import Editor
from apply_edit.mcp.roots import given, of_client
from apply_edit.mcp.server import build
from apply_edit.mcp.transport import HttpSettings, http_app
from apply_edit.service.discovery import Address, announce
from tests.fakes import writing_engine
from tests.native_api import MERGED as SERVICE_MERGED
from tests.native_api import Native, served

TEXT = "def a():\n    return 1\n\n\ndef b():\n    return 2\n"
SWAP = '{"old_str": "return 2", "new_str": "return 20"}'
LAZY = "# ... existing code ...\n\n\ndef b():\n    return 20\n"
MERGED = TEXT.replace("return 2", "return 20")
MARKED = "# ... existing code ...\nx = 1\n# ... existing code ...\n"
PATCH = """--- a/m.py
+++ b/m.py
@@ -5,2 +5,2 @@
 def b():
-    return 2
+    return 20
--- a/sub/two.txt
+++ b/sub/two.txt
@@ -1 +1 @@
-two
+TWO
"""


@pytest.fixture(autouse=True)
def no_service(tmp_path, monkeypatch):
    """No service of this machine is found."""
    monkeypatch.setenv("APPLY_EDIT_HOME", str(tmp_path / "home"))


@pytest.fixture
def root(tmp_path):
    """A folder with two files."""
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "m.py").write_text(TEXT)
    (folder / "sub" / "two.txt").write_text("two\n")
    (tmp_path / "secret.py").write_text(TEXT)
    return folder


def server_of(*folders, engine=None, use_service=False, config=None):
    """Return a server for folders; without folders it asks its clients."""
    editor = Editor(config or Config(), use_service=use_service, engine=engine)
    return build(editor, given(folders) if folders else None)


def call(server, tool="edit_file", mode="auto", client=None, **arguments):
    """Call one tool in a session of its own."""

    async def session():
        async with Client(server, mode=mode, **(client or {})) as connected:
            return await connected.call_tool(tool, arguments)

    return anyio.run(session)


def edit(server, path="m.py", code_edit=SWAP, **other):
    """Call edit_file."""
    return call(server, path=path, code_edit=code_edit, instruction="b returns 20", **other)


def text_of(result):
    """Return the text of an answer."""
    return "".join(block.text for block in result.content)


# -- what is offered


def test_the_tools_are_those_that_agents_know():
    """Names, parameters and their kinds are as the clients of hosted apply models expect them."""

    async def session():
        async with Client(server_of()) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in anyio.run(session)}
    assert list(tools) == ["edit_file", "apply_patch"]
    schema = tools["edit_file"].input_schema
    kinds = {name: value["type"] for name, value in schema["properties"].items()}
    assert kinds == {
        "path": "string",
        "code_edit": "string",
        "instruction": "string",
        "dryRun": "boolean",
    }
    assert schema["required"] == ["path", "code_edit", "instruction"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["dryRun"]["default"] is False
    schema = tools["apply_patch"].input_schema
    assert (list(schema["properties"]), schema["required"]) == (["patch", "dryRun"], ["patch"])
    assert schema["additionalProperties"] is False
    for tool in tools.values():
        hints = tool.annotations
        assert (hints.read_only_hint, hints.destructive_hint) == (False, True)


# -- editing


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_edit_is_applied_and_shown(root, mode):
    """The file is written; the answer has counts, strategy, path and a real diff."""
    result = edit(server_of(root), mode=mode)
    assert not result.is_error
    assert (root / "m.py").read_text() == MERGED
    summary, _, diff = text_of(result).partition("\n\n")
    assert summary == (f"Applied to {root / 'm.py'}: added 1, removed 1 lines; strategy direct")
    assert result.structured_content == {
        "status": "applied",
        "path": str(root / "m.py"),
        "strategy": "direct",
        "added": 1,
        "removed": 1,
        "diff": diff,
        "warnings": [],
        "sha256": hashlib.sha256(MERGED.encode()).hexdigest(),
        "moved_to": None,
    }


def test_the_diff_is_one_that_git_accepts(root):
    """The diff of a dry run makes of the old file what the edit would have made."""
    result = edit(server_of(root), dryRun=True)
    assert (root / "m.py").read_text() == TEXT
    assert result.structured_content["status"] == "preview"
    assert text_of(result).startswith("Preview only, nothing written to ")
    diff = result.structured_content["diff"]
    subprocess.run(["git", "apply", "-"], input=diff.encode(), check=True, cwd=root)
    assert (root / "m.py").read_text() == MERGED


def test_bytes_outside_the_edit_stay(root):
    """Encoding, line ends and the missing final newline are the file's own."""
    (root / "m.py").write_bytes(b"# caf\xe9\r\nx = 1\r\nreturn 2")
    assert not edit(server_of(root)).is_error
    assert (root / "m.py").read_bytes() == b"# caf\xe9\r\nx = 1\r\nreturn 20"


def test_an_edit_that_changes_nothing_says_so(root):
    """A whole file equal to the one there is written by nobody."""
    before = (root / "m.py").stat().st_mtime_ns
    result = edit(server_of(root), code_edit=TEXT)
    assert result.structured_content["status"] == "unchanged"
    assert (root / "m.py").stat().st_mtime_ns == before


def test_a_refused_edit_says_why_and_writes_nothing(root):
    """The answer is an error with code, message and the nearest place in the file."""
    wrong = '{"old_str": "    return 3", "new_str": "x"}'
    result = edit(server_of(root, config=Config(strategy="direct")), code_edit=wrong)
    assert result.is_error
    assert result.structured_content["status"] == "refused"
    assert result.structured_content["code"] == "anchor_not_found"
    assert "nearest" in text_of(result)
    assert "Refused (anchor_not_found): " in text_of(result)
    assert "Nothing was written." in text_of(result)
    assert (root / "m.py").read_text() == TEXT


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"path": "m.py", "code_edit": SWAP},
        {"path": "m.py", "code_edit": SWAP, "instruction": "x", "force": True},
        {"path": 1, "code_edit": SWAP, "instruction": "x"},
        {"path": "m.py", "code_edit": SWAP, "instruction": "x", "dryRun": "yes"},
        {"path": "m.py", "code_edit": "", "instruction": "x"},
    ],
)
def test_arguments_that_do_not_fit_are_refused(root, arguments):
    """A missing, unknown or wrong argument is told to the agent, which can then mend its call."""
    result = call(server_of(root), **arguments)
    assert result.is_error
    assert result.structured_content["code"] in ("config_error", "edit_parse_error")
    assert (root / "m.py").read_text() == TEXT


def test_an_unknown_tool_is_a_protocol_error(root):
    """A client that calls another tool gets an error that names those there are."""

    async def session():
        async with Client(server_of(root)) as client:
            with pytest.raises(MCPError, match="edit_file and apply_patch"):
                await client.call_tool("run_shell", {})

    anyio.run(session)


def test_a_new_file_is_made_with_its_folders(root):
    """A missing file is made from an edit without stand-ins, and missing folders with it."""
    result = edit(server_of(root), path="new/pkg/n.py", code_edit="x = 1\n")
    assert not result.is_error
    assert (root / "new/pkg/n.py").read_text() == "x = 1\n"
    assert result.structured_content["diff"].startswith("--- /dev/null\n+++ b/new/pkg/n.py\n")


@pytest.mark.parametrize("code", [MARKED, SWAP])
def test_a_new_file_needs_its_whole_text(root, code):
    """An edit that leaves something out cannot make a file."""
    result = edit(server_of(root), path="n.py", code_edit=code)
    assert result.structured_content["code"] == "file_missing"
    assert not (root / "n.py").exists()


# -- which files


ESCAPES = {
    "parent": "../secret.py",
    "deep parent": "sub/../../secret.py",
    "absolute": "{tmp}/secret.py",
    "linked folder": "linked/secret.py",
    "linked file": "link.py",
    "new behind a link": "linked/new.py",
    "the root itself": ".",
    "nothing": "",
    "a null byte": "m.py\0",
    "git's data": ".git/config",
}


@pytest.mark.parametrize("tool", ["edit_file", "apply_patch"])
@pytest.mark.parametrize("name", ESCAPES)
def test_no_path_leaves_the_root(root, tmp_path, name, tool):
    """Parents, absolute paths and links to elsewhere are refused and neither read nor written."""
    (root / "linked").symlink_to(tmp_path)
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text(TEXT)
    path = ESCAPES[name].format(tmp=tmp_path)
    if tool == "edit_file":
        result = edit(server_of(root), path=path, code_edit="x = 1\n")
    else:
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-    return 2\n+    x\n"
        result = call(server_of(root), tool=tool, patch=patch + "*** End Patch\n")
    assert result.is_error
    assert result.structured_content["code"] in ("file_error", "config_error", "edit_parse_error")
    assert (tmp_path / "secret.py").read_text() == TEXT
    assert not (tmp_path / "new.py").exists()
    assert (root / ".git" / "config").read_text() == TEXT
    assert "return 1" not in text_of(result)


def test_the_root_may_be_a_link(root, tmp_path):
    """What the person named as the root is the root, also by another name."""
    (tmp_path / "other").symlink_to(root)
    assert not edit(server_of(tmp_path / "other")).is_error
    assert (root / "m.py").read_text() == MERGED


def test_a_link_inside_the_root_leads_to_its_file(root):
    """A link that stays inside is followed, and stays a link."""
    (root / "alias.py").symlink_to("m.py")
    assert not edit(server_of(root), path="alias.py").is_error
    assert (root / "alias.py").is_symlink()
    assert (root / "m.py").read_text() == MERGED


def test_an_absolute_path_inside_is_accepted(root):
    """Agents often name files absolutely."""
    assert not edit(server_of(root), path=str(root / "m.py")).is_error
    assert (root / "m.py").read_text() == MERGED


def test_a_folder_that_becomes_a_link_is_noticed(root, tmp_path, monkeypatch):
    """A folder that is swapped for a link between check and reading is not followed."""
    (tmp_path / "two.txt").write_text("two\n")
    resolve = workspace.resolve_inside

    def swapped(folder, name):
        path = resolve(folder, name)
        if not (root / "sub").is_symlink():
            (root / "sub").rename(root / "away")
            (root / "sub").symlink_to(tmp_path)
        return path

    monkeypatch.setattr(workspace, "resolve_inside", swapped)
    result = edit(server_of(root), path="sub/two.txt", code_edit='{"old_str":"two","new_str":"2"}')
    assert result.structured_content["code"] == "file_changed"
    assert (tmp_path / "two.txt").read_text() == "two\n"


@pytest.mark.parametrize("kind", ["pipe", "folder", "binary"])
def test_what_is_no_text_file_is_refused(root, kind):
    """A pipe does not hang the server, and binary bytes are left alone."""
    path = root / "odd"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"\x00\x01\x02 return 2")
    result = edit(server_of(root), path="odd")
    assert result.structured_content["code"] == (
        "file_binary" if kind == "binary" else "file_error"
    )


def test_a_path_finds_its_root_among_several(root, tmp_path):
    """A relative path means the root that has the file; the same file in two roots is refused."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "only.py").write_text(TEXT)
    server = server_of(root, other)
    assert not edit(server, path="only.py").is_error
    assert (other / "only.py").read_text() == MERGED
    (other / "m.py").write_text(TEXT)
    result = edit(server)
    assert result.is_error
    assert "several roots" in text_of(result)
    assert not edit(server, path=str(other / "m.py")).is_error
    assert "not in any of the roots" in text_of(edit(server, path="../secret.py"))
    assert not edit(server, path="new.py", code_edit="x = 1\n").is_error
    assert (root / "new.py").exists()


# -- patches


def test_a_patch_changes_all_its_files(root):
    """A diff over two files writes both, and the answer has a part for each."""
    result = call(server_of(root), tool="apply_patch", patch=PATCH)
    assert not result.is_error, text_of(result)
    assert (root / "m.py").read_text() == MERGED
    assert (root / "sub" / "two.txt").read_text() == "TWO\n"
    structured = result.structured_content
    assert (structured["status"], structured["added"], structured["removed"]) == ("applied", 2, 2)
    assert [each["path"] for each in structured["files"]] == [
        str(root / "m.py"),
        str(root / "sub" / "two.txt"),
    ]
    assert "+    return 20\n" in text_of(result)
    assert "+TWO\n" in text_of(result)


def test_a_patch_may_be_tried(root):
    """A dry run of a patch shows everything and writes nothing."""
    result = call(server_of(root), tool="apply_patch", patch=PATCH, dryRun=True)
    assert result.structured_content["status"] == "preview"
    assert (root / "m.py").read_text() == TEXT
    assert (root / "sub" / "two.txt").read_text() == "two\n"


def test_a_patch_with_one_part_that_fails_writes_nothing(root):
    """All files of a patch are written, or none."""
    (root / "sub" / "two.txt").write_text("other\n")
    result = call(server_of(root), tool="apply_patch", patch=PATCH)
    assert result.structured_content["code"] == "anchor_not_found"
    assert (root / "m.py").read_text() == TEXT


def test_a_patch_adds_deletes_and_moves(root):
    """A V4A patch does in one go what its parts say."""
    patch = (
        "*** Begin Patch\n*** Update File: m.py\n*** Move to: pkg/n.py\n@@\n-    return 2\n"
        "+    return 20\n*** Delete File: sub/two.txt\n*** Add File: more.txt\n+m\n*** End Patch\n"
    )
    result = call(server_of(root), tool="apply_patch", patch=patch)
    assert not result.is_error, text_of(result)
    assert not (root / "m.py").exists()
    assert (root / "pkg" / "n.py").read_text() == MERGED
    assert not (root / "sub" / "two.txt").exists()
    assert (root / "more.txt").read_text() == "m\n"
    moved, deleted, added = result.structured_content["files"]
    assert (moved["moved_to"], deleted["sha256"], added["added"]) == ("pkg/n.py", None, 1)


def test_a_patch_cannot_move_a_file_out(root, tmp_path):
    """The new name of a file must be inside as well."""
    patch = (
        "*** Begin Patch\n*** Update File: m.py\n*** Move to: ../n.py\n@@\n-    return 2\n"
        "+    return 20\n*** End Patch\n"
    )
    result = call(server_of(root), tool="apply_patch", patch=patch)
    assert result.structured_content["code"] == "file_error"
    assert (root / "m.py").read_text() == TEXT
    assert not (tmp_path / "n.py").exists()


# -- the target


def test_a_snippet_is_written_by_the_target(root):
    """A lazy snippet goes to the target, and the answer says whose text it is."""
    result = edit(server_of(root, engine=writing_engine(MERGED)), code_edit=LAZY)
    assert not result.is_error, text_of(result)
    assert result.structured_content["strategy"] == "model"
    assert (root / "m.py").read_text() == MERGED


def test_progress_is_told_to_a_client_that_asks(root, monkeypatch):
    """A client with a progress callback hears growing numbers while the target writes."""
    monkeypatch.setattr("apply_edit.mcp.server._PROGRESS_S", 0.005)
    told = []

    async def progress(done, total, message):
        told.append((done, total, message))

    async def session():
        server = server_of(root, engine=writing_engine(MERGED), config=Config(gamma=0))
        async with Client(server) as client:
            arguments = {"path": "m.py", "code_edit": LAZY, "instruction": "x"}
            return await client.call_tool("edit_file", arguments, progress_callback=progress)

    assert not anyio.run(session).is_error
    assert told
    assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})
    assert told[-1][2] == "writing"


def test_two_edits_of_one_file_at_once_both_arrive(root):
    """An agent may send several edits of a file together; each sees the one before."""

    async def session():
        server = server_of(root, engine=writing_engine(MERGED))
        other = '{"old_str": "return 1", "new_str": "return 10"}'
        async with Client(server) as client, anyio.create_task_group() as tasks:
            for code in (LAZY, other):
                arguments = {"path": "m.py", "code_edit": code, "instruction": "x"}
                tasks.start_soon(client.call_tool, "edit_file", arguments)

    anyio.run(session)
    assert "return 10\n" in (root / "m.py").read_text()
    assert "return 20\n" in (root / "m.py").read_text()


class Endless:
    """An engine that writes until it is told to stop."""

    def __init__(self):
        self.began = threading.Event()
        self.stopped = threading.Event()

    def rewrite(self, job, settings, observer=None, cancelled=None):
        """Wait to be cancelled."""
        self.began.set()
        while not cancelled():
            self.stopped.wait(0.01)
        self.stopped.set()
        message = "cancelled"
        raise Cancelled(message)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_cancelled_edit_stops_the_target_and_writes_nothing(root, mode):
    """When the client cancels, the target stops and the file stays; the next edit works."""
    engine = Endless()

    async def session():
        async with Client(server_of(root, engine=engine), mode=mode) as client:
            arguments = {"path": "m.py", "code_edit": LAZY, "instruction": "x"}
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "edit_file", arguments)
                await anyio.to_thread.run_sync(engine.began.wait, 5)
                tasks.cancel_scope.cancel()
            assert await anyio.to_thread.run_sync(engine.stopped.wait, 5)
            assert (root / "m.py").read_text() == TEXT
            arguments = {"path": "m.py", "code_edit": SWAP, "instruction": "x"}
            return await client.call_tool("edit_file", arguments)

    assert not anyio.run(session).is_error
    assert (root / "m.py").read_text() == MERGED


def test_a_file_that_changed_while_the_target_wrote_is_not_written(root):
    """A write by somebody else wins, and the agent is told to read again."""
    inner = writing_engine(MERGED)

    class Slow:
        def rewrite(self, *args):
            (root / "m.py").write_text("somebody else\n")
            return inner.rewrite(*args)

    result = edit(server_of(root, engine=Slow()), code_edit=LAZY)
    assert result.structured_content["code"] == "file_changed"
    assert (root / "m.py").read_text() == "somebody else\n"


def test_a_running_service_is_used(root, tmp_path, monkeypatch):
    """With a running service the tool server loads no target."""
    monkeypatch.setattr("apply_edit.applier.locate", None)
    api = Native()
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(tmp_path / "sock"))
    sock.listen()
    names = {"target": Config().target, "device": "auto", "dtype": "auto"}
    with served(api.app, sock), announce(Address(uds=tmp_path / "sock"), **names):
        result = edit(server_of(root, use_service=True), code_edit=LAZY)
    assert not result.is_error, text_of(result)
    assert (root / "m.py").read_text() == SERVICE_MERGED
    assert api.requests[0][1]["edit"] == LAZY


# -- roots of the client


def offering(*uris):
    """Return the options of a client that has roots."""

    async def roots(context):
        return ListRootsResult(roots=[Root(uri=uri) for uri in uris])

    return {"list_roots_callback": roots}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_s_roots_are_taken(root, mode):
    """Without --root a client that has roots says what may be edited, in old and new protocols."""
    server = server_of()
    client = offering(root.as_uri())
    assert not edit(server, path=str(root / "m.py"), mode=mode, client=client).is_error
    assert (root / "m.py").read_text() == MERGED
    outside = edit(server, path="../secret.py", mode=mode, client=client)
    assert outside.structured_content["code"] == "file_error"


def test_named_roots_are_not_widened_by_a_client(root, tmp_path):
    """With --root a client's own roots do not count."""
    result = edit(server_of(root), path=str(tmp_path / "secret.py"), client=offering("file:///"))
    assert result.structured_content["code"] == "file_error"


def test_a_client_without_roots_gets_the_working_directory(root, monkeypatch):
    """Where nobody names a root it is the folder that the server was started in."""
    monkeypatch.chdir(root)
    assert not edit(server_of()).is_error
    assert (root / "m.py").read_text() == MERGED


@pytest.mark.parametrize("place", ["/", "home"])
def test_the_whole_disk_and_the_home_folder_are_no_default(root, monkeypatch, place):
    """A server that was started just anywhere opens nothing until it is told what."""
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.chdir(root if place == "home" else place)
    result = edit(server_of(), path=str(root / "m.py"))
    assert result.structured_content["code"] == "config_error"
    assert "--root" in text_of(result)
    assert (root / "m.py").read_text() == TEXT


def test_roots_that_are_no_folders_here_are_refused(root):
    """Remote roots and files are nothing to edit in."""
    with pytest.raises(ConfigError, match="no folder"):
        of_client(["https://host/x", "file://other/x", (root / "m.py").as_uri(), "file:///no/x"])
    spaced = root / "two words"
    spaced.mkdir()
    assert of_client([spaced.as_uri(), spaced.as_uri()]).folders == (spaced,)


def test_a_root_must_be_a_folder(root):
    """A misspelt --root is an error at the start."""
    with pytest.raises(ConfigError, match="no folder"):
        given((root / "nowhere",))


# -- HTTP


@contextlib.contextmanager
def http(root, **settings):
    """Serve over HTTP; yields the URL."""
    sock = socket.create_server(("127.0.0.1", 0))
    app = http_app(server_of(root), HttpSettings(**settings))
    with served(app, sock, lifespan="on"):
        yield f"http://127.0.0.1:{sock.getsockname()[1]}/mcp"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_tools_work_over_http(root, mode):
    """An HTTP client lists and calls the tools."""

    async def session(url):
        async with (
            httpx.AsyncClient(headers={"Authorization": "Bearer secret"}) as network,
            Client(streamable_http_client(url, http_client=network), mode=mode) as client,
        ):
            arguments = {"path": "m.py", "code_edit": SWAP, "instruction": "x"}
            return await client.call_tool("edit_file", arguments)

    with http(root, token="secret") as url:
        result = anyio.run(session, url)
    assert not result.is_error
    assert (root / "m.py").read_text() == MERGED


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer sécret".encode()}, 401),
        ({"Content-Type": "text/plain"}, 400),
    ],
)
def test_requests_from_elsewhere_are_refused(root, headers, status):
    """A page in a browser, a rebound name and a wrong token get no answer from the tools."""
    good = {
        "Authorization": "Bearer secret",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    call_ = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "edit_file",
            "arguments": {"path": "m.py", "code_edit": SWAP, "instruction": "x"},
        },
    }
    with http(root, token="secret") as url:
        response = httpx.post(url, headers=good | headers, content=json.dumps(call_))
    assert response.status_code == status
    assert (root / "m.py").read_text() == TEXT


def test_a_large_body_is_refused(root):
    """Nobody can fill the memory with one request."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with http(root) as url:
        response = httpx.post(url, headers=headers, content=b"x" * 5_000_000)
    assert response.status_code == 413


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_other_machines_need_a_token(host):
    """Without a token only this machine can connect."""
    with pytest.raises(ConfigError, match="token"):
        HttpSettings(host=host)
    assert HttpSettings(host=host, token="x").host == host
    assert HttpSettings(host="127.0.0.2").token is None


# -- the command


def test_the_command_refuses_a_root_that_is_none(tmp_path):
    """A wrong --root is one message and code 2, on standard error alone."""
    command = [sys.executable, "-m", "apply_edit", "mcp", "--root", tmp_path / "nowhere"]
    done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no folder" in done.stderr
