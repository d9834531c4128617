"""Whole files: the complete new text, alone or fenced, also of several named files.

Does not know: how the new text is laid over the file's bytes.
"""

from __future__ import annotations

from apply_edit.edits.unwrap import edit_lines, fences, named_before, outer_code
from apply_edit.errors import EditParseError
from apply_edit.types import EditFormat, FileEdit, FileOp, Hunk, ParsedEdit


def parse(edit: str, original: str | None = None) -> ParsedEdit:
    """Take the new text out of fence and prose.

    Args:
        edit: The answer.
        original: The file; its own fences are not a wrapper.

    Raises:
        EditParseError: The fence is never closed, so the text may have been cut off.
    """
    several = _several(edit)
    if several:
        return ParsedEdit(EditFormat.WHOLE, several)
    code, info = outer_code(edit, original)
    if info is not None and not any(block.closed for block in fences(edit)):
        message = "the code fence of the edit is not closed: it may have been cut off"
        raise EditParseError(message)
    return ParsedEdit(EditFormat.WHOLE, snippet=code)


def _several(edit: str) -> tuple[FileEdit, ...]:
    """Return one replacement per named fence, where at least two files are named."""
    lines = edit_lines(edit)
    named = [(named_before(lines, block.start), block) for block in fences(edit)]
    by_path = {path: block.code for path, block in named if path is not None}
    if len(by_path) < 2 or len(by_path) != sum(path is not None for path, _ in named):
        return ()
    return tuple(
        FileEdit(path, FileOp.REPLACE, (Hunk("", code),)) for path, code in by_path.items()
    )
