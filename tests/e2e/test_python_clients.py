"""Clients in Python over a real socket; the target stands in for a model and writes the file."""

import hashlib
import json
from collections.abc import Iterator

import httpx
import openai
import pytest

from tests.e2e import sse
from tests.e2e.continue_filters import survive
from tests.fakes import writing_engine
from tests.service.dialect_app import DIFF, NOWHERE
from tests.service.kit import DIRECT, LAZY, MERGED, ORIGINAL, service
from tests.service.served import served

CRLF = ORIGINAL.replace("\n", "\r\n")
CRLF_MERGED = MERGED.replace("\n", "\r\n")
FILE = {"type": "content", "content": ORIGINAL}
SNIPPET = [{"role": "user", "content": LAZY}]
# One line of the file's nine: the guard does not let it pass for the whole.
WRONG = "import os\n"


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    """The base URL of a service whose target writes what the edits ask for."""
    with served(service(writing_engine(MERGED))) as url:
        yield url


@pytest.fixture(scope="module")
def wrong() -> Iterator[str]:
    """The base URL of a service whose target drops nearly all of the file."""
    with served(service(writing_engine(WRONG))) as url:
        yield url


@pytest.fixture
def client(base) -> Iterator[openai.OpenAI]:
    """OpenAI's client, with another base URL."""
    with openai.OpenAI(base_url=f"{base}/v1", api_key="any", max_retries=0) as client:
        yield client


@pytest.fixture
def http(base) -> Iterator[httpx.Client]:
    """A plain HTTP client."""
    with httpx.Client(base_url=base, timeout=60) as client:
        yield client


def check_usage(usage) -> None:
    """Check counts that a target of one token per byte must have made."""
    details = usage.completion_tokens_details
    assert 0 < details.accepted_prediction_tokens <= len(MERGED)
    assert details.rejected_prediction_tokens >= 0
    # Rejected draft tokens are paid for, as OpenAI counts; the text is one token per byte.
    assert usage.completion_tokens == len(MERGED) + details.rejected_prediction_tokens
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


def test_openai_with_a_prediction(client):
    """The prediction is the file, the message the snippet, and the usage counts the drafts."""
    reply = client.chat.completions.create(model="gpt-4o", messages=SNIPPET, prediction=FILE)
    assert reply.choices[0].message.content == MERGED
    assert reply.choices[0].finish_reason == "stop"
    check_usage(reply.usage)


def test_openai_streams_with_a_prediction(client):
    """The pieces add up to the file, and the usage comes last."""
    chunks = list(
        client.chat.completions.create(
            model="gpt-4o",
            messages=SNIPPET,
            prediction=FILE,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    assert "".join(choice.delta.content or "" for choice in choices) == MERGED
    assert [c.finish_reason for c in choices if c.finish_reason] == ["stop"]
    check_usage(chunks[-1].usage)


def test_openai_says_that_an_answer_was_cut(client):
    """With too few tokens the answer is a beginning of the file, and says so."""
    reply = client.chat.completions.create(
        model="x", messages=SNIPPET, prediction=FILE, max_tokens=10
    )
    assert reply.choices[0].finish_reason == "length"
    assert reply.choices[0].message.content == MERGED[:10]


@pytest.mark.parametrize("stream", [False, True])
def test_openai_raises_what_the_guard_refuses(wrong, stream):
    """What the target got wrong is an error of the client, and never a text that it could write."""
    ask = [{"role": "user", "content": f"<instruction>x</instruction><code>{ORIGINAL}</code>"}]
    with (
        openai.OpenAI(base_url=f"{wrong}/v1", api_key="any", max_retries=0) as client,
        pytest.raises(openai.UnprocessableEntityError) as caught,
    ):
        client.chat.completions.create(model="x", messages=ask, stream=stream)
    assert caught.value.code == "guard_refused"


@pytest.mark.parametrize(
    ("original", "snippet", "sentence"),
    [
        ("initial_code", "edit_snippet", "instruction"),
        ("initialCode", "editSnippet", "instructions"),
    ],
)
def test_relace(http, original, snippet, sentence):
    """Both spellings give the merged file with its line ends, and the usage."""
    body = {original: CRLF, snippet: LAZY, sentence: "a returns 42", "model": "relace-apply-3"}
    reply = http.post("/v1/code/apply", json={**body, "relace_metadata": {"any": 1}})
    assert reply.status_code == 200, reply.text
    assert reply.json()["mergedCode"] == CRLF_MERGED
    assert reply.json()["usage"]["total_tokens"] > len(ORIGINAL)


def test_relace_refuses(http):
    """A refusal has a status, an error object and no code."""
    body = {"initial_code": ORIGINAL, "edit_snippet": NOWHERE}
    reply = http.post("/v1/code/apply", json=body)
    assert reply.status_code == 422
    assert set(reply.json()) == {"error"}
    assert reply.json()["error"]["code"] == "anchor_not_found"


def native(url: str, body: dict) -> list[tuple[str, dict]]:
    """Return the events of a native stream."""
    ask = {**body, "stream": True}
    with httpx.stream("POST", f"{url}/v1/apply", json=ask, timeout=60) as reply:
        assert reply.status_code == 200
        assert reply.headers["content-type"].startswith("text/event-stream")
        return list(sse.read(reply.iter_lines()))


@pytest.mark.parametrize("original", [ORIGINAL, CRLF])
def test_the_native_stream_adds_up(base, original):
    """The text pieces are what the target wrote; the result has the file's own line ends."""
    merged = original.replace("return 1", "return 42")
    events = native(base, {"original": original, "edit": LAZY})
    assert "".join(data["text"] for name, data in events if name == "text") == MERGED
    name, result = events[-1]
    assert (name, result["text"], result["strategy"]) == ("result", merged, "model")
    assert result["sha256"] == hashlib.sha256(merged.encode()).hexdigest()
    assert result["length"] == len(merged)
    assert {name for name, _ in events[:-1]} == {"text", "progress"}


def test_a_native_stream_that_is_refused_ends_in_an_error(wrong):
    """Provisional text may have come; the stream ends with the error and has no result."""
    events = native(wrong, {"original": ORIGINAL, "instruction": "a returns 42"})
    names = [name for name, _ in events]
    assert (names[-1], events[-1][1]["error"]["code"]) == ("error", "guard_refused")
    assert names.count("error") == 1
    assert "result" not in names


def test_continue(http):
    """The request that Continue sends is streamed in a fence and comes through its filters."""
    content = f"<code>{ORIGINAL}</code>\n<update>{LAZY}</update>"
    body = {"messages": [{"role": "user", "content": content}], "max_tokens": 32000}
    body |= {"model": "local-apply", "stream": True, "temperature": 0}
    with http.stream("POST", "/continue/v1/chat/completions", json=body) as reply:
        lines = list(reply.iter_lines())
    assert lines[-2:] == ["data: [DONE]", ""]
    chunks = [data for _, data in sse.read(line for line in lines if "[DONE]" not in line)]
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert survive(text) == MERGED.removesuffix("\n")


def test_a_key_is_checked_where_there_is_a_token():
    """Any key does without a token; with one the client's key has to be it."""
    with served(service(preload=False, token="secret")) as url:
        messages = [{"role": "user", "content": DIFF}]
        with openai.OpenAI(base_url=f"{url}/v1", api_key="secret", max_retries=0) as client:
            reply = client.chat.completions.create(model="x", messages=messages, prediction=FILE)
            assert reply.choices[0].message.content == MERGED
        with (
            openai.OpenAI(base_url=f"{url}/v1", api_key="other", max_retries=0) as client,
            pytest.raises(openai.AuthenticationError),
        ):
            client.chat.completions.create(model="x", messages=messages, prediction=FILE)
        assert httpx.post(f"{url}/v1/apply", json=DIRECT, timeout=60).status_code == 401
        assert httpx.get(f"{url}/health", timeout=60).status_code == 200


def test_a_batch_over_the_wire(http):
    """Items are answered in order, also where one of them waits for the target."""
    lazy = {"original": ORIGINAL, "edit": LAZY}
    refused = {"original": ORIGINAL, "edit": json.loads(NOWHERE)["old_str"], "strategy": "direct"}
    results = http.post("/v1/batch", json={"items": [lazy, DIRECT, refused]}).json()["results"]
    assert [each.get("text") for each in results] == [MERGED, MERGED, None]
    assert results[2]["error"]["code"]
