r"""Which lines the target has to see and rewrite: windows around the edit, or the whole file.

A lazy snippet whose place is known by the deterministic merge needs no model to copy the rest of
the file. Each window is a stretch of lines with whole definitions in it, and gets the part of the
snippet that belongs to it. Lines outside all windows are kept by construction, so the cost follows
the size of the edit and not that of the file.

The merge says *where*; what the lines become is for the target to say.

Does not know: tokens, prompts, models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apply_edit.line_ops import Op, line_ops
from apply_edit.markers import is_marker
from apply_edit.syntax import Definition, definitions, has_grammar
from apply_edit.text import split_lines, strip_end
from apply_edit.types import LazyMerge

# Lines shown around a change where no definition encloses it; in a wide window.
_CONTEXT = 6
_WIDE_CONTEXT = 30
# A definition of up to so many lines is shown whole; in a wide window.
_DEFINITION = 60
_WIDE_DEFINITION = 200
# A neighbouring definition of up to so many lines is not cut by the border of a window.
_NEIGHBOUR = 20
# Windows that are closer than this are one.
_GAP = 10
# Below this many lines a file is cheap enough to be shown whole; and when the windows hold more
# than this part of it, little is saved.
SMALL_FILE = 100
_LARGE_PART = 0.6
# Texts beyond this size are not parsed for definitions.
_PARSED_CHARS = 2_000_000
_PLAIN_MARKER = "... existing code ..."


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of the file to be rewritten.

    Args:
        start: 0-based first line in the original.
        end: Line behind the last one.
        text: These lines.
        snippet: The part of the snippet that belongs here.
        prediction: What the deterministic merge makes of these lines.
        prediction_spans: ``(start, end)`` half-open 0-based line spans of ``prediction`` that come
            from the snippet and not from the original.
    """

    start: int
    end: int
    text: str
    snippet: str
    prediction: str
    prediction_spans: tuple[tuple[int, int], ...] = ()


def find_windows(
    original: str,
    snippet: str,
    merge: LazyMerge,
    language: str | None = None,
    *,
    wide: bool = False,
    smallest: int = SMALL_FILE,
) -> list[Window] | None:
    """Return the windows that hold the edit, in order, or None for the whole file.

    Args:
        original: The file.
        snippet: The lazy snippet.
        merge: Its deterministic merge.
        language: Language of the file, None where unknown.
        wide: Show more around each change.
        smallest: A file of fewer lines is shown whole.
    """
    old, new = split_lines(original), split_lines(merge.text)
    if len(old) < smallest:
        return None
    changes = [op for op in line_ops(old, new) if op.kind != "equal"]
    if not changes:
        return None
    outer = _definitions(original, language)
    spans = _joined([_span(op, len(old), outer, wide=wide) for op in changes])
    if sum(end - start for start, end in spans) > _LARGE_PART * len(old):
        return None
    lines = [strip_end(line) for line in split_lines(snippet)]
    places = _places(lines, [strip_end(line) for line in new])
    windows: list[Window] = []
    for start, end in spans:
        # A change never stands at the border of a window but at the very start or end of the file.
        new_start = start + _growth([op for op in changes if op.old_start < start])
        new_end = end + _growth([op for op in changes if op.old_end <= end])
        part = _part(lines, places, new_start, new_end)
        if part is None:
            return None
        text, prediction = "".join(old[start:end]), "".join(new[new_start:new_end])
        inside = _inside(merge.spans, new_start, new_end)
        windows.append(Window(start, end, text, part, prediction, inside))
    return windows


def put_back(original: str, windows: Sequence[Window], texts: Sequence[str]) -> str:
    r"""Return the file with each window's lines replaced by its new text.

    >>> window = Window(1, 2, "b\n", "", "")
    >>> put_back("a\nb\nc\n", [window], ["B\n"])
    'a\nB\nc\n'
    """
    lines = split_lines(original)
    pieces: list[str] = []
    done = 0
    for window, text in zip(windows, texts, strict=True):
        pieces += lines[done : window.start]
        open_end = text and not text.endswith("\n") and window.end < len(lines)
        pieces.append(text + "\n" if open_end else text)
        done = window.end
    return "".join([*pieces, *lines[done:]])


def _definitions(original: str, language: str | None) -> list[Definition]:
    if language is None or not has_grammar(language) or len(original) > _PARSED_CHARS:
        return []
    return [d for d in definitions(original, language) if d.kind != "import"]


def _inside(spans: Sequence[tuple[int, int]], start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Return what of the spans lies in ``[start, end)``, counted from there.

    >>> _inside([(0, 2), (5, 9)], 6, 8)
    ((0, 2),)
    """
    cut = ((max(first, start) - start, min(last, end) - start) for first, last in spans)
    return tuple((first, last) for first, last in cut if first < last)


def _span(
    change: Op, num_lines: int, outer: Sequence[Definition], *, wide: bool
) -> tuple[int, int]:
    """Widen one change to what should be seen of its surroundings."""
    context = _WIDE_CONTEXT if wide else _CONTEXT
    largest = _WIDE_DEFINITION if wide else _DEFINITION
    start, end = change.old_start, change.old_end
    shown_start, shown_end = max(0, start - context), min(num_lines, end + context)
    for definition in outer:
        first, last = definition.start_line, definition.end_line
        if first <= start and end <= last and last - first <= largest:
            shown_start, shown_end = min(shown_start, first), max(shown_end, last)
    return _snapped(shown_start, shown_end, outer)


def _snapped(start: int, end: int, outer: Sequence[Definition]) -> tuple[int, int]:
    """Widen a span so that it cuts no short definition in two."""
    short = [d for d in outer if d.end_line - d.start_line <= _NEIGHBOUR]
    first = min((d.start_line for d in short if d.start_line < start < d.end_line), default=start)
    last = max((d.end_line for d in short if d.start_line < end < d.end_line), default=end)
    return first, last


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start - joined[-1][1] < _GAP:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _growth(changes: Sequence[Op]) -> int:
    """Return how many lines longer the new text is for these changes."""
    return sum((op.new_end - op.new_start) - (op.old_end - op.old_start) for op in changes)


def _places(lines: Sequence[str], merged: Sequence[str]) -> dict[int, int]:
    """Map snippet lines to lines of the merged text, in order; indentation may differ."""
    solid = [i for i, line in enumerate(lines) if line.strip() and not is_marker(line)]
    there = [j for j, line in enumerate(merged) if line.strip()]
    ops = line_ops([lines[i].strip() for i in solid], [merged[j].strip() for j in there])
    return {
        solid[op.old_start + k]: there[op.new_start + k]
        for op in ops
        if op.kind == "equal"
        for k in range(op.old_end - op.old_start)
    }


def _part(lines: Sequence[str], places: dict[int, int], new_start: int, new_end: int) -> str | None:
    """Return the snippet's lines that belong to a window, markers where others are left out."""
    inside = [i for i, place in places.items() if new_start <= place < new_end]
    if not inside:
        return None
    marker = next((line for line in lines if is_marker(line)), _PLAIN_MARKER)
    first, last = min(inside), max(inside)
    # Markers and blank lines right beside the first and last line belong to the window too.
    while first > 0 and not lines[first - 1].strip():
        first -= 1
    body = list(lines[first : last + 1])
    if first > 0 or places[min(inside)] > new_start:
        body.insert(0, marker)
    if last + 1 < len(lines) or places[max(inside)] < new_end - 1:
        body.append(marker)
    return "\n".join(body) + "\n"
