"""A text as lines with what indentation says about them: parents, blocks, names of heads.

Indentation is read instead of a grammar because a snippet is a fragment that no grammar accepts,
and because snippet and file must be read by the same eyes.

Does not know: markers, matches.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

_CLOSER = re.compile(r"(?:[\])}>;,]+|end[;,)]*|fi|done|esac|</[\w.:-]+>[;,)]*|\*/|\"\"\"|''')$")
_CONTINUES = re.compile(r"[\])}].*[:{(\[]$|(?:else|elif|except|finally|catch|rescue|ensure)\b")
_ACCESSOR = re.compile(r"(?:\w+\s+)*?(?P<kind>get|set)\s+\w+\s*\(")
_CLAUSE = re.compile(r"(?:else|elif|except|finally|catch|rescue|ensure|elsif|elseif)\b")
_WORD = r"[A-Za-z_$][\w$]*"
# The groups are tried in order; the first that matches names the head.
_HEADS = (
    re.compile(
        rf"(?:[\w@.()]+\s+)*?(?P<kind>class|interface|struct|enum|trait|module|namespace|record|union|"
        rf"object|protocol|message|service)\s+(?P<name>{_WORD})"
    ),
    re.compile(r"(?:\w+\s+)*?(?P<kind>impl)\b(?:<[^>]*>)?\s+(?P<name>[^{]+?)\s*\{?$"),
    re.compile(rf"func\s+\(\s*\w*\s*\*?(?P<kind>{_WORD})[^)]*\)\s*(?P<name>{_WORD})\s*[(\[]"),
    re.compile(
        rf"(?:[\w()]+\s+)*?(?P<kind>def|fn|func|function\*?|fun|sub)\s+(?P<name>(?:self\.)?{_WORD}[?!]?)"
    ),
    re.compile(rf"(?:\w+\s+)*?(?P<kind>type)\s+(?P<name>{_WORD})\b"),
    re.compile(
        rf"(?:export\s+)?(?:default\s+)?(?P<kind>const|let|var)\s+(?P<name>{_WORD})\s*(?::[^=]*)?=\s*"
        rf"(?:async\s*)?(?:\([^)]*\)?|{_WORD}|function\b.*)\s*(?:(?::.*)?=>.*|\{{|\()?$"
    ),
    re.compile(
        rf"(?:(?P<kind>(?:[\w<>\[\],.?*&:]+\s+)*?))(?P<name>{_WORD})\s*(?:<[^>]*>)?\([^;]*\)[^;={{]*\{{$"
    ),
)
_TYPE_WORD = re.compile(
    r"(?:[\w@.()<>]+\s+)*?(?P<kind>class|interface|struct|enum|trait|impl|record|object|type)\s"
)
# One cheap look that spares most lines the patterns above.
_MAYBE_HEAD = re.compile(
    r"\{$|\($|=>|\b(?:class|interface|struct|enum|trait|module|namespace|record|union|object|protocol|"
    r"message|service|impl|def|fn|func|function|fun|sub|type|const|let|var)\b"
)
_NOT_NAMES = frozenset(
    (
        "if",
        "for",
        "while",
        "switch",
        "catch",
        "return",
        "else",
        "do",
        "with",
        "elif",
        "match",
        "foreach",
    )
)
_KEYED = re.compile(
    r"(?P<name>[\w.#*\-\"'$\[\] ]{1,60}?)\s*(?::|=>?)(?:\s|$)|(?P<bare>[\w.\-$ ]{1,60}?)=(?![=~>])"
)


def is_closer(stripped: str) -> bool:
    """Say whether a line only ends a block: ``}``, ``});``, ``end``."""
    return _CLOSER.match(stripped) is not None


def head_name(stripped: str) -> str | None:
    """Return the name that a line defines as the head of a block, or None.

    >>> head_name("def f(a):"), head_name("func (s *Store) Get(k string) {"), head_name("x = 1")
    ('f', 'Store.Get', None)
    """
    if len(stripped) > 400 or _MAYBE_HEAD.search(stripped) is None:
        return None
    for number, pattern in enumerate(_HEADS):
        match = pattern.match(stripped)
        if match is not None and match["name"] not in _NOT_NAMES:
            words = match["kind"].split()
            if words and words[0] in _NOT_NAMES | {"new", "await", "throw"}:
                continue
            return f"{match['kind']}.{match['name']}" if number == 2 else match["name"].strip()
    return None


def head_kind(stripped: str) -> str:
    """Return the word that makes a head that of a type, "" for other heads.

    A constructor has its class's name, and an ``impl`` that of its ``struct``.

    >>> head_kind("public class Foo {"), head_kind("public Foo(int n) {")
    ('class', '')
    """
    match = _TYPE_WORD.match(stripped) or _ACCESSOR.match(stripped)
    return match["kind"] if match is not None else ""


def assigned_name(stripped: str) -> str | None:
    """Return what a line assigns or which key it sets: ``total = 1``, ``"name": "x"``, or None.

    >>> assigned_name("let total = 1;"), assigned_name('"name": "x",'), assigned_name("f(a == 1)")
    ('let total', '"name"', None)
    >>> assigned_name("export PORT=80"), assigned_name("a==b")
    ('export PORT', None)
    """
    match = _KEYED.match(stripped)
    return (match["name"] or match["bare"] or "").strip() if match is not None else None


def width(line: str) -> int:
    """Return the width of a line's indentation, tabs as four columns."""
    blank = line[: len(line) - len(line.lstrip(" \t\x0c"))]
    return len(blank.expandtabs(4))


@dataclass(frozen=True)
class Outline:
    """Lines without their ends, and what can be read off them.

    Args:
        lines: Lines without line ends.
        read_ends: Gives the lines behind definitions, by head line, as a grammar sees them. Called
            once, and only when it is needed.
        names_first: Fields are written with their name before their type: ``port int``.
    """

    lines: tuple[str, ...]
    read_ends: Callable[[], dict[int, int]] = dict
    names_first: bool = False

    @cached_property
    def ends(self) -> dict[int, int]:
        """Lines behind definitions, by head line; empty without a grammar."""
        return self.read_ends()

    @cached_property
    def stripped(self) -> list[str]:
        """Lines without outer white space."""
        return [line.strip() for line in self.lines]

    @cached_property
    def widths(self) -> list[int]:
        """Indentation of each line; a blank line takes that of the next one that is not."""
        found = [width(line) for line in self.lines]
        following = 0
        for i in range(len(found) - 1, -1, -1):
            if self.stripped[i]:
                following = found[i]
            else:
                found[i] = following
        return found

    @cached_property
    def parents(self) -> list[int]:
        """Index of the line that owns each line, -1 for none.

        The owner of a closing line is the line that it closes: with ``f {``, ``  x``, ``}`` both
        ``x`` and ``}`` are owned by ``f {``.
        """
        result = [-1] * len(self.lines)
        stack: list[int] = []
        for i, text in enumerate(self.stripped):
            if not text:
                continue
            if text == "{" and stack and self.widths[stack[-1]] == self.widths[i]:
                result[i] = stack[-1]  # the brace below its head opens the head's block
                continue
            popped = -1
            while stack and self.widths[stack[-1]] >= self.widths[i]:
                popped = stack.pop()
            if popped >= 0 and self.widths[popped] == self.widths[i] and is_closer(text):
                result[i] = popped
                stack.append(popped)
                continue
            result[i] = stack[-1] if stack else -1
            stack.append(i)
        return result

    @cached_property
    def contexts(self) -> list[str]:
        """Name or text of each line's owner; "" for none."""
        keys = {parent: self.key(parent) for parent in set(self.parents) if parent >= 0}
        return [keys.get(parent, "") for parent in self.parents]

    def key(self, i: int) -> str:
        """What a line is recognised by as an owner: the name that it defines, or its text."""
        text = self.stripped[i]
        name = self.name(i)
        return text if name is None else f"{head_kind(text)} {name}"

    def name(self, i: int) -> str | None:
        """Return the name that a line defines, also where its brace stands on the next line."""
        text = self.stripped[i]
        following = self.stripped[i + 1] if i + 1 < len(self.stripped) else ""
        braced = following == "{" and text.endswith(")") and self.widths[i] == self.widths[i + 1]
        return head_name(f"{text} {{" if braced else text)

    def member(self, i: int) -> str | None:
        """Return the name that a line defines in the file or in a type, not in a function."""
        parent = self.parents[i]
        outer = parent < 0 or head_kind(self.stripped[parent]) != ""
        return self.name(i) if outer else None

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each stripped line occurs."""
        return Counter(self.stripped)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Where each stripped line occurs."""
        found: dict[str, list[int]] = defaultdict(list)
        for i, text in enumerate(self.stripped):
            found[text].append(i)
        return found

    @cached_property
    def owned_places(self) -> dict[tuple[str, str], list[int]]:
        """Where each stripped line occurs under an owner of that name."""
        found: dict[tuple[str, str], list[int]] = defaultdict(list)
        for i, text in enumerate(self.stripped):
            if text:
                found[text, self.contexts[i]].append(i)
        return found

    @cached_property
    def named_places(self) -> dict[str, list[int]]:
        """Where each name is defined by the head of a block."""
        found: dict[str, list[int]] = defaultdict(list)
        for i in range(len(self.stripped)):
            name = self.name(i)
            if name is not None:
                found[name].append(i)
        return found

    @cached_property
    def solid(self) -> list[int]:
        """Indexes of the lines that are not blank, ascending."""
        return [i for i, text in enumerate(self.stripped) if text]

    def next_solid(self, i: int) -> int:
        """Return the first line at or behind ``i`` that is not blank, or the number of lines."""
        at = bisect_left(self.solid, i)
        return self.solid[at] if at < len(self.solid) else len(self.lines)

    def previous_solid(self, i: int) -> int:
        """Return the last line before ``i`` that is not blank, or -1."""
        at = bisect_left(self.solid, i)
        return self.solid[at - 1] if at else -1

    def solid_between(self, start: int, end: int) -> list[int]:
        """Return the indexes of lines in ``[start, end)`` that are not blank."""
        return self.solid[bisect_left(self.solid, start) : bisect_left(self.solid, end)]

    def block_end(self, head: int) -> int:
        """Return the line behind the block of ``head``, its closing line included.

        A grammar's word is taken where there is one (text in a string may be indented anyhow),
        else everything deeper than the head is its block.
        """
        if head in self.ends:
            return self.ends[head]
        depth = self.widths[head]
        last = head
        at = bisect_left(self.solid, head + 1)
        for i in self.solid[at:]:
            if self.widths[i] > depth:
                last = i
                continue
            text = self.stripped[i]
            opens = text == "{" and self.parents[i] == head
            if self.widths[i] == depth and (opens or _CONTINUES.match(text) is not None):
                last = i
                continue
            if self.widths[i] == depth and is_closer(text) and self.parents[i] == head:
                last = i
            break
        return last + 1

    def clause_end(self, head: int) -> int:
        """Return the line behind the first clause of a block: before its ``else:``, if any."""
        end = self.block_end(head)
        for i in self.solid_between(head + 1, end):
            if self.widths[i] == self.widths[head] and _CLAUSE.match(self.stripped[i]) is not None:
                return i
        return end

    def owners(self, i: int) -> list[int]:
        """Return the owners of a line, nearest first."""
        found: list[int] = []
        parent = self.parents[i]
        while parent >= 0:
            found.append(parent)
            parent = self.parents[parent]
        return found
