"""Choose among the runs of equal lines those that say where the segments of a snippet stand.

Runs are chained in the order of both texts so that the information of the matched lines is
greatest. Lines left out between two matched neighbours cost a little unless a marker stands there.

Does not know: what becomes of the lines that are not matched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from apply_edit.merge.outline import Outline, head_name, is_closer
from apply_edit.merge.runs import Run
from apply_edit.merge.snippet import Segment, Snippet
from apply_edit.merge.soft import ANNOTATION

# First lines of comments, bare brackets.
_OPENS = re.compile(r"/\*\*?$|[{(\[]+$")
_DELETION = 0.9
_TELLING = 0.5
_INNER = 0.05


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
    first = best_chain([run for run in standing(runs) if run is not without])
    matches = dict(first.matches)
    runs = [run for run in runs if run is not without]
    for number, segment in enumerate(snippet.segments):
        _fill(number, segment, snippet, original, matches, runs)
    return Chain(first.score, first.weight, first.runs, dict(sorted(matches.items())))


def standing(runs: list[Run]) -> list[Run]:
    """Let the inner runs of a segment with a telling edge only break ties."""
    telling = {run.segment for run in runs if run.bonus and run.weight - run.bonus >= _TELLING}
    return [
        run
        if run.segment not in telling or run.bonus
        else replace(run, sums=tuple(_INNER * value for value in run.sums))
        for run in runs
        if run.segment not in telling or run.bonus or run.weight > _TELLING
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
    keep = min(first.length, second.place + cut - first.place, second.start + cut - first.start)
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


def prune(snippet: Snippet, original: Outline, matches: dict[int, int]) -> dict[int, int]:
    """Drop matches that are there by chance: inside a definition that is new, or a stray brace."""
    kept = dict(matches)
    lines = snippet.outline
    for segment in snippet.segments:
        edges = _edges(segment, original, lines, matches)
        for i in range(segment.start, segment.end):
            text = lines.stripped[i]
            if i in kept and is_closer(text):
                owner = lines.parents[i]
                if owner >= 0 and owner not in kept and not _held(kept, i, owner):
                    del kept[i]
            if i in kept and (
                _moved(kept, i, segment, lines, original)
                or _begins_another(kept, i, segment, lines)
            ):
                del kept[i]
            if i in kept or head_name(text) is None:
                continue
            inside = lines.solid_between(i + 1, min(segment.end, lines.block_end(i)))
            found = [k for k in inside if k in kept and k not in edges]
            telling = [k for k in found if original.counts[lines.stripped[k]] == 1]
            if len(found) * 2 < len(inside) or len(telling) < 2:
                for k in found:
                    del kept[k]
    return kept


def _begins_many(text: str) -> bool:
    """Say whether a line is an annotation or opens a comment or a bracket, and nothing else."""
    return ANNOTATION.match(text) is not None or _OPENS.match(text) is not None


def _begins_another(matches: dict[int, int], i: int, segment: Segment, lines: Outline) -> bool:
    """Say whether a line that many blocks begin with stands at the beginning of a new one.

    An annotation, the first line of a comment or a bare bracket in common makes no two blocks the
    same: what follows has to agree as well.
    """
    text = lines.stripped[i]
    if not _begins_many(text):
        return False
    following = lines.next_solid(i + 1)
    while following < segment.end and _begins_many(lines.stripped[following]):
        following = lines.next_solid(following + 1)
    if following >= segment.end:
        return False
    if any(c.isalnum() for c in text):
        return following not in matches
    inside = lines.solid_between(i + 1, min(segment.end, lines.block_end(i)))
    inside = [k for k in inside if not is_closer(lines.stripped[k])]
    return bool(inside) and not any(k in matches for k in inside)


def _moved(
    matches: dict[int, int], i: int, segment: Segment, lines: Outline, original: Outline
) -> bool:
    """Say whether a line below a new head equals one at another depth, and others fit as they are.

    A new function may end like the one before it in the file.
    """
    owner = lines.parents[i]
    if owner < segment.start or owner in matches or head_name(lines.stripped[owner]) is None:
        return False
    if lines.widths[i] == original.widths[matches[i]]:
        return False
    later = [k for k in lines.solid_between(i + 1, segment.end) if k in matches]
    return any(lines.widths[k] == original.widths[matches[k]] for k in later)


def _edges(
    segment: Segment, original: Outline, lines: Outline, matches: dict[int, int]
) -> set[int]:
    """Return the matched lines next to a marker that are found only there in the file."""
    found: set[int] = set()
    for marker, start, step in (
        (segment.before, segment.start, 1),
        (segment.after, segment.end - 1, -1),
    ):
        run = []
        at = start
        while marker is not None and at in matches:
            run.append(at)
            if matches.get(at + step) != matches[at] + step:
                break
            at += step
        if any(original.counts[lines.stripped[i]] == 1 for i in run):
            found.update(run)
    return found


def _held(matches: dict[int, int], i: int, owner: int) -> bool:
    """Say whether a neighbour is matched to the neighbour.

    The line below does not hold a line that closes a new block: it equals the one that closes the
    block before in the file.
    """
    if matches.get(i - 1) == matches[i] - 1:
        return True
    inside = any(k in matches for k in range(owner + 1, i))
    return inside and matches.get(i + 1) == matches[i] + 1
