"""Find strings that stand alone as a statement: what Python takes for documentation.

Does not know: segments, matches.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_OPENS = re.compile(r"[rRuUbB]{0,2}(?P<quotes>\"{3}|'{3})")
_SHORT = re.compile(r"[rRuU]?(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')$")


def string_end(stripped: Sequence[str], start: int) -> int | None:
    """Return the line behind a string that begins a line and is all of its statement, or None.

    Args:
        stripped: Lines without outer white space.
        start: Where the string begins.

    >>> string_end(["'''One", "", "two'''", "x = 1"], 0), string_end(["x = 'a'"], 0)
    (3, None)
    >>> string_end(['"A short one."'], 0)
    1
    """
    if start >= len(stripped):
        return None
    opens = _OPENS.match(stripped[start])
    if opens is None:
        return start + 1 if _SHORT.match(stripped[start]) else None
    quotes = opens["quotes"]
    if quotes in stripped[start][opens.end() :]:
        return start + 1 if stripped[start].endswith(quotes) else None
    for i in range(start + 1, len(stripped)):
        if quotes in stripped[i]:
            return i + 1 if stripped[i].endswith(quotes) else None
    return None
