r"""Translate a snippet's indentation where it is written in another style than the file.

A snippet in spaces for a file in tabs, or with two columns a level where the file has four, differs
in *every* indented line that it shares with the file, and always by the same factor. That is no
wish to indent anew.

Does not know: segments, places.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from apply_edit.merge.outline import Outline


class Scale:
    r"""Writes indentation in the file's style.

    Args:
        sign: The file's character, a space or a tab.
        factor: How many of them one character of the snippet's indentation is.

    >>> Scale("\t", Fraction(1, 4)).apply("        x = 1")
    '\t\tx = 1'
    """

    def __init__(self, sign: str, factor: Fraction) -> None:
        self.sign = sign
        self.factor = factor

    def apply(self, line: str) -> str:
        """Return the line as the file would indent it; what is left of a level stays in spaces."""
        size = _depth(line)
        rest = line[size:]
        if not rest.strip():
            return line
        levels = int(size * self.factor)
        left = size - int(levels / self.factor)
        return self.sign * levels + " " * left + rest


def scale_of(lines: Outline, original: Outline, matches: dict[int, int]) -> Scale | None:
    """Return how the snippet's indentation becomes the file's, or None where it is the file's own.

    Args:
        lines: The snippet.
        original: The file.
        matches: Matched lines of the snippet.
    """
    mine, theirs = _sign(lines), _sign(original)
    if mine is None or theirs is None:
        return None
    pairs = [
        (_depth(lines.lines[i]), _depth(original.lines[j]))
        for i, j in matches.items()
        if lines.stripped[i] == original.stripped[j] != ""
    ]
    factor = Fraction(_unit(original), _unit(lines))
    # One space aligns something with what is above it; it is no level.
    if (mine == " " and _unit(lines) == 1) or (mine == theirs and factor == 1):
        return None
    # A line that is deeper or less deep than that was moved into or out of a block.
    if any(a * factor != b for a, b in pairs):
        return None
    # With the same character lines in both places tell a factor from a shift.
    if mine == theirs and not ((0, 0) in pairs and any(b for _, b in pairs)):
        return None
    return Scale(theirs, factor)


def _sign(outline: Outline) -> str | None:
    """Return the one character that all indentation consists of; None for none or both."""
    signs = {sign for line in outline.lines if line.strip() for sign in line[: _depth(line)]}
    return signs.pop() if len(signs) == 1 else None


def _depth(line: str) -> int:
    """Return the size of the indentation, without the space that aligns a comment's asterisk."""
    rest = line.lstrip(" \t")
    size = len(line) - len(rest)
    return size - 1 if rest.startswith("*") and line[:size].endswith(" ") else size


def _unit(outline: Outline) -> int:
    """Return the size of one level: what all indentations are multiples of."""
    if _sign(outline) == "\t":
        return 1
    depths = {_depth(line) for line in outline.lines if line.strip()} - {0}
    return gcd(*depths) if depths else 1
