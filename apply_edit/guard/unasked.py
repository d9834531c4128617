"""What a sentence asks for, and where: changes in places that it does not speak of.

A sentence seldom quotes lines, but it often says where: it names a function, says "only", or says
what stays. A small model likes to make a change everywhere that it is asked to make once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from apply_edit.align import Op
from apply_edit.guard.base import Check
from apply_edit.guard.context import Context
from apply_edit.guard.keys import shown
from apply_edit.syntax import Definition
from apply_edit.types import Finding, Severity

# The sentence speaks of more than one place.
_SEVERAL = re.compile(
    r"\b(?:all|any|both|each|every\w*|everywhere|throughout|wherever|whole|entire|renam\w*|"
    r"occurrences?|usages?|uses|callers?|calls|places|instances|lines|cases|tests)\b",
    re.IGNORECASE,
)
_ONLY = re.compile(r"\bonly\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[;.,](?=\s|$)|\bbut\b|\band\b")
_STAYS = re.compile(
    r"\b(?:stays?|leave|keep|except|untouched|unchanged|as (?:it|they) (?:is|are))\b|\b(?:do not|"
    r"don't|must not|should not|mustn't|shouldn't|not)\s+(?:be\s+)?(?:touch|chang|renam)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"\n]+\"|'[^'\n]+'")
_IMPORT = re.compile(r"(?:import|from|use|using|include|#include|require|package)\b|.*\brequire\(")
_KINDS = frozenset({"function", "method", "class", "type"})


class UnaskedPlace(Check):
    """Changes where the sentence does not ask for any."""

    name = "unasked_place"
    severity = Severity.REFUSE
    description = "a sentence names one place, and other places changed as well"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield what changed beside the place that a sentence names."""
        if not merge.by_instruction:
            return
        sentence = merge.edit.instruction or ""
        changes = [op for op in merge.changes if _is_solid(merge, op)]
        yield from self._protected(merge, sentence, changes)
        if _SEVERAL.search(sentence):
            return
        yield from self._repeated(merge)
        if _ONLY.search(sentence) and len(changes) > 1:
            lines = [op.new_start for op in changes]
            places = ", ".join(str(line + 1) for line in lines)
            message = f"the sentence says 'only', and lines {places} of the result changed"
            yield self.finding(message, _within(merge, lines))
        yield from self._elsewhere(merge, sentence, changes)

    def _repeated(self, merge: Context) -> Iterator[Finding]:
        """Yield equal lines that were all changed in the same manner."""
        pairs: Counter[tuple[str, str]] = Counter()
        for op in merge.changes:
            old = merge.old[op.old_start : op.old_end]
            new = merge.new[op.new_start : op.new_end]
            if len(old) == len(new):
                pairs.update(
                    (before.strip(), after.strip())
                    for before, after in zip(old, new, strict=True)
                    if before.strip() and before != after
                )
        for (before, _), count in pairs.items():
            if count > 1:
                message = (
                    f"{count} lines {shown(before)} were changed alike, and the sentence does not "
                    "say that all of them are meant; say 'everywhere', or name the place"
                )
                yield self.finding(message)
                return

    def _elsewhere(self, merge: Context, sentence: str, changes: list[Op]) -> Iterator[Finding]:
        """Yield changes outside of the definitions that the sentence says to make them in."""
        named = [found for found in _definitions(merge) if _is_place(_own(found), sentence)]
        if not named:
            return
        # A definition that is merely mentioned may change as well.
        named += [found for found in _definitions(merge) if _mentions(_own(found), sentence)]
        for op in changes:
            if not any(_inside(op, found) for found in named) and not _is_import(merge, op):
                message = (
                    f"line {op.new_start + 1} of the result changed, and the sentence asks for a "
                    f"change in {_own(named[0])}"
                )
                yield self.finding(message, _within(merge, [op.new_start]))
                return

    def _protected(self, merge: Context, sentence: str, changes: list[Op]) -> Iterator[Finding]:
        """Yield changes of what the sentence says to leave."""
        for clause in _CLAUSE.split(sentence):
            if not _STAYS.search(clause):
                continue
            for quoted in _QUOTED.findall(clause):
                if merge.text.count(quoted) < merge.original.count(quoted):
                    message = f"the sentence says to leave {quoted}, and it is gone in one place"
                    yield self.finding(message)
            for found in _definitions(merge):
                if not _mentions(_own(found), clause):
                    continue
                hit = next((op for op in changes if _inside(op, found)), None)
                if hit is not None:
                    message = f"the sentence says to leave {_own(found)}, and it changed"
                    yield self.finding(message, _within(merge, [hit.new_start]))


def _definitions(merge: Context) -> list[Definition]:
    return [found for found in merge.definitions if found.kind in _KINDS]


def _own(found: Definition) -> str:
    return found.name.split(".")[-1]


def _is_place(name: str, sentence: str) -> bool:
    """Say whether a sentence names a definition as the place of a change.

    >>> _is_place("f", "In f(), return 1."), _is_place("f", "Rename f to g.")
    (True, False)
    """
    word = re.escape(name)
    kind = r"(?:the\s+)?(?:(?:function|method|class|handler|constructor|test)\s+)?"
    inside = rf"\b(?:in|inside|inside of|within)\s+{kind}[`'\"]?(?:\w+(?:\.|::|#))*{word}\b"
    topic = rf"^\s*[`'\"]?(?:\w+(?:\.|::|#))*{word}\b[`'\"]?(?:\(\))?\s*(?::|should\b|must\b)"
    return re.search(rf"{inside}|{topic}", sentence, re.IGNORECASE) is not None


def _mentions(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _inside(op: Op, found: Definition) -> bool:
    """Say whether a change lies within a definition, or right behind its last line."""
    return found.start_line <= op.old_start and op.old_end <= found.end_line


def _is_import(merge: Context, op: Op) -> bool:
    lines = [*merge.old[op.old_start : op.old_end], *merge.new[op.new_start : op.new_end]]
    return all(_IMPORT.match(line.strip()) for line in lines if line.strip())


def _is_solid(merge: Context, op: Op) -> bool:
    keys = merge.old_keys[op.old_start : op.old_end] + merge.new_keys[op.new_start : op.new_end]
    return any(keys)


def _within(merge: Context, lines: list[int]) -> list[int]:
    last = max(len(merge.new) - 1, 0)
    return sorted({min(line, last) for line in lines})
