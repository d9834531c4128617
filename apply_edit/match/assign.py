r"""Choose one place for every hunk, or say why none can be chosen.

Of several equally good places one is taken only where the order of the hunks leaves a single
possibility, or a line number points at it beyond doubt.

Does not know: how places are found, how the difference is written.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from apply_edit.errors import AmbiguousAnchor, AnchorNotFound
from apply_edit.match.ladder import FileLines, Found, Place
from apply_edit.match.locate import anchor_rows
from apply_edit.types import FileEdit

_MAX_LISTED = 20
_DECLARES = frozenset(
    (
        *("def", "class", "async", "func", "function", "fn", "impl", "struct", "type", "interface"),
        *("enum", "trait", "module", "public", "private", "protected", "static", "export", "pub"),
    )
)


def assign(
    file: FileLines, edit: FileEdit, located: Sequence[Found | None]
) -> list[tuple[Place, ...]]:
    """Choose places for all hunks.

    Args:
        file: The file.
        edit: The edit.
        located: What was found for each hunk.

    Returns:
        The places of each hunk: one, none where it is applied already, all for ``replace_all``.

    Raises:
        AmbiguousAnchor: Two places are equally good.
        AnchorNotFound: A hunk is placed by a line number that is known to be wrong.
    """
    options = [list(spot.places) if spot is not None else [] for spot in located]
    every = [hunk.replace_all for hunk in edit.hunks]
    if any(len(places) > 1 and not every[i] for i, places in enumerate(options)):
        options = _narrowed(file, edit, located, options)
    _refuse_wrong_numbers(edit, located, options)
    chosen = []
    for i, places in enumerate(options):
        if every[i]:
            chosen.append(_disjoint(places))
            if edit.hunks[i].occurrences not in (None, len(chosen[-1])):
                raise ambiguous(i, _statuses(options, every), [p.start + 1 for p in places])
        elif len(places) > 1:
            raise ambiguous(i, _statuses(options, every), [p.start + 1 for p in places])
        else:
            chosen.append(tuple(places))
    return chosen


def _statuses(options: list[list[Place]], every: list[bool]) -> list[str]:
    return [
        "ambiguous" if len(places) > 1 and not all_of_them else "found"
        for places, all_of_them in zip(options, every, strict=True)
    ]


def ambiguous(hunk: int, statuses: list[str], lines: list[int]) -> AmbiguousAnchor:
    """Make the error that lists all places of a hunk (1-based lines)."""
    total = len(statuses)
    shown = ", ".join(str(line) for line in lines[:_MAX_LISTED])
    more = ", …" if len(lines) > _MAX_LISTED else ""
    which = f"hunk {hunk + 1} of {total}" if total > 1 else "the old text"
    message = (
        f"{which} fits {len(lines)} places equally well (lines {shown}{more}); "
        "add lines around it until it fits one"
    )
    return AmbiguousAnchor(
        message, hunk=hunk, count=len(lines), lines=lines[:_MAX_LISTED], hunks=statuses
    )


def _disjoint(places: Sequence[Place]) -> tuple[Place, ...]:
    kept: list[Place] = []
    for place in places:
        if not kept or place.start >= kept[-1].end:
            kept.append(place)
    return tuple(kept)


def _under_heading(file: FileLines, heading: str, places: list[Place]) -> list[Place]:
    """Return the only place in the block that a diff's heading names, else all places.

    Example: with the heading ``def b():`` a line that ``a`` and ``b`` both have is meant in ``b``.
    """
    rows = anchor_rows(file, (heading,))
    if len(rows) != 1:
        return places
    row = rows[0]
    depth, words = _indent(file.bodies[row]), {*_DECLARES, *heading.split()[:1]}
    # Only a line that a tool would have named instead ends what the heading names.
    end = next(
        (
            i
            for i in range(row + 1, len(file.bodies))
            if file.bodies[i].split()[:1]
            and file.bodies[i].split()[0] in words
            and _indent(file.bodies[i]) <= depth
        ),
        len(file.bodies),
    )
    inside = [place for place in places if row < place.end and row <= place.start < end]
    return inside if len(inside) == 1 else places


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _narrowed(
    file: FileLines,
    edit: FileEdit,
    located: Sequence[Found | None],
    options: list[list[Place]],
) -> list[list[Place]]:
    """Use the hunks' order, then their line numbers, to tell equal places apart."""
    options = [
        _under_heading(file, hunk.heading, places) if hunk.heading and len(places) > 1 else places
        for hunk, places in zip(edit.hunks, options, strict=True)
    ]
    if edit.ordered:
        only = _only_order(options)
        if only is not None:
            return only
        hinted = _by_numbers(edit, options)
        return _only_order(hinted) or hinted
    return _by_numbers(edit, _paired(located, options))


def _only_order(options: list[list[Place]]) -> list[list[Place]] | None:
    """Return the places in ascending order, one per hunk, if there is exactly one such choice.

    Example: hunks with the places (2, 8) and (5) leave 2, 5; with (2, 4) and (5) there are two.
    """
    rows = [i for i, places in enumerate(options) if places]
    # ways[k] counts, up to 2, the choices for the hunks from k on, by place of hunk k.
    ways: list[list[int]] = [[] for _ in rows]
    starts: list[int] = []
    sums: list[int] = [1]
    for k in range(len(rows) - 1, -1, -1):
        places = options[rows[k]]
        last = k == len(rows) - 1
        ways[k] = [1 if last else sums[bisect_left(starts, place.end)] for place in places]
        starts = [place.start for place in places]
        sums = [0] * (len(places) + 1)
        for p in range(len(places) - 1, -1, -1):
            sums[p] = min(2, sums[p + 1] + ways[k][p])
    if not rows or sums[0] != 1:
        return None
    result = [list(places) for places in options]
    floor = 0
    for k, row in enumerate(rows):
        place = next(
            p for p, n in zip(options[row], ways[k], strict=True) if n == 1 and p.start >= floor
        )
        result[row] = [place]
        floor = place.end
    return result


def _paired(located: Sequence[Found | None], options: list[list[Place]]) -> list[list[Place]]:
    """Give k hunks with the same old text the k places where it stands, in order."""
    result = [list(places) for places in options]
    groups: dict[tuple[str, ...], list[int]] = {}
    for i, spot in enumerate(located):
        if spot is not None and len(options[i]) > 1:
            groups.setdefault(spot.old, []).append(i)
    for members in groups.values():
        places = options[members[0]]
        if len(members) == len(places) == len(_disjoint(places)):
            for i, place in zip(members, places, strict=True):
                result[i] = [place]
    return result


def _by_numbers(edit: FileEdit, options: list[list[Place]]) -> list[list[Place]]:
    """Take the place that a line number points at, where it does so beyond doubt.

    Hunks whose place is known tell how far the numbers are off.
    """
    result = [list(places) for places in options]
    shift: int | None = None
    for hunk, places in zip(edit.hunks, result, strict=True):
        if len(places) == 1 and hunk.start_line is not None:
            shift = places[0].start + 1 - hunk.start_line
            break
    for hunk, places in zip(edit.hunks, result, strict=True):
        if hunk.start_line is None:
            continue
        if len(places) > 1 and not hunk.replace_all:
            meant = hunk.start_line - 1 + (shift or 0)
            decided = _decided(places, meant)
            if decided is not None:
                places[:] = [decided]
        if len(places) == 1:
            shift = places[0].start + 1 - hunk.start_line
    return result


def _decided(places: list[Place], meant: int) -> Place | None:
    """Return the place at a line or within three lines of it, if the next one is far away."""
    near, second = sorted(places, key=lambda p: abs(p.start - meant))[:2]
    distance, other = abs(near.start - meant), abs(second.start - meant)
    if distance == 0 or (distance <= 3 and other >= 5 * distance + 5):
        return near
    return None


def _refuse_wrong_numbers(
    edit: FileEdit, located: Sequence[Found | None], options: list[list[Place]]
) -> None:
    """Do not insert by number where another hunk shows that the numbers are off."""
    off = any(
        len(places) == 1 and h.start_line is not None and places[0].start + 1 != h.start_line
        for h, places in zip(edit.hunks, options, strict=True)
    )
    for i, spot in enumerate(located):
        if off and spot is not None and spot.step == "insert" and edit.hunks[i].insert_after:
            message = (
                f"hunk {i + 1} only says a line number where to insert, and the numbers of the "
                "edit are off; add a line of context"
            )
            raise AnchorNotFound(message, hunk=i, nearest=None, already_applied=False)
