"""Check that no line of the result stands for code that is left out.

An elision marker of a snippet is spelled out precisely so that it does *not* reach the file. Lines
that only may be markers are judged by what is gone beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from apply_edit.guard.base import Check
from apply_edit.guard.context import Context
from apply_edit.guard.keys import loose, shown
from apply_edit.markers import elision, is_bare_ellipsis, is_marker
from apply_edit.markers.suspects import DOCUMENTS, dots_are_text, vague_elision
from apply_edit.swallowed import dangling, swallowed
from apply_edit.syntax import canonical_language
from apply_edit.text import split_lines
from apply_edit.types import EditFormat, Finding, Severity


class LeakedMarker(Check):
    """An elision marker that stands for code, where the code should stand."""

    name = "leaked_marker"
    severity = Severity.REFUSE
    description = "an elision marker (`// ... existing code ...`) was left in the text"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield the markers that the original has less often, and a structured edit not at all."""
        wanted = merge.content_keys if merge.structured else frozenset()
        had: Counter[str] = Counter(
            loose(merge.old[i])
            for op in merge.changes
            for i in range(op.old_start, op.old_end)
            if is_marker(merge.old[i])
        )
        lines: list[int] = []
        for j in merge.inserted:
            line = merge.new[j]
            if not (is_marker(line) or self._is_dots(line, merge)):
                continue
            key = loose(line)
            if had[key] > 0:
                had[key] -= 1
            elif key not in wanted:
                lines.append(j)
        if lines:
            first = lines[0]
            message = (
                f"line {first + 1} of the result is the elision marker {shown(merge.new[first])}, "
                "not the code it stands for; the result would lose that code"
            )
            yield self.finding(message, lines, markers=[merge.new[j] for j in lines[:20]])
        else:
            yield from self._in_place_of_code(merge)

    def _in_place_of_code(self, merge: Context) -> Iterator[Finding]:
        """Yield new comments that may be markers, where lines of the original are gone."""
        if merge.structured:
            return
        lazy = merge.edit.format is EditFormat.LAZY
        language = canonical_language(merge.language)
        # Whoever writes out the whole file may well write a stub.
        python = language == "python" and not lazy
        suspects = {
            j
            for j in merge.inserted
            if (elision(merge.new[j]) if python else vague_elision(merge.new[j], language))
            or (is_bare_ellipsis(merge.new[j]) and language != "python")
        }
        if lazy and not merge.is_prose and merge.language is not None:
            suspects.update(dangling(merge.old, merge.new))
        known = {line.strip() for line in merge.old}
        suspects = {j for j in suspects if merge.new[j].strip() not in known}
        prose = merge.is_prose or merge.language is None
        found = [
            each
            for each in swallowed(merge.old, merge.new, suspects, prose=prose)
            # A longer text may well have dots of its own.
            if each.shrinks or not (prose and is_bare_ellipsis(merge.new[each.line]))
        ]
        if found:
            first = found[0]
            message = (
                f"line {first.line + 1} of the result, {shown(merge.new[first.line])}, stands "
                f"where {len(first.lost)} lines of the original are gone, from line "
                f"{first.lost[0] + 1}, {shown(merge.old[first.lost[0]])}, on; it may stand for them"
            )
            lines = [each.line for each in found]
            yield self.finding(message, lines, markers=[merge.new[j] for j in lines[:20]])

    def _is_dots(self, line: str, merge: Context) -> bool:
        """Say whether a line is an ellipsis of the snippet that stands for lines of the file."""
        language = canonical_language(merge.language)
        if not is_bare_ellipsis(line) or merge.edit.format is not EditFormat.LAZY:
            return False
        if language == "python" or loose(line) not in merge.content_keys:
            return False
        known = {each.strip() for each in merge.old}
        if line.strip() in known:
            return False
        snippet = split_lines(merge.edit.snippet or "")
        if language == "yaml":
            return not any(each.rstrip() == "---" for each in (*merge.old, *snippet))
        places = [i for i, each in enumerate(snippet) if loose(each) == loose(line)]
        document = language is None or language in DOCUMENTS
        return not (document and all(dots_are_text(snippet, i, known) for i in places))
