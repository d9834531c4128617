"""Merge a lazy snippet into a file without a model, where it has one plain reading.

The steps: cut the snippet at its markers (:mod:`snippet`), find the lines that it shares with the
file (:mod:`runs`) and choose among them (:mod:`chain`), find what each segment replaces
(:mod:`place`, with :mod:`edges`, :mod:`soft` and :mod:`deletions`), write the text (:mod:`build`),
and check that no other alignment is as good and that nothing broke. Where a line may be a marker or
not, all this is done for both readings, and :mod:`readings` chooses.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from apply_edit.errors import MergeUndetermined
from apply_edit.merge.build import Builder
from apply_edit.merge.chain import Chain, align, prune, standing
from apply_edit.merge.deletions import check_idle_markers
from apply_edit.merge.outline import Outline
from apply_edit.merge.place import Placer
from apply_edit.merge.readings import Reading, choose, hiding
from apply_edit.merge.runs import Run, find_runs
from apply_edit.merge.snippet import Snippet, read_snippet, undetermined
from apply_edit.merge.soft import past_annotations
from apply_edit.syntax import canonical_language, definitions, error_nodes, has_grammar
from apply_edit.syntax.python import python_error
from apply_edit.text import split_lines, strip_end
from apply_edit.types import LazyMerge

__all__ = ["merge_lazy"]

# Two alignments whose merits differ by less are equally good. Where even the matched lines weigh
# the same, that one of them leaves out fewer lines does not decide.
_EQUAL = 0.25
_SAME = 0.005
# Checks beyond the grammar's take about a second per megabyte; larger files go without.
_MAX_CHECKED = 400_000
# Languages in which a block cannot define one name twice; elsewhere the first line has to be equal.
_ONE_PER_NAME = frozenset({"python", "javascript", "go", "php", "ruby", "lua"})


@dataclass(frozen=True, slots=True)
class _Task:
    """What is merged with what.

    Args:
        text: The file.
        outline: Its lines.
        snippet: The snippet, cut at its markers.
        language: Our name of the language, or None.
    """

    text: str
    outline: Outline
    snippet: Snippet
    language: str | None


def merge_lazy(
    original: str, snippet: str, *, language: str | None = None, instruction: str | None = None
) -> LazyMerge:
    """Merge a snippet in which unchanged code is elided.

    Args:
        original: The file's text, line ends as they are.
        snippet: The snippet's code, out of fence and prose.
        language: Language of the file by any of its names; None where unknown.
        instruction: What the edit is meant to do; not read, a sentence has no plain reading.

    Returns:
        The merged text, with the spans that come from the snippet.

    Raises:
        MergeUndetermined: The snippet has no single plain reading; ``reason`` is one of
            ``ambiguous``, ``no_anchor``, ``placement``, ``order``, ``replace_or_add``,
            ``deletion_unclear``, ``marker_unclear``, ``large_deletion``, ``file_start``,
            ``file_end``, ``wrap``, ``syntax``.
    """
    name = canonical_language(language)
    if not original.strip():
        return _only_snippet(original, snippet, name)
    outline = _outline(original, name)

    def read(markers: frozenset[int]) -> Reading:
        return _read(original, read_snippet(snippet, outline, name, markers), outline, name)

    reading = choose(outline, snippet, name, read)
    return LazyMerge(reading.text, spans=reading.spans)


def _read(original: str, parts: Snippet, outline: Outline, name: str | None) -> Reading:
    """Merge a snippet that is cut at its markers."""
    kept, outline = _without_removed(original, outline, parts, name)
    if not parts.segments:
        if parts.removals:
            return Reading(kept)
        message = "the snippet has no line of code, so it changes nothing"
        raise MergeUndetermined(message, reason="no_anchor", line=1)
    task = _Task(kept, outline, parts, name)
    runs = find_runs(parts, outline)
    chain = align(parts, outline, runs)
    merged = _merge(task, chain)
    _check_alternatives(task, runs, chain, merged)
    _check_syntax(original, merged.text, name)
    _check_doubles(original, merged.text, name)
    return merged


def _outline(text: str, language: str | None) -> Outline:
    lines = tuple(strip_end(line) for line in split_lines(text))
    return Outline(lines, lambda: _definition_ends(text, language), language in ("go", "sql"))


def _definition_ends(text: str, language: str | None) -> dict[int, int]:
    """Return where the definitions end, by the line of their head; empty without a grammar."""
    ends: dict[int, int] = {}
    if language is not None and has_grammar(language):
        for found in definitions(text, language):
            if found.kind != "import" and found.end_line > found.head_line + 1:
                ends[found.head_line] = max(found.end_line, ends.get(found.head_line, 0))
    return ends


def _only_snippet(original: str, snippet: str, language: str | None) -> LazyMerge:
    parts = read_snippet(snippet, Outline(()), language)
    if parts.markers:
        message = "the file is empty, so there is nothing that a marker could stand for"
        raise MergeUndetermined(message, reason="no_anchor", line=parts.markers[0].line + 1)
    return LazyMerge(snippet, spans=((0, len(split_lines(snippet))),))


def _without_removed(
    text: str, outline: Outline, snippet: Snippet, language: str | None
) -> tuple[str, Outline]:
    """Take out the lines that comments ask to be removed."""
    if not snippet.removals:
        return text, outline
    gone = {i for lines in snippet.removals for i in lines}
    kept = "".join(line for i, line in enumerate(split_lines(text)) if i not in gone)
    return kept, _outline(kept, language)


def _merge(task: _Task, chain: Chain) -> Reading:
    matches = prune(task.snippet, task.outline, chain.matches)
    placer = Placer(task.snippet, task.outline, matches, task.language)
    placed = placer.place()
    text, spans = Builder(task.text, task.outline, task.snippet, placer.matches).build(placed)
    hides = hiding(placed, task.snippet, task.outline, placer.matches)
    check_idle_markers(task.snippet, task.outline, placed, placer.matches, hides)
    return Reading(text, spans, hides)


def _check_alternatives(task: _Task, runs: list[Run], chain: Chain, merged: Reading) -> None:
    """Refuse where leaving out a run gives an alignment as good and another text."""
    for run in _contested(standing(runs), chain):
        other = align(task.snippet, task.outline, runs, without=run)
        if other.weight < chain.weight - _SAME and other.score < chain.score - _EQUAL:
            continue
        try:
            text: str | None = _merge(task, other).text
        except MergeUndetermined:
            text = None
        if text != merged.text:
            places = f"lines {run.place + 1} and {_other_place(run, other) + 1}"
            message = f"it fits equally well at {places} of the file; show more lines around it"
            raise undetermined(task.snippet, run.start, "ambiguous", message)


def _contested(runs: list[Run], chain: Chain) -> list[Run]:
    """Return the chosen runs that have a rival of about the same weight for the same lines."""
    found = []
    for run in chain.runs:
        for rival in runs:
            overlap = min(run.start + run.length, rival.start + rival.length) > max(
                run.start, rival.start
            )
            if rival is not run and overlap and rival.weight >= run.weight * 0.6:
                found.append(run)
                break
    return found


def _other_place(run: Run, other: Chain) -> int:
    for i in range(run.start, run.start + run.length):
        if i in other.matches:
            return other.matches[i]
    return run.place


def _check_doubles(original: str, text: str, language: str | None) -> None:
    """Refuse a text that defines a name twice in one block where the original does not."""
    if language is None or not has_grammar(language) or len(text) > _MAX_CHECKED:
        return
    before, after = (_defined(each, language) for each in (original, text))
    doubled = [name for name, count in after.items() if count > max(1, before[name])]
    if doubled:
        message = (
            f"the merged text defines {doubled[0]} twice in one block, so the alignment is not to "
            "be trusted"
        )
        raise MergeUndetermined(message, reason="order", line=1)


def _defined(text: str, language: str) -> Counter[str]:
    """Say how often a block defines each name; the highest count of all blocks.

    Decorated definitions are left out: getters and overloads have their name in common.
    """
    outline = Outline(tuple(strip_end(line) for line in split_lines(text)))
    counts: Counter[tuple[str, int]] = Counter()
    for found in definitions(text, language):
        if found.kind in ("function", "method", "class") and found.start_line == found.head_line:
            line = past_annotations(outline.stripped, found.head_line, found.end_line)
            name = found.name if language in _ONE_PER_NAME else outline.stripped[line]
            counts[name, outline.parents[line]] += 1
    highest: Counter[str] = Counter()
    for (name, _), count in counts.items():
        highest[name] = max(highest[name], count)
    return highest


def _check_syntax(original: str, text: str, language: str | None) -> None:
    """Refuse a text that does not parse where the original does."""
    if language is None or not has_grammar(language) or text == original:
        return
    faults = error_nodes(text, language)
    line = faults[0].start_line + 1 if faults and not error_nodes(original, language) else None
    checked = language == "python" and len(text) <= _MAX_CHECKED
    if not faults and checked and python_error(original) is None:
        # A grammar forgives what Python does not: a head without a body.
        error = python_error(text)
        line = None if error is None else error[0] + 1
    if line is not None:
        message = (
            f"the merged text does not parse (line {line}), so the alignment is not to be trusted"
        )
        raise MergeUndetermined(message, reason="syntax", line=1)
