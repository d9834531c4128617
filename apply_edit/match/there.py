r"""Recognise that the result of a hunk stands in the file although its old text does not.

An edit that was applied before has taken its old text away. Its new text must then be there once,
and must be what became of the old text: several lines together are no chance, one line has to
resemble the old one more than any other line of the file does.

What is only taken away leaves nothing that could be recognised.

Does not know: finds of the old text, how the difference is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz import fuzz, process

from apply_edit.match.ladder import (
    MAX_COMPARED,
    PUNCTUATION,
    FileLines,
    Lines,
    Place,
    changes,
    run_places,
    trimmed,
)
from apply_edit.text import split_lines, strip_end

# A single line that is less like the old one than this, in percent, is another line.
_ALIKE = 60
# Shorter pieces of a line are there by chance.
_LEAST_PIECE = 10


def lines_stand(file: FileLines, old: Lines, new: Lines) -> bool:
    """Say whether new lines stand in the file in place of the old ones."""
    core, before = trimmed(new), trimmed(old)
    if not _tells(old, new):
        return False
    places = run_places(file, core, "trailing_space")
    if len(places) != 1:
        return False
    index = file.index("indentation")
    left = [row for line in _gone(old, new) for row in index.get(line, ())]
    if left and not _is_elsewhere(left, places[0], old, new):
        return False
    if _num_solid(core) > 1:
        return True
    return len(before) == 1 and _is_likest(file.bodies, before[0], places[0].start)


def _is_elsewhere(rows: list[int], place: Place, old: Lines, new: Lines) -> bool:
    """Say whether lines that the edit takes away are left in the file at another place only.

    The lines around the change tell then that this is the place which was meant.
    """
    kept = {line.strip() for line in old} & {line.strip() for line in new}
    if not any(c.isalnum() for line in kept for c in line):
        return False
    size = len(old)
    return all(row < place.start - size or row >= place.end + size for row in rows)


def covers(there: Place, place: Place, new: Lines) -> bool:
    """Say whether old text was only found in what stands there as new text.

    It was where the new text holds the place, or shares lines with it and is no chance.
    """
    if there.start <= place.start and there.end >= place.end:
        return True
    return there.start < place.end and there.end > place.start and _num_solid(new) > 2


def text_stands(text: str, old: str, new: str) -> bool:
    r"""Say whether a piece of text stands in the file in place of the old one.

    >>> text_stands("f(a, timeout=60)\n", "timeout=30", "timeout=60")
    True
    """
    plain, gone, core = (part.replace("\r\n", "\n") for part in (text, old, new.strip()))
    if len(core) < _LEAST_PIECE or core in gone or plain.count(core) != 1:
        return False
    at = plain.index(core)
    if not is_bounded(plain[:at], core, plain[at + len(core) :]):
        return False
    lines, before, after = ([strip_end(x) for x in split_lines(t)] for t in (plain, gone, core))
    index = {line.strip() for line in lines}
    if not _tells(before, after) or index & set(_gone(before, after)):
        return False
    if _num_solid(after) > 1:
        return True
    row = plain.count("\n", 0, at)
    return _num_solid(before) == 1 and _is_likest(lines, gone.strip(), row, core)


def is_bounded(left: str, piece: str, right: str) -> bool:
    """Say whether a piece of text begins and ends between words."""
    return not (_joins(left[-1:], piece[:1]) or _joins(piece[-1:], right[:1]))


def _joins(left: str, right: str) -> bool:
    return all(c.isalnum() or c == "_" for c in (left, right)) if left and right else False


def _tells(old: Sequence[str], new: Sequence[str]) -> bool:
    """Say whether the new lines have something of their own to be recognised by."""
    regions = changes(old, new)
    # What is left of a deletion at the edge stands in every file, and so do lines that stay.
    edges = any(j1 == j2 and (i1 == 0 or i2 == len(old)) for i1, i2, j1, j2 in regions)
    return bool(regions) and not edges and any(c.isalnum() for line in new for c in line)


def _gone(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the lines that an edit takes away, as far as they can tell something."""
    gone = [line.strip() for i1, i2, _, _ in changes(old, new) for line in old[i1:i2]]
    return [line for line in gone if any(c.isalnum() for c in line)]


def _num_solid(lines: Sequence[str]) -> int:
    return sum(bool(line.strip()) for line in lines)


def _is_likest(lines: list[str], old: str, row: int, piece: str | None = None) -> bool:
    """Say whether no line but the one at ``row`` resembles the old line as much.

    Args:
        lines: The lines of the file.
        old: The old line, or a piece of one.
        row: Where the new text stands.
        piece: The new text, where it is only a piece of its line.
    """
    query = old.strip()[:MAX_COMPARED].translate(PUNCTUATION)
    score = fuzz.ratio(query, (piece or lines[row]).strip()[:MAX_COMPARED])
    if score < _ALIKE:
        return False
    others = [
        line.strip()[:MAX_COMPARED].translate(PUNCTUATION)
        for i, line in enumerate(lines)
        if i != row
    ]
    scorer = fuzz.ratio if piece is None else fuzz.partial_ratio
    return process.extractOne(query, others, scorer=scorer, score_cutoff=score) is None
