"""Checks for what a merge did to lines that it should have left alone, or should have written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from rapidfuzz import fuzz

from apply_edit.align import Op
from apply_edit.guard.base import Check
from apply_edit.guard.context import Context
from apply_edit.guard.hunks import StructuredNames
from apply_edit.guard.keys import loose, shown
from apply_edit.text import is_cut_off, split_lines
from apply_edit.types import EditFormat, Finding, Severity

# Lines lost beside the edit are refused from this many on; fewer may be a matter of reading.
_LOST_BESIDE = 3
# So many lines less than before, inside of a block, are no deletion but a missing end.
_CUT_BLOCK = 2
# A sentence may well ask for a rewrite: it takes this share of the file, and this many lines.
_LOST_SHARE = 0.4
_LOST_LINES = 5
_ASKS_REMOVAL = re.compile(
    r"\b(?:remov|delet|drop|strip|clear|empt|simplif|rewrit|replac|shorten|extract|inline|eliminat|"
    r"get rid|clean|refactor|trim|cut|reduc|prun|mov|merg|collaps|comment out|without)\w*",
    re.IGNORECASE,
)
_QUOTED_LINES = 10


class Truncated(Check):
    """A text that ends before its end."""

    name = "truncated"
    severity = Severity.REFUSE
    description = "the model stopped early, or the end of the file is missing"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield the missing end of the file, unless the edit accounts for it."""
        last = max(len(merge.new) - 1, 0)
        if merge.truncated:
            message = (
                f"the model stopped at its limit after line {last + 1}; the rest of the file is "
                "missing. Allow more new tokens, or split the edit"
            )
            yield self.finding(message, [last])
            return
        op = merge.changes[-1] if merge.changes else None
        if op is None or op.old_end != len(merge.old):
            return
        if merge.edit.format is EditFormat.WHOLE:
            yield from self._whole(merge, op)
            return
        lost = sorted({*merge.judgement.lost_outside, *merge.judgement.lost_beside})
        tail = [i for i in lost if i >= op.old_start]
        cut = self._cut_line(merge, op.old_start)
        asked = merge.by_instruction and _ASKS_REMOVAL.search(merge.edit_text)
        much = len(tail) >= _LOST_BESIDE or not set(tail).isdisjoint(merge.judgement.lost_outside)
        if (much and not asked) or cut is not None:
            near = tail[0] if tail else cut
            message = (
                f"the result ends at line {last + 1}, and {max(len(tail), 1)} lines of the original"
                f" from line {(near or 0) + 1} on are missing, which the edit does not ask for"
            )
            yield self.finding(message, [last], lost=_quoted(merge, tail))

    def _whole(self, merge: Context, op: Op) -> Iterator[Finding]:
        """A whole file may end earlier than it did, but not within a line or a block of it."""
        last = max(len(merge.new) - 1, 0)
        removed = [i for i in range(op.old_start, op.old_end) if merge.old_keys[i]]
        added = [j for j in range(op.new_start, op.new_end) if merge.new_keys[j]]
        line = merge.new[-1].rstrip() if merge.new else ""
        missing = len(removed) - len(added)
        cut = [
            i
            for i in removed
            if is_cut_off(line, merge.old[i])
            or (missing >= _CUT_BLOCK and line.strip() and merge.old[i].startswith(line + " "))
        ]
        inside = not added and removed and merge.old[removed[0]][:1].isspace()
        if cut or (inside and len(removed) >= _CUT_BLOCK):
            where = f"line {cut[0] + 1}" if cut else f"the block at line {removed[0] + 1}"
            message = (
                f"the whole-file edit ends in the middle of {where} of the original, so it may "
                f"have been cut off: {len(removed)} lines are missing at its end"
            )
            yield self.finding(message, [last], lost=_quoted(merge, removed))
        elif missing >= _LOST_BESIDE:
            message = (
                f"the last {len(removed)} lines of the original, from line {removed[0] + 1} on, "
                "are not in the whole-file edit; nothing says whether that is on purpose"
            )
            yield self.finding(message, [last], Severity.WARN, lost=_quoted(merge, removed))

    def _cut_line(self, merge: Context, start: int) -> int | None:
        """Return the original line of which the result's last line is only the beginning."""
        line = merge.new[-1].rstrip() if merge.new else ""
        if not line.strip() or loose(line) in merge.content_keys or merge.by_instruction:
            return None
        if merge.wanted is not None and merge.wanted[loose(line)]:
            return None
        for i in range(start, len(merge.old)):
            if merge.old[i].startswith(line) and len(merge.old[i].rstrip()) > len(line):
                return i
        return None


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
            yield self.finding(message, at, severity, lost=_quoted(merge, lines), definitions=names)
        elif merge.edit.format is EditFormat.WHOLE:
            yield from self._shrunk(merge)

    def _severity(self, merge: Context, definition: bool) -> Severity:
        outside, beside = merge.judgement.lost_outside, merge.judgement.lost_beside
        if merge.by_instruction:
            much = max(_LOST_LINES, _LOST_SHARE * len([key for key in merge.old_keys if key]))
            asked = _ASKS_REMOVAL.search(merge.edit_text) is not None
            refused = len(beside) >= much and not asked
        else:
            refused = bool(outside) or len(beside) >= _LOST_BESIDE or definition
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
            quoted = [lines[at].rstrip() for at in missing[:_QUOTED_LINES]]
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
            yield self.finding(message, (), severity, missing=missing[:_QUOTED_LINES])


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


def _quoted(merge: Context, lines: list[int]) -> list[dict[str, object]]:
    return [{"line": i + 1, "text": merge.old[i]} for i in lines[:_QUOTED_LINES]]


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
