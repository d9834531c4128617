"""Name the blocks that a text is made of, whatever its language: definitions, sections, rules.

Read by indentation, brackets and headings; good enough to see that a text lacks a block that
another one has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_HEADING = re.compile(r"#{1,6}\s+\S|\[\[?[\w.\"' :/-]+\]\]?\s*$")
# A comment, a closing line, a line that goes on with a block.
_NO_HEAD = re.compile(
    r"//|/\*|\*|--|#\s|#$|[\])}]|end\b|</|<!--|else\b|elif\b|except\b|finally\b|catch\b"
)
_TYPE = re.compile(
    r"\b(?:class|interface|struct|enum|trait|impl|record|object|namespace|module|protocol|extension)\b"
)
_METHOD = re.compile(r"func\s*\([^)]*\)\s*(\w+)")
_KEY = re.compile(r"\"[^\"]+\"\s*(?=:)")
_ROOTS = ("{", "[")
_BEFORE = re.compile(r"[^({=:<]*")


def lost_blocks(old: Sequence[str], new: Sequence[str]) -> tuple[list[str], bool]:
    """Return which blocks of a text another one lacks, and whether its last one is among them.

    Args:
        old: Lines that are not blank, with their indentation.
        new: Lines of the other text.

    >>> lost_blocks(["def f():", "    x", "def g():", "    y"], ["def g(a):", "    y"])
    (['f'], False)
    """
    own, other = block_heads(old), block_heads(new)
    # Blocks of one name are told apart by their first lines.
    counts = Counter(name for name, _ in own)
    keys = [head if counts[name] > 1 else name for name, head in own]
    shown = Counter(head if counts[name] > 1 else name for name, head in other)
    lost = list((Counter(keys) - shown).elements())
    if len(other) >= len(own) and all(map(_HEADING.match, lost)):
        return [], False  # headings with other words
    return lost, bool(keys) and keys[-1] in lost


def block_heads(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Return (name, first line) of a text's outer blocks and of the members of its types, in order.

    Args:
        lines: Lines that are not blank, with their indentation.

    >>> block_heads(["class A:", "    def f(self):", "        if x:", "            y()", "z = 1"])
    [('A', 'class A:'), ('f', 'def f(self):')]
    >>> [name for name, _ in block_heads(["# Title", "server {", "  x;", "}", "[part]", "a = 1"])]
    ['# Title', 'server', '[part]']
    """
    names: list[tuple[str, str]] = []
    # Indentation of each enclosing block, and whether its members count.
    stack: list[tuple[int, bool]] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        text, depth = line.strip(), _depth(line)
        while stack and depth <= stack[-1][0]:
            stack.pop()
        counts = not stack or stack[-1][1]
        if _HEADING.match(text):
            if not stack:
                names.append((text, text))
            continue
        key = _KEY.match(text)
        if key is not None and counts and stack:
            names.append((key[0], key[0]))
        below = following.strip()
        opens = _depth(following) > depth if below else text.endswith(("{", ":"))
        if not opens and not (below == "{" and _depth(following) == depth):
            continue
        if _NO_HEAD.match(text):
            continue
        if counts and key is None:
            names.append((_name(text), text))
        stack.append((depth, counts and (text in _ROOTS or _TYPE.search(text) is not None)))
    return names


def _name(head: str) -> str:
    """Return the last word before the arguments: what stays when a signature changes."""
    method = _METHOD.match(head)
    if method is not None:
        return method[1]
    before = _BEFORE.match(head)
    words = before[0].split() if before is not None else []
    return words[-1] if words else head


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
