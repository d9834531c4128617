"""Every snippet of docs/clients.md works: some are run, settings are taken at their word."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from apply_edit.service.settings import Settings
from tests.e2e.continue_filters import survive
from tests.service.dialect_app import DIFF, MERGED, ORIGINAL, app_with, morph
from tests.service.served import served

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
DOCUMENTED = "http://127.0.0.1:8417"


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    """The root of a service; its target knows how the lazy snippet of the page ends."""
    with served(app_with("a = 3\nb = 2\n")) as url:
        yield url


def snippet(heading: str, language: str, base: str) -> str:
    """Return the code under a heading, with the address of the test's service."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    (code,) = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert DOCUMENTED in code
    return code.replace(DOCUMENTED, base)


def ask(url: str, body: dict[str, Any]) -> str:
    """Send a chat as a client that streams does, and return the text."""
    reply = httpx.post(url, json={**body, "stream": True}, headers={"Authorization": "Bearer none"})
    assert reply.status_code == 200, reply.text
    data = [line[6:] for line in reply.text.split("\n") if line.startswith("data: {")]
    return "".join(json.loads(each)["choices"][0]["delta"].get("content", "") for each in data)


def test_the_curl_command_merges(base):
    """The command of the page gives the merged file."""
    command = snippet("curl", "console", base).removeprefix("$ ")
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True, timeout=30)
    reply = json.loads(done.stdout)
    assert reply["choices"][0]["message"]["content"] == "a = 3\nb = 2\n"


def test_the_python_example_edits_the_file(base, tmp_path, monkeypatch):
    """The example writes the merged file, line ends as they were."""
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_bytes(ORIGINAL.replace("\n", "\r\n").encode())
    Path("edit.md").write_text(DIFF)
    names: dict[str, Any] = {}
    exec(snippet("openai for Python", "python", base), names)
    names["client"].close()
    assert Path("app.py").read_bytes() == MERGED.replace("\n", "\r\n").encode()


def test_morphmcps_settings_lead_to_the_route(base):
    """The URL in the settings, with the path that the client appends, answers a stream."""
    settings = json.loads(snippet("morphmcp", "json", base))["mcpServers"]["morph"]
    assert settings["args"][-1] == "@morphllm/morphmcp"
    assert ask(settings["env"]["MORPH_API_URL"] + "/v1/chat/completions", morph()) == MERGED


def test_continues_settings_lead_to_answers_that_survive(base):
    """The template, sent to the base of the settings, gives an answer that the filters pass."""
    (model,) = yaml.safe_load(snippet("Continue", "yaml", base))["models"]
    assert (model["provider"], model["roles"]) == ("openai", ["apply"])
    prompt = model["promptTemplates"]["apply"]
    prompt = prompt.replace("{{{ original_code }}}", ORIGINAL).replace("{{{ new_code }}}", DIFF)
    body = {
        "model": model["model"],
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": model["defaultCompletionOptions"]["maxTokens"],
        "temperature": model["defaultCompletionOptions"]["temperature"],
    }
    assert survive(ask(model["apiBase"] + "chat/completions", body)) == MERGED.removesuffix("\n")


def test_avantes_settings_lead_to_the_route(base):
    """The endpoint in the Lua settings, with the path that the client appends, answers."""
    code = snippet("avante.nvim", "lua", base)
    assert code.count("{") == code.count("}")
    assert re.search(r"morph = \{\s*endpoint", code)
    endpoint = re.search(r'endpoint = "([^"]+)"', code)
    model = re.search(r'model = "([^"]+)"', code)
    assert endpoint is not None
    assert model is not None
    assert ask(endpoint[1] + "/chat/completions", morph(model=model[1])) == MERGED


def test_relace_mcps_settings_lead_to_the_route(base):
    """The endpoint in the settings, with the path that the client appends, answers."""
    settings = json.loads(snippet("relace-mcp", "json", base))["mcpServers"]["relace"]["env"]
    assert settings["APPLY_PROVIDER"] != "relace"
    assert ask(settings["APPLY_ENDPOINT"] + "/chat/completions", morph(model="auto")) == MERGED


def test_the_page_names_the_default_port():
    """The address on the page is the one that the service listens on unless told otherwise."""
    fields = Settings.model_fields
    assert f"http://{fields['host'].default}:{fields['port'].default}" == DOCUMENTED


def test_every_snippet_of_the_page_is_tested():
    """No fenced block of the page goes without a test above."""
    languages = re.findall(r"^```(\w+)$", PAGE, re.MULTILINE)
    assert languages == ["console", "python", "json", "yaml", "lua", "json"]
