"""Reads server-sent events as a browser's EventSource does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any


def read(lines: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield name and JSON of every event; comments and an unfinished last event are ignored.

    Args:
        lines: Lines without their ends.
    """
    name, data = "message", list[str]()
    for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line == "":
            if data:
                yield name, json.loads("\n".join(data))
            name, data = "message", []
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)
