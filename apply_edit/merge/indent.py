r"""Translate a snippet's indentation where it is written in another style than the file.

A snippet in spaces for a file in tabs, or with two columns a level where the file has four, differs
in *every* indented line that it shares with the file, and always by the same factor. That is no
wish to indent anew.

Does not know: segments, places.
"""

from __future__ import annotations

from fractions import Fraction

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
        rest = line.lstrip(" \t")
        if not rest:
            return line
        size = len(line) - len(rest)
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
    factors = {Fraction(b, a) if a and b else None for a, b in pairs if a or b}
    if len(factors) > 1 or None in factors:
        return None
    if factors:
        factor = factors.pop()
        # With the same character only a line at the margin tells a factor from a shift.
        same = mine == theirs and (factor == 1 or (0, 0) not in pairs)
        return None if factor is None or same else Scale(theirs, factor)
    if mine == theirs:
        return None
    return Scale(theirs, Fraction(_unit(original), _unit(lines)))


def _sign(outline: Outline) -> str | None:
    """Return the one character that all indentation consists of; None for none or both."""
    signs = {
        sign
        for line in outline.lines
        if line[:1] in (" ", "\t") and line.strip() and not line.startswith(" *")
        for sign in line[: _depth(line)]
    }
    return signs.pop() if len(signs) == 1 else None


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _unit(outline: Outline) -> int:
    """Return the size of the smallest indentation."""
    depths = [_depth(line) for line in outline.lines if line.strip()]
    return (
        min((depth for depth in depths if depth and depth != 1), default=1)
        if (_sign(outline) == " ")
        else 1
    )
