"""Answers as OpenAI writes them: whole, and in server-sent events.

Token counts: ``completion_tokens`` counts the text and the rejected draft tokens, as OpenAI counts
them, and the accepted and rejected ones are those of the target's passes. An edit that needed no
model has neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from apply_edit.report import Report
from apply_edit.service.dialects.tokens import Tokens

DONE = "data: [DONE]\n\n"
KEEP_ALIVE = ": keep-alive\n\n"
PIECE_CHARS = 4096
Kind = Literal["chat", "text"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer cost, in tokens.

    Args:
        prompt: Tokens of the prompt.
        text: Tokens of the answer's text.
        accepted: Draft tokens that the target accepted.
        rejected: Draft tokens that it did not.
    """

    prompt: int
    text: int
    accepted: int = 0
    rejected: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return OpenAI's object."""
        completion = self.text + self.rejected
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": completion,
            "total_tokens": self.prompt + completion,
            "completion_tokens_details": {
                "accepted_prediction_tokens": self.accepted,
                "rejected_prediction_tokens": self.rejected,
                "reasoning_tokens": 0,
                "audio_tokens": 0,
            },
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer.

    Args:
        id: Its id, without the prefix that tells the kind.
        created: Seconds since the epoch.
        model: The model's name as the client sent it.
        text: The text.
        cut: The text was cut at the client's limit.
        usage: What it cost.
        about: Strategy and warnings; sent as ``apply_edit`` beside OpenAI's fields.
    """

    id: str
    created: int
    model: str
    text: str
    cut: bool
    usage: Usage
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def finish_reason(self) -> str:
        """Why the text ends."""
        return "length" if self.cut else "stop"


def usage_of(prompt: str, text: str, report: Report | None, tokens: Tokens) -> Usage:
    """Count.

    Args:
        prompt: What the client sent.
        text: What it gets.
        report: What the target did, None where no model ran.
        tokens: Counts what the report does not.
    """
    if report is None or not report.prompt_tokens:
        return Usage(tokens.count(prompt), tokens.count(text))
    written = tokens.count(text)
    rejected = sum(record.rejected for record in report.records)
    # The tag behind the text is drafted and accepted as well, and no part of the answer.
    return Usage(report.prompt_tokens, written, min(report.accepted, written), rejected)


def whole(answer: Answer, kind: Kind) -> dict[str, Any]:
    """Return an answer in one object."""
    choice: dict[str, Any] = {"index": 0, "finish_reason": answer.finish_reason, "logprobs": None}
    if kind == "chat":
        choice["message"] = {"role": "assistant", "content": answer.text, "refusal": None}
    else:
        choice["text"] = answer.text
    head = _head(answer, kind, "chat.completion")
    return {
        **head,
        "choices": [choice],
        "usage": answer.usage.to_dict(),
        "apply_edit": answer.about,
    }


def events(answer: Answer, kind: Kind, *, include_usage: bool) -> Iterator[str]:
    """Yield the server-sent events of an answer, up to ``[DONE]``.

    Args:
        answer: The answer.
        kind: A chat or a text completion.
        include_usage: Send the usage before the end.
    """
    head = _head(answer, kind, "chat.completion.chunk")
    # An empty file has one empty piece: clients want to see the role.
    for at in range(0, len(answer.text) or 1, PIECE_CHARS):
        piece = answer.text[at : at + PIECE_CHARS]
        yield event({**head, "choices": [_choice(kind, piece, first=at == 0)]})
    last = {**_choice(kind, None), "finish_reason": answer.finish_reason}
    yield event({**head, "choices": [last], "apply_edit": answer.about})
    if include_usage:
        yield event({**head, "choices": [], "usage": answer.usage.to_dict()})
    yield DONE


def event(data: dict[str, Any]) -> str:
    """Return one server-sent event."""
    return f"data: {json.dumps(data, separators=(',', ':'))}\n\n"


def _head(answer: Answer, kind: Kind, chat_object: str) -> dict[str, Any]:
    prefix, name = ("chatcmpl", chat_object) if kind == "chat" else ("cmpl", "text_completion")
    return {
        "id": f"{prefix}-{answer.id}",
        "object": name,
        "created": answer.created,
        "model": answer.model,
    }


def _choice(kind: Kind, piece: str | None, *, first: bool = False) -> dict[str, Any]:
    """Return the choice of a chunk; ``piece`` is None for the one that ends the text."""
    if kind == "text":
        return {"index": 0, "text": piece or "", "finish_reason": None, "logprobs": None}
    delta: dict[str, str] = {"role": "assistant"} if first else {}
    if piece is not None:
        delta["content"] = piece
    return {"index": 0, "delta": delta, "finish_reason": None}
