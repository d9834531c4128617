r"""OpenAI's ``prediction``: the file comes as the predicted answer, the edit as the user's message.

Knows nothing of tags; see ``chat`` for which of the two counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from apply_edit.edits.unwrap import edit_lines, fences
from apply_edit.errors import RequestError
from apply_edit.service.dialects.records import Asked


def read(original: str, turn: Sequence[str]) -> Asked:
    """Return what is asked for: the prediction is the file, what the user writes is the edit.

    Clients often show the file in a message as well, alone or in a fence; that is not the edit.

    Args:
        original: The prediction.
        turn: The user messages of the last turn.

    Raises:
        RequestError: There is nothing beside the file.
    """
    said = [_without_file(text, original) for text in turn if not _same(text, original)]
    edit = "\n\n".join(text for text in said if text.strip())
    if not edit:
        message = (
            "the user message holds nothing but the file that `prediction` holds as well; put the "
            "edit into it: a snippet, a diff, SEARCH/REPLACE blocks, or a sentence"
        )
        raise RequestError(message, option="messages")
    return Asked(original, edit)


def _without_file(text: str, original: str) -> str:
    """Take away the fenced blocks that repeat the file."""
    blocks = [block for block in fences(text) if _same(block.code, original)]
    if not blocks:
        return text
    lines = edit_lines(text)
    for block in reversed(blocks):
        del lines[block.start : block.end]
    return "".join(lines)


def _same(text: str, original: str) -> bool:
    """Say whether two texts are the same file but for line ends at the end."""
    return text.strip("\r\n") == original.strip("\r\n")
