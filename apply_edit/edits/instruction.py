"""Instructions: a sentence that says what to change.

Does not know: how to carry it out; that is for a model.
"""

from __future__ import annotations

from apply_edit.types import EditFormat, ParsedEdit


def parse(edit: str) -> ParsedEdit:
    """Take the instruction as it is."""
    return ParsedEdit(EditFormat.INSTRUCTION, instruction=edit.strip())
