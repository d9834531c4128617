"""Which lines the hunks of a structured edit name, and the result that they must lead to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rapidfuzz import fuzz, process

from apply_edit.guard.keys import loose
from apply_edit.text import split_lines, with_newlines
from apply_edit.types import Hunk

# Likeness in percent from which a line is the one that a hunk spells a little differently.
_NEARLY = 70.0


class StructuredNames:
    """What the hunks of a structured edit name: lines taken out, lines put in, pieces of lines.

    Hunks are applied by looser steps too (another spelling, a line number in front, one line for
    two), so a line also counts as named when it is nearly one that the edit has.
    """

    def __init__(self, hunks: Iterable[Hunk]) -> None:
        self._removed: set[str] = set()
        self._added: set[str] = set()
        self._pieces_removed: list[str] = []
        self._pieces_added: list[str] = []
        self.everything = False
        for hunk in hunks:
            for old, new in readings(hunk):
                self._learn(hunk, split_lines(old), split_lines(new))
            # Text that is put in for nothing replaces a file; white space may be anywhere.
            if not hunk.whole_lines and not hunk.old.strip():
                self.everything = True

    def _learn(self, hunk: Hunk, old_lines: list[str], new_lines: list[str]) -> None:
        old, new = [loose(line) for line in old_lines], [loose(line) for line in new_lines]
        kept = Counter() if hunk.replace_all else Counter(old) & Counter(new)
        self._removed.update(key for key in Counter(old) - kept if key)
        self._added.update(key for key in Counter(new) - kept if key)
        if not hunk.whole_lines:
            self._pieces_removed += [piece for piece in old if piece]
            self._pieces_added += [piece for piece in new if piece]

    def removes(self, key: str) -> bool:
        """Say whether the edit takes out a line, or a piece of it."""
        if self.everything or key in self._removed or self.has_piece(key):
            return True
        if any(key in piece for piece in self._pieces_removed):
            return True
        return _nearly(key, self._removed)

    def adds(self, key: str) -> bool:
        """Say whether the edit puts in a line, or a piece of it."""
        if self.everything or key in self._added:
            return True
        return any(piece in key for piece in self._pieces_added) or _nearly(key, self._added)

    def has_piece(self, key: str) -> bool:
        """Say whether a line holds a piece of text that the edit takes out."""
        return any(piece in key for piece in self._pieces_removed)

    def added(self) -> frozenset[str]:
        """Return the keys of the lines that the edit puts in."""
        return frozenset(self._added)


def _nearly(key: str, named: set[str]) -> bool:
    if any(other.endswith(key) for other in named):
        return True
    return process.extractOne(key, named, scorer=fuzz.ratio, score_cutoff=_NEARLY) is not None


def spliced(original: str, hunks: Iterable[Hunk]) -> str | None:
    r"""Apply hunks whose old text is in the original once (or is to go everywhere), else None.

    Args:
        original: The file before; line ends are unified for the search.
        hunks: Hunks of a structured edit.

    >>> spliced("a\r\nb\r\n", [Hunk("b\n", "c\n")])
    'a\nc\n'
    """
    # Whole lines must match from their start: ``x = 1`` is not in ``max = 1``.
    text = "\n" + with_newlines(original, "\n")
    for hunk in hunks:
        edge = "\n" if hunk.whole_lines else ""
        pairs = [(with_newlines(a, "\n"), with_newlines(b, "\n")) for a, b in readings(hunk)]
        # Several places are meant only in pieces of text; lines share the feed at their borders.
        most = len(text) if hunk.replace_all and not hunk.whole_lines else 1
        fitting = [
            (old, new) for old, new in pairs if old.strip() and 1 <= text.count(edge + old) <= most
        ]
        if not fitting:
            return None
        old, new = fitting[0]
        text = text.replace(edge + old, edge + new)
    return text[1:]


def readings(hunk: Hunk) -> list[tuple[str, str]]:
    """Return every (old, new) pair that a hunk may mean, the likeliest first."""
    return [(hunk.old, hunk.new), *hunk.readings]
