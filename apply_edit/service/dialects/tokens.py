"""Count tokens, and cut a text at a number of them.

The target's tokenizer counts where it is loaded. Before that (an edit that needs no model does not
load one) four characters are taken for a token.
"""

from __future__ import annotations

from typing import Protocol

from apply_edit.decode.tokens import TextTokenizer

_CHARS_PER_TOKEN = 4


class Tokens(Protocol):
    """Counts and cuts."""

    def count(self, text: str) -> int:
        """Return how many tokens a text has."""
        ...

    def cut(self, text: str, limit: int) -> str | None:
        """Return the first ``limit`` tokens of a text; None where it has no more than that."""
        ...


class Estimated:
    """Takes four characters for a token."""

    def count(self, text: str) -> int:
        """Return how many tokens a text has.

        >>> Estimated().count("12345")
        2
        """
        return -(-len(text) // _CHARS_PER_TOKEN)

    def cut(self, text: str, limit: int) -> str | None:
        """Return the first ``limit`` tokens of a text; None where it has no more than that."""
        return text[: limit * _CHARS_PER_TOKEN] if self.count(text) > limit else None


class Exact:
    """Counts by the target's tokenizer.

    Args:
        tokenizer: The tokenizer.
    """

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer

    def count(self, text: str) -> int:
        """Return how many tokens a text has."""
        return len(self._tokenizer.encode_data(text))

    def cut(self, text: str, limit: int) -> str | None:
        """Return the first ``limit`` tokens of a text; None where it has no more than that."""
        ids = self._tokenizer.encode_data(text)
        if len(ids) <= limit:
            return None
        # The last token may be the first half of a character.
        return self._tokenizer.decode(ids[:limit]).rstrip("\N{REPLACEMENT CHARACTER}")
