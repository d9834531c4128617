"""Aider SEARCH/REPLACE blocks and Copilot's FIND/REPLACE blocks, fenced or not.

Does not know: the file's text.
"""

from __future__ import annotations

from dataclasses import replace

from apply_edit.edits import blocks
from apply_edit.types import EditFormat, Hunk, ParsedEdit


def looks_like(edit: str) -> bool:
    """Say whether a text has blocks of this family."""
    return blocks.has_blocks(edit) and not blocks.has_directives(edit)


def parse(edit: str) -> ParsedEdit:
    """Parse the blocks.

    Raises:
        EditParseError: There is no block, or one is not well-formed or not closed.
    """
    files, notices = blocks.read(edit)
    files = tuple(replace(f, hunks=tuple(_appending(h) for h in f.hunks)) for f in files)
    return ParsedEdit(EditFormat.SEARCH_REPLACE, files, notices=notices)


def _appending(hunk: Hunk) -> Hunk:
    """An empty SEARCH makes a new file, and adds to the end of one that exists."""
    if hunk.old.strip() or hunk.old == hunk.new:
        return hunk
    return replace(hunk, at_end=True)
