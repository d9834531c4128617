"""Requests of many kinds, the right answer to each, and clients that sometimes go away.

The target that ``engine`` gives writes, for each of a few files, what every edit of that file asks
for. A file's number is in its text, so an answer that belongs to another request is noticed.
"""

from __future__ import annotations

import json
import random
import re
import socket
import struct
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from apply_edit.engine import Engine
from tests.e2e import sse
from tests.fakes import writing_engine

NUM_FILES = 8
_NUMBER = re.compile(r"def item_(\d+)\(")
# Longest that a client waits before it goes: from before the request is read to after its answer.
_PATIENCE_S = 0.05
_TIMEOUT_S = 120.0


def original(number: int) -> str:
    """Return a file."""
    return f"import os\n\n\ndef item_{number}():\n    return 1\n\n\ndef other():\n    return 2\n"


def merged(number: int) -> str:
    """Return the file as every edit wants it."""
    return original(number).replace("return 1", f"return {number + 40}")


def engine() -> Engine:
    """Return an engine whose target writes the right file."""

    def answer(prompt: str) -> str:
        found = _NUMBER.search(prompt)
        assert found is not None, "the prompt has no file"
        return merged(int(found[1]))

    return writing_engine(answer)


@dataclass(frozen=True, slots=True)
class Ask:
    """A request and what its answer must be.

    Args:
        route: The path.
        body: The body.
        read: Takes the text, or the code of a refusal, out of the answer.
        expected: What that is.
    """

    route: str
    body: dict[str, Any]
    read: Callable[[httpx.Response], object]
    expected: object

    @property
    def data(self) -> bytes:
        """The body as it is sent."""
        return json.dumps(self.body).encode()


def asks(seed: int) -> Iterator[Ask]:
    """Yield requests without end, the same ones for the same seed."""
    chance = random.Random(seed)
    kinds, weights = zip(*_KINDS, strict=True)
    while True:
        (make,) = chance.choices(kinds, weights)
        yield make(chance.randrange(NUM_FILES), stream=chance.random() < 0.5)


def send(client: httpx.Client, ask: Ask) -> None:
    """Send a request, and check its answer."""
    headers = {"Content-Type": "application/json"}
    answer = client.post(ask.route, content=ask.data, headers=headers, timeout=_TIMEOUT_S)
    told = f"{ask.route} {ask.body}: {answer.status_code} {answer.text}"
    assert answer.status_code in (200, 422), told
    assert ask.read(answer) == ask.expected, told


def leave(url: str, ask: Ask, chance: random.Random) -> None:
    """Send a request, or a part of it, and close the connection at some time, in some way."""
    parts = urllib.parse.urlsplit(url)
    head = (
        f"POST {ask.route} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
    )
    data = f"{head}Content-Length: {len(ask.data)}\r\n\r\n".encode() + ask.data
    end = len(data) if chance.random() < 0.8 else chance.randrange(len(data))
    address = (str(parts.hostname), int(parts.port or 0))
    with socket.create_connection(address, timeout=_TIMEOUT_S) as connection:
        connection.sendall(data[:end])
        time.sleep(chance.random() * _PATIENCE_S)
        if chance.random() < 0.5:
            # Closed without lingering, a connection is reset.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _edits(number: int) -> tuple[str, str]:
    old, new = "    return 1", f"    return {number + 40}"
    diff = f"@@ -4,2 +4,2 @@\n def item_{number}():\n-{old}\n+{new}\n"
    return json.dumps({"old_str": old, "new_str": new}), diff


def _lazy(number: int) -> str:
    body = merged(number).split("\n\n\n")[1]
    return f"# ... existing code ...\n\n{body}\n\n# ... existing code ...\n"


def _direct(number: int, *, stream: bool) -> Ask:
    edit = _edits(number)[stream]
    return _native({"original": original(number), "edit": edit}, number, stream)


def _snippet(number: int, *, stream: bool) -> Ask:
    return _native({"original": original(number), "edit": _lazy(number)}, number, stream)


def _sentence(number: int, *, stream: bool) -> Ask:
    # One token per pass, so that there is time to leave while the target is at work.
    body = {"original": original(number), "instruction": "let it return more", "gamma": 0}
    return _native(body, number, stream)


def _native(body: dict[str, Any], number: int, stream: bool) -> Ask:
    read = _native_stream if stream else _text
    return Ask("/v1/apply", {**body, "stream": stream}, read, merged(number))


def _refused(number: int, *, stream: bool) -> Ask:
    # Streamed, it is a status where it comes soon, and an event on a machine that is very busy.
    edit = json.dumps({"old_str": "nothing that is like it in the file", "new_str": "x"})
    body = {"original": original(number), "edit": edit, "stream": stream}
    return Ask("/v1/apply", body, _code, "anchor_not_found")


def _batch(number: int, *, stream: bool) -> Ask:
    items = [{"original": original(number), "edit": edit} for edit in _edits(number)]
    return Ask("/v1/batch", {"items": items}, _texts, [merged(number)] * len(items))


def _prewarm(number: int, *, stream: bool) -> Ask:
    return Ask("/v1/prewarm", {"original": original(number)}, lambda a: a.status_code, 200)


def _chat(number: int, *, stream: bool) -> Ask:
    return _chat_ask("/v1/chat/completions", _lazy(number), number, stream)


def _morph(number: int, *, stream: bool) -> Ask:
    return _chat_ask("/v1/apply/chat/completions", _edits(number)[1], number, stream)


def _chat_ask(route: str, update: str, number: int, stream: bool) -> Ask:
    content = f"<code>{original(number)}</code>\n<update>{update}</update>"
    body = {"messages": [{"role": "user", "content": content}], "stream": stream}
    return Ask(route, body, _chat_stream if stream else _content, merged(number))


def _predicted(number: int, *, stream: bool) -> Ask:
    body = {
        "prompt": _edits(number)[0],
        "prediction": {"type": "content", "content": original(number)},
        "stream": False,
    }
    return Ask("/v1/completions", body, lambda a: a.json()["choices"][0]["text"], merged(number))


def _relace(number: int, *, stream: bool) -> Ask:
    body = {"initial_code": original(number), "edit_snippet": _edits(number)[stream]}
    return Ask("/v1/code/apply", body, lambda a: a.json()["mergedCode"], merged(number))


def _continue(number: int, *, stream: bool) -> Ask:
    ask = _chat_ask("/continue/v1/chat/completions", _edits(number)[1], number, stream)
    return Ask(ask.route, ask.body, ask.read, f"```\n{merged(number)}```")


def _text(answer: httpx.Response) -> object:
    return answer.json().get("text")


def _texts(answer: httpx.Response) -> object:
    return [result.get("text") for result in answer.json()["results"]]


def _code(answer: httpx.Response) -> object:
    body = answer.json() if answer.status_code != 200 else _events(answer)[-1][1]
    return body["error"]["code"]


def _events(answer: httpx.Response) -> list[tuple[str, Any]]:
    return list(sse.read(answer.text.split("\n")))


def _content(answer: httpx.Response) -> object:
    return answer.json()["choices"][0]["message"]["content"]


def _native_stream(answer: httpx.Response) -> object:
    events = _events(answer)
    texts: dict[int, str] = {}
    for name, data in events:
        if name == "text":
            texts[data["part"]] = texts.get(data["part"], "") + data["text"]
    name, result = events[-1]
    # A target that is asked twice writes twice; a direct edit is not written by it at all.
    if name != "result" or (texts and result["text"] not in texts.values()):
        return events
    return result["text"]


def _chat_stream(answer: httpx.Response) -> object:
    lines = answer.text.split("\n")
    assert lines.count("data: [DONE]") == 1, answer.text
    events = sse.read(line for line in lines if line != "data: [DONE]")
    return "".join(
        choice["delta"].get("content", "") for _, data in events for choice in data["choices"]
    )


_KINDS: list[tuple[Callable[..., Ask], int]] = [
    (_direct, 30),
    (_snippet, 10),
    (_sentence, 5),
    (_chat, 8),
    (_morph, 10),
    (_relace, 10),
    (_continue, 5),
    (_predicted, 5),
    (_batch, 5),
    (_prewarm, 3),
    (_refused, 9),
]
