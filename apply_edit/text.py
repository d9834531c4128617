r"""Bytes to text and back without loss.

A file is decoded once, edited as text whose line ends are untouched, and encoded back. Whatever was
not edited comes back byte for byte: encoding, byte order mark, line ends (also mixed ones), final
newline, form feeds, U+2028. Only ``\n``, ``\r\n`` and ``\r`` end a line: ``str.splitlines`` breaks
at form feeds and U+2028 too, which no compiler does, so it is not used.

Does not know: edits, models, files on disk.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass

from apply_edit.errors import FileBinary

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")
_LINE_END = re.compile(r"\r\n|\n|\r")
# Control characters that no text file has; tab, line feed, form feed, return and escape are in use.
_BINARY_CONTROLS = frozenset(range(32)) - {7, 8, 9, 10, 11, 12, 13, 26, 27, 28, 29, 30, 31}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def split_lines(text: str) -> list[str]:
    r"""Split into lines that keep their line ends; joining them gives ``text`` back.

    >>> split_lines("a\r\nb\x0c\n\nc")
    ['a\r\n', 'b\x0c\n', '\n', 'c']
    """
    return _LINE.findall(text)


def line_end(line: str) -> str:
    r"""Return the line end of one line: ``\r\n``, ``\n``, ``\r`` or ``""``."""
    if line.endswith("\r\n"):
        return "\r\n"
    return line[-1:] if line.endswith(("\n", "\r")) else ""


def strip_end(line: str) -> str:
    r"""Return one line without its line end (and nothing else taken away).

    >>> strip_end("x  \r\n")
    'x  '
    """
    return line[: len(line) - len(line_end(line))]


def dominant_newline(text: str, default: str = "\n") -> str:
    r"""Return the commonest line end of ``text``; the first seen wins a tie.

    >>> dominant_newline("a\r\nb\r\nc\n")
    '\r\n'
    """
    counts = Counter(_LINE_END.findall(text))
    return counts.most_common(1)[0][0] if counts else default


def with_newlines(text: str, newline: str) -> str:
    r"""Return ``text`` with every line end replaced by ``newline``."""
    return _LINE_END.sub(lambda _: newline, text)


@dataclass(frozen=True, slots=True)
class SourceText:
    r"""A decoded file that remembers how to become bytes again.

    Args:
        text: The decoded text, line ends untouched, byte order mark taken off.
        encoding: Python codec name.
        bom: Byte order mark that the file began with, or ``b""``.
        newline: The commonest line end, given to new lines that have no neighbour to copy from.
    """

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""
    newline: str = "\n"

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "the file") -> SourceText:
        """Decode a file.

        Args:
            data: The whole file.
            name: How to call it in an error.

        Raises:
            FileBinary: It is not text in UTF-8, UTF-16, UTF-32 (with mark) or Latin-1.
        """
        for bom, marked in _BOMS:
            if data.startswith(bom):
                return cls._decode(data[len(bom) :], marked, bom, name)
        encoding = _guess_encoding(data)
        if encoding is None:
            message = f"{name} is not a text file; apply-edit edits text only"
            raise FileBinary(message, path=name)
        return cls._decode(data, encoding, b"", name)

    @classmethod
    def from_text(cls, text: str) -> SourceText:
        """Wrap text that never was bytes (an API request)."""
        return cls(text, newline=dominant_newline(text))

    @classmethod
    def _decode(cls, data: bytes, encoding: str, bom: bytes, name: str) -> SourceText:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            message = f"{name} begins as {encoding} and is broken at byte {error.start + len(bom)}"
            raise FileBinary(message, path=name) from None
        if text.encode(encoding) != data:
            message = f"{name} does not survive decoding as {encoding}; it is left alone"
            raise FileBinary(message, path=name)
        return cls(text, encoding, bom, dominant_newline(text))

    def to_bytes(self, text: str | None = None) -> bytes:
        """Encode ``text`` (by default the file's own) the way the file was encoded.

        Raises:
            FileBinary: ``text`` has a character that the file's encoding cannot hold.
        """
        value = self.text if text is None else text
        try:
            return self.bom + value.encode(self.encoding)
        except UnicodeEncodeError as error:
            char = value[error.start]
            line = value.count("\n", 0, error.start) + 1
            message = (
                f"line {line} of the result has {char!r} (U+{ord(char):04X}), which the file's "
                f"encoding {self.encoding} cannot hold; convert the file to UTF-8 first"
            )
            raise FileBinary(message, encoding=self.encoding, line=line) from None


def _guess_encoding(data: bytes) -> str | None:
    """Return a codec that decodes ``data`` without loss, or None for what is not text."""
    wide = _utf16_without_mark(data)
    if wide is not None:
        return wide
    if _BINARY_CONTROLS.intersection(data):
        # A few NULs inside valid UTF-8 happen in real sources; a binary has other controls as well.
        others = _BINARY_CONTROLS - {0}
        if others.intersection(data) or data.count(0) * 100 > len(data):
            return None
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return None if 0 in data else "latin-1"
    return "utf-8"


def _utf16_without_mark(data: bytes) -> str | None:
    """Recognise unmarked UTF-16 of mostly ASCII text by where its zero bytes are."""
    if len(data) < 4 or len(data) % 2:
        return None
    half = len(data) // 2
    zeros_even, zeros_odd = data[0::2].count(0), data[1::2].count(0)
    for encoding, zeros, others in (
        ("utf-16-le", zeros_odd, zeros_even),
        ("utf-16-be", zeros_even, zeros_odd),
    ):
        if zeros * 10 >= half * 7 and others * 100 <= half:
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError:
                continue
            if not any(ord(c) in _BINARY_CONTROLS for c in text):
                return encoding
    return None


def is_cut_off(line: str, whole: str) -> bool:
    """Say whether a line is a line of a text that was cut off within a word, a string or brackets.

    >>> is_cut_off("return data.ge", "return data.get(key)"), is_cut_off("a()", "a()  # b")
    (True, False)
    >>> is_cut_off("f(", "f(x)"), is_cut_off("port = 80", "port = 8080")
    (True, False)
    """
    if not line.strip() or len(line) >= len(whole) or not whole.startswith(line):
        return False
    within_word = (line[-1].isalpha() or line[-1] == "_") and (
        whole[len(line)].isalnum() or whole[len(line)] == "_"
    )
    opened = sum(map(line.count, "([{")) > sum(map(line.count, ")]}"))
    closes = sum(map(whole.count, "([{")) <= sum(map(whole.count, ")]}"))
    quoted = any(line.count(q) % 2 and whole.count(q) % 2 == 0 for q in ('"', "`"))
    quoted = quoted or (line[-1] in "\"'`" and whole[len(line)] == line[-1])
    return within_word or (opened and closes) or quoted
