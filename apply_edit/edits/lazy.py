"""Lazy snippets: code with markers that stand for unchanged code.

Only the code is taken out of fence and prose here; ``apply_edit.markers`` recognises the markers
and ``apply_edit.merge`` merges.

Does not know: markers' meaning, the file's text.
"""

from __future__ import annotations

from apply_edit.edits.unwrap import outer_code
from apply_edit.types import EditFormat, ParsedEdit


def parse(edit: str, original: str | None = None) -> ParsedEdit:
    """Take the snippet out of fence and prose."""
    code, _ = outer_code(edit, original)
    return ParsedEdit(EditFormat.LAZY, snippet=code)
