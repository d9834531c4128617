import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import openai
import pytest

from apply_edit.service.errand import Limits
from apply_edit.service.pool import Pool
from tests.service.dialect_app import DIFF, MERGED, NOWHERE, ORIGINAL, app_with, morph
from tests.service.served import served

INSTRUCTION = f"<instruction>let a return 42</instruction><code>{ORIGINAL}</code>"


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    """The base URL of a service whose target must not be asked."""
    with served(app_with()) as url:
        yield url


@pytest.fixture
def client(base: str) -> Iterator[openai.OpenAI]:
    """OpenAI's client, which differs from any other by its base URL only."""
    with openai.OpenAI(base_url=f"{base}/v1", api_key="any", max_retries=0) as client:
        yield client


def messages(update: str = DIFF) -> list[dict[str, str]]:
    """Return the messages of a chat."""
    return morph(update=update)["messages"]


def test_openais_client_gets_the_file(client):
    """The official client reads the merged file and its usage."""
    reply = client.chat.completions.create(model="morph-v3-fast", messages=messages())
    assert reply.choices[0].message.content == MERGED
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage.completion_tokens_details.accepted_prediction_tokens == 0


def test_openais_client_streams_the_file(client):
    """The official client's stream adds up to the file and ends with the usage."""
    stream = client.chat.completions.create(
        model="auto", messages=messages(), stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    texts = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(texts) == MERGED
    assert chunks[-1].usage.total_tokens > 0


def test_openais_client_sends_a_prediction(client):
    """A predicted output is the file, the message is the edit."""
    reply = client.chat.completions.create(
        model="gpt-4o",
        messages=[{"role": "user", "content": DIFF}],
        prediction={"type": "content", "content": ORIGINAL},
    )
    assert reply.choices[0].message.content == MERGED


def test_openais_client_completes_text(client):
    """The older text interface works as well."""
    prompt = messages()[0]["content"]
    reply = client.completions.create(model="x", prompt=prompt, max_tokens=4000)
    assert reply.choices[0].text == MERGED


def test_openais_client_lists_models(client):
    """The client can list models and look one up."""
    assert [model.id for model in client.models.list()] == ["apply-edit"]
    assert client.models.retrieve("morph-v3-fast").id == "morph-v3-fast"


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_raises_with_our_code(client, stream):
    """A refused edit raises the client's error for a status, with our code in it."""
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        client.chat.completions.create(model="x", messages=messages(NOWHERE), stream=stream)
    assert caught.value.code == "anchor_not_found"
    with pytest.raises(openai.BadRequestError) as caught_too:
        client.chat.completions.create(model="x", messages=messages(), n=2, stream=stream)
    assert caught_too.value.param == "n"


@contextmanager
def waiting(answer: str) -> Iterator[tuple[str, threading.Event]]:
    """Serve a target that writes once the event is set; streams hold their headers no time."""
    gate = threading.Event()

    def write(prompt: str) -> str:
        assert gate.wait(20), "the test never let the target write"
        return answer

    try:
        with served(app_with(write, 0.01)) as url:
            yield url, gate
    finally:
        gate.set()


def test_a_long_wait_is_filled_with_comments():
    """Before the merge has passed a stream carries comments only; then comes the whole file."""
    body = {"messages": [{"role": "user", "content": INSTRUCTION}], "stream": True}
    with waiting(MERGED) as (url, gate):
        lines = []
        with httpx.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=20) as reply:
            for line in reply.iter_lines():
                if line.startswith("data:"):
                    assert gate.is_set(), "text came before the merge had passed"
                lines.append(line)
                if lines.count(": keep-alive") == 2:
                    gate.set()
    assert reply.status_code == 200
    assert lines.count(": keep-alive") >= 2
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    assert data.pop() == "[DONE]"
    deltas = [json.loads(each)["choices"][0]["delta"] for each in data]
    assert "".join(delta.get("content", "") for delta in deltas) == MERGED


def test_a_late_refusal_raises_in_the_stream():
    """A refusal after the headers is an event that the client raises; no content comes."""
    with waiting("def a():\n    # ... existing code ...\n") as (url, gate):
        gate.set()
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0)
        stream = client.chat.completions.create(
            model="x", messages=[{"role": "user", "content": INSTRUCTION}], stream=True
        )
        chunks = []
        with pytest.raises(openai.APIError) as caught:
            chunks.extend(stream)
        client.close()
    assert not isinstance(caught.value, openai.APIStatusError)
    assert caught.value.code == "guard_refused"
    assert chunks == []


def test_a_late_refusal_ends_the_stream_without_done():
    """Neither content nor [DONE] goes with a refusal in a stream."""
    body = {"messages": [{"role": "user", "content": INSTRUCTION}], "stream": True}
    with waiting("") as (url, gate):
        gate.set()
        reply = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=20)
    data = [line for line in reply.text.split("\n") if line.startswith("data: ")]
    assert len(data) == 1
    assert set(json.loads(data[0].removeprefix("data: "))) == {"error"}


def test_a_stream_that_is_left_stops_the_target():
    """When the client leaves during the comments, the apply ends."""
    body = {"messages": [{"role": "user", "content": INSTRUCTION}], "stream": True}
    gate, asked = threading.Event(), threading.Event()

    def write(prompt: str) -> str:
        asked.set()
        assert gate.wait(20)
        return MERGED

    app = app_with(write, 0.01)
    outcomes = []
    done = threading.Event()

    def told(route: str, work: object, outcome: object) -> None:
        outcomes.append((route, outcome))
        done.set()

    app.state.pool = Pool(app.state.loading.engine, Limits(), told)
    with served(app) as url:
        with httpx.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=20) as reply:
            assert asked.wait(20)
            next(reply.iter_lines())
        assert done.wait(20)
        gate.set()
    ((route, outcome),) = outcomes
    assert (route, outcome.error) == ("/v1/chat/completions", "cancelled")
