"""Align the lines of a snippet with the lines of the file, in order.

Runs of equal lines are chained so that the information of the matched lines is greatest. A line
tells the more the rarer it is in the file; under the same owner (the method of *that* class) rarity
is counted among the lines of that owner. Lines left out between two matched neighbours cost a
little unless a marker stands there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from apply_edit.merge.outline import Outline, head_name, is_closer
from apply_edit.merge.snippet import Segment, Snippet

# A line that occurs more often than this does not start a run (it may extend one), unless it is
# the first or last line of a segment: those decide where the segment stands.
_SEED_LIMIT = 40
_EDGE_LIMIT = 2000
_RUN_LIMIT = 1500
_BLANK = 0.01
_EDGE = 3.0
_DELETION = 0.9
_TELLING = 0.5
_INNER = 0.05
_PUNCTUATION = 0.3


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive equal lines within one segment.

    Args:
        segment: Index of the segment.
        start: First line in the snippet's outline.
        place: First line in the file.
        sums: Prefix sums of the weights; ``len(sums) - 1`` lines.
    """

    segment: int
    start: int
    place: int
    sums: tuple[float, ...]

    @property
    def length(self) -> int:
        """Number of lines."""
        return len(self.sums) - 1

    @property
    def weight(self) -> float:
        """Information of all lines."""
        return self.sums[-1]


@dataclass(frozen=True, slots=True)
class Chain:
    """An order-preserving alignment.

    Args:
        score: Its merit, by which it was chosen.
        weight: Its merit without what the left out lines cost.
        runs: The runs used, in order.
        matches: Line of the file for each matched line of the snippet's outline.
    """

    score: float
    weight: float
    runs: tuple[Run, ...]
    matches: dict[int, int]


def align(
    snippet: Snippet, original: Outline, runs: list[Run], without: Run | None = None
) -> Chain:
    """Align in two steps: where the segments stand, then their inner lines.

    Where a segment begins or ends at a marker with a telling run of lines, these runs say where it
    stands; a new function in between may look like any other function of the file.

    Args:
        snippet: The snippet.
        original: The file.
        runs: All runs.
        without: A run that must not be used, to see what the next best alignment is.
    """
    first = best_chain([run for run in standing(snippet, runs) if run is not without])
    matches = dict(first.matches)
    runs = [run for run in runs if run is not without]
    for number, segment in enumerate(snippet.segments):
        _fill(number, segment, snippet, original, matches, runs)
    return Chain(first.score, first.weight, first.runs, dict(sorted(matches.items())))


def standing(snippet: Snippet, runs: list[Run]) -> list[Run]:
    """Let the inner runs of a segment with a telling edge only break ties."""
    edged: dict[int, list[Run]] = {}
    telling: set[int] = set()
    for run in runs:
        segment = snippet.segments[run.segment]
        bonus = 0.0
        if segment.before is not None and run.start == segment.start:
            bonus += _EDGE
        if segment.after is not None and run.start + run.length == segment.end:
            bonus += _EDGE
        if bonus:
            edged.setdefault(run.segment, []).append(run)
            if run.weight - bonus >= _TELLING:
                telling.add(run.segment)
    return [
        run
        if run.segment not in telling or run in edged[run.segment]
        else replace(run, sums=tuple(_INNER * value for value in run.sums))
        for run in runs
        if run.segment not in telling or run in edged[run.segment] or run.weight > _TELLING
    ]


def _fill(
    number: int,
    segment: Segment,
    snippet: Snippet,
    original: Outline,
    matches: dict[int, int],
    runs: list[Run],
) -> None:
    """Match the inner lines of a segment, between and beside those that are matched."""
    known = [i for i in range(segment.start, segment.end) if i in matches]
    if not known:
        return
    floor = max((j for i, j in matches.items() if i < segment.start), default=-1)
    ceiling = min((j for i, j in matches.items() if i >= segment.end), default=len(original.lines))
    fences = [(segment.start - 1, floor), *((i, matches[i]) for i in known), (segment.end, ceiling)]
    for (low, place_low), (high, place_high) in pairwise(fences):
        if high - low < 2 or place_high - place_low < 2:
            continue
        inner = [
            cut
            for run in runs
            if run.segment == number
            and (cut := _clip(run, low + 1, high, place_low + 1, place_high)) is not None
        ]
        matches.update(best_chain(inner).matches)


def _clip(run: Run, low: int, high: int, place_low: int, place_high: int) -> Run | None:
    """Cut a run to ``[low, high)`` of the snippet and ``[place_low, place_high)`` of the file."""
    skip = max(0, low - run.start, place_low - run.place)
    stop = min(run.length, high - run.start, place_high - run.place)
    if skip >= stop:
        return None
    base = run.sums[skip]
    sums = tuple(value - base for value in run.sums[skip : stop + 1])
    return Run(run.segment, run.start + skip, run.place + skip, sums)


def find_runs(snippet: Snippet, original: Outline) -> list[Run]:
    """List the maximal runs of equal lines that a chain may use."""
    weigh = _weigher(snippet.outline, original)
    runs: list[Run] = []
    for number, segment in enumerate(snippet.segments):
        runs += _segment_runs(number, segment, snippet.outline, original, weigh)
    if len(runs) > _RUN_LIMIT:
        runs = sorted(runs, key=lambda run: -run.weight)[:_RUN_LIMIT]
    return sorted(runs, key=lambda run: (run.start, run.place))


def best_chain(runs: list[Run]) -> Chain:
    """Choose the runs with the greatest total, in the order of both texts.

    Where two runs overlap one of them loses lines.
    """
    best: list[float] = []
    weights: list[float] = []
    steps: list[_Step | None] = []
    for i, run in enumerate(runs):
        value, weight, link = run.weight, run.weight, None
        for k in range(i):
            step = _step(k, runs[k], run)
            if step is not None and best[k] + step.gain - step.cost > value:
                value = best[k] + step.gain - step.cost
                weight, link = weights[k] + step.gain, step
        best.append(value)
        weights.append(weight)
        steps.append(link)
    if not best:
        return Chain(0.0, 0.0, (), {})
    top = max(range(len(best)), key=best.__getitem__)
    matches: dict[int, int] = {}
    used: list[Run] = []
    at, keep = top, runs[top].length
    while True:
        run, back = runs[at], steps[at]
        used.append(run)
        for k in range(back.cut if back is not None else 0, keep):
            matches[run.start + k] = run.place + k
        if back is None:
            break
        at, keep = back.origin, back.keep
    return Chain(best[top], weights[top], tuple(reversed(used)), dict(sorted(matches.items())))


class _Step(NamedTuple):
    """A transition between two runs.

    ``origin`` is the index of the first run, of which ``keep`` lines stay; the second loses ``cut``
    lines at its start.
    """

    origin: int
    gain: float
    cost: float
    cut: int
    keep: int


def _step(origin: int, first: Run, second: Run) -> _Step | None:
    if second.start <= first.start:
        return None
    if first.segment != second.segment:
        cut = max(0, first.place + first.length - second.place)
        if cut >= second.length:
            return None
        return _Step(origin, second.weight - second.sums[cut], 0.0, cut, first.length)
    cut = max(0, first.place + 1 - second.place)
    keep = min(
        first.length, second.place + cut - first.place, second.start + cut - first.start
    )
    if cut >= second.length or second.start + second.length <= first.start + first.length:
        return None
    # Lines that two runs want of the file are an insertion that begins or ends like what is around
    # it (a function put between others): the snippet has them twice, and both tell where it stands.
    twice = max(0, first.start + first.length - second.start)
    left_out = second.place + cut - first.place - keep
    cost = 0.05 if second.start + cut > first.start + keep else 0.0
    if left_out > 0:
        cost += min(0.1 + 0.02 * left_out, _DELETION) + 0.002 * left_out
    return _Step(origin, second.weight - second.sums[twice], cost, cut, keep)


def _segment_runs(
    number: int,
    segment: Segment,
    lines: Outline,
    original: Outline,
    weigh: Callable[[int, int], float],
) -> list[Run]:
    runs: list[Run] = []
    covered: dict[int, int] = {}
    # Next to a marker a snippet shows lines of the file, so that one can see where it stands.
    edges = set()
    if segment.before is not None:
        edges.add(segment.start)
    if segment.after is not None:
        edges.add(segment.end - 1)
    for i in range(segment.start, segment.end):
        edge = i in (segment.start, segment.end - 1)
        for place in _seeds(i, lines, original, _EDGE_LIMIT if edge else _SEED_LIMIT):
            if covered.get(place - i, -1) > i:
                continue
            start, at = i, place
            while start > segment.start and at > 0 and _same(lines, start - 1, original, at - 1):
                start, at = start - 1, at - 1
            sums = [0.0]
            while (
                start + len(sums) - 1 < segment.end
                and at + len(sums) - 1 < len(original.lines)
                and _same(lines, start + len(sums) - 1, original, at + len(sums) - 1)
            ):
                k = len(sums) - 1
                bonus = _EDGE if start + k in edges else 0.0
                sums.append(sums[-1] + weigh(start + k, at + k) + bonus)
            covered[place - i] = start + len(sums) - 1
            runs.append(Run(number, start, at, tuple(sums)))
    return runs


def _seeds(i: int, lines: Outline, original: Outline, limit: int) -> list[int]:
    text = lines.stripped[i]
    if not text:
        return []
    places = original.places.get(text, [])
    if len(places) <= limit:
        if places:
            return places
        return _named(i, lines, original)
    owned = original.owned_places.get((text, lines.contexts[i]), [])
    return owned if len(owned) <= limit else []


def _named(i: int, lines: Outline, original: Outline) -> list[int]:
    """Return heads of the same name for a head whose text is nowhere in the file."""
    name = head_name(lines.stripped[i])
    if name is None:
        return []
    places = original.named_places.get(name, [])
    same_owner = [p for p in places if original.contexts[p] == lines.contexts[i]]
    return same_owner or places


def _same(lines: Outline, i: int, original: Outline, place: int) -> bool:
    text, other = lines.stripped[i], original.stripped[place]
    if text == other:
        return True
    if not text or not other or text in original.places:
        return False
    name = head_name(text)
    return name is not None and name == head_name(other)


def _weigher(lines: Outline, original: Outline) -> Callable[[int, int], float]:
    scale = math.log(len(original.lines) + 2)

    def weigh(i: int, place: int) -> float:
        text = lines.stripped[i]
        if not text:
            return _BLANK
        exact = text == original.stripped[place]
        count = original.counts[text] if exact else len(original.named_places[_name(text)])
        value = max(0.02, 1 - math.log(count) / scale)
        if not any(c.isalnum() for c in text) or is_closer(text):
            value *= _PUNCTUATION
        if original.contexts[place] == lines.contexts[i] != "":
            owned = len(original.owned_places.get((text, lines.contexts[i]), ())) or 1
            value += 0.5 * max(0.02, 1 - math.log(owned) / scale)
        if not exact:
            value *= 0.8
        return value * (1.02 if lines.widths[i] == original.widths[place] else 1.0)

    return weigh


def _name(text: str) -> str:
    return head_name(text) or ""
