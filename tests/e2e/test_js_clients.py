"""Morph's own clients from their registry, with another base URL and nothing else changed."""

import json
import subprocess
from collections.abc import Iterator

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.e2e import js_clients
from tests.e2e.js_clients import CLIENTS, JsClients
from tests.fakes import writing_engine
from tests.service.dialect_app import NOWHERE
from tests.service.kit import LAZY, MERGED, ORIGINAL, service
from tests.service.served import served

pytestmark = pytest.mark.slow

CRLF = ORIGINAL.replace("\n", "\r\n").encode()
CRLF_MERGED = MERGED.replace("\n", "\r\n").encode()
# From 131,072 characters on the SDK sends a table of lines and a skeleton instead of the file.
LARGE = "".join(f"value_{n} = {n}  # line {n} of a large file\n" for n in range(4000))
LARGE_EDIT = '{"old_str": "value_7 = 7 ", "new_str": "value_7 = 70 "}'
INSTRUCTION = "I let a return 42"
FILES = {"a.py": ORIGINAL.encode(), "crlf.py": CRLF, "refused.py": ORIGINAL.encode()}
EDITS = {"a.py": LAZY, "crlf.py": LAZY, "refused.py": NOWHERE}
EXPECTED = {"a.py": MERGED.encode(), "crlf.py": CRLF_MERGED, "refused.py": ORIGINAL.encode()}


@pytest.fixture(scope="module")
def clients() -> JsClients:
    """The clients, installed."""
    return js_clients.installed()


class Contexts:
    """Notes what requests say about the way in which their file is written."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.seen: list[str | None] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Note a request and pass it on."""
        if scope["type"] == "http":
            self.seen.append(Headers(scope=scope).get("x-morph-apply-context"))
        await self._app(scope, receive, send)


@pytest.fixture
def contexts() -> Contexts:
    """A service whose target writes what the edits ask for."""
    return Contexts(service(writing_engine(MERGED)))


@pytest.fixture
def base(clients, contexts) -> Iterator[str]:
    """The service's base URL."""
    with served(contexts) as url:
        yield url


@pytest.fixture
def folder(tmp_path):
    """A folder with the files that are edited."""
    root = (tmp_path / "work").resolve()
    root.mkdir()
    for name, data in FILES.items():
        (root / name).write_bytes(data)
    return root


def content(folder) -> dict[str, bytes]:
    """Return the bytes of all files."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_morphsdk(clients, base, contexts, folder):
    """Files get the exact result, CRLF stays, and a refusal is an error that writes nothing."""
    calls = [
        {"target_filepath": name, "instruction": INSTRUCTION, "code_edit": edit}
        for name, edit in EDITS.items()
    ]
    calls += [
        {"originalCode": ORIGINAL, "instruction": INSTRUCTION, "codeEdit": LAZY},
        {"originalCode": LARGE, "instruction": INSTRUCTION, "codeEdit": LARGE_EDIT},
    ]
    done = subprocess.run(
        [*clients.command, CLIENTS / "sdk.mjs", clients.folder],
        input=json.dumps({"url": base, "folder": str(folder), "calls": calls}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    plain, crlf, refused, code, large = json.loads(done.stdout)
    assert plain["success"], plain
    assert crlf["success"], crlf
    assert refused["success"] is False
    assert refused["error"].startswith("422 the old text is not in the file")
    assert code["mergedCode"] == MERGED
    assert contexts.seen == [None, None, None, None, "extralong"]
    assert large["mergedCode"] == LARGE.replace("value_7 = 7 ", "value_7 = 70 ")
    assert content(folder) == EXPECTED


def test_morphmcp(clients, base, folder, tmp_path):
    """Its edit_file writes the exact result, keeps CRLF, and says of a refusal that it failed."""
    answers = {}

    async def session(log):
        server = StdioServerParameters(
            command=clients.command[0],
            args=[*clients.command[1:], clients.module("@morphllm/morphmcp/dist/index.js")],
            cwd=folder,
            env={"MORPH_API_URL": base, "MORPH_API_KEY": "sk-any", "HOME": str(tmp_path)},
        )
        async with Client(stdio_client(server, errlog=log), mode="legacy") as client:

            async def edit(name, **more):
                values = {"path": str(folder / name), "code_edit": EDITS[name]}
                return await client.call_tool(
                    "edit_file", {**values, "instruction": INSTRUCTION, **more}
                )

            answers["preview"] = await edit("a.py", dryRun=True)
            assert content(folder) == FILES
            for name in EDITS:
                answers[name] = await edit(name)

    with open(tmp_path / "log", "w") as log:
        anyio.run(session, log)
    assert "Morph Edit Preview" in answers["preview"].content[0].text
    assert not answers["a.py"].is_error
    assert not answers["crlf.py"].is_error
    assert answers["refused.py"].is_error
    assert "422 the old text is not in the file" in answers["refused.py"].content[0].text
    assert content(folder) == EXPECTED
