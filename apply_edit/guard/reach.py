"""Which lines an edit names, and so may change: the part of a merge that the edit reaches.

A lazy snippet is read as *segments*, the stretches between its markers. In a right merge every
segment stands in the result in one piece (blank lines apart). Result lines inside such a piece are
*covered*; what was removed between two neighbours of one segment is named by the snippet, because
it shows them as neighbours. At the edge of a segment the snippet does not say where the old text
ends, and the caller has to judge by similarity and syntax.

A structured edit names lines by its old and new text: see :mod:`apply_edit.guard.hunks`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from apply_edit.align import Op, line_ops
from apply_edit.guard.keys import loose
from apply_edit.markers import (
    Elision,
    elision,
    is_bare_ellipsis,
    removal_comment,
    trailing_marker,
)
from apply_edit.text import split_lines, strip_end

# Places tried for a segment all of whose lines are common; more say nothing.
_MAX_PLACES = 2000
# Words of a removal comment that name nothing.
_FILLER = frozenset(
    {
        "the",
        "and",
        "all",
        "any",
        "this",
        "that",
        "these",
        "those",
        "old",
        "now",
        "from",
        "with",
        "its",
        "entire",
        "whole",
        "unused",
        "method",
        "methods",
        "function",
        "functions",
        "class",
        "classes",
        "code",
        "line",
        "lines",
        "block",
        "call",
        "calls",
        "here",
        "not",
        "longer",
        "needed",
    }
)
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
        result: Keys of the result's lines: what may be a marker or asks for a removal, and
            reached it, is content.
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
        if _cuts(line, key, known, result):
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


def _cuts(line: str, key: str, known: frozenset[str], result: frozenset[str]) -> bool:
    """Say whether a line of a snippet is a marker, given what became of it."""
    level = elision(line)
    if level is Elision.CERTAIN:
        return True
    return (is_bare_ellipsis(line) and key not in known) or (
        level is not Elision.NONE and key not in result
    )


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
            words.update(word for word in _WORD.findall(what) if word.lower() not in _FILLER)
    return words
