import hashlib
import json

import pytest

from apply_edit.applier import Applier
from tests.service.kit import DIRECT, EDIT, LAZY, MERGED, ORIGINAL, client


def sse(text: str) -> list[tuple[str, dict]]:
    """Return the events of a stream."""
    events = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line[0] != ":")
        if fields:
            events.append((fields["event"], json.loads(fields["data"])))
    return events


def test_a_structured_edit_is_merged_without_a_model():
    """A structured edit is answered with text, digest and strategy, and no engine is loaded."""
    with client() as asking:
        response = asking.post("/v1/apply", json=DIRECT)
        assert response.status_code == 200
        body = response.json()
        assert body["text"] == MERGED
        assert body["sha256"] == hashlib.sha256(MERGED.encode()).hexdigest()
        assert (body["strategy"], body["format"]) == ("direct", "str_replace")
        assert (body["length"], body["report"], body["deleted"]) == (len(MERGED), None, False)
        assert asking.get("/health").json()["engine"] == "idle"


def test_a_lazy_edit_is_written_by_the_target():
    """A lazy edit goes to the target, and the report says how many passes that took."""
    with client(MERGED) as asking:
        body = asking.post("/v1/apply", json={"original": ORIGINAL, "edit": LAZY}).json()
    assert (body["text"], body["strategy"], body["agreement"]) == (MERGED, "model", True)
    assert body["report"]["passes"] > 0


def test_line_ends_and_odd_characters_come_back_as_they_were():
    """Line ends, a byte order mark, NUL and astral characters survive the way through JSON."""
    original = "\ufeffa = 1\r\nb = '\u0000\U0001f600'\rc\n\n"
    with client() as asking:
        body = asking.post(
            "/v1/apply", json={"original": original, "edit": '{"old_str": "1", "new_str": "2"}'}
        ).json()
    assert body["text"] == original.replace("1", "2")


def test_a_new_file_and_a_deleted_one():
    """An edit may make a file or delete it; the answer says so."""
    add = "*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** End Patch\n"
    delete = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch\n"
    with client() as asking:
        made = asking.post("/v1/apply", json={"edit": add}).json()
        gone = asking.post("/v1/apply", json={"original": "x = 1\n", "edit": delete}).json()
    assert (made["text"], made["deleted"]) == ("x = 1\n", False)
    assert (gone["text"], gone["deleted"]) == ("", True)


def test_unknown_fields_are_refused_by_name():
    """A field that does not exist is an error that names it, not a wish that is dropped."""
    with client() as asking:
        response = asking.post("/v1/apply", json={**DIRECT, "stratgy": "direct"})
    assert response.status_code == 422
    assert response.json()["error"]["param"] == "stratgy"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stream", 1),
        ("gamma", True),
        ("gamma", 5000),
        ("max_new_tokens", "7"),
        ("deadline_s", 0.01),
        ("proposer", "magic"),
        ("format", "xml"),
        ("language", ""),
    ],
)
def test_values_of_another_kind_are_refused(field, value):
    """A value is taken as it is written; nothing is made to fit."""
    with client() as asking:
        response = asking.post("/v1/apply", json={**DIRECT, field: value})
    assert response.status_code == 422
    assert response.json()["error"]["param"].split(".")[0] == field


def test_a_language_is_used_where_there_is_no_path():
    """An unknown language is refused; a known one lets the guard check the syntax."""
    broken = {"original": "x = 1\n", "edit": '{"old_str": "1", "new_str": "("}'}
    with client() as asking:
        checked = asking.post("/v1/apply", json={**broken, "language": "python"})
        unchecked = asking.post("/v1/apply", json=broken)
        unknown = asking.post("/v1/apply", json={**DIRECT, "language": "klingon"})
    assert checked.json()["warnings"], checked.json()
    assert unchecked.json()["warnings"] == []
    assert unknown.status_code == 422
    assert unknown.json()["error"]["code"] == "unsupported_language"


def test_a_refusal_shows_the_near_miss():
    """A refusal carries the fields of the error, flat in the error object."""
    edit = '{"old_str": "return 3", "new_str": "return 42"}'
    with client() as asking:
        response = asking.post(
            "/v1/apply", json={"original": ORIGINAL, "edit": edit, "strategy": "direct"}
        )
    error = response.json()["error"]
    assert response.status_code == 422
    assert (error["code"], error["type"]) == ("anchor_not_found", "invalid_request_error")
    assert error["nearest"]["start_line"] in (5, 9)


def test_a_stream_tells_text_with_its_source_and_then_the_result():
    """The pieces of a stream add up to the target's text, and the result is the last event."""
    with client(MERGED) as asking:
        response = asking.post(
            "/v1/apply",
            json={"original": ORIGINAL, "edit": LAZY, "stream": True, "proposer": "cursor"},
        )
    events = sse(response.text)
    pieces = [data for name, data in events if name == "text"]
    assert response.headers["content-type"].startswith("text/event-stream")
    assert "".join(piece["text"] for piece in pieces) == MERGED
    assert {piece["region"] for piece in pieces} <= {"unchanged", "edit", "novel", "unknown"}
    assert len({piece["source"] for piece in pieces}) > 1
    assert [name for name, _ in events].count("result") == 1
    name, result = events[-1]
    assert (name, result["text"], result["strategy"]) == ("result", MERGED, "model")


def test_a_stream_whose_text_is_refused_ends_with_an_error_and_no_result():
    """What the guard refuses was streamed provisionally; the stream then ends with the error."""
    ask = {"original": ORIGINAL, "instruction": "return 42", "stream": True}
    with client("import os\n") as asking:
        events = sse(asking.post("/v1/apply", json=ask).text)
    assert "text" in [name for name, _ in events]
    assert "result" not in [name for name, _ in events]
    name, body = events[-1]
    assert (name, body["error"]["code"]) == ("error", "guard_refused")


def test_a_stream_that_is_refused_at_once_is_an_http_refusal():
    """Where nothing has been told yet, a refusal has its status also with stream."""
    edit = '{"old_str": "nowhere at all in there", "new_str": ""}'
    with client() as asking:
        response = asking.post(
            "/v1/apply", json={"original": ORIGINAL, "edit": edit, "stream": True}
        )
    assert response.status_code == 422
    assert response.json()["error"]["code"] == "anchor_not_found"


def test_a_direct_edit_streams_its_result():
    """With nothing to tell on the way, a stream is the result alone."""
    with client() as asking:
        events = sse(asking.post("/v1/apply", json={**DIRECT, "stream": True}).text)
    assert [name for name, _ in events] == ["result"]


def test_a_batch_answers_each_item_in_order():
    """One item's refusal leaves the others be, and stands where its result would."""
    lost = {"original": "x\n", "edit": EDIT}
    with client(MERGED) as asking:
        lazy = {"original": ORIGINAL, "edit": LAZY}
        response = asking.post("/v1/batch", json={"items": [DIRECT, lost, lazy]})
    results = response.json()["results"]
    assert response.status_code == 200
    assert [r.get("strategy") for r in results] == ["direct", None, "model"]
    assert results[1]["error"]["code"] == "anchor_not_found"


def test_a_fault_in_one_item_of_a_batch_is_its_own(monkeypatch):
    """A bug that one item meets is that item's error; the others have their results."""
    apply = Applier.apply

    def breaking(self, original, *args, **kwargs):
        if original == "bad\n":
            raise ZeroDivisionError
        return apply(self, original, *args, **kwargs)

    monkeypatch.setattr("apply_edit.service.pool.Applier.apply", breaking)
    with client() as asking:
        items = [{"original": "bad\n", "edit": EDIT}, DIRECT]
        first, second = asking.post("/v1/batch", json={"items": items}).json()["results"]
    assert first["error"]["code"] == "internal_error"
    assert second["text"] == MERGED


@pytest.mark.parametrize(("count", "status"), [(0, 422), (3, 400)])
def test_a_batch_is_bounded(count, status):
    """An empty batch and one that is too large are refused."""
    with client(max_batch=2) as asking:
        assert asking.post("/v1/batch", json={"items": [DIRECT] * count}).status_code == status


def test_a_prewarmed_file_is_not_read_again():
    """After a prewarm an apply finds the file's tokens cached."""
    original = ORIGINAL + "# a line that makes the file longer\n" * 10
    merged = original.replace("return 1", "return 42")
    with client(merged) as asking:
        first = asking.post("/v1/prewarm", json={"original": original, "path": "a.py"}).json()
        again = asking.post("/v1/prewarm", json={"original": original, "path": "a.py"}).json()
        body = asking.post(
            "/v1/apply",
            json={"original": original, "edit": LAZY, "path": "a.py", "scope": "file"},
        ).json()
    assert first["tokens"] > len(original)
    assert first["cached"] == 0
    # The newest token of a row is never cached.
    assert again["cached"] >= first["tokens"] - 1
    assert body["report"]["cached_prompt_tokens"] >= first["tokens"] - 1


def test_neither_edit_nor_instruction_is_refused():
    """A request that asks for nothing is refused with the field that is missing."""
    with client() as asking:
        response = asking.post("/v1/apply", json={"original": "a\n"})
    assert (response.status_code, response.json()["error"]["param"]) == (400, "edit")


def test_every_native_route_documents_its_refusals_and_shows_an_example():
    """The OpenAPI document has an example request and the error object for each refusal."""
    with client() as asking:
        document = asking.get("/openapi.json").json()
    for path in ("/v1/apply", "/v1/batch", "/v1/prewarm"):
        operation = document["paths"][path]["post"]
        schema = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        assert document["components"]["schemas"][schema.rsplit("/", 1)[1]]["examples"]
        for status in ("401", "403", "413", "421", "422", "500"):
            answer = operation["responses"][status]["content"]["application/json"]
            assert answer["schema"]["$ref"].endswith("/ErrorAnswer"), (path, status)
            assert answer["example"]["error"]["code"]
