"""Which definitions of the original an edit deals with as a whole, so that all their lines may go.

With a grammar these are definitions by name. Without one (an unknown language, a very large file)
a block is what is indented deeper than its first line.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from apply_edit.guard.keys import loose
from apply_edit.markers import Elision, elision, is_bare_ellipsis, is_marker, trailing_marker
from apply_edit.syntax import Definition, definitions
from apply_edit.text import split_lines

if TYPE_CHECKING:
    from apply_edit.guard.context import Context


def restated_lines(merge: Context) -> set[int]:
    """Return original lines of definitions that the snippet writes out in full."""
    lines = split_lines(merge.edit.snippet or "")
    reached = frozenset(merge.new_keys)
    elided = {
        index
        for index, line in enumerate(lines)
        if is_marker(line)
        or is_bare_ellipsis(line)
        or trailing_marker(line) is not None
        or (elision(line) is not Elision.NONE and loose(line) not in reached)
    }
    if merge.grammar is None:
        return _restated_blocks(lines, elided, merge)
    names = {
        _short(found)
        for found in definitions(merge.edit.snippet or "", merge.grammar)
        if elided.isdisjoint(range(found.start_line, found.end_line))
    }
    return {
        line
        for found in merge.definitions
        if _short(found) in names
        for line in range(found.start_line, found.end_line)
    }


def removed_on_request(merge: Context) -> set[int]:
    """Return original lines of definitions that a removal comment of the snippet names."""
    return {
        line
        for found in merge.definitions
        if found.name.split(".")[-1] in merge.reach.removals
        for line in range(found.start_line, found.end_line)
    }


def _short(found: Definition) -> tuple[str, str]:
    """Return kind and own name; a method shown without its class looks like a function."""
    kind = "function" if found.kind == "method" else found.kind
    return kind, found.name.split(".")[-1]


def _restated_blocks(lines: list[str], elided: set[int], merge: Context) -> set[int]:
    """Do the same by indentation; a first line that is not unique in the file says nothing."""
    heads = {
        loose(line)
        for index, line in enumerate(lines)
        if len(block := _block(lines, index)) > 0 and elided.isdisjoint(block)
    }
    counts = Counter(key for key in merge.old_keys if key in heads)
    return {
        line
        for index, key in enumerate(merge.old_keys)
        if counts[key] == 1
        for line in _block(merge.old, index)
    }


def _block(lines: list[str], head: int) -> range:
    """Return the lines below ``head`` that are indented deeper, blank ones between them included.

    >>> _block(["def f():", "    a", "", "    b", "", "x"], 0)
    range(1, 4)
    """
    depth = _indent(lines[head])
    end = head + 1
    for index in range(head + 1, len(lines)):
        if not lines[index].strip():
            continue
        if not lines[head].strip() or _indent(lines[index]) <= depth:
            break
        end = index + 1
    return range(head + 1, end)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
