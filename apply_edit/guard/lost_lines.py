"""What the checks of lost lines have in common."""

from __future__ import annotations

import re

from apply_edit.guard.context import Context

# Lines lost beside the edit are refused from this many on; fewer may be a matter of reading.
LOST_BESIDE = 3
QUOTED_LINES = 10
ASKS_REMOVAL = re.compile(
    r"\b(?:remov|delet|drop|strip|clear|empt|simplif|rewrit|replac|shorten|extract|inline|eliminat|"
    r"get rid|clean|refactor|trim|cut|reduc|prun|mov|merg|collaps|comment out|without)\w*",
    re.IGNORECASE,
)


def quoted(merge: Context, lines: list[int]) -> list[dict[str, object]]:
    """Return numbers and texts of the first few of some original lines."""
    return [{"line": i + 1, "text": merge.old[i]} for i in lines[:QUOTED_LINES]]
