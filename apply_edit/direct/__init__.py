r"""Apply a structured edit without a model: find every hunk, check them together, splice.

Hunks written in lines are looked for in the original, all at once; where that fails, one after the
other, as edits that were written against each other's result need it. ``str_replace`` edits are
applied one after the other, as their tools do.

Does not know: files on disk, models, lazy snippets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from apply_edit import markers
from apply_edit.direct.splice import LineEdit, line_edits, splice
from apply_edit.direct.textual import replace_text
from apply_edit.errors import (
    AmbiguousAnchor,
    AnchorNotFound,
    ApplyError,
    EditParseError,
    FileMissing,
    MergeUndetermined,
    OverlappingHunks,
)
from apply_edit.match.assign import assign
from apply_edit.match.ladder import FileLines, Found, Place, changes
from apply_edit.match.locate import ALREADY, bodies, locate
from apply_edit.match.near import not_found
from apply_edit.text import dominant_newline, line_end, split_lines, strip_end
from apply_edit.types import DirectResult, FileEdit, FileOp, Hunk, HunkOutcome, Notice, ParsedEdit

_BOM = "\ufeff"


def apply_file_edit(original: str | None, edit: FileEdit, *, newline: str = "\n") -> DirectResult:
    r"""Apply what an edit does to one file.

    Args:
        original: The file's text with its own line ends; None where there is no such file.
        edit: The edit of this file.
        newline: Line end for new lines that have no neighbour to copy from.

    Raises:
        FileMissing: The edit changes or deletes a file that does not exist.
        ApplyError: A hunk is not found, ambiguous, or in the way of another one.
    """
    _refuse_new_markers(original or "", edit)
    if edit.op is FileOp.ADD:
        return _add(original, edit)
    if edit.op is FileOp.REPLACE:
        text = apply_whole(original, _content(edit), newline=newline)
        return DirectResult(text, (HunkOutcome("applied", "whole_file"),))
    if original is None:
        return _create_or_refuse(edit)
    if original.startswith(_BOM):
        bare = replace(edit, hunks=tuple(_without_bom(hunk) for hunk in edit.hunks))
        result = _update(original[len(_BOM) :], bare, newline)
        result = replace(result, text=_BOM + result.text)
    else:
        result = _update(original, edit, newline)
    if edit.op is FileOp.DELETE:
        if edit.hunks and result.text.strip():
            message = "the edit deletes the file, but the file has lines that it does not name"
            raise AnchorNotFound(message, hunk=0, nearest=None, already_applied=False)
        return replace(result, text="", deleted=True)
    return replace(result, moved_to=edit.move_to)


def apply_files(
    originals: Mapping[str, str | None],
    parsed: ParsedEdit,
    *,
    newlines: Mapping[str, str] | None = None,
) -> dict[str, DirectResult]:
    """Apply a patch over several files: all of them, or none.

    Args:
        originals: Text by path for every file the patch names; None where there is none.
        parsed: The patch.
        newlines: Line end by path, for new lines without a neighbour.

    Returns:
        A result for every path of ``originals`` that the patch changes.

    Raises:
        ApplyError: A file's edit cannot be applied; nothing is returned then.
        EditParseError: The patch names a file that is not in ``originals``, or one file twice.
    """
    results: dict[str, DirectResult] = {}
    for edit in parsed.files:
        path = _resolve(edit.path, list(originals))
        if path in results:
            message = f"the edit has two sections for {path}; put its hunks into one"
            raise EditParseError(message, path=path)
        newline = (newlines or {}).get(path, "\n")
        results[path] = apply_file_edit(originals[path], edit, newline=newline)
    return results


def select_file(parsed: ParsedEdit, path: str | None) -> FileEdit:
    """Return the part of an edit that is about one file.

    Args:
        parsed: The edit.
        path: The file that is to be edited.

    Raises:
        EditParseError: The edit is about several files, and none or several fit ``path``.
    """
    if len(parsed.files) == 1:
        return parsed.files[0]
    if path is not None:
        fitting = [f for f in parsed.files if f.path is not None and _same_file(f.path, path)]
        if len(fitting) == 1:
            return fitting[0]
    named = ", ".join(str(f.path) for f in parsed.files)
    message = f"the edit is about several files ({named}); say which one to edit"
    raise EditParseError(message, paths=[f.path for f in parsed.files])


def apply_whole(original: str | None, text: str, *, newline: str = "\n") -> str:
    r"""Lay a whole new text over a file: equal lines keep the file's line ends.

    >>> apply_whole("a\r\nb\r\n", "a\nc\n")
    'a\r\nc\r\n'
    """
    if original is None or not original:
        return text
    bom = _BOM if original.startswith(_BOM) and not text.startswith(_BOM) else ""
    file = FileLines(original.removeprefix(_BOM) if bom else original)
    lines = split_lines(text)
    new = [strip_end(line) for line in lines]
    default = dominant_newline(original, newline)
    edits = [
        LineEdit(
            i1,
            i2,
            tuple(body + _kept_end(file, i1 + k, i2, default) for k, body in enumerate(new[j1:j2])),
            0,
        )
        for i1, i2, j1, j2 in changes(file.bodies, new)
    ]
    final = bool(lines) and bool(line_end(lines[-1]))
    return bom + splice(file, edits, default, final)


def _kept_end(file: FileLines, row: int, end: int, default: str) -> str:
    return (line_end(file.lines[row]) if row < end else "") or default


def _same_file(named: str, path: str) -> bool:
    """Say whether a path of an edit can mean ``path``: one ends with the other."""
    a, b = (p.replace("\\", "/").lstrip("./").split("/") for p in (named, path))
    short = min(len(a), len(b))
    return a[-short:] == b[-short:]


def _resolve(named: str | None, paths: list[str]) -> str:
    if named in paths and named is not None:
        return named
    fitting = paths if named is None else [p for p in paths if _same_file(named, p)]
    if len(fitting) != 1:
        message = f"the edit names {named!r}, which is not one of the files at hand"
        raise EditParseError(message, path=named)
    return fitting[0]


def _content(edit: FileEdit) -> str:
    return "".join(hunk.new for hunk in edit.hunks)


def _without_bom(hunk: Hunk) -> Hunk:
    return replace(hunk, old=hunk.old.removeprefix(_BOM), new=hunk.new.removeprefix(_BOM))


def _add(original: str | None, edit: FileEdit) -> DirectResult:
    text = _content(edit)
    if original is None or not original.strip() or original == text:
        status = "already_applied" if original == text else "applied"
        return DirectResult(text, (HunkOutcome(status, "new_file"),))
    message = (
        f"{edit.path or 'the file'} exists already and the edit creates it; "
        "send the whole file or a change of it instead"
    )
    raise ApplyError(message, path=edit.path)


def _create_or_refuse(edit: FileEdit) -> DirectResult:
    creates = edit.hunks and not any(h.old.strip() for h in edit.hunks)
    if edit.op is FileOp.UPDATE and creates and edit.move_to is None:
        return DirectResult(_content(edit), (HunkOutcome("applied", "new_file"),))
    message = f"{edit.path or 'the file'} does not exist, so the edit cannot be applied to it"
    raise FileMissing(message, path=edit.path)


def _refuse_new_markers(original: str, edit: FileEdit) -> None:
    """Refuse a marker for elided code that the edit would write into the file."""
    for i, hunk in enumerate(edit.hunks):
        known = {line.strip() for line in split_lines(hunk.old)}
        for line in split_lines(hunk.new):
            text = line.strip()
            if markers.is_marker(text) and text not in known and text not in original:
                message = (
                    f"hunk {i + 1} would write {text!r} into the file, which stands for code that "
                    "was left out; write the code, or send a lazy snippet"
                )
                raise MergeUndetermined(message, reason="omission_marker", hunk=i, line=text)


def _update(text: str, edit: FileEdit, newline: str) -> DirectResult:
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
    outcomes: list[HunkOutcome] = []
    notices: list[Notice] = []
    hunks: list[Hunk] = []
    for i in range(len(edit.hunks)):
        try:
            result = _one(text, edit, i, newline, strict=strict)
        except (AnchorNotFound, AmbiguousAnchor) as error:
            statuses = [*(outcome.status for outcome in outcomes), "failed"]
            statuses += ["not_tried"] * (len(edit.hunks) - len(statuses))
            fields = {**error.fields, "hunk": i, "hunks": statuses}
            raise type(error)(error.message, **fields) from None
        text = result.text
        hunks += result.hunks
        outcomes += result.outcomes
        notices += [
            replace(n, message=n.message.replace("hunk 1", f"hunk {i + 1}")) for n in result.notices
        ]
    return DirectResult(text, tuple(outcomes), tuple(notices), hunks=tuple(hunks))


def _one(text: str, edit: FileEdit, i: int, newline: str, *, strict: bool) -> DirectResult:
    """Apply a single hunk of an edit to the text as it is by now."""
    hunk = edit.hunks[i]
    if not hunk.whole_lines:
        if not hunk.old or not (hunk.old.strip() or text):
            return _into_empty(text, hunk)
        done = replace_text(text, hunk, i, len(edit.hunks), newline)
        if done is not None:
            outcome = HunkOutcome(done.status, done.step, done.line)
            return DirectResult(done.text, (outcome,), tuple(_notices([outcome])), hunks=(hunk,))
        hunk = _in_lines(hunk)
    return _together(text, replace(edit, hunks=(hunk,)), newline, strict=strict)


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
    # A file without any line end takes the edit's.
    default = dominant_newline(text, dominant_newline(_content(edit), newline))
    located = [locate(file, hunk, strict=strict) for hunk in edit.hunks]
    _refuse_missing(file, edit, located)
    chosen = assign(file, edit, located)
    edits: list[LineEdit] = []
    outcomes: list[HunkOutcome] = []
    final: bool | None = None
    for i, (hunk, spot, places) in enumerate(zip(edit.hunks, located, chosen, strict=True)):
        if spot is None or not places:
            outcomes.append(HunkOutcome(ALREADY))
            continue
        for place in places:
            part = line_edits(file, spot, place, i)
            if part is None:
                _refuse_indentation(file, edit, i, place)
            edits += part or []
            final = _final_end(file, hunk, place, final)
        outcomes.append(_outcome(spot, places[0], hunk))
    _refuse_overlaps(edits)
    merged = splice(file, edits, default, final) if file.lines else _content(edit)
    hunks = tuple(_as_read(*pair) for pair in zip(edit.hunks, located, strict=True))
    return DirectResult(merged, tuple(outcomes), tuple(_notices(outcomes)), hunks=hunks)


def _as_read(hunk: Hunk, spot: Found | None) -> Hunk:
    """Return a hunk in the reading that was found."""
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


def _notices(outcomes: list[HunkOutcome]) -> list[Notice]:
    notices = []
    for i, outcome in enumerate(outcomes):
        if outcome.status == "applied" and outcome.step not in ("exact", "insert", "new_file"):
            message = f"hunk {i + 1} was found by the step {outcome.step!r}, not exactly"
            lines = () if outcome.start_line is None else (outcome.start_line,)
            notices.append(Notice("looser_match", message, lines))
        elif outcome.status in (ALREADY, "no_op"):
            notices.append(Notice(outcome.status, f"hunk {i + 1} changes nothing"))
    return notices


def _refuse_missing(file: FileLines, edit: FileEdit, located: list[Found | None]) -> None:
    for i, spot in enumerate(located):
        if spot is None:
            statuses = ["found" if s is not None else "not_found" for s in located]
            raise not_found(file, edit.hunks[i], i, statuses)


def _refuse_indentation(file: FileLines, edit: FileEdit, hunk: int, place: Place) -> None:
    message = (
        f"hunk {hunk + 1} fits line {place.start + 1} only without its indentation, and the "
        "indentation of its new lines cannot be told; repeat the file's own indentation"
    )
    raise AnchorNotFound(
        message,
        hunk=hunk,
        nearest={"start_line": place.start + 1, "end_line": place.end, "score": 1.0},
        already_applied=False,
        hunks=["failed" if i == hunk else "found" for i in range(len(edit.hunks))],
    )


def _refuse_overlaps(edits: list[LineEdit]) -> None:
    ordered = sorted(edits, key=lambda e: (e.start, e.end))
    for a, b in pairwise(ordered):
        if b.start < a.end and a.hunk != b.hunk:
            message = (
                f"hunks {a.hunk + 1} and {b.hunk + 1} both change line {b.start + 1}; "
                "put them into one"
            )
            raise OverlappingHunks(message, hunks=[a.hunk, b.hunk], lines=[b.start + 1])
