"""Blocks of Cline and Roo: dashed markers, line directives, escaped markers.

Does not know: the file's text.
"""

from __future__ import annotations

from apply_edit.edits import blocks
from apply_edit.types import EditFormat, ParsedEdit


def looks_like(edit: str) -> bool:
    """Say whether a text has blocks as Cline or Roo write them."""
    return blocks.has_blocks(edit) and blocks.has_directives(edit)


def parse(edit: str) -> ParsedEdit:
    """Parse the blocks.

    Raises:
        EditParseError: There is no block, or one is not well-formed.
    """
    files, notices = blocks.read(edit, roo=True)
    return ParsedEdit(EditFormat.ROO_DIFF, files, notices=notices)
