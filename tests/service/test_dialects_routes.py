import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.service.dialect_app import (
    DIFF,
    LAZY,
    MERGED,
    NOWHERE,
    ORIGINAL,
    app_with,
    client_of,
    morph,
)

CHATS = ["/v1/chat/completions", "/v1/apply/chat/completions"]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A client of a service whose target must not be asked."""
    with client_of(app_with()) as client:
        yield client


def sse(text: str) -> list[Any]:
    """Return the events of a stream; ``[DONE]`` and comments as they are."""
    found = []
    for block in text.split("\n\n"):
        if block.startswith("data: {"):
            found.append(json.loads(block.removeprefix("data: ")))
        elif block:
            found.append(block)
    return found


def content(events: list[Any]) -> str:
    """Return the text that a stream carries."""
    choices = [each["choices"][0] for each in events if isinstance(each, dict) and each["choices"]]
    return "".join(choice["delta"].get("content", "") for choice in choices)


@pytest.mark.parametrize("path", CHATS)
@pytest.mark.parametrize("model", ["morph-v3-fast", "auto", "relace/relace-apply-3", "x", None])
def test_a_chat_is_answered_with_the_merged_file(client, path, model):
    """Under both prefixes and any model name the answer is the merged file and nothing else."""
    reply = client.post(path, json=morph(model=model), headers={"Authorization": "Bearer any"})
    assert reply.status_code == 200
    body = reply.json()
    assert body["choices"][0]["message"]["content"] == MERGED
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["model"] == (model or "apply-edit")
    assert body["usage"]["completion_tokens"] == -(-len(MERGED) // 4)
    assert body["usage"]["total_tokens"] > body["usage"]["prompt_tokens"] > 0
    assert body["apply_edit"] == {"strategy": "direct", "format": "udiff", "warnings": []}


@pytest.mark.parametrize(
    ("original", "diff", "merged"),
    [
        ("a = 1\r\nb = 2\r\n", "@@ -1 +1 @@\n-a = 1\n+a = 3\n", "a = 3\r\nb = 2\r\n"),
        ("a = 1\nb = 2", "@@ -1 +1 @@\n-a = 1\n+a = 3\n", "a = 3\nb = 2"),
        ("\ufeffa = 1\nb = 2\n", "@@ -1 +1 @@\n-a = 1\n+a = 3\n", "\ufeffa = 3\nb = 2\n"),
        ("\n\na = 1  \n\n\n", "@@ -3 +3 @@\n-a = 1  \n+a = 3\n", "\n\na = 3\n\n\n"),
        ("t = '</code>'\na = 1\n", "@@ -2 +2 @@\n-a = 1\n+a = 3\n", "t = '</code>'\na = 3\n"),
        ("t = '<|im_end|>'\na = 1\n", "@@ -2 +2 @@\n-a = 1\n+a = 3\n", "t = '<|im_end|>'\na = 3\n"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_bytes_outside_the_edit_come_back(client, original, diff, merged, stream):
    """Line ends, a missing final newline, byte order mark and tags inside come back exactly."""
    reply = client.post("/v1/chat/completions", json=morph(original, diff, stream=stream))
    text = content(sse(reply.text)) if stream else reply.json()["choices"][0]["message"]["content"]
    assert text == merged


def test_a_byte_order_mark_is_no_part_of_the_first_line(client):
    """A snippet that quotes the first line without the mark is merged, and the mark stays."""
    lazy = "import os\nimport re\n# ... existing code ...\n"
    reply = client.post(
        "/v1/chat/completions",
        json=morph("\ufeff" + ORIGINAL, DIFF.replace("@@ -4,2 +4,2 @@", "@@")),
    )
    assert reply.json()["choices"][0]["message"]["content"] == "\ufeff" + MERGED
    expected = ORIGINAL.replace("import os\n", "import os\nimport re\n")
    with client_of(app_with(expected)) as other:
        reply = other.post("/v1/chat/completions", json=morph("\ufeff" + ORIGINAL, lazy))
    assert reply.json()["choices"][0]["message"]["content"] == "\ufeff" + expected


def test_parts_of_a_message_are_joined(client):
    """A message in parts is the text of its parts, with nothing between them."""
    text = morph()["messages"][0]["content"]
    parts = [{"type": "text", "text": text[:40]}, {"type": "text", "text": text[40:]}]
    body = {"messages": [{"role": "user", "content": parts}]}
    reply = client.post("/v1/chat/completions", json=body)
    assert reply.json()["choices"][0]["message"]["content"] == MERGED


@pytest.mark.parametrize(
    "prediction",
    [
        {"type": "content", "content": ORIGINAL},
        {"content": ORIGINAL},
        {"type": "content", "content": [{"type": "text", "text": ORIGINAL}]},
    ],
)
def test_the_prediction_is_the_file(client, prediction):
    """A prediction as string, without type, or in parts is the file that the message edits."""
    body = {"messages": [{"role": "user", "content": DIFF}], "prediction": prediction}
    reply = client.post("/v1/chat/completions", json={"model": "gpt-4o", "temperature": 0, **body})
    assert reply.json()["choices"][0]["message"]["content"] == MERGED


def test_text_completions_take_prompt_and_prediction(client):
    """The text route merges tags in a prompt, and a prompt into its prediction."""
    prompt = morph()["messages"][0]["content"]
    for body in ({"prompt": prompt}, {"prompt": [DIFF], "prediction": {"content": ORIGINAL}}):
        reply = client.post("/v1/completions", json=body)
        assert reply.json()["choices"][0]["text"] == MERGED
        assert reply.json()["object"] == "text_completion"
    reply = client.post("/v1/completions", json={"prompt": prompt, "stream": True})
    pieces = [each["choices"][0]["text"] for each in sse(reply.text) if isinstance(each, dict)]
    assert "".join(pieces) == MERGED


def test_a_stream_is_a_stream(client):
    """Asked to stream, the answer is server-sent events that end in [DONE]."""
    body = morph(stream=True, stream_options={"include_usage": True})
    reply = client.post("/v1/chat/completions", json=body)
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = sse(reply.text)
    assert content(events) == MERGED
    assert events.pop() == "data: [DONE]"
    assert events[-1]["usage"]["completion_tokens"] > 0
    assert events[-2]["choices"][0]["finish_reason"] == "stop"
    assert events[-2]["apply_edit"]["strategy"] == "direct"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (morph(update=NOWHERE), 422, "anchor_not_found"),
        (morph("x = 1\nx = 1\n", '{"old_str": "1", "new_str": "2"}'), 422, "ambiguous_anchor"),
        ({"messages": [{"role": "user", "content": "hello"}]}, 400, "request_error"),
        ({"messages": [{"role": "user", "content": "<code>a"}]}, 422, "edit_parse_error"),
        (
            morph(update="--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", code="a\n"),
            400,
            "request_error",
        ),
    ],
)
def test_refusals_are_errors_and_never_text(client, body, status, code, stream):
    """A refusal is an HTTP error with OpenAI's error object, streamed or not."""
    reply = client.post("/v1/chat/completions", json={**body, "stream": stream})
    assert reply.status_code == status
    assert set(reply.json()) == {"error"}
    error = reply.json()["error"]
    assert error["code"] == code
    assert error["type"] == "invalid_request_error"
    assert error["message"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 2),
        ("tools", [{"type": "function"}]),
        ("tool_choice", "required"),
        ("functions", [{}]),
        ("logprobs", True),
        ("response_format", {"type": "json_object"}),
        ("logit_bias", {"1": 2}),
        ("modalities", ["audio"]),
        ("audio", {"voice": "x"}),
    ],
)
def test_what_is_not_offered_is_named(client, field, value):
    """A field that would change what an answer is gets an error that names it."""
    reply = client.post("/v1/chat/completions", json=morph(**{field: value}))
    assert reply.status_code == 400
    assert reply.json()["error"]["param"] == field


def test_what_asks_for_nothing_is_accepted(client):
    """Neutral values, sampling parameters and unknown fields change nothing."""
    neutral = {"n": 1, "tools": [], "logprobs": False, "response_format": {"type": "text"}}
    sampling = {"temperature": 1.5, "top_p": 0.1, "seed": 3, "stop": ["def"], "user": "u"}
    body = morph(**neutral, **sampling, presence_penalty=1, stream_options=None, whatever={"x": 1})
    reply = client.post("/v1/chat/completions", json=body)
    assert reply.json()["choices"][0]["message"]["content"] == MERGED


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_text_over_the_limit_is_cut_and_says_so(client, name, stream):
    """A limit below the text gives its beginning and finish_reason length."""
    body = morph(stream=stream, **{name: 3})
    reply = client.post("/v1/chat/completions", json=body)
    if stream:
        events = sse(reply.text)
        reason, text = events[-2]["choices"][0]["finish_reason"], content(events)
    else:
        choice = reply.json()["choices"][0]
        reason, text = choice["finish_reason"], choice["message"]["content"]
    assert (reason, text) == ("length", MERGED[:12])


def test_a_limit_that_is_enough_cuts_nothing(client):
    """A limit of exactly the text's tokens leaves it whole."""
    reply = client.post("/v1/chat/completions", json=morph(max_tokens=-(-len(MERGED) // 4)))
    assert reply.json()["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    "bad",
    [
        {"messages": []},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        {"messages": "x"},
        {**morph(), "max_tokens": 0},
        {**morph(), "prediction": {"type": "other", "content": "x"}},
        {},
    ],
)
def test_bodies_of_another_shape_are_refused(client, bad):
    """A body that does not fit is a 4xx in the same form."""
    reply = client.post("/v1/chat/completions", json=bad)
    assert reply.status_code == 422
    assert reply.json()["error"]["code"] == "invalid_request"


@pytest.mark.parametrize("place", ["model", "content", "prediction"])
def test_half_a_surrogate_pair_is_refused(client, place):
    """Text that is no Unicode is a 4xx wherever it stands, not a fault of the service."""
    body: dict[str, Any] = morph()
    if place == "model":
        body["model"] = "\ud800"
    elif place == "content":
        body["messages"][0]["content"] += "\ud800"
    else:
        body = {"messages": [{"content": DIFF}], "prediction": {"content": ORIGINAL + "\ud800"}}
    headers = {"Content-Type": "application/json"}
    reply = client.post("/v1/chat/completions", content=json.dumps(body), headers=headers)
    assert 400 <= reply.status_code < 500


def test_the_path_in_the_metadata_is_a_label(client):
    """A path in the metadata tells which part of a patch is meant; no file is opened."""
    patch = "".join(f"--- a/{name}\n+++ b/{name}\n{DIFF}" for name in ("one.py", "two.py"))
    assert client.post("/v1/chat/completions", json=morph(update=patch)).status_code == 422
    reply = client.post(
        "/v1/chat/completions", json=morph(update=patch, metadata={"path": "two.py"})
    )
    assert reply.json()["choices"][0]["message"]["content"] == MERGED


@pytest.mark.parametrize(
    "names",
    [
        ("initial_code", "edit_snippet", "instruction", "relace_metadata"),
        ("initialCode", "editSnippet", "instructions", "relace-metadata"),
    ],
)
def test_relaces_route_answers_in_relaces_words(client, names):
    """Both spellings work; the answer has mergedCode and usage, and metadata is ignored."""
    body = dict(zip(names, (ORIGINAL, DIFF, "I change a", {"any": "thing"}), strict=True))
    reply = client.post("/v1/code/apply", json={**body, "model": "auto", "stream": False})
    assert reply.status_code == 200
    assert reply.json()["mergedCode"] == MERGED
    usage = reply.json()["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"initialCode": "", "editSnippet": LAZY}, "initialCode"),
        ({"initialCode": "", "editSnippet": "def f(): pass\n"}, "initialCode"),
        ({"initial_code": "", "edit_snippet": LAZY}, "initial_code"),
        ({"edit_snippet": LAZY}, "initial_code"),
        ({"initial_code": "a\n", "edit_snippet": LAZY, "stream": True}, "stream"),
    ],
)
def test_relaces_route_refuses_by_name(client, body, param):
    """An empty file with a lazy snippet, and whatever else cannot be meant, is refused by name."""
    reply = client.post("/v1/code/apply", json=body)
    assert reply.status_code == 400
    assert reply.json()["error"]["param"] == param


def test_relaces_route_makes_a_new_file(client):
    """An empty file and a snippet without markers give the snippet."""
    reply = client.post("/v1/code/apply", json={"initial_code": "", "edit_snippet": "x = 1\n"})
    assert reply.json()["mergedCode"] == "x = 1\n"


def test_aixapply_is_answered_in_its_tag(client):
    """The file comes back in <update_file>; a file that holds its end is refused."""
    text = "<source_file>{}</source_file><update_snippet>{}</update_snippet>"
    body = {"messages": [{"role": "user", "content": text.format(ORIGINAL, DIFF)}]}
    reply = client.post("/v1/chat/completions", json=body)
    content = reply.json()["choices"][0]["message"]["content"]
    assert content == f"<update_file>{MERGED}</update_file>"
    original = "a = '</update_file>'\nb = 1\n"
    body["messages"][0]["content"] = text.format(
        original, '{"old_str": "b = 1", "new_str": "b = 2"}'
    )
    assert client.post("/v1/chat/completions", json=body).json()["error"]["code"] == "guard_refused"


@pytest.mark.parametrize("stream", [False, True])
def test_continues_routes_answer_in_a_fence(client, stream):
    """Under /continue the merged file comes in a code fence."""
    reply = client.post("/continue/v1/chat/completions", json=morph(stream=stream))
    text = content(sse(reply.text)) if stream else reply.json()["choices"][0]["message"]["content"]
    assert text == f"```\n{MERGED}```"


def test_continues_routes_refuse_what_continue_would_cut(client):
    """A file with a fence, and an edit that brings one, are refused under /continue only."""
    fence = "# T\n\n```sh\nls\n```\n\nold\n"
    edit = '{"old_str": "old", "new_str": "new"}'
    bringing = morph(update='{"old_str": "return 2", "new_str": "return 2\\n```"}')
    for body in (morph(fence, edit), bringing):
        reply = client.post("/continue/v1/chat/completions", json=body)
        assert reply.status_code == 422
        assert reply.json()["error"]["code"] == "guard_refused"
    reply = client.post("/v1/chat/completions", json=morph(fence, edit))
    assert reply.json()["choices"][0]["message"]["content"] == fence.replace("old", "new")


@pytest.mark.parametrize("base", ["/v1", "/continue/v1"])
def test_models_are_listed_and_any_name_is_one(client, base):
    """The list has one model, and a model of any name, also with a slash, is described."""
    assert [model["id"] for model in client.get(f"{base}/models").json()["data"]] == ["apply-edit"]
    for name in ("morph-v3-fast", "relace/relace-apply-3"):
        found = client.get(f"{base}/models/{name}").json()
        assert (found["id"], found["object"]) == (name, "model")


def test_an_instruction_alone_goes_to_the_model():
    """Code and an instruction without an update are written by the target; its counts are told."""
    text = f"<instruction>let a return 42</instruction>\n<code>{ORIGINAL}</code>"
    with client_of(app_with(MERGED)) as client:
        reply = client.post(
            "/v1/chat/completions", json={"messages": [{"role": "user", "content": text}]}
        ).json()
    assert reply["choices"][0]["message"]["content"] == MERGED
    assert reply["apply_edit"]["strategy"] == "model"
    usage = reply["usage"]
    details = usage["completion_tokens_details"]
    assert details["accepted_prediction_tokens"] > 0
    assert usage["completion_tokens"] == len(MERGED) + details["rejected_prediction_tokens"]


def test_continues_routes_refuse_before_the_target_is_asked(client):
    """A file that Continue would cut is refused at once, not after the target has written it."""
    fence = "# T\n\n```sh\nls\n```\n\nold\n"
    text = f"<instruction>drop the example</instruction><code>{fence}</code>"
    body = {"messages": [{"role": "user", "content": text}]}
    reply = client.post("/continue/v1/chat/completions", json=body)
    assert reply.status_code == 422
    assert reply.json()["error"]["code"] == "guard_refused"
