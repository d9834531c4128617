"""Judge every changed line of a merge: does the edit account for it?

Lines are taken by their loose keys. A line that went away in one place and came back in another was
moved, not lost. What remains is sorted by how near it is to what the edit touches, because beside
the edit a reading is a matter of judgement, and far from it there is nothing to judge.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apply_edit.align import Op
from apply_edit.guard.hunks import StructuredNames
from apply_edit.markers import is_bare_ellipsis
from apply_edit.swallowed import without_heirs
from apply_edit.types import EditFormat, FileOp

if TYPE_CHECKING:
    from apply_edit.guard.context import Context

_WORD = re.compile(r"[A-Za-z_$][\w$-]{2,}")


@dataclass(slots=True)
class Judgement:
    """Changed lines that the edit does not account for.

    Args:
        lost_outside: Original lines removed where the edit touches nothing.
        lost_beside: Original lines removed beside something the edit touches.
        foreign_outside: Result lines that are neither original nor edit, far from the edit.
        foreign_beside: The same beside something the edit touches.
        blank_outside: Result lines at which only blank lines changed, far from the edit.
    """

    lost_outside: list[int] = field(default_factory=list)
    lost_beside: list[int] = field(default_factory=list)
    foreign_outside: list[int] = field(default_factory=list)
    foreign_beside: list[int] = field(default_factory=list)
    blank_outside: list[int] = field(default_factory=list)


def judge(merge: Context) -> Judgement:
    """Sort the changed lines of a merge."""
    if merge.structured:
        return _judge_structured(merge)
    if merge.edit.format is EditFormat.INSTRUCTION or merge.edit.snippet is None:
        return _judge_instruction(merge)
    if merge.edit.format is EditFormat.WHOLE:
        return _judge_known(merge, merge.wanted or Counter())
    return _judge_snippet(merge)


def _judge_snippet(merge: Context) -> Judgement:
    verdict = Judgement()
    wanted = {key for segment in merge.reach.segments for key in segment.keys}
    # Three dots may be code; whether they are is a question for another check.
    wanted |= {key for key in merge.content_keys if is_bare_ellipsis(key)}
    moved = Counter(merge.new_keys[j] for j in merge.inserted)
    fresh = set(merge.inserted)
    for op in merge.changes:
        removed, added = _solid(merge, op)
        near = _near(op, merge)
        if not removed and not added:
            if not near:
                verdict.blank_outside.append(min(op.new_start, max(len(merge.new) - 1, 0)))
            continue
        foreign = [j for j in added if merge.new_keys[j] not in wanted]
        # A snippet line that the file had all along only says where the edit is.
        beside = not near.isdisjoint(fresh)
        if beside:
            # Wrapping existing code (a new ``try:``) moves it to the right; that is no new line.
            shifted = {merge.old_keys[i] for i in removed}
            verdict.foreign_beside += [j for j in foreign if merge.new_keys[j] not in shifted]
        else:
            verdict.foreign_outside += foreign
        if _is_inner(op, merge):
            continue
        lost = _without_asked(merge, removed)
        if not beside:
            # No move can begin here: the snippet would have to show the gap that it leaves.
            verdict.lost_outside += _without_successor(merge, lost, foreign) if foreign else lost
            continue
        lost = [i for i in lost if not _take(moved, merge.old_keys[i])]
        lost = [i for i in lost if i not in merge.restated]
        lost = _without_successor(merge, lost, added)
        if lost and not merge.new_remarks.isdisjoint(added):
            # A new wording takes the place of all of the old one, however long that was.
            lost = [i for i in lost if i not in merge.old_remarks]
        verdict.lost_beside += lost
    return verdict


def _judge_structured(merge: Context) -> Judgement:
    if any(file.op is not FileOp.UPDATE for file in merge.edit.files):
        return Judgement()
    if merge.wanted is not None:
        return _judge_known(merge, merge.wanted)
    verdict = Judgement()
    names = StructuredNames(merge.hunks)
    if names.everything:
        return verdict
    moved = Counter(merge.new_keys[j] for j in merge.inserted)
    for op in merge.changes:
        removed, added = _solid(merge, op)
        pieces = any(names.has_piece(merge.old_keys[i]) for i in removed)
        verdict.foreign_outside += [
            j
            for j in added
            if not pieces
            and merge.new_keys[j] not in merge.content_keys
            and not names.adds(merge.new_keys[j])
        ]
        verdict.lost_outside += [
            i
            for i in removed
            if not _take(moved, merge.old_keys[i]) and not names.removes(merge.old_keys[i])
        ]
    return verdict


def _judge_known(merge: Context, wanted: Counter[str]) -> Judgement:
    """Compare with the lines that the edit must lead to: a whole file, or hunks that fit."""
    has = Counter(merge.new_keys)
    verdict = Judgement()
    for op in merge.changes:
        removed, added = _solid(merge, op)
        verdict.foreign_outside += [
            j for j in added if has[merge.new_keys[j]] > wanted[merge.new_keys[j]]
        ]
        verdict.lost_outside += [
            i for i in removed if has[merge.old_keys[i]] < wanted[merge.old_keys[i]]
        ]
    return verdict


def _judge_instruction(merge: Context) -> Judgement:
    """A sentence names only lines that it quotes; others without successor count as removed."""
    verdict = Judgement()
    moved = Counter(merge.new_keys[j] for j in merge.inserted)
    for op in merge.changes:
        removed, added = _solid(merge, op)
        lost = [
            i
            for i in removed
            if merge.old[i].strip() not in merge.edit_text and not _take(moved, merge.old_keys[i])
        ]
        verdict.lost_beside += _without_successor(merge, lost, added)
    return verdict


def _solid(merge: Context, op: Op) -> tuple[list[int], list[int]]:
    """Return the lines of a change that are not blank: of the original, of the result."""
    removed = [i for i in range(op.old_start, op.old_end) if merge.old_keys[i]]
    added = [j for j in range(op.new_start, op.new_end) if merge.new_keys[j]]
    return removed, added


def _take(counts: Counter[str], key: str) -> bool:
    if counts[key] <= 0:
        return False
    counts[key] -= 1
    return True


def _is_inner(op: Op, merge: Context) -> bool:
    """Say whether the snippet shows everything around a change as one piece."""
    joined = merge.reach.joined
    line, end = _next_solid(merge, op.new_start), _next_solid(merge, op.new_end)
    while line < end:
        if line not in joined:
            return False
        line = _next_solid(merge, line + 1)
    return end in joined


def _near(op: Op, merge: Context) -> set[int]:
    """Return the snippet's result lines in a change or right beside it (blank lines apart)."""
    before = op.new_start - 1
    while before >= 0 and not merge.new_keys[before]:
        before -= 1
    near = {before, _next_solid(merge, op.new_end), *range(op.new_start, op.new_end)}
    return near & merge.reach.covered


def _next_solid(merge: Context, line: int) -> int:
    while line < len(merge.new) and not merge.new_keys[line]:
        line += 1
    return line


def _without_successor(merge: Context, lost: list[int], added: list[int]) -> list[int]:
    """Drop the lost lines that a new line of the same change is the successor of, one for one."""
    return without_heirs(lost, merge.old_keys, [merge.new_keys[j] for j in added])


def _without_asked(merge: Context, removed: list[int]) -> list[int]:
    """Drop the lines that a removal comment asks to remove.

    Without a grammar nothing says where a definition ends; then one line with the word answers for
    all that went with it.
    """
    removals = merge.reach.removals
    if not removals:
        return removed
    lost = [i for i in removed if removals.isdisjoint(_WORD.findall(merge.old[i]))]
    if merge.grammar is None and len(lost) < len(removed):
        return []
    return [i for i in lost if i not in merge.on_request]
