"""Find out what the messages of a chat ask for.

In this order: tags around file and update, Continue's default prompt, OpenAI's ``prediction``. Only
the last turn counts: what was asked for in an earlier one has been answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apply_edit.errors import RequestError
from apply_edit.service.dialects import anchors, continue_, prediction, sections
from apply_edit.service.dialects.records import Asked, Message, Reply
from apply_edit.service.dialects.sections import CODE_UPDATE, SOURCE_SNIPPET, Tags

_ACCEPTED = (
    "the messages hold no file that could be recognised; accepted are, in the last user message, "
    "<code>file</code><update>edit</update> (optionally <instruction>sentence</instruction> in "
    "front), <source_file>file</source_file><update_snippet>edit</update_snippet>, or the file in "
    "`prediction` and the edit as the message"
)


def read(messages: Sequence[Message], predicted: str | None = None) -> Asked:
    """Return what a chat asks for.

    Args:
        messages: All messages; roles other than user and assistant are of no account.
        predicted: The text of ``prediction``, None without one.

    Raises:
        RequestError: No file is recognised, or there is nothing to do with it.
        EditParseError: The file is recognised and broken.
    """
    turn = _last_turn(messages)
    text = "\n".join(turn)
    asked = _tagged(text, predicted is not None) or continue_.read(text)
    if asked is not None:
        return asked
    if predicted is not None:
        return prediction.read(predicted, turn)
    raise RequestError(_ACCEPTED, option="messages")


def _tagged(text: str, has_prediction: bool) -> Asked | None:
    for tags, reply in ((CODE_UPDATE, Reply.BARE), (SOURCE_SNIPPET, Reply.UPDATE_FILE)):
        if has_prediction and not _has_both(text, tags):
            # A snippet of HTML may well have such a tag in it.
            continue
        found = sections.read(text, tags)
        if found is not None:
            return replace(_asked(found), reply=reply)
    return None


def _has_both(text: str, tags: Tags) -> bool:
    return all(tag in text for tag in (tags.opening, tags.update_opening, tags.update_closing))


def _asked(found: sections.Sections) -> Asked:
    instruction = found.instruction
    if anchors.is_anchored(found.original):
        instruction = anchors.plain_instruction(instruction)
    if found.update is None and instruction is None:
        message = "the message has neither an update nor an instruction; there is nothing to apply"
        raise RequestError(message, option="messages")
    return Asked(anchors.decode(found.original), found.update, instruction)


def _last_turn(messages: Sequence[Message]) -> list[str]:
    """Return the user messages of the last turn; a prefilled answer behind them does not count."""
    turn: list[str] = []
    for message in reversed(messages):
        if message.role == "user":
            turn.append(message.text)
        elif message.role == "assistant" and turn:
            break
    return turn[::-1]
