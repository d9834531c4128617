"""Checks that parse: what the merge did to the definitions and the syntax of the file.

They only warn. Grammars lag behind languages, and a file may be half-written on purpose.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from apply_edit.guard.base import Check
from apply_edit.guard.context import Context
from apply_edit.guard.keys import loose
from apply_edit.syntax import Definition, definitions, error_nodes
from apply_edit.syntax.python import python_error
from apply_edit.types import Finding, Severity

# Languages in which one name may be defined many times, told apart by what follows it.
_OVERLOADS = frozenset({"java", "csharp", "cpp", "c", "typescript", "tsx", "rust", "css", "toml"})
_IMPORT = re.compile(r"(?:import|from|use|using|#include|require|require_once|@import)\b.*\S")


class DuplicateDefinition(Check):
    """A definition or import that is there twice since the merge."""

    name = "duplicate_definition"
    severity = Severity.WARN
    description = "a definition or import is there twice that was there once"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield definitions that became double, and import lines that did."""
        lines = set(merge.inserted)
        if not lines:
            return
        if not merge.is_prose:
            yield from self._imports(merge)
        if merge.grammar is None:
            return
        after = [d for d in definitions(merge.text, merge.grammar) if self._counts(d, merge)]
        before = Counter(self._key(d, merge.old, merge) for d in merge.definitions)
        seen = Counter(self._key(d, merge.new, merge) for d in after)
        double = {key for key, n in seen.items() if n > 1 and n > before[key]}
        for key in sorted(double):
            places = [d for d in after if self._key(d, merge.new, merge) == key]
            # A new line inside one of them: the merge is what doubled it.
            if any(not lines.isdisjoint(range(d.start_line, d.end_line)) for d in places):
                heads = [d.head_line for d in places]
                at = " and ".join(str(line + 1) for line in heads[:4])
                message = (
                    f"{places[0].kind} {places[0].name} is defined at lines {at} of the result"
                )
                yield self.finding(message, heads, name=places[0].name)

    def _counts(self, found: Definition, merge: Context) -> bool:
        """Leave out imports (they are compared by line) and Python's decorated pairs."""
        decorated = merge.grammar == "python" and found.start_line != found.head_line
        return found.kind not in ("import", "module", "rule") and not decorated

    def _key(self, found: Definition, lines: list[str], merge: Context) -> tuple[str, str, str]:
        head = loose(lines[found.head_line]) if found.head_line < len(lines) else ""
        return found.kind, found.name, head if merge.grammar in _OVERLOADS else ""

    def _imports(self, merge: Context) -> Iterator[Finding]:
        fresh = {merge.new[j].rstrip(): j for j in merge.inserted if _IMPORT.match(merge.new[j])}
        if not fresh:
            return
        before = Counter(line for line in map(str.rstrip, merge.old) if line in fresh)
        after = Counter(line for line in map(str.rstrip, merge.new) if line in fresh)
        lines = sorted(j for line, j in fresh.items() if after[line] > max(1, before[line]))
        if lines:
            message = f"line {lines[0] + 1} of the result imports what is imported already"
            yield self.finding(message, lines)


class SyntaxErrors(Check):
    """Places that do not parse and did parse before."""

    name = "syntax_errors"
    severity = Severity.WARN
    description = "there are more syntax errors than before (never: there must be none)"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield new faults of the grammar, and Python's own verdict where the original parsed."""
        if merge.grammar is None or merge.text == merge.original:
            return
        before = error_nodes(merge.original, merge.grammar)
        after = error_nodes(merge.text, merge.grammar)
        if len(after) > len(before):
            known = Counter((fault.kind, fault.text) for fault in before)
            fresh = []
            for fault in after:
                if known[fault.kind, fault.text] > 0:
                    known[fault.kind, fault.text] -= 1
                else:
                    fresh.append(fault)
            first = (fresh or after)[0]
            message = (
                f"the result has {len(after)} syntax errors where the file had {len(before)}; the "
                f"first new one is at line {first.start_line + 1}"
            )
            lines = sorted({fault.start_line for fault in fresh})
            yield self.finding(message, lines, before=len(before), after=len(after))
        elif merge.grammar == "python":
            yield from self._python(merge)

    def _python(self, merge: Context) -> Iterator[Finding]:
        if python_error(merge.original) is None:
            error = python_error(merge.text)
            if error is not None:
                line, what = error
                message = f"line {line + 1} of the result is not valid Python any more: {what}"
                yield self.finding(message, [line])
