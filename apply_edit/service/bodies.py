"""What is wrong with a body, in words: where its JSON breaks, which of its fields is at fault.

Never quotes the body: it is the caller's file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def place_in(text: str, position: int) -> tuple[int, int]:
    r"""Return line and column of a character, both from 1.

    >>> place_in('{\n "a" 1}', 7)
    (2, 6)
    """
    before = text[:position]
    return before.count("\n") + 1, position - before.rfind("\n")


def unreadable(cause: BaseException) -> str:
    """Say why a body could not be read as JSON at all.

    Args:
        cause: What reading it raised.
    """
    match cause:
        case UnicodeDecodeError():
            line = cause.object[: cause.start].count(b"\n") + 1
            reason = f"byte {cause.start + 1} (line {line}) is no {cause.encoding.upper()}"
        case RecursionError():
            reason = "it is nested too deeply"
        case ValueError():
            reason = "a number in it has too many digits"
        case _:
            reason = "it did not come in whole"
    return f"the body cannot be read as JSON: {reason}"


def faults(found: Sequence[Any], body: object) -> list[dict[str, str]]:
    """Return the faults of a body, one for each field.

    A field of which there are several kinds has a fault for each of them; they are told in one.

    Args:
        found: What the validation has found.
        body: The body.
    """
    messages: dict[str, list[str]] = {}
    for item in found:
        messages.setdefault(_path(item, body), []).append(item["msg"])
    return [
        {"param": param, "message": "; or ".join(dict.fromkeys(told))}
        for param, told in messages.items()
    ]


def _path(item: Any, body: object) -> str:  # noqa: ANN401 the validation's own dictionary
    """Return where a fault is, in the names of the body alone."""
    location = item["loc"]
    parts = location[1:] if len(location) > 1 and location[0] == "body" else location
    named: list[str] = []
    node = body
    for number, part in enumerate(parts, 1):
        # The name of a field that is not there, else the kind that a field was taken for.
        is_missing = item["type"] == "missing" and number == len(parts)
        inside = _members(node)
        if part in inside:
            node = inside[part]
        elif not is_missing:
            continue
        named.append(str(part))
    return ".".join(named or map(str, parts))


def _members(node: object) -> dict[Any, Any]:
    if isinstance(node, dict):
        return node
    return dict(enumerate(node)) if isinstance(node, list) else {}
