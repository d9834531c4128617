"""The check for a text that ends before its end."""

from __future__ import annotations

from collections.abc import Iterator

from apply_edit.align import Op
from apply_edit.guard.base import Check
from apply_edit.guard.context import Context
from apply_edit.guard.keys import loose
from apply_edit.guard.lost_lines import ASKS_REMOVAL, LOST_BESIDE, quoted
from apply_edit.text import is_cut_off
from apply_edit.types import EditFormat, Finding, Severity

# So many lines less than before, inside of a block, are no deletion but a missing end.
_CUT_BLOCK = 2


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
        asked = merge.by_instruction and ASKS_REMOVAL.search(merge.edit_text)
        much = len(tail) >= LOST_BESIDE or not set(tail).isdisjoint(merge.judgement.lost_outside)
        if (much and not asked) or cut is not None:
            near = tail[0] if tail else cut
            message = (
                f"the result ends at line {last + 1}, and {max(len(tail), 1)} lines of the original"
                f" from line {(near or 0) + 1} on are missing, which the edit does not ask for"
            )
            yield self.finding(message, [last], lost=quoted(merge, tail))

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
            yield self.finding(message, [last], lost=quoted(merge, removed))
        elif missing >= LOST_BESIDE:
            message = (
                f"the last {len(removed)} lines of the original, from line {removed[0] + 1} on, "
                "are not in the whole-file edit; nothing says whether that is on purpose"
            )
            yield self.finding(message, [last], Severity.WARN, lost=quoted(merge, removed))

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
