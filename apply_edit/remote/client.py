"""The native API of a running service: one question, one answer, our own errors.

Whatever is not an answer or one of our errors (nobody listens, another program listens, a text that
does not fit its digest) is ``ServiceUnusable``, upon which the caller does the work itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from apply_edit.config import Config
from apply_edit.errors import ApplyEditError, Cancelled, Stopping
from apply_edit.remote.announcement import Announcement
from apply_edit.remote.report import ReceivedReport
from apply_edit.types import EditFormat, EditResult, HunkScore, Notice, Try

# The service has a deadline of its own; this is for one that hangs.
_TIMEOUT = httpx.Timeout(900.0, connect=2.0)
_POLL_S = 0.1
_NOT_FIELDS = {"message", "code", "type", "param", "retryable"}


class ServiceUnusable(Exception):  # noqa: N818 as in the tree of errors, the name says what happened
    """The service gave no answer that can be used; the message says why.

    Args:
        reason: Why, for people.
        is_gone: Nobody listens at its address.
    """

    def __init__(self, reason: str, *, is_gone: bool = False) -> None:
        super().__init__(reason)
        self.is_gone = is_gone


@dataclass(frozen=True, slots=True)
class Question:
    """What a service is asked to merge.

    Args:
        original: The file's text.
        edit: The edit in any format; None for an instruction alone.
        path: Path of the file.
        instruction: What the edit is meant to do.
        config: How to merge.
    """

    original: str | None
    edit: str | None
    path: str | None
    instruction: str | None
    config: Config

    def to_dict(self) -> dict[str, Any]:
        """Return the body of the request; what is not given is left out."""
        config = self.config
        values = {
            "original": self.original,
            "edit": self.edit,
            "instruction": self.instruction,
            "path": self.path,
            "format": None if config.format is None else config.format.value,
            "strategy": config.strategy,
            "scope": config.scope,
            "gamma": config.gamma,
            "proposer": config.proposer,
            "max_new_tokens": config.max_new_tokens,
            "stream": False,
        }
        return {name: value for name, value in values.items() if value is not None}


class Service:
    """A running service.

    Args:
        announcement: How to reach it.
        transport: Takes the place of the network; for tests.
    """

    def __init__(
        self, announcement: Announcement, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._announcement = announcement
        self._transport = transport

    def apply(
        self, question: Question, cancelled: Callable[[], bool] = lambda: False
    ) -> EditResult:
        """Have it merge an edit. An interrupt closes the connection, upon which it stops as well.

        Args:
            question: File, edit and settings.
            cancelled: Asked ten times a second.

        Raises:
            Cancelled: ``cancelled`` said so.
            ServiceUnusable: There is no answer that can be used.
            ApplyEditError: What the service refused with.
        """
        try:
            response = asyncio.run(self._post(question.to_dict(), cancelled))
        except httpx.ConnectError as error:
            reason = f"nobody listens there ({error})"
            raise ServiceUnusable(reason, is_gone=True) from None
        except httpx.HTTPError as error:
            raise ServiceUnusable(f"{type(error).__name__} {error}".rstrip()) from None
        return _result(_answer(response))

    async def _post(self, body: dict[str, Any], cancelled: Callable[[], bool]) -> httpx.Response:
        token = self._announcement.token
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        async with httpx.AsyncClient(
            transport=self._transport or self._network(),
            base_url=self._base_url(),
            headers=headers,
            timeout=_TIMEOUT,
        ) as client:
            asked = asyncio.ensure_future(client.post("/v1/apply", content=json.dumps(body)))
            try:
                while not asked.done():
                    if cancelled():
                        message = "cancelled; nothing was changed"
                        raise Cancelled(message)
                    await asyncio.wait((asked,), timeout=_POLL_S)
                return asked.result()
            finally:
                asked.cancel()
                await asyncio.gather(asked, return_exceptions=True)

    def _network(self) -> httpx.AsyncBaseTransport:
        # With a transport of its own the client asks no proxy.
        return httpx.AsyncHTTPTransport(uds=self._announcement.uds)

    def _base_url(self) -> str:
        host, port = self._announcement.host, self._announcement.port
        if host is None:
            return "http://localhost"
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _answer(response: httpx.Response) -> Mapping[str, Any]:
    """Return the body of an answer.

    Raises:
        ServiceUnusable: It is none.
        ApplyEditError: It is a refusal.
    """
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        message = f"it answered {response.status_code} and no JSON object"
        raise ServiceUnusable(message)
    if response.status_code == httpx.codes.OK:
        return body
    refusal = body.get("error")
    if not isinstance(refusal, dict):
        refusal = {"message": "no error object"}
    kind = _KINDS.get(str(refusal.get("code")))
    if kind is None or kind in (Cancelled, Stopping):
        # Something about the service and not about the edit.
        message = f"it answered {response.status_code}: {refusal.get('message')}"
        raise ServiceUnusable(message)
    fields = {name: value for name, value in refusal.items() if name not in _NOT_FIELDS}
    raise kind(str(refusal.get("message")), **fields)


def _result(body: Mapping[str, Any]) -> EditResult:
    """Turn an answer into a result.

    Raises:
        ServiceUnusable: It lacks something, or the text does not fit its digest.
    """
    try:
        text = str(body["text"] or "")
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        if digest != body["sha256"]:
            message = "the text that came does not fit its SHA-256"
            raise ServiceUnusable(message)
        report = body.get("report")
        return EditResult(
            text,
            str(body["strategy"]),
            EditFormat(body["format"]),
            tuple(
                Notice(str(n["code"]), str(n["message"]), tuple(n.get("lines", ())))
                for n in body.get("warnings", ())
            ),
            None if report is None else ReceivedReport(report),
            body.get("agreement"),
            bool(body.get("deleted", False)),
            body.get("moved_to"),
            tuple(Try(**each) for each in body.get("tries", ())),
            tuple(HunkScore(**each) for each in body.get("hunks", ())),
            body.get("confidence"),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"its answer cannot be read: {error!r}"
        raise ServiceUnusable(message) from None


def _kinds(kind: type[ApplyEditError]) -> dict[str, type[ApplyEditError]]:
    found = {kind.code: kind}
    for child in kind.__subclasses__():
        found |= _kinds(child)
    return found


_KINDS = _kinds(ApplyEditError)
