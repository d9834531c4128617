"""Find comments in a merged text that took the place of code.

A comment that may stand for code which is left out (``# as before``) is harmless where it is only
added. Where lines of the file are gone beside it, it has swallowed them.

Does not know: edits, languages, who made the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from apply_edit.line_ops import line_ops
from apply_edit.markers import comment_text, is_real_comment

# Likeness in percent from which a new line counts as the successor of an old one.
_SUCCESSOR = 55.0
# Above this many comparisons, lines are paired by number instead of by likeness.
_MAX_PAIRS = 400_000
_COMMENTS = ("#", "//", "/*", "*", "--", "<!--", '"""', "'''")
_EMPTY = frozenset({"end", "fi", "done", "esac", "else", "pass", "else:", "else {", "} else {"})


@dataclass(frozen=True, slots=True)
class Swallowed:
    """A line of the new text and the old lines that are gone beside it.

    Args:
        line: 0-based index in the new text.
        lost: 0-based indexes in the old text; at least one.
        shrinks: The changed stretch has fewer lines than before.
    """

    line: int
    lost: tuple[int, ...]
    shrinks: bool


@dataclass(frozen=True, slots=True)
class _Stretch:
    """What changed, up to the next unchanged line that says something."""

    removed: tuple[int, ...]
    added: tuple[int, ...]


def swallowed(
    old: Sequence[str], new: Sequence[str], suspects: Collection[int], *, prose: bool = False
) -> list[Swallowed]:
    """Return the suspects beside which lines of the old text are gone without a successor.

    Args:
        old: Lines of the old text; outer white space does not matter.
        new: Lines of the new text.
        suspects: 0-based indexes of new lines that may stand for what is gone.
        prose: The text is a document, where ``#`` and ``*`` begin lines like any other.
    """
    if not suspects:
        return []
    before, after = [line.strip() for line in old], [line.strip() for line in new]
    surplus = Counter(after)
    surplus.subtract(Counter(before))
    found: list[Swallowed] = []
    for stretch in _stretches(before, after):
        inside = [j for j in stretch.added if j in suspects]
        if not inside or not stretch.removed:
            continue
        gone = [
            i for i in stretch.removed if _counts(before[i], prose=prose) and surplus[before[i]] < 0
        ]
        heirs = [
            text
            for j in stretch.added
            for text in _heirs(after[j], suspect=j in suspects, prose=prose)
        ]
        lost = without_heirs(gone, before, heirs)
        if lost:
            num_new = sum(bool(after[j]) for j in stretch.added) - len(inside)
            shrinks = num_new < sum(bool(before[i]) for i in stretch.removed)
            found += [Swallowed(j, tuple(lost), shrinks) for j in inside]
    return found


def dangling(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """Return the new comments that end a block of code: nothing is left there to comment on.

    Whatever their words, they may stand for the rest of that block.

    Args:
        old: Lines of the old text.
        new: Lines of the new text.
    """
    known = {line.strip() for line in old}
    fresh = (j for j, line in enumerate(new) if line.strip() not in known)
    return [j for j in fresh if is_real_comment(new[j]) and _ends_block(new, j)]


def _ends_block(lines: Sequence[str], at: int) -> bool:
    """Say whether a line is the last of a block in which code stands before it."""
    depth = _depth(lines[at])
    above = next((lines[i] for i in range(at - 1, -1, -1) if lines[i].strip()), "")
    below = next((lines[i] for i in range(at + 1, len(lines)) if lines[i].strip()), "")
    follows_code = bool(above) and _depth(above) == depth > 0 and not is_real_comment(above)
    return follows_code and (not below or _depth(below) < depth)


def _stretches(old: Sequence[str], new: Sequence[str]) -> list[_Stretch]:
    """Join changes between which only blank lines and brackets are the same."""
    stretches: list[_Stretch] = []
    removed: list[int] = []
    added: list[int] = []
    for op in line_ops(old, new):
        if op.kind != "equal":
            removed += range(op.old_start, op.old_end)
            added += range(op.new_start, op.new_end)
        elif any(c.isalnum() for line in old[op.old_start : op.old_end] for c in line):
            stretches.append(_Stretch(tuple(removed), tuple(added)))
            removed, added = [], []
    return [*stretches, _Stretch(tuple(removed), tuple(added))]


def _counts(stripped: str, *, prose: bool) -> bool:
    """Say whether something is lost with a line."""
    if not any(c.isalnum() for c in stripped) or stripped.rstrip(";,") in _EMPTY:
        return False
    return prose or not stripped.startswith(_COMMENTS)


def _heirs(stripped: str, *, suspect: bool, prose: bool) -> list[str]:
    """Return what a new line may be the changed form of: itself, or what it comments out.

    A suspect that is no comment may be a changed line too, with dots in it.
    """
    if prose:
        return [] if suspect or not _counts(stripped, prose=True) else [stripped]
    if is_real_comment(stripped):
        return [comment_text(stripped)]
    return [stripped] if _counts(stripped, prose=False) else []


def without_heirs(gone: list[int], old: Sequence[str], heirs: list[str]) -> list[int]:
    """Drop the old lines that a new line is the changed form of, one for one.

    Args:
        gone: 0-based indexes of old lines.
        old: The old lines.
        heirs: New lines.
    """
    if len(gone) * len(heirs) > _MAX_PAIRS:
        return gone[len(heirs) :]
    free = dict(enumerate(heirs))
    lost = []
    for i in gone:
        best = process.extractOne(old[i], free, scorer=fuzz.ratio, score_cutoff=_SUCCESSOR)
        if best is None:
            lost.append(i)
        else:
            del free[best[2]]
    return lost


def _depth(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())
