"""Find all hunks of a file, check them together, and write them.

Hunks written in lines are looked for in the original, all at once; where that fails, one after the
other, as edits that were written against each other's result need it. ``str_replace`` edits are
applied one after the other, as their tools do.

Does not know: new and deleted files, formats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apply_edit.direct.remarks import notices, refuse_doubt, refuse_missing, refuse_overlaps
from apply_edit.direct.splice import Doubt, LineEdit, line_edits, splice
from apply_edit.direct.textual import replace_text
from apply_edit.direct.there import lines_there
from apply_edit.errors import (
    AmbiguousAnchor,
    AnchorNotFound,
    ApplyError,
)
from apply_edit.match.assign import assign
from apply_edit.match.ladder import STRICT_STEPS, FileLines, Found, Place, run_places
from apply_edit.match.locate import ALREADY, bodies, locate
from apply_edit.match.near import WHOLE, named, not_found
from apply_edit.match.there import text_stands
from apply_edit.text import dominant_newline, line_end
from apply_edit.types import DirectResult, FileEdit, Hunk, HunkOutcome, Notice

_EXACTLY, _LOOSELY = "trailing_space", "inner_space"
_BORDER = "\0"
_SURE = STRICT_STEPS | {"insert", "newline", "new_file"}


def apply_hunks(text: str, edit: FileEdit, newline: str) -> DirectResult:
    """Apply all hunks of an edit to the text of a file.

    Args:
        text: The file, without a byte order mark.
        edit: The edit of it.
        newline: Line end for new lines that have no neighbour to copy from.

    Raises:
        ApplyError: A hunk is not found, ambiguous, or in the way of another one.
    """
    if any(not hunk.whole_lines for hunk in edit.hunks):
        return _in_turn(text, edit, newline)
    try:
        return _together(text, edit, newline)
    except AnchorNotFound as error:
        if len(edit.hunks) < 2:
            raise
        try:
            result = _in_turn(text, edit, newline, strict=True)
        except ApplyError:
            raise error from None
    notice = Notice("sequential", "hunks were written against each other's result")
    return replace(result, notices=(*result.notices, notice))


def _in_turn(text: str, edit: FileEdit, newline: str, *, strict: bool = False) -> DirectResult:
    """Apply the hunks one after the other, each to the result of those before it."""
    original = text
    outcomes: list[HunkOutcome] = []
    hunks: list[Hunk] = []
    for i, hunk in enumerate(edit.hunks):
        try:
            result = _one(text, edit, i, newline, strict=strict)
            _refuse_chained(original, edit, [*outcomes, *result.outcomes])
        except (AnchorNotFound, AmbiguousAnchor) as error:
            statuses = [*(outcome.status for outcome in outcomes), "failed"]
            statuses += ["not_tried"] * (len(edit.hunks) - len(statuses))
            fields = {**error.fields, "hunk": i, "hunks": statuses}
            message = error.message
            if len(statuses) > 1:
                message = message.replace(WHOLE, named(i, len(statuses)), 1)
            raise type(error)(message, **fields) from None
        text = result.text
        hunks += result.hunks or (hunk,)
        outcomes += result.outcomes
    return DirectResult(text, tuple(outcomes), tuple(notices(outcomes)), hunks=tuple(hunks))


def _refuse_chained(original: str, edit: FileEdit, outcomes: list[HunkOutcome]) -> None:
    """Refuse what was only found in the new text of another hunk; see ``_without_chains``.

    Raises:
        AnchorNotFound: The last hunk was recognised in text that this very edit wrote, or a looser
            step found old text in what is there from an application before.
    """
    file, i = FileLines(original), len(outcomes) - 1
    outcome, hunk = outcomes[i], edit.hunks[i]
    before = original.replace("\r\n", "\n")
    cores = [other.new.replace("\r\n", "\n").strip() for other in edit.hunks]
    if outcome.status == ALREADY and hunk not in edit.hunks[:i] and cores[i] not in before:
        raise not_found(file, hunk, 0, ["not_found"])
    if outcome.status != "applied" or outcome.step in _SURE:
        return
    for core, other in zip(cores, edit.hunks, strict=True):
        chained = other is not hunk and run_places(FileLines(core), bodies(hunk.old), _LOOSELY)
        if chained and core in before:
            raise not_found(file, hunk, 0, ["not_found"])


def _one(text: str, edit: FileEdit, i: int, newline: str, *, strict: bool) -> DirectResult:
    """Apply a single hunk of an edit to the text as it is by now."""
    hunk = edit.hunks[i]
    if hunk.whole_lines:
        return _together(text, replace(edit, hunks=(hunk,)), newline, strict=strict)
    if not hunk.old or not (hunk.old.strip() or text):
        return _into_empty(text, hunk)
    done = replace_text(text, hunk, i, len(edit.hunks), newline)
    if done is not None:
        outcome = HunkOutcome(done.status, done.step, done.line)
        return DirectResult(done.text, (outcome,), hunks=(_as_read(hunk, None, outcome),))
    in_lines = replace(edit, hunks=(_in_lines(hunk),))
    try:
        return _together(text, in_lines, newline, strict=strict)
    except AnchorNotFound:
        if not text_stands(text, hunk.old, hunk.new):
            raise
    outcome = HunkOutcome(ALREADY)
    return DirectResult(text, (outcome,), hunks=(_as_read(hunk, None, outcome),))


def _into_empty(text: str, hunk: Hunk) -> DirectResult:
    """Take an empty old text for "create" in an empty file, and refuse it in any other."""
    if text.strip():
        message = "the old text is empty and the file is not; name the text to replace"
        raise AnchorNotFound(message, hunk=0, nearest=None, already_applied=False)
    return DirectResult(hunk.new, (HunkOutcome("applied", "new_file"),), hunks=(hunk,))


def _in_lines(hunk: Hunk) -> Hunk:
    """Write a text hunk as whole lines, for the steps that compare lines."""
    old, new = hunk.old, hunk.new
    ended = old.endswith("\n")
    if not ended:
        old += "\n"
    if new and not (ended and new.endswith("\n")):
        new += "\n"
    return replace(hunk, old=old, new=new, whole_lines=True)


def _together(text: str, edit: FileEdit, newline: str, *, strict: bool = False) -> DirectResult:
    """Find all hunks in the original, then splice them at once."""
    file = FileLines(text)
    content = "".join(hunk.new for hunk in edit.hunks)
    # A file without any line end takes the edit's.
    default = dominant_newline(text, dominant_newline(content, newline))
    located = _without_chains([locate(file, hunk, strict=strict) for hunk in edit.hunks])
    refuse_missing(file, edit, located)
    chosen = assign(file, edit, located)
    left = [
        _not_there(file, edit, i, *pair) for i, pair in enumerate(zip(located, chosen, strict=True))
    ]
    _refuse_rests(file, edit, located, left)
    edits: list[LineEdit] = []
    outcomes: list[HunkOutcome] = []
    final: bool | None = None
    for i, (hunk, spot, places) in enumerate(zip(edit.hunks, located, left, strict=True)):
        if spot is None or not places:
            outcomes.append(HunkOutcome(ALREADY))
            continue
        for place in places:
            part = line_edits(file, spot, place, i)
            if isinstance(part, Doubt):
                refuse_doubt(part, edit, i, place)
            edits += part
            final = _final_end(file, hunk, place, final)
        outcomes.append(_outcome(spot, places[0], hunk))
    refuse_overlaps(edits)
    merged = splice(file, edits, default, final) if file.lines else content
    hunks = tuple(map(_as_read, edit.hunks, located, outcomes))
    return DirectResult(merged, tuple(outcomes), tuple(notices(outcomes)), hunks=hunks)


def _without_chains(located: list[Found | None]) -> list[Found | None]:
    """Take back that a hunk was applied before, where another hunk makes its old text.

    Example: of the hunks *a* to *b* and *b* to *c* the second one is for the result of the first,
    also where the file has a *c* already.
    """
    made = _Made(located)
    return [
        None if spot is not None and spot.step == ALREADY and made.has(spot, i, _EXACTLY) else spot
        for i, spot in enumerate(located)
    ]


class _Made:
    """The new lines of hunks, to look for the old lines of others in them."""

    def __init__(self, spots: Sequence[Found | None]) -> None:
        self._owners = [
            i for i, s in enumerate(spots) if s is not None for _ in range(len(s.new) + 1)
        ]
        parts = ["\n".join((*s.new, _BORDER)) for s in spots if s is not None]
        self._file = FileLines("\n".join(parts))

    def has(self, spot: Found, hunk: int, norm: str) -> bool:
        """Say whether the old lines of a hunk stand among the new lines of another one."""
        places = run_places(self._file, spot.old, norm)
        return any(self._owners[place.start] != hunk for place in places)


def _refuse_rests(
    file: FileLines, edit: FileEdit, located: list[Found | None], left: list[list[Place]]
) -> None:
    """Refuse old text that was only found loosely in what another hunk put there before.

    Raises:
        AnchorNotFound: There is such a hunk.
    """
    pairs = list(zip(located, left, strict=True))
    done = _Made([None if places else spot for spot, places in pairs])
    for i, (spot, places) in enumerate(pairs):
        loose = spot is not None and places and spot.step not in _SURE
        if spot is not None and loose and done.has(spot, i, _LOOSELY):
            statuses = ["failed" if k == i else "found" for k in range(len(located))]
            raise not_found(file, edit.hunks[i], i, statuses)


def _not_there(
    file: FileLines, edit: FileEdit, i: int, spot: Found | None, places: tuple[Place, ...]
) -> list[Place]:
    """Return the places of a hunk that do not read as its new text already.

    Raises:
        AnchorNotFound: One does, but was only found by similarity, so that it may be another one.
    """
    if spot is None or not file.lines:
        return list(places)
    at_end = edit.hunks[i].at_end
    left = [place for place in places if not lines_there(file, spot, place, at_end=at_end)]
    if len(left) < len(places) and spot.step == "similarity":
        statuses = ["failed" if k == i else "found" for k in range(len(edit.hunks))]
        raise not_found(file, edit.hunks[i], i, statuses)
    return left


def _as_read(hunk: Hunk, spot: Found | None, outcome: HunkOutcome) -> Hunk:
    """Return a hunk in the reading that was found; one that was applied before asks for nothing."""
    if outcome.status == ALREADY:
        return replace(hunk, old=hunk.new, readings=(), kinds="")
    if spot is None or (spot.old, spot.new) == (bodies(hunk.old), bodies(hunk.new)):
        return hunk
    old, new = ("".join(line + "\n" for line in part) for part in (spot.old, spot.new))
    return replace(hunk, old=old, new=new, readings=())


def _outcome(spot: Found, place: Place, hunk: Hunk) -> HunkOutcome:
    same = spot.old == spot.new and bool(hunk.old)
    return HunkOutcome("no_op" if same else "applied", spot.step, place.start + 1, place.score)


def _final_end(file: FileLines, hunk: Hunk, place: Place, final: bool | None) -> bool | None:
    r"""Return what a note ``\ No newline at end of file`` says about the result, if anything."""
    if place.end < len(file.lines) or not hunk.new:
        return final
    old_open = bool(hunk.old) and not line_end(hunk.old)
    new_open = not line_end(hunk.new)
    if new_open and old_open:
        return bool(line_end(file.lines[-1]))
    return not new_open if new_open or old_open else final
