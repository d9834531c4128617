"""Small facts about single lines that all checks share."""

from __future__ import annotations

from collections.abc import Sequence

from apply_edit.align import plain_line

_LOOKALIKE = {
    ord(a): b for a, b in zip("\u2018\u2019\u201a\u201c\u201d\u201e", "'''\"\"\"", strict=True)
}
_LOOKALIKE |= {ord(c): "-" for c in "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"}


def loose(line: str) -> str:
    r"""Return the key by which lines of file, edit and result are recognised in each other.

    White space does not count, nor do the characters that models and editors exchange.

    >>> loose("  f( \u2018x\u2019 )\r\n")
    "f('x')"
    """
    key = "".join(line.split())
    return key if key.isascii() else plain_line(key).translate(_LOOKALIKE).replace(" ", "")


def to_spans(lines: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Join increasing indexes to half-open spans.

    >>> to_spans([1, 2, 5])
    ((1, 3), (5, 6))
    """
    spans: list[tuple[int, int]] = []
    for line in lines:
        if spans and spans[-1][1] == line:
            spans[-1] = (spans[-1][0], line + 1)
        else:
            spans.append((line, line + 1))
    return tuple(spans)


def shown(line: str, limit: int = 80) -> str:
    """Return a line as a message quotes it."""
    text = line.strip()
    return repr(text if len(text) <= limit else text[: limit - 1] + "\u2026")
