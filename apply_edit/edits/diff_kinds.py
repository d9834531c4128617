"""Recognise diffs that are no unified ones, so that they are refused by their name.

Does not know: how a diff is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_RANGE = re.compile(r"^\*\*\* \d+(?:,\d+)? \*{4}$")
_STARS = re.compile(r"^\*{15}(?: .*)?$")
_COMMAND = re.compile(r"^\d+(?:,\d+)?[acd]\d+(?:,\d+)?$")


def other_kind(lines: Sequence[str]) -> str | None:
    """Return which other kind of diff a text is, None where it is none.

    >>> other_kind(["3c3", "< x = 1", "---", "> x = 2"])
    'a diff without context'
    """
    if any(map(_RANGE.match, lines)) and any(
        _STARS.match(line) or (line.startswith("*** ") and not _RANGE.match(line)) for line in lines
    ):
        return "a context diff"
    if any(line.startswith("@@") for line in lines):
        return None
    for line, after in pairwise(lines):
        if _COMMAND.match(line) and after.startswith(("< ", "> ")):
            return "a diff without context"
    return None
