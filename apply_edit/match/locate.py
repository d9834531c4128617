r"""Find the places of one hunk, within what its anchors and marks allow.

Does not know: other hunks, how the difference is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from apply_edit.match.ladder import (
    NORMS,
    STRICT_STEPS,
    FileLines,
    Found,
    Lines,
    Place,
    ladder,
    run_places,
    trimmed,
)
from apply_edit.match.there import covers, lines_stand
from apply_edit.text import split_lines, strip_end
from apply_edit.types import Hunk

ALREADY = "already_applied"


def bodies(text: str) -> tuple[str, ...]:
    """Return the lines of a hunk's text without their ends."""
    return tuple(strip_end(line) for line in split_lines(text))


def locate(file: FileLines, hunk: Hunk, *, strict: bool = False) -> Found | None:
    """Return what the first step of the ladder that finds anything finds.

    Args:
        file: The file.
        hunk: The hunk, written in whole lines.
        strict: Only steps that compare the text as it stands.

    Returns:
        The places that fit the anchors; a find with the step ``already_applied`` and no place
        where the new text stands there instead; None where nothing is found.
    """
    readings = [(bodies(old), bodies(new)) for old, new in ((hunk.old, hunk.new), *hunk.readings)]
    if not hunk.old or (hunk.at_end and not hunk.old.strip()) or not file.lines:
        return _insertion(file, hunk)
    aside: Found | None = None
    for step, search in ladder():
        if strict and step not in STRICT_STEPS:
            break
        for reading in readings:
            for old, new, places in search(file, *reading):
                fitting = _fitting(file, hunk, places)
                if fitting:
                    kinds = hunk.kinds if _fits(hunk.kinds, old, new) else ""
                    found = Found(step, old, new, tuple(fitting), kinds)
                    return _unless_there(file, found, [reading[1] for reading in readings])
                if places and aside is None:
                    aside = Found(step, old, new, tuple(places))
        if step == "inner_space" and any(lines_stand(file, *r) for r in readings):
            return Found(ALREADY, *readings[0], ())
    # One anchor that is not in the file is advice; the text itself must then leave no doubt.
    lost = len(hunk.anchors) == 1 and not anchor_rows(file, hunk.anchors)
    if aside is not None and lost and len(aside.places) == 1:
        return aside if aside.step in STRICT_STEPS else None
    return None


def _insertion(file: FileLines, hunk: Hunk) -> Found | None:
    """Place text that names no old text: in an empty file, by number, anchor or at the end."""
    at: int | None = None
    if not any(body.strip() for body in file.bodies):
        if hunk.old.strip():
            return None
        at = len(file.lines)
    elif hunk.insert_after is not None:
        at = hunk.insert_after if hunk.insert_after <= len(file.lines) else None
    elif hunk.anchors:
        rows = anchor_rows(file, hunk.anchors)
        at = rows[0] + 1 if len(rows) == 1 else None
    elif hunk.at_end:
        at = len(file.lines)
    if at is None:
        return None
    return Found("insert", (), bodies(hunk.new), (Place(at, at, ()),))


def _fitting(file: FileLines, hunk: Hunk, places: Sequence[Place]) -> list[Place]:
    """Return the places that the hunk's anchors and its end-of-file mark allow."""
    if hunk.anchors and places:
        rows = anchor_rows(file, hunk.anchors)
        first = (next((p for p in places if p.end > row), None) for row in rows)
        places = list(dict.fromkeys(place for place in first if place is not None))
    if hunk.at_end and len(places) > 1:
        rest = len(file.lines)
        while rest and not file.bodies[rest - 1].strip():
            rest -= 1
        places = [place for place in places if place.end >= rest] or places
    return list(places)


def _fits(kinds: str, old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Say whether signs belong to a reading: readings may cut, trim or split lines."""
    signs = len(kinds) - kinds.count("+"), len(kinds) - kinds.count("-")
    return signs == (len(old), len(new))


def _unless_there(file: FileLines, found: Found, readings: Sequence[Lines]) -> Found:
    """Recognise a loose find on lines that belong to the new text, which stands there already."""
    if found.step in STRICT_STEPS or len(found.places) != 1 or found.old == found.new:
        return found
    place = found.places[0]
    for new in (found.new, *readings):
        there = run_places(file, trimmed(new), "trailing_space")
        if len(there) == 1 and covers(there[0], place, trimmed(new)):
            return Found(ALREADY, found.old, found.new, ())
    return found


def anchor_rows(file: FileLines, anchors: Lines) -> list[int]:
    """Return the line of the last anchor for every chain of anchors below one another.

    An anchor is looked for as it stands, then without indentation, then as the beginning of a line.
    """
    rows: list[int] = []
    for k, anchor in enumerate(anchors):
        hits = _anchor_hits(file, anchor)
        if k == 0:
            rows = hits
            continue
        following = (next((hit for hit in hits if hit > row), None) for row in rows)
        rows = sorted({row for row in following if row is not None})
    return rows


def _anchor_hits(file: FileLines, anchor: str) -> list[int]:
    for norm in ("exact", "trailing_space", "indentation", "inner_space"):
        hits = file.index(norm).get(NORMS[norm](anchor), [])
        if hits:
            return hits
    head = NORMS["inner_space"](anchor)
    if len(head) < 4:
        return []
    return [i for i, key in enumerate(file.keys("inner_space")) if key.startswith(head)]
