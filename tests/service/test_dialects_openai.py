import json
from typing import Any

import pytest

from apply_edit.report import PassRecord, Report
from apply_edit.service.dialects import openai
from apply_edit.service.dialects.openai import Answer, Usage, usage_of
from apply_edit.service.dialects.tokens import Estimated, Exact
from tests.fakes import ByteTokenizer

LONG = "é" * 3000 + "\r\n" + "x = 1\n" * 2000


def answer(text: str, *, cut: bool = False) -> Answer:
    """Return an answer with this text."""
    return Answer("7", 5, "auto", text, cut, Usage(90, 60, 55, 3), {"strategy": "model"})


def events(text: str, kind: openai.Kind = "chat", *, usage: bool = False) -> list[dict[str, Any]]:
    """Return the events of an answer without the final [DONE]."""
    raw = list(openai.events(answer(text), kind, include_usage=usage))
    assert raw.pop() == "data: [DONE]\n\n"
    assert all(each.startswith("data: {") and each.endswith("}\n\n") for each in raw)
    return [json.loads(each.removeprefix("data: ")) for each in raw]


def test_a_whole_chat_answer_is_openais_object():
    """The object has the fields that clients read, under the names that they read."""
    reply = openai.whole(answer("a = 1\n"), "chat")
    assert reply["id"] == "chatcmpl-7"
    assert (reply["object"], reply["created"], reply["model"]) == ("chat.completion", 5, "auto")
    (choice,) = reply["choices"]
    assert choice["index"] == 0
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["role"] == "assistant"
    assert choice["message"]["content"] == "a = 1\n"


def test_a_whole_text_answer_is_openais_object():
    """A text completion has its text in the choice."""
    reply = openai.whole(answer("a"), "text")
    assert (reply["id"], reply["object"]) == ("cmpl-7", "text_completion")
    assert reply["choices"][0]["text"] == "a"


def test_rejected_tokens_count_as_completion_tokens():
    """Rejected draft tokens are inside completion_tokens and inside the total, as OpenAI counts."""
    assert Usage(90, 60, 55, 3).to_dict() == {
        "prompt_tokens": 90,
        "completion_tokens": 63,
        "total_tokens": 153,
        "completion_tokens_details": {
            "accepted_prediction_tokens": 55,
            "rejected_prediction_tokens": 3,
            "reasoning_tokens": 0,
            "audio_tokens": 0,
        },
    }


@pytest.mark.parametrize("text", ["", "a", LONG, "x" * openai.PIECE_CHARS])
def test_pieces_add_up_to_the_text(text):
    """The pieces of a stream are the text, the first names the role, and the last says why."""
    first, *others = events(text)
    assert first["choices"][0]["delta"]["role"] == "assistant"
    pieces = [each["choices"][0]["delta"].get("content") for each in (first, *others)]
    assert pieces.pop() is None
    assert "".join(pieces) == text
    assert all(len(piece) <= openai.PIECE_CHARS for piece in pieces)
    reasons = [each["choices"][0]["finish_reason"] for each in (first, *others)]
    assert reasons == [None] * len(others) + ["stop"]
    assert {each["object"] for each in (first, *others)} == {"chat.completion.chunk"}
    assert {each["id"] for each in (first, *others)} == {"chatcmpl-7"}


def test_text_streams_have_text_in_their_choices():
    """A streamed text completion has its pieces in ``text``."""
    parts = events(LONG, "text")
    assert "".join(each["choices"][0]["text"] for each in parts) == LONG
    assert parts[-1]["choices"][0]["finish_reason"] == "stop"


def test_usage_is_streamed_only_when_asked_for():
    """With include_usage the last event has the usage and no choice; without, none has it."""
    assert not any("usage" in each for each in events("a"))
    last = events("a", usage=True)[-1]
    assert last["choices"] == []
    assert last["usage"]["total_tokens"] == 153


def test_a_cut_answer_says_so():
    """A cut text ends with ``length``, whole and streamed."""
    assert openai.whole(answer("a", cut=True), "chat")["choices"][0]["finish_reason"] == "length"
    *_, last, _ = openai.events(answer("a", cut=True), "chat", include_usage=False)
    assert '"finish_reason":"length"' in last


def test_counts_of_drafts_come_from_the_report():
    """Accepted and rejected are the target's; drafts behind a stop are neither."""
    report = Report(prompt_tokens=40, records=[PassRecord(9, 8, 5, 6, 1), PassRecord(5, 4, 4, 5)])
    assert usage_of("ignored", "x" * 40, report, Estimated()) == Usage(40, 10, 9, 2)


def test_no_more_tokens_are_accepted_than_the_text_has():
    """The tag behind the text is drafted too, and is not counted as a part of the answer."""
    report = Report(prompt_tokens=40, records=[PassRecord(9, 8, 8, 9)])
    assert usage_of("ignored", "x" * 20, report, Estimated()) == Usage(40, 5, 5, 0)


@pytest.mark.parametrize("report", [None, Report()])
def test_without_a_model_tokens_are_counted(report):
    """Where no model ran, prompt and text are counted, and nothing was drafted."""
    assert usage_of("1234", "12345", report, Estimated()) == Usage(1, 2)


def test_an_estimate_takes_four_characters_for_a_token():
    """Without a tokenizer four characters are a token, for counting as for cutting."""
    tokens = Estimated()
    assert [tokens.count(text) for text in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]
    assert tokens.cut("abcde", 1) == "abcd"
    assert tokens.cut("abcd", 1) is None


def test_a_tokenizer_counts_and_cuts_at_tokens():
    """With a tokenizer the text is cut behind the last whole character of the limit."""
    tokens = Exact(ByteTokenizer())  # type: ignore[arg-type] # the fake has all that is used
    assert tokens.count("aé") == 3
    assert tokens.cut("aé", 3) is None
    assert tokens.cut("aéb", 3) == "aé"
    assert tokens.cut("aéb", 2) == "a"
