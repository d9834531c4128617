"""Checks for what a merge did to lines that it should have left alone, or should have written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from rapidfuzz import fuzz

from apply_edit.guard.base import Check
from apply_edit.guard.context import Context
from apply_edit.guard.hunks import StructuredNames
from apply_edit.guard.keys import shown
from apply_edit.guard.lost_lines import ASKS_REMOVAL, LOST_BESIDE, QUOTED_LINES, quoted
from apply_edit.text import split_lines
from apply_edit.types import EditFormat, Finding, Severity

# A sentence may well ask for a rewrite: it takes this share of the file, and this many lines.
_LOST_SHARE = 0.4
_LOST_LINES = 5


class CodeLost(Check):
    """Lines of the original that are gone although the edit does not name them."""

    name = "code_lost"
    severity = Severity.REFUSE
    description = "lines of the original are gone that the edit does not name"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield lost lines; few lines beside the edit, or a rewrite by sentence, only warn."""
        outside, beside = merge.judgement.lost_outside, merge.judgement.lost_beside
        if outside or beside:
            lines = sorted({*outside, *beside})
            names = self._lost_definitions(merge, set(lines))
            severity = self._severity(merge, bool(names))
            message = (
                f"{len(lines)} lines of the original are gone that the edit does not name, the "
                f"first is line {lines[0] + 1}: {shown(merge.old[lines[0]])}"
            )
            if names:
                message += f"; with them the definition of {', '.join(names[:5])}"
            at = _places(merge, lines)
            yield self.finding(message, at, severity, lost=quoted(merge, lines), definitions=names)
        elif merge.edit.format is EditFormat.WHOLE:
            yield from self._shrunk(merge)

    def _severity(self, merge: Context, definition: bool) -> Severity:
        outside, beside = merge.judgement.lost_outside, merge.judgement.lost_beside
        if merge.by_instruction:
            much = max(_LOST_LINES, _LOST_SHARE * len([key for key in merge.old_keys if key]))
            asked = ASKS_REMOVAL.search(merge.edit_text) is not None
            refused = len(beside) >= much and not asked
        else:
            refused = bool(outside) or len(beside) >= LOST_BESIDE or definition
        return Severity.REFUSE if refused else Severity.WARN

    def _lost_definitions(self, merge: Context, lost: set[int]) -> list[str]:
        """Return names of definitions whose head is lost and that the edit never mentions."""
        return [
            found.name
            for found in merge.definitions
            if found.head_line in lost
            and found.kind != "import"
            and found.name.split(".")[-1] not in merge.edit_text
        ]

    def _shrunk(self, merge: Context) -> Iterator[Finding]:
        """A whole file names everything, yet most of a file gone is worth a word."""
        before = len([key for key in merge.old_keys if key])
        after = len([key for key in merge.new_keys if key])
        if before >= 20 and after * 2 < before:
            message = f"the whole-file edit leaves {after} of {before} lines of code"
            yield self.finding(message, severity=Severity.WARN)


class OutsideEdit(Check):
    """Lines that changed where the edit changes nothing."""

    name = "outside_edit"
    severity = Severity.REFUSE
    description = "a line changed that is neither part of the edit nor near it"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield new lines that are not the edit's; a touched-up neighbour only warns."""
        verdict = merge.judgement
        if verdict.foreign_outside:
            line = verdict.foreign_outside[0]
            message = (
                f"line {line + 1} of the result, {shown(merge.new[line])}, is neither in the "
                "original nor in the edit, and the edit touches nothing near it"
            )
            yield self.finding(message, verdict.foreign_outside, None, **_near_miss(merge, line))
        for severity, lines in self._beside(merge):
            message = (
                f"line {lines[0] + 1} of the result, {shown(merge.new[lines[0]])}, is neither in "
                "the original nor in the edit"
            )
            yield self.finding(message, lines, severity, **_near_miss(merge, lines[0]))
        if verdict.blank_outside:
            message = "blank lines changed where the edit touches nothing"
            yield self.finding(message, verdict.blank_outside, Severity.WARN)

    def _beside(self, merge: Context) -> Iterator[tuple[Severity, list[int]]]:
        """Sort lines beside the edit: a comma or bracket put in is fine, a new statement is not."""
        touched: list[int] = []
        invented: list[int] = []
        for j in merge.judgement.foreign_beside:
            key = merge.new_keys[j]
            near = max((fuzz.ratio(key, old) for old in _removed_near(merge, j)), default=0.0)
            (touched if near >= 80 or not re.search(r"\w", key) else invented).append(j)
        if invented:
            yield Severity.REFUSE, invented
        if touched:
            yield Severity.WARN, touched


class SnippetMissing(Check):
    """Lines that the edit brings and the result does not have."""

    name = "snippet_missing"
    severity = Severity.REFUSE
    description = "a new line of the edit did not reach the result"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield missing lines; a segment that is there in pieces only warns."""
        if merge.structured or merge.wanted is not None:
            yield from self._known(merge)
        elif merge.edit.snippet is not None:
            yield from self._snippet(merge)

    def _snippet(self, merge: Context) -> Iterator[Finding]:
        wants = Counter(key for segment in merge.reach.segments for key in segment.keys)
        has = Counter(key for key in merge.new_keys if key in wants)
        had = Counter(key for key in merge.old_keys if key in wants)
        lines = split_lines(merge.edit.snippet or "")
        missing = sorted(
            merge.reach.absent
            | {
                at
                for segment in merge.reach.segments
                for key, at in zip(segment.keys, segment.lines, strict=True)
                if had[key] == 0 and has[key] < wants[key]
            }
        )
        if missing:
            message = (
                f"line {missing[0] + 1} of the edit, {shown(lines[missing[0]])}, did not reach "
                f"the result ({len(missing)} such lines)"
            )
            quoted = [lines[at].rstrip() for at in missing[:QUOTED_LINES]]
            difference = self._difference(merge, missing[0])
            yield self.finding(message, (), None, missing=quoted, **difference)
        else:
            yield from self._torn(merge, lines)

    def _torn(self, merge: Context, lines: list[str]) -> Iterator[Finding]:
        for segment, whole in zip(merge.reach.segments, merge.reach.whole, strict=True):
            if not whole:
                message = (
                    f"the edit's lines from line {segment.lines[0] + 1} on, "
                    f"{shown(lines[segment.lines[0]])}, are all in the result, but not together"
                )
                yield self.finding(message, (), Severity.WARN)

    def _difference(self, merge: Context, at: int) -> dict[str, object]:
        """Return what the result has instead of a line of the snippet."""
        for segment in merge.reach.segments:
            if at not in segment.lines:
                continue
            index = segment.lines.index(at)
            before = segment.keys[index - 1] if index else ""
            if before in merge.new_keys:
                place = merge.new_keys.index(before) + 1
                found = merge.new[place] if place < len(merge.new) else ""
                expected = split_lines(merge.edit.snippet or "")[at].rstrip("\r\n")
                first = {"expected": expected, "found": found, "line": place + 1}
                return {"first_difference": first}
        return {}

    def _known(self, merge: Context) -> Iterator[Finding]:
        """Hunks that fit only loosely may be re-indented or unescaped, so these only warn."""
        has = Counter(merge.new_keys)
        if merge.wanted is not None:
            missing = [key for key in merge.wanted - has if key]
            severity = Severity.REFUSE
        else:
            joined = "".join(merge.new_keys)
            added = StructuredNames(merge.hunks).added()
            missing = [key for key in added if not has[key] and key not in joined]
            severity = Severity.WARN
        if missing:
            message = (
                f"{len(missing)} lines that the edit leads to are not in the result, the first is "
                f"{shown(missing[0])} (white space left out)"
            )
            yield self.finding(message, (), severity, missing=missing[:QUOTED_LINES])


def _removed_near(merge: Context, line: int) -> list[str]:
    for op in merge.changes:
        if op.new_start <= line < op.new_end:
            return merge.old_keys[op.old_start : op.old_end]
    return []


def _near_miss(merge: Context, line: int) -> dict[str, object]:
    """Return the original line in whose place a result line stands."""
    for op in merge.changes:
        if op.new_start <= line < op.new_end and op.old_start < op.old_end:
            old = min(op.old_start + line - op.new_start, op.old_end - 1)
            found = {"expected": merge.old[old], "found": merge.new[line], "line": line + 1}
            return {"first_difference": found}
    return {}


def _places(merge: Context, lines: list[int]) -> list[int]:
    """Return result lines at which original lines were lost."""
    lost = set(lines)
    last = max(len(merge.new) - 1, 0)
    return sorted(
        {
            min(op.new_start, last)
            for op in merge.changes
            if not lost.isdisjoint(range(op.old_start, op.old_end))
        }
    )
