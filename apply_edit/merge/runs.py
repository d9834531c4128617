"""Find the runs of equal lines that a snippet and a file share.

A line tells the more the rarer it is in the file; under the same owner (the method of *that* class)
rarity is counted among the lines of that owner.

Does not know: which of the runs are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from apply_edit.merge.outline import Outline, head_kind, is_closer
from apply_edit.merge.snippet import Segment, Snippet

# A line that occurs more often than this does not start a run (it may extend one), unless it is
# the first or last line of a segment: those decide where the segment stands.
_SEED_LIMIT = 40
_EDGE_LIMIT = 2000
_RUN_LIMIT = 700
_BLANK = 0.01
_PUNCTUATION = 0.3
# Next to a marker a snippet shows lines of the file, so that one can see where it stands.
_EDGE = 3.0
_LAST = 1.5
# Among equal lines the one at the same depth is meant, unless the snippet as a whole is shifted.
_SAME_DEPTH = 0.3

# Value of matching a line of the snippet with a line of the file.
_Value = Callable[[int, int], float]


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive equal lines within one segment.

    Args:
        segment: Index of the segment.
        start: First line in the snippet's outline.
        place: First line in the file.
        sums: Prefix sums of the weights; ``len(sums) - 1`` lines.
        bonus: What of the weight is for standing at the edge of the segment.
    """

    segment: int
    start: int
    place: int
    sums: tuple[float, ...]
    bonus: float = 0.0

    @property
    def length(self) -> int:
        """Number of lines."""
        return len(self.sums) - 1

    @property
    def weight(self) -> float:
        """Information of all lines."""
        return self.sums[-1]


def find_runs(snippet: Snippet, original: Outline) -> list[Run]:
    """List the maximal runs of equal lines that a chain may use."""
    weigh = _weigher(snippet.outline, original)
    runs: list[Run] = []
    for number, segment in enumerate(snippet.segments):
        bonus = _edge_bonus(segment, snippet, original)
        runs += _segment_runs(number, segment, snippet.outline, original, (weigh, bonus))
    if len(runs) > _RUN_LIMIT:
        runs = sorted(runs, key=lambda run: -run.weight)[:_RUN_LIMIT]
    return sorted(runs, key=lambda run: (run.start, run.place))


def _edge_bonus(segment: Segment, snippet: Snippet, original: Outline) -> _Value:
    """Return what a match of the first or last line of a segment is worth beyond its rarity."""
    edges = set()
    if segment.before is not None:
        edges.add(segment.start)
    if segment.after is not None:
        edges.add(segment.end - 1)
    # A snippet with a marker at its start and none at its end ends where the file does.
    last = original.previous_solid(len(original.lines))
    to_end = segment.after is None and snippet.segments[0].before is not None
    to_end = to_end and not is_closer(snippet.outline.stripped[segment.end - 1])

    def bonus(i: int, place: int) -> float:
        if i in edges:
            return _EDGE
        return _LAST if to_end and i == segment.end - 1 and place == last else 0.0

    return bonus


def _segment_runs(
    number: int,
    segment: Segment,
    lines: Outline,
    original: Outline,
    values: tuple[_Value, _Value],
) -> list[Run]:
    weigh, bonus = values
    runs: list[Run] = []
    covered: dict[int, int] = {}
    for i in range(segment.start, segment.end):
        edge = i in (segment.start, segment.end - 1)
        for place in _seeds(i, lines, original, _EDGE_LIMIT if edge else _SEED_LIMIT):
            if covered.get(place - i, -1) > i:
                continue
            start, at = i, place
            while start > segment.start and at > 0 and _same(lines, start - 1, original, at - 1):
                start, at = start - 1, at - 1
            sums, total = [0.0], 0.0
            while (
                start + len(sums) - 1 < segment.end
                and at + len(sums) - 1 < len(original.lines)
                and _same(lines, start + len(sums) - 1, original, at + len(sums) - 1)
            ):
                k = len(sums) - 1
                extra = bonus(start + k, at + k)
                total += extra
                sums.append(sums[-1] + weigh(start + k, at + k) + extra)
            covered[place - i] = start + len(sums) - 1
            runs.append(Run(number, start, at, tuple(sums), total))
    return runs


def _seeds(i: int, lines: Outline, original: Outline, limit: int) -> list[int]:
    text = lines.stripped[i]
    head_above = i > 0 and lines.stripped[i - 1] and lines.widths[i - 1] == lines.widths[i]
    if not text or (text == "{" and head_above):
        return []  # a brace below its head only goes on with it
    places = original.places.get(text, [])
    if len(places) <= limit:
        if places:
            return places
        return _named(i, lines, original)
    owned = original.owned_places.get((text, lines.contexts[i]), [])
    return owned if len(owned) <= limit else []


def _named(i: int, lines: Outline, original: Outline) -> list[int]:
    """Return heads of the same name for a head whose text is nowhere in the file."""
    name = lines.name(i)
    if name is None:
        return []
    kind = head_kind(lines.stripped[i])
    named = original.named_places.get(name, [])
    places = [p for p in named if head_kind(original.stripped[p]) == kind]
    same_owner = [p for p in places if original.contexts[p] == lines.contexts[i]]
    return same_owner or places


def _same(lines: Outline, i: int, original: Outline, place: int) -> bool:
    text, other = lines.stripped[i], original.stripped[place]
    if text == other:
        return True
    if not text or not other or text in original.places:
        return False
    name = lines.name(i)
    return name is not None and name == original.name(place) and head_kind(text) == head_kind(other)


def _weigher(lines: Outline, original: Outline) -> _Value:
    scale = math.log(len(original.lines) + 2)

    def weigh(i: int, place: int) -> float:
        text = lines.stripped[i]
        if not text:
            return _BLANK
        exact = text == original.stripped[place]
        count = original.counts[text] if exact else len(original.named_places[lines.name(i) or ""])
        value = max(0.02, 1 - math.log(count) / scale)
        if not any(c.isalnum() for c in text) or is_closer(text):
            value *= _PUNCTUATION
        if original.contexts[place] == lines.contexts[i] != "":
            owned = len(original.owned_places.get((text, lines.contexts[i]), ())) or 1
            value += 0.5 * max(0.02, 1 - math.log(owned) / scale)
        if not exact:
            value *= 0.8
        if lines.widths[i] != original.widths[place]:
            return value
        return value * 1.25 + (_SAME_DEPTH if count > 1 and exact else 0.0)

    return weigh
