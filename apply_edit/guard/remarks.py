"""Which lines of a text are comments or docstrings: words about code, which a new wording replaces.

A comment of five lines that becomes one has lost no code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from apply_edit.syntax.docstrings import string_end

_COMMENT = re.compile(
    r"(?://|/\*|\*(?:\s|/|$)|--\s|;;?\s|<!--|%\s|#(?![\[!]|\s*(?:include|define|undef|if|ifdef|"
    r"ifndef|elif|else|endif|pragma|error|import)\b))"
)
_WORDS_ONLY = frozenset({"markdown", "rst", "text", "latex", "css", "scss", "less", None})


def remark_lines(lines: Sequence[str], language: str | None) -> frozenset[int]:
    """Return the indexes of lines that are all comment or docstring; none in a text of words.

    >>> text = ["def f():", "    '''One", "    two'''", "    # why", "    x"]
    >>> sorted(remark_lines(text, "python"))
    [1, 2, 3]
    """
    if language in _WORDS_ONLY:
        return frozenset()
    stripped = [line.strip() for line in lines]
    found: set[int] = set()
    for i, text in enumerate(stripped):
        if _COMMENT.match(text):
            found.add(i)
        elif language == "python" and i not in found:
            found.update(range(i, string_end(stripped, i) or i))
    return frozenset(found)
