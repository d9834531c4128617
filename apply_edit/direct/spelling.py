r"""Write an edit's text with the characters of the file: its quotes, dashes and spaces.

An edit that went through a word processor, a chat window or a model has typographic quotes where
the file has plain ones, or the other way round. Its place is found nevertheless, and what it keeps
stays as it is in the file. What it *changes* must not bring such characters into the file: the
matched text shows what each of them stands for.

Plain characters of the edit are never made typographic: a plain quote in new code is a quote.

Does not know: how the place was found, indentation, lines of the file beyond those that match.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from apply_edit.match.ladder import PUNCTUATION, changes

# A token has the space behind it, so that spaces cannot be aligned across words.
_TOKEN = re.compile(r"^\s+|(?:\"[^\"]*\"|'[^']*'|\w+|\S)\s*")
_SPACES = re.compile(r"\s+")


class Spelling:
    r"""What the characters of an edit stand for in the text that it was matched with.

    Args:
        pairs: Pieces of the edit and of the file that are each other's counterpart.

    >>> Spelling([("a = \u2018x\u2019", "a = 'x'")]).translate("a = \u2018z\u2019")
    "a = 'z'"
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._seen: dict[str, set[str]] = {}
        for edit, file in pairs:
            for a, b in _counterparts(edit, file):
                if ord(a) in PUNCTUATION:
                    self._seen.setdefault(a, set()).add(b)
        self._converted = {
            _kind(a) for a, found in self._seen.items() if any(b != a for b in found)
        }

    @property
    def is_plain(self) -> bool:
        """Whether edit and file spell everything alike."""
        return not self._converted

    def translate(self, text: str) -> str | None:
        """Return new text in the file's characters, None where that cannot be told.

        It cannot where one character of the edit stands for two in the file, or where the edit has
        one that the matched text lacks while others of its kind were converted.
        """
        if self.is_plain or text.isascii():
            return text
        out: list[str] = []
        for character in text:
            found = self._seen.get(character, {character})
            doubtful = character not in self._seen and _kind(character) in self._converted
            if len(found) > 1 or (ord(character) in PUNCTUATION and doubtful):
                return None
            out += found
        return "".join(out)


def respelled(have: str, old: str, new: str, spelling: Spelling) -> str | None:
    r"""Write the difference of ``old`` and ``new`` into a line that only resembles ``old``.

    Works by tokens; a quoted string is one token. Where the tokens of file and edit do not
    correspond one to one, only single characters are translated.

    Args:
        have: The line of the file.
        old: The edit's spelling of it.
        new: The edit's line that takes its place.
        spelling: What the characters of the edit stand for.

    Returns:
        The new line; None where its characters cannot be told.

    >>> respelled("x = 1  # a \u2014 b", "x = 1  # a - b", "x = 2  # a - b", Spelling())
    'x = 2  # a \u2014 b'
    """
    if have == old and spelling.is_plain:
        return new
    mine, theirs, fresh = (_tokens(text) for text in (have, old, new))
    if [t.translate(PUNCTUATION) for t in mine] != [t.translate(PUNCTUATION) for t in theirs]:
        return spelling.translate(new)
    out: list[str | None] = []
    at = 0
    for i1, i2, j1, j2 in changes(theirs, fresh):
        out += mine[at:i1]
        if i2 - i1 == j2 - j1:
            triples = zip(mine[i1:i2], theirs[i1:i2], fresh[j1:j2], strict=True)
            out += [_token(*triple, spelling) for triple in triples]
        else:
            out += [spelling.translate(token) for token in fresh[j1:j2]]
        at = i2
    pieces = [*out, *mine[at:]]
    known = [piece for piece in pieces if piece is not None]
    return "".join(known) if len(known) == len(pieces) else None


def _token(have: str, old: str, new: str, spelling: Spelling) -> str | None:
    """Write a token in place of another; what both begin and end with is as the file has it.

    A plain character of the edit stays plain.
    """
    size = min(len(old), len(new))
    head = next((i for i in range(size) if old[i] != new[i]), size)
    tail = next((i for i in range(size - head) if old[-1 - i] != new[-1 - i]), size - head)
    middle = spelling.translate(new[head : len(new) - tail])
    if middle is None:
        return None
    before = _kept(have[:head], new[:head])
    return before + middle + _kept(have[len(have) - tail :], new[len(new) - tail :])


def _kept(have: str, new: str) -> str:
    pairs = zip(have, new, strict=True)
    return "".join(a if ord(b) in PUNCTUATION else b for a, b in pairs)


def _tokens(text: str) -> list[str]:
    """Cut a line into tokens; typographic quotes hold a string together as plain ones do."""
    return [text[m.start() : m.end()] for m in _TOKEN.finditer(text.translate(PUNCTUATION))]


def _counterparts(edit: str, file: str) -> Iterable[tuple[str, str]]:
    """Pair the characters of two pieces that are the same but for such characters."""
    for left, right in ((edit, file), (_SPACES.sub(" ", edit), _SPACES.sub(" ", file))):
        a, b = (unicodedata.normalize("NFC", text) for text in (left, right))
        if a.translate(PUNCTUATION) == b.translate(PUNCTUATION):
            return zip(a, b, strict=True)
    return ()


def _kind(character: str) -> str:
    """Return what sort of character it is: a quote of either width, a dash, or a space."""
    plain = character.translate(PUNCTUATION)
    return "quote" if plain in ("'", '"') else plain
