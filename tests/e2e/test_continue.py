from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from apply_edit.errors import GuardRefused
from apply_edit.service.dialects import continue_
from tests.e2e.continue_filters import survive
from tests.service.dialect_app import app_with, client_of

EDIT = '{"old_str": "old", "new_str": "new"}'
FILES = {
    "plain": "const a = 1;\nconst old = 2;\n",
    "comments": "# a comment\n# another\nold = 1  # third\n",
    "a class": "class A:\n    old = 1\n",
    "a YAML key": "services:\n  old:\n    image: x\n",
    "try": "try:\n    old()\nexcept ValueError:\n    pass\n",
    "a greeting": "Here is the old text.\n\nIt goes on.\n",
    "blank lines first": "\n\n\nold = 1\n",
    "blank lines last": "old = 1\n\n\n",
    "no final newline": "old = 1",
    "explanation": "x = old\nExplanation: none\nThe above is all.\n",
    "heading": "# Title\n\nold text:\n",
}
FENCED = {
    "Markdown": "# Title\n\n```sh\nls old\n```\n\nmore\n",
    "a docstring": 'def old():\n    """Do.\n\n    ```\n    x\n    ```\n    """\n',
}
CONTINUE = "<code>{}</code>\n<update>{}</update>"
DEFAULT = (
    "ORIGINAL CODE:\n```\n{}\n```\n\nSUGGESTED EDIT:\n```\n{}\n```\n\n"
    "Apply the SUGGESTED EDIT to the ORIGINAL CODE."
)


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A client of the service."""
    with client_of(app_with()) as client:
        yield client


def ask(client: TestClient, original: str, base: str = "/continue/v1", template: str = CONTINUE):
    """Replay the request that Continue sends for an apply."""
    messages = [{"role": "user", "content": template.format(original, EDIT)}]
    if template is DEFAULT:
        messages.append({"role": "assistant", "content": "```\n"})
    body = {"model": "local-apply", "messages": messages, "max_tokens": 4096, "temperature": 0}
    return client.post(f"{base}/chat/completions", json=body)


def text_of(reply: Any) -> str:
    """Return the text of an answer."""
    return reply.json()["choices"][0]["message"]["content"]


@pytest.mark.parametrize("name", FILES)
def test_our_answers_survive_continues_filters(client, name):
    """What is left of a fenced answer is the merged file, up to the final newline."""
    merged = FILES[name].replace("old", "new")
    assert survive(text_of(ask(client, FILES[name]))) == merged.removesuffix("\n")


@pytest.mark.parametrize(
    "name", ["a class", "a YAML key", "try", "a greeting", "blank lines first"]
)
def test_bare_answers_do_not(client, name):
    """The filters cut the same files when the answer is bare, so the fence is needed."""
    merged = FILES[name].replace("old", "new")
    bare = text_of(ask(client, FILES[name], "/v1"))
    assert bare == merged
    assert survive(bare) != merged.removesuffix("\n")


@pytest.mark.parametrize("name", FENCED)
def test_files_with_fences_are_refused(client, name):
    """A file with a fence would be cut in any dress, so it is refused with 422 and the reason."""
    merged = FENCED[name].replace("old", "new")
    assert survive(continue_.fenced(merged)) != merged.removesuffix("\n")
    reply = ask(client, FENCED[name])
    assert reply.status_code == 422
    assert "code fence" in reply.json()["error"]["message"]


@pytest.mark.parametrize("name", FILES)
def test_continues_default_prompt_is_known_under_any_base(client, name):
    """The default prompt is Continue's alone, so its answer is fenced under /v1 too."""
    merged = FILES[name].replace("old", "new")
    reply = ask(client, FILES[name], "/v1", DEFAULT)
    assert survive(text_of(reply)) == merged.removesuffix("\n")


LINES = st.sampled_from(
    [
        "a",
        "",
        "  b",
        "c:",
        "here is",
        "```",
        "  ```",
        "```sh",
        "````",
        "# End of file.",
        "x # End of file.",
        "x# End of file.",
        "[CODE]",
        "<COMPLETION>",
        "[/CODE]",
        "x [/CODE]",
        "x[/CODE]",
        "</START EDITING HERE>",
        " </START EDITING HERE>",
        "<STOP EDITING HERE>",
        "The above",
    ]
)


@given(st.lists(LINES, max_size=6).map("\n".join))
def test_whatever_is_not_refused_survives(text):
    """Any text that is let through comes out of the filters as it went in."""
    try:
        continue_.require_survival(text, "the file")
    except GuardRefused:
        return
    assert survive(continue_.fenced(text)) == text.removesuffix("\n")


@given(st.lists(LINES, max_size=6).map("\n".join))
def test_refusals_are_not_for_nothing(text):
    """A text is refused only where the filters would change it."""
    if survive(continue_.fenced(text)) == text.removesuffix("\n"):
        continue_.require_survival(text, "the file")
