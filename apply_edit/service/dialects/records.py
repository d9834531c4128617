"""What the dialects have in common once they are read: messages, and what was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reply(StrEnum):
    """How the merged file is dressed in the answer."""

    BARE = "bare"
    FENCED = "fenced"
    UPDATE_FILE = "update_file"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat.

    Args:
        role: ``system``, ``user``, ``assistant`` or whatever else a client sends.
        text: Its text; parts of a message are joined.
    """

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for, whatever it was written in.

    Args:
        original: The file, exactly as the client sent it.
        edit: The edit in any format, None for an instruction alone.
        instruction: What the edit is meant to do, or None.
        reply: How the answer is dressed.
    """

    original: str
    edit: str | None
    instruction: str | None = None
    reply: Reply = Reply.BARE
