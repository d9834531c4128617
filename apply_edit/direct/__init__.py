"""Apply a structured edit without a model: new, whole, changed and deleted files.

``hunks`` finds and writes the hunks of a file that is changed, ``splice`` writes the difference of
one, ``spelling`` with the file's quotes and dashes, ``textual`` replaces pieces of lines, ``there``
recognises what was applied before.

Does not know: files on disk, models, lazy snippets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from apply_edit import markers
from apply_edit.direct.hunks import apply_hunks
from apply_edit.direct.remarks import already
from apply_edit.direct.splice import LineEdit, splice
from apply_edit.errors import (
    AnchorNotFound,
    EditParseError,
    FileExists,
    FileMissing,
    MergeUndetermined,
)
from apply_edit.match.ladder import FileLines, changes
from apply_edit.match.locate import ALREADY
from apply_edit.swallowed import swallowed
from apply_edit.text import dominant_newline, line_end, split_lines, strip_end
from apply_edit.types import (
    DirectResult,
    FileEdit,
    FileOp,
    Hunk,
    HunkOutcome,
    Notice,
    ParsedEdit,
)

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
        result = apply_hunks(original[len(_BOM) :], bare, newline)
        result = replace(result, text=_BOM + result.text)
    else:
        result = apply_hunks(original, edit, newline)
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


def beside(part: FileEdit, path: str | None) -> tuple[Notice, ...]:
    """Return what there is to say of an edit of a file beside its hunks.

    Args:
        part: The edit of the file.
        path: The file that it is applied to.
    """
    notices = []
    if path is not None and part.path is not None and _base(part.path) != _base(path):
        message = f"the edit names {part.path} and is applied to {_base(path)}"
        notices.append(Notice("other_name", message))
    if part.executable is not None:
        kind = "executable" if part.executable else "not executable"
        notices.append(Notice("mode_changed", f"the edit makes the file {kind}"))
    return tuple(notices)


def _base(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def apply_whole(original: str | None, text: str, *, newline: str = "\n") -> str:
    r"""Lay a whole new text over a file: equal lines keep the file's line ends.

    >>> apply_whole("a\r\nb\r\n", "a\nc\n")
    'a\r\nc\r\n'
    """
    if original is None or not original:
        return text
    bom = _BOM if original.startswith(_BOM) and not text.startswith(_BOM) else ""
    file = FileLines(original.removeprefix(_BOM) if bom else original)
    new = [strip_end(line) for line in split_lines(text)]
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
    # Whether the last line has an end is nothing that an answer says on purpose.
    return bom + splice(file, edits, default, None)


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
    if original == text:
        return DirectResult(text, (HunkOutcome(ALREADY, "new_file"),), (already(),))
    if original is None or not original.strip():
        return DirectResult(text, (HunkOutcome("applied", "new_file"),))
    message = (
        f"{edit.path or 'the file'} exists already and the edit creates it; "
        "send the whole file or a change of it instead"
    )
    raise FileExists(message, path=edit.path)


def _create_or_refuse(edit: FileEdit) -> DirectResult:
    creates = edit.hunks and not any(h.old.strip() for h in edit.hunks)
    if edit.op is FileOp.UPDATE and creates and edit.move_to is None:
        return DirectResult(_content(edit), (HunkOutcome("applied", "new_file"),))
    message = f"{edit.path or 'the file'} does not exist, so the edit cannot be applied to it"
    raise FileMissing(message, path=edit.path)


def _refuse_new_markers(original: str, edit: FileEdit) -> None:
    """Refuse a marker for elided code that the edit would write into the file."""
    for i, hunk in enumerate(edit.hunks):
        old, new = ([line.strip() for line in split_lines(part)] for part in (hunk.old, hunk.new))
        fresh = [j for j, text in enumerate(new) if text not in old and text not in original]
        sure = {j for j in fresh if markers.is_marker(new[j])}
        likely = {j for j in fresh if markers.elision(new[j]) is markers.Elision.LIKELY}
        found = sorted(sure | {each.line for each in swallowed(old, new, likely)})
        if found:
            text = new[found[0]]
            message = (
                f"hunk {i + 1} would write {text!r} into the file, which stands for code that "
                "was left out; write the code, or send a lazy snippet"
            )
            raise MergeUndetermined(message, reason="omission_marker", hunk=i, line=text)
