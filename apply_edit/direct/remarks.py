"""What is said of hunks: notices of what was found, and refusals.

Does not know: how hunks are found and written.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NoReturn

from apply_edit.direct.splice import Doubt, LineEdit
from apply_edit.errors import AnchorNotFound, OverlappingHunks
from apply_edit.match.ladder import FileLines, Found, Place
from apply_edit.match.locate import ALREADY
from apply_edit.match.near import named, not_found
from apply_edit.types import FileEdit, HunkOutcome, Notice


def notices(outcomes: Sequence[HunkOutcome]) -> list[Notice]:
    """Return what there is to say of hunks that were found."""
    said = []
    for i, outcome in enumerate(outcomes):
        which = named(i, len(outcomes))
        if outcome.status == "applied" and outcome.step not in ("exact", "insert", "new_file"):
            message = f"hunk {i + 1} was found by the step {outcome.step!r}, not exactly"
            lines = () if outcome.start_line is None else (outcome.start_line,)
            said.append(Notice("looser_match", message, lines))
        elif outcome.status == ALREADY:
            said.append(already(i, len(outcomes)))
        elif outcome.status == "no_op":
            said.append(Notice("no_op", f"{which} is the same as its new text"))
    return said


def already(i: int = 0, total: int = 1) -> Notice:
    """Return the notice for a hunk that was applied before."""
    which = "the edit" if total == 1 else f"hunk {i + 1} of {total}"
    return Notice(ALREADY, f"{which} is already applied: the file has its new text")


def refuse_missing(file: FileLines, edit: FileEdit, located: Sequence[Found | None]) -> None:
    """Refuse an edit of which a hunk is not in the file.

    Raises:
        AnchorNotFound: There is such a hunk.
    """
    for i, spot in enumerate(located):
        if spot is None:
            statuses = ["found" if s is not None else "not_found" for s in located]
            raise not_found(file, edit.hunks[i], i, statuses)


def refuse_doubt(doubt: Doubt, edit: FileEdit, hunk: int, place: Place) -> NoReturn:
    """Refuse a hunk whose new lines cannot be written without a guess."""
    why = {
        Doubt.INDENTATION: "only without its indentation, and the indentation of its new lines "
        "cannot be told; repeat the file's own indentation",
        Doubt.SPELLING: "only with other quotes, dashes or spaces, and those of its new text "
        "cannot be told; repeat the file's own characters",
    }
    message = f"{named(hunk, len(edit.hunks))} fits line {place.start + 1} {why[doubt]}"
    raise AnchorNotFound(
        message,
        hunk=hunk,
        nearest={"start_line": place.start + 1, "end_line": place.end, "score": 1.0},
        already_applied=False,
        doubt=doubt.value,
        hunks=["failed" if i == hunk else "found" for i in range(len(edit.hunks))],
    )


def refuse_overlaps(edits: Sequence[LineEdit]) -> None:
    """Refuse hunks that change the same line.

    Raises:
        OverlappingHunks: There are such hunks.
    """
    ordered = sorted(edits, key=lambda e: (e.start, e.end))
    for a, b in pairwise(ordered):
        if b.start < a.end and a.hunk != b.hunk:
            message = (
                f"hunks {a.hunk + 1} and {b.hunk + 1} both change line {b.start + 1}; "
                "put them into one"
            )
            raise OverlappingHunks(message, hunks=[a.hunk, b.hunk], lines=[b.start + 1])
