"""Edits in all their formats, brought into one intermediate form.

``detect`` tells the format, ``parse`` reads it. Nothing here looks for a place in the file; the
file's text is only used to tell a wrapper from the file's own fences, and a snippet from a whole
file.
"""

from __future__ import annotations

from collections.abc import Callable

from apply_edit.edits import (
    instruction,
    lazy,
    roo,
    search_replace,
    str_replace,
    udiff,
    v4a,
    whole,
)
from apply_edit.edits.detect import detect
from apply_edit.errors import EditParseError
from apply_edit.types import EditFormat, ParsedEdit

__all__ = ["detect", "parse"]

_STRUCTURED: dict[EditFormat, Callable[[str], ParsedEdit]] = {
    EditFormat.UDIFF: udiff.parse,
    EditFormat.V4A: v4a.parse,
    EditFormat.SEARCH_REPLACE: search_replace.parse,
    EditFormat.ROO_DIFF: roo.parse,
    EditFormat.STR_REPLACE: str_replace.parse,
}


def parse(
    edit: str,
    fmt: EditFormat | None = None,
    *,
    original: str | None = None,
    path: str | None = None,
) -> ParsedEdit:
    """Read an edit into its intermediate form.

    Args:
        edit: The edit as it was written.
        fmt: Its format; None detects it.
        original: The file's text, None where there is no such file.
        path: The file's path.

    Raises:
        EditParseError: The edit is not a well-formed edit of its format.
    """
    if fmt is None:
        fmt = detect(edit, original=original, path=path)
    if not edit.strip() and fmt is not EditFormat.WHOLE:
        message = "the edit is empty"
        raise EditParseError(message)
    if fmt in _STRUCTURED:
        return _STRUCTURED[fmt](edit)
    if fmt is EditFormat.INSTRUCTION:
        return instruction.parse(edit)
    return lazy.parse(edit, original) if fmt is EditFormat.LAZY else whole.parse(edit, original)
