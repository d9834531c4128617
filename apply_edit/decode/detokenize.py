"""Incremental detokenisation: committed ids in, text pieces out.

A token can be a part of a character. A piece is given out only once its characters are complete, so
no U+FFFD ever appears that the whole text does not have, and the joined pieces are the text.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from typing import Protocol

# A character is at most four bytes; a tail that is still undecodable after this many tokens is
# broken for good.
_LONGEST_TAIL = 8


class Decodes(Protocol):
    """What detokenisation needs of a tokenizer."""

    @property
    def is_byte_level(self) -> bool:
        """Whether each token is a fixed run of bytes."""
        ...

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes of one token."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids."""
        ...


class Detokenizer:
    """Turns the tokens of one output into text, piece by piece."""

    def __init__(self, tokenizer: Decodes) -> None:
        self._tokenizer = tokenizer
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._ids: list[int] = []
        self._anchor = 0
        self._given = 0

    def push(self, ids: Iterable[int]) -> str:
        """Take committed ids and return the text that is now complete."""
        if self._tokenizer.is_byte_level:
            return self._utf8.decode(b"".join(self._tokenizer.token_bytes(i) for i in ids))
        pieces = []
        for token in ids:
            self._ids.append(token)
            pieces.append(self._window(final=False))
        return "".join(pieces)

    def flush(self) -> str:
        """Return what was held back; the output has ended."""
        if self._tokenizer.is_byte_level:
            return self._utf8.decode(b"", final=True)
        return self._window(final=True)

    def _window(self, *, final: bool) -> str:
        """Decode from one piece before the new one, which keeps leading spaces right.

        Both the anchor and what was given out end with a whole character.
        """
        before = self._tokenizer.decode(self._ids[self._anchor : self._given])
        text = self._tokenizer.decode(self._ids[self._anchor :])
        waiting = len(self._ids) - self._given
        if text.endswith("\ufffd") and waiting < _LONGEST_TAIL and not final:
            return ""
        self._anchor, self._given = self._given, len(self._ids)
        return text[len(before) :]
