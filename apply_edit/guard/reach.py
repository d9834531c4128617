"""Which lines an edit names, and so may change: the part of a merge that the edit reaches.

A lazy snippet is read as *segments*, the stretches between its markers. In a right merge every
segment stands in the result in one piece (blank lines apart). Result lines inside such a piece are
*covered*; what was removed between two neighbours of one segment is named by the snippet, because
it shows them as neighbours. At the edge of a segment the snippet does not say where the old text
ends, and the caller has to judge by similarity and syntax.

A structured edit names lines by its old and new text. An instruction names none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from apply_edit.align import Op, line_ops
from apply_edit.guard.keys import loose
from apply_edit.markers import is_bare_ellipsis, is_marker, removal_comment, trailing_marker
from apply_edit.text import split_lines, strip_end, with_newlines
from apply_edit.types import Hunk

# Places tried for a segment all of whose lines are common; more say nothing.
_MAX_PLACES = 2000
# Likeness in percent from which a line is the one that a hunk spells a little differently.
_NEARLY = 70.0
_WORD = re.compile(r"[A-Za-z_$][\w$-]{2,}")


@dataclass(frozen=True, slots=True)
class Segment:
    """Lines of a snippet that stand together, without blank lines.

    Args:
        keys: Loose keys of the lines.
        lines: 0-based index of each in the snippet.
    """

    keys: tuple[str, ...]
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reach:
    """What a snippet covers of a result.

    Args:
        segments: The snippet's segments.
        whole: For each segment, whether it stands in the result in one piece.
        covered: Result lines that are lines of the snippet.
        joined: Result lines before which nothing may be missing: the snippet shows this line and
            the one before it as neighbours.
        absent: Snippet lines (0-based) of torn segments for which the result has no place in order.
        removals: Words of the snippet's removal comments.
    """

    segments: tuple[Segment, ...]
    whole: tuple[bool, ...]
    covered: frozenset[int]
    joined: frozenset[int]
    absent: frozenset[int]
    removals: frozenset[str]


def segments_of(snippet: str, known: frozenset[str], result: frozenset[str]) -> list[Segment]:
    """Cut a snippet at its markers.

    Args:
        snippet: The snippet.
        known: Keys of the original's lines: three dots that are one of them are code.
        result: Keys of the result's lines: a removal comment that reached it is content.
    """
    segments: list[Segment] = []
    keys: list[str] = []
    at: list[int] = []

    def close() -> None:
        if keys:
            segments.append(Segment(tuple(keys), tuple(at)))
        keys.clear()
        at.clear()

    for index, raw in enumerate(split_lines(snippet)):
        line = strip_end(raw)
        key = loose(line)
        if not key or (removal_comment(line) is not None and key not in result):
            continue
        if is_marker(line) or (is_bare_ellipsis(line) and key not in known):
            close()
            continue
        inner = None if key in known else trailing_marker(line)
        if inner is not None:
            keys.append(loose(inner[0]))
            at.append(index)
            close()
            if key := loose(inner[2]):
                keys.append(key)
                at.append(index)
            continue
        keys.append(key)
        at.append(index)
    close()
    return segments


def reach_of(snippet: str, old_keys: list[str], new_keys: list[str]) -> Reach:
    """Find the segments of a snippet in a result.

    Args:
        snippet: The snippet.
        old_keys: Loose keys of the original's lines.
        new_keys: Loose keys of the result's lines.
    """
    known, result = frozenset(old_keys), frozenset(new_keys)
    segments = segments_of(snippet, known, result)
    solid = [j for j, key in enumerate(new_keys) if key]
    keys = [new_keys[j] for j in solid]
    places: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    covered: set[int] = set()
    joined: set[int] = set()
    absent: set[int] = set()
    found = [_occurrences(segment.keys, keys, places) for segment in segments]
    for segment, starts in zip(segments, _in_order(segments, found), strict=True):
        n = len(segment.keys)
        spans = [Op("equal", 0, n, start, start + n) for start in starts]
        if not starts:
            spans = [op for op in line_ops(segment.keys, keys) if op.kind == "equal"]
            there = {i for op in spans for i in range(op.old_start, op.old_end)}
            absent.update(at for i, at in enumerate(segment.lines) if i not in there)
        for op in spans:
            covered.update(solid[op.new_start : op.new_end])
            joined.update(solid[op.new_start + 1 : op.new_end])
    return Reach(
        tuple(segments),
        tuple(bool(starts) for starts in found),
        frozenset(covered),
        frozenset(joined),
        frozenset(absent),
        frozenset(_removal_words(snippet, result)),
    )


def _occurrences(
    segment: tuple[str, ...], keys: list[str], places: dict[str, list[int]]
) -> list[int]:
    """Return where the whole segment stands in the result's solid lines."""
    if any(key not in places for key in segment):
        return []
    rarest = min(range(len(segment)), key=lambda i: len(places[segment[i]]))
    wanted = list(segment)
    starts = [place - rarest for place in places[segment[rarest]][:_MAX_PLACES]]
    return [s for s in starts if s >= 0 and keys[s : s + len(wanted)] == wanted]


def _in_order(segments: list[Segment], found: list[list[int]]) -> list[list[int]]:
    """Keep the places at which the segments can stand in their order; all where none can.

    >>> _in_order([Segment(("a",), (0,)), Segment(("}",), (2,))], [[3], [1, 5]])
    [[3], [5]]
    """
    kept = [list(starts) for starts in found]
    first = 0
    for segment, starts in zip(segments, kept, strict=True):
        starts[:] = [start for start in starts if start >= first]
        if starts:
            first = starts[0] + len(segment.keys)
    last: int | None = None
    for segment, starts in zip(reversed(segments), reversed(kept), strict=True):
        end = last
        starts[:] = [s for s in starts if end is None or s + len(segment.keys) <= end]
        if starts:
            last = starts[-1]
    return [now or before for now, before in zip(kept, found, strict=True)]


def _removal_words(snippet: str, result: frozenset[str]) -> set[str]:
    words: set[str] = set()
    for line in split_lines(snippet):
        what = removal_comment(line)
        if what is not None and loose(line) not in result:
            words.update(_WORD.findall(what))
    return words


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
            old = [loose(line) for line in split_lines(hunk.old)]
            new = [loose(line) for line in split_lines(hunk.new)]
            kept = Counter() if hunk.replace_all else Counter(old) & Counter(new)
            self._removed.update(key for key in Counter(old) - kept if key)
            self._added.update(key for key in Counter(new) - kept if key)
            if not hunk.whole_lines:
                self._pieces_removed += [piece for piece in old if piece]
                self._pieces_added += [piece for piece in new if piece]
                # Text that is put in for nothing replaces a file; white space may be anywhere.
                self.everything = self.everything or not hunk.old.strip()

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
    r"""Apply hunks whose old text is in the original exactly once; None where one is not.

    Args:
        original: The file before; line ends are unified for the search.
        hunks: Hunks of a structured edit.

    >>> spliced("a\r\nb\r\n", [Hunk("b\n", "c\n")])
    'a\nc\n'
    """
    text = with_newlines(original, "\n")
    for hunk in hunks:
        old = with_newlines(hunk.old, "\n")
        if not old or text.count(old) != 1:
            return None
        text = text.replace(old, with_newlines(hunk.new, "\n"))
    return text
