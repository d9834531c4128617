"""Merge a lazy snippet into a file without a model, where it has one plain reading.

The steps: cut the snippet at its markers (:mod:`snippet`), align its lines with the file's
(:mod:`chain`), find what each segment replaces (:mod:`place`, :mod:`soft`), write the text
(:mod:`build`), and check that no other alignment is as good and that nothing broke.
"""

from __future__ import annotations

from apply_edit.errors import MergeUndetermined
from apply_edit.merge.build import Builder
from apply_edit.merge.chain import Chain, align, standing
from apply_edit.merge.outline import Outline
from apply_edit.merge.runs import Run, find_runs
from apply_edit.merge.place import Placer, prune, undetermined
from apply_edit.merge.snippet import Snippet, read_snippet
from apply_edit.syntax import canonical_language, definitions, error_nodes, has_grammar
from apply_edit.text import split_lines, strip_end
from apply_edit.types import LazyMerge

__all__ = ["merge_lazy"]

# Two alignments whose merits differ by less are equally good. Where even the matched lines weigh
# the same, that one of them leaves out fewer lines does not decide.
_EQUAL = 0.25
_SAME = 0.005


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
            ``ambiguous``, ``no_anchor``, ``placement``, ``order``, ``deletion_unclear``,
            ``large_deletion``, ``file_start``, ``file_end``, ``wrap``, ``duplicate``, ``syntax``.
    """
    name = canonical_language(language)
    if not original.strip():
        return _only_snippet(original, snippet, name)
    outline = _outline(original, name)
    parts = read_snippet(snippet, outline, name)
    original, outline = _without_removed(original, outline, parts, name)
    if not parts.segments:
        if parts.removals:
            return LazyMerge(original)
        message = "the snippet has no line of code, so it changes nothing"
        raise MergeUndetermined(message, reason="no_anchor", line=1)
    runs = find_runs(parts, outline)
    chain = align(parts, outline, runs)
    merged = _merge(original, outline, parts, chain, name)
    _check_alternatives(original, outline, parts, runs, chain, merged, name)
    _check_result(original, snippet, merged.text, name)
    return merged


def _outline(text: str, language: str | None) -> Outline:
    lines = tuple(strip_end(line) for line in split_lines(text))
    return Outline(lines, lambda: _definition_ends(text, language))


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
    """Take out the definitions that comments ask to be removed, each with one gap around it."""
    if not snippet.removals:
        return text, outline
    lines = split_lines(text)
    drop: set[int] = set()
    for name, _ in snippet.removals:
        head = outline.named_places[name][0]
        start = head
        while start > 0 and outline.stripped[start - 1].startswith(("@", "#", "//", "/*", "*")):
            start -= 1
        end = outline.block_end(head)
        drop.update(range(start, end))
        while end < len(lines) and not outline.stripped[end]:
            drop.add(end)
            end += 1
        if end == len(lines):
            while start > 0 and not outline.stripped[start - 1]:
                start -= 1
                drop.add(start)
    kept = "".join(line for i, line in enumerate(lines) if i not in drop)
    return kept, _outline(kept, language)


def _merge(
    original: str, outline: Outline, snippet: Snippet, chain: Chain, language: str | None
) -> LazyMerge:
    matches = prune(snippet, outline, chain.matches)
    placer = Placer(snippet, outline, matches, language)
    placed = placer.place()
    text, spans = Builder(original, outline, snippet, placer.matches).build(placed)
    return LazyMerge(text, spans=spans)


def _check_alternatives(
    original: str,
    outline: Outline,
    snippet: Snippet,
    runs: list[Run],
    chain: Chain,
    merged: LazyMerge,
    language: str | None,
) -> None:
    """Refuse where leaving out a run gives an alignment as good and another text."""
    for run in _contested(standing(runs), chain):
        other = align(snippet, outline, runs, without=run)
        if other.weight < chain.weight - _SAME and other.score < chain.score - _EQUAL:
            continue
        try:
            text: str | None = _merge(original, outline, snippet, other, language).text
        except MergeUndetermined:
            text = None
        if text != merged.text:
            places = f"lines {run.place + 1} and {_other_place(run, other) + 1}"
            message = f"it fits equally well at {places} of the file; show more lines around it"
            raise undetermined(snippet, run.start, "ambiguous", message)


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


def _check_result(original: str, snippet: str, text: str, language: str | None) -> None:
    """Refuse a text that the grammar likes less than the original, or with a double definition."""
    if language is None or not has_grammar(language) or text == original:
        return
    after = error_nodes(text, language)
    if after and not error_nodes(original, language):
        line = after[0].start_line + 1
        message = f"the merged text does not parse (line {line}), so the alignment cannot be right"
        raise MergeUndetermined(message, reason="syntax", line=1)
