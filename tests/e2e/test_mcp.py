"""The tool server as an agent starts it: a process of its own, spoken to by the official client."""

import json
import os
import re
import signal
import subprocess
import sys

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

TEXT = "def a():\n    return 1\n"
MERGED = "def a():\n    return 10\n"
SWAP = '{"old_str": "return 1", "new_str": "return 10"}'


@pytest.fixture
def root(tmp_path):
    """A folder with one file, and a secret beside it."""
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "m.py").write_text(TEXT)
    (tmp_path / "secret.py").write_text(TEXT)
    return folder


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_agent_s_session_over_stdio(root, tmp_path, mode):
    """Tools are listed, an edit is tried and applied, a wrong one and an escape are refused."""
    answers = {}

    async def session(log):
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "apply_edit", "mcp", "--root", str(root)],
            env={"APPLY_EDIT_HOME": str(tmp_path / "home")},
        )
        async with Client(stdio_client(server, errlog=log), mode=mode) as client:
            answers["tools"] = [tool.name for tool in (await client.list_tools()).tools]

            async def edit(name, **arguments):
                values = {"path": "m.py", "code_edit": SWAP, "instruction": "a returns 10"}
                answers[name] = await client.call_tool("edit_file", values | arguments)

            await edit("preview", dryRun=True)
            answers["untouched"] = (root / "m.py").read_text()
            await edit("applied")
            await edit("refused", code_edit=SWAP.replace("return 1", "nothing like it at all"))
            await edit("escaped", path="../secret.py")

    with open(tmp_path / "log", "w+") as log:
        anyio.run(session, log)
        log.seek(0)
        assert log.read() == ""
    assert answers["tools"] == ["edit_file", "apply_patch"]
    assert answers["preview"].structured_content["status"] == "preview"
    assert "+    return 10\n" in answers["preview"].content[0].text
    assert answers["untouched"] == TEXT
    assert answers["applied"].structured_content["status"] == "applied"
    assert answers["refused"].is_error
    assert answers["refused"].structured_content["code"] == "anchor_not_found"
    assert answers["escaped"].is_error
    assert (root / "m.py").read_text() == MERGED
    assert (tmp_path / "secret.py").read_text() == TEXT


def test_a_request_written_by_hand_gets_one_line_of_protocol(root):
    """Standard output carries protocol only: each line is one JSON-RPC message."""
    first = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    edit = {"path": "m.py", "code_edit": SWAP, "instruction": "x"}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": first},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "edit_file", "arguments": edit},
        },
    ]
    command = [sys.executable, "-m", "apply_edit", "mcp", "--root", root, "--no-service"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdin.write(b"no json\n")
        for message in messages:
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        rest, _ = process.communicate(timeout=20)
    assert (rest, process.returncode) == (b"", 0)
    assert [line["id"] for line in lines] == [1, 2]
    assert lines[1]["result"]["isError"] is False
    assert (root / "m.py").read_text() == MERGED


def test_ctrl_c_ends_the_server(root):
    """An interrupt ends it at once, although it waits for input."""
    command = [sys.executable, "-m", "apply_edit", "mcp", "--root", root]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == -signal.SIGINT
        assert process.stderr.read() == b""


def test_the_server_over_http_says_where_it_listens(root):
    """With --http a free port is taken and told on standard error, and a client can use it."""
    command = [sys.executable, "-m", "apply_edit", "mcp", "--root", root, "--http", "--port", "0"]

    async def session(url):
        async with Client(url) as client:
            values = {"path": "m.py", "code_edit": SWAP, "instruction": "x"}
            return await client.call_tool("edit_file", values)

    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        told = process.stderr.readline().decode()
        url = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+/mcp)\n", told)[1]
        result = anyio.run(session, url)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=20)
    assert not result.is_error
    assert (root / "m.py").read_text() == MERGED
    assert out == b""
    assert b"Traceback" not in errors
