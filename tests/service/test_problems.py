import json
import re

import pytest

from apply_edit import errors
from apply_edit.errors import ApplyEditError
from apply_edit.service.problems import STATUSES, body_of, response_of, status_of
from tests.service.kit import DIRECT, ORIGINAL, client


def leaves(kind: type[ApplyEditError]) -> list[type[ApplyEditError]]:
    """Return the classes below one that have no subclass."""
    children = kind.__subclasses__()
    return [leaf for child in children for leaf in leaves(child)] if children else [kind]


@pytest.mark.parametrize("kind", leaves(ApplyEditError), ids=lambda kind: kind.__name__)
def test_every_error_has_a_status(kind):
    """The table covers every leaf of the tree, by itself or by a class above it."""
    assert any(parent in STATUSES for parent in kind.__mro__)
    assert 400 <= status_of(kind("x")) < 600


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (errors.EditParseError, 422),
        (errors.GuardRefused, 422),
        (errors.AnchorNotFound, 422),
        (errors.ConfigError, 400),
        (errors.PromptTooLong, 413),
        (errors.Busy, 429),
        (errors.ModelLoadError, 503),
        (errors.DeviceError, 503),
        (errors.DeadlineExceeded, 504),
        (errors.Cancelled, 499),
        (errors.Stopping, 503),
    ],
)
def test_statuses_are_those_of_the_documentation(kind, status):
    """The statuses that clients act on are fixed."""
    assert status_of(kind("x")) == status


def test_fields_do_not_displace_the_parts_of_the_error_object():
    """A field that is called like a part of the object does not hide it."""
    body = body_of(errors.ConfigError("no", option="gamma", code=1, type="t", lines=[3]))
    assert body["error"]["code"] == "config_error"
    assert body["error"]["type"] == "invalid_request_error"
    assert (body["error"]["param"], body["error"]["lines"]) == ("gamma", [3])


def test_busy_says_when_to_come_back():
    """A refusal for lack of room has a Retry-After of whole seconds."""
    response = response_of(errors.Busy("full", retry_after_s=1.2))
    assert (response.status_code, response.headers["retry-after"]) == (429, "2")


def test_half_a_surrogate_pair_in_an_error_can_be_sent():
    """What a field quotes is sent even where it is no Unicode text."""
    body = response_of(errors.ConfigError("no \ud800")).body
    assert json.loads(body)["error"]["message"] == "no \ud800"


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "code"),
    [
        ("GET", "/nowhere", None, {}, 404, "not_found"),
        ("GET", "/v1/apply", None, {}, 405, "method_not_allowed"),
        ("POST", "/v1/apply", b'{"original": ', {}, 400, "invalid_json"),
        ("POST", "/v1/apply", b"", {}, 400, "invalid_json"),
        ("POST", "/v1/apply", b"null", {}, 422, "invalid_request"),
        ("POST", "/v1/chat/completions", b"", {}, 400, "invalid_json"),
        ("POST", "/v1/apply", b"[1]", {}, 422, "invalid_request"),
        ("POST", "/v1/apply", b'"\xff"', {}, 400, "invalid_json"),
        ("POST", "/v1/apply", b"[" * 100_000, {}, 400, "invalid_json"),
        ("POST", "/v1/apply", b'{"a":' * 100_000, {}, 400, "invalid_json"),
        ("POST", "/v1/apply", b'{"gamma": ' + b"9" * 5000 + b"}", {}, 400, "invalid_json"),
        ("POST", "/v1/apply", b'{"gamma": NaN}', {}, 422, "invalid_request"),
        ("POST", "/v1/apply", b'{"deadline_s": 1e999}', {}, 422, "invalid_request"),
        ("POST", "/v1/apply", b'{"\\ud800": 1}', {}, 422, "invalid_request"),
        ("POST", "/v1/apply", b'{"original": "\\ud800", "edit": "x"}', {}, 400, "request_error"),
        (
            "POST",
            "/v1/apply",
            b"{}",
            {"content-type": "text/plain"},
            415,
            "unsupported_media_type",
        ),
    ],
)
def test_whatever_is_wrong_the_answer_is_an_error_object(method, path, body, headers, status, code):
    """Unknown routes, wrong methods and every kind of broken body get the same shape of answer."""
    sent = {"content-type": "application/json", **headers}
    with client() as asking:
        response = asking.request(method, path, content=body, headers=sent)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (status, code)
    assert error["message"]
    assert error["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("body", "words", "place"),
    [
        (b'{\n "original": "a",\n "edit" "b"}', "at line 3, column 9", (3, 9)),
        (b"{bad", "at line 1, column 2", (1, 2)),
        (b'{"original":\n"\xe9"}', r"byte 15 \(line 2\) is no UTF-8", None),
        (b"[" * 100_000, "nested too deeply", None),
        (b'{"gamma": ' + b"9" * 5000 + b"}", "too many digits", None),
        (b"", "is empty", None),
    ],
)
def test_a_body_that_is_no_json_says_where(body, words, place):
    """The message tells where the JSON breaks, or why there is no such place."""
    with client() as asking:
        headers = {"content-type": "application/json"}
        error = asking.post("/v1/apply", content=body, headers=headers).json()["error"]
    assert re.search(words, error["message"])
    assert place is None or (error["line"], error["column"]) == place
    assert '"a"' not in error["message"]


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/v1/apply", {**DIRECT, "gamma": "x"}, "gamma"),
        ("/v1/apply", {**DIRECT, "gamma": -1}, "gamma"),
        ("/v1/apply", {**DIRECT, "deadline_s": 0.5}, "deadline_s"),
        ("/v1/apply", {**DIRECT, "foo": 1}, "foo"),
        ("/v1/prewarm", {}, "original"),
        ("/v1/batch", {"items": [DIRECT, {**DIRECT, "gamma": "x"}]}, "items.1.gamma"),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": 5}]}, None),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{}]}]}, None),
        ("/v1/completions", {"prompt": {}}, "prompt"),
    ],
)
def test_a_refused_field_has_its_own_name_and_no_other(path, body, param):
    """The name is that of the body's field, without the kinds that the field was compared with."""
    with client() as asking:
        error = asking.post(path, json=body).json()["error"]
    assert error["code"] == "invalid_request"
    assert param is None or error["param"] == param
    assert re.fullmatch(r"[a-z_0-9.]+", error["param"])
    params = [each["param"] for each in error["errors"]]
    assert len(params) == len(set(params))


def test_a_field_of_several_kinds_tells_all_of_them():
    """Where a number or a word is taken, the message names both."""
    with client() as asking:
        error = asking.post("/v1/apply", json={**DIRECT, "gamma": "x"}).json()["error"]
    assert "integer" in error["message"]
    assert "'auto'" in error["message"]


def test_a_refused_field_is_named_and_its_value_not_told():
    """A validation error says which field is wrong, without a word of the file in it."""
    with client() as asking:
        response = asking.post("/v1/apply", json={**DIRECT, "original": [ORIGINAL]})
    assert response.json()["error"]["param"] == "original"
    assert "return 1" not in response.text


def test_a_fault_of_the_service_is_an_error_object_without_details(monkeypatch):
    """A bug answers 500 with the request id and nothing of the exception."""

    def broken(*args: object, **kwargs: object) -> None:
        message = "secret " + ORIGINAL
        raise RuntimeError(message)

    monkeypatch.setattr("apply_edit.service.pool.Applier.apply", broken)
    with client() as asking:
        response = asking.post("/v1/apply", json=DIRECT, headers={"x-request-id": "abc"})
    assert response.status_code == 500
    assert response.json()["error"]["code"] == "internal_error"
    assert "abc" in response.json()["error"]["message"]
    assert "secret" not in response.text
