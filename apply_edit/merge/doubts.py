"""Refuse what could be read in two ways at the first and the last lines of a segment.

A new line next to a marker may be an addition or the new form of a line that the snippet hides; a
snippet that just ends may have been cut off. Every method here either refuses or does nothing.

Does not know: what becomes of the lines that are not in doubt.
"""

from __future__ import annotations

from apply_edit.merge.outline import Outline, is_closer
from apply_edit.merge.snippet import PROSE, Segment, Snippet, undetermined
from apply_edit.merge.soft import alike_calls, is_remark, same_statement
from apply_edit.text import is_cut_off

# Of so many lines of the file behind the last matched one the snippet's end may be the beginning.
_NEAR = 40


class Doubts:
    """Looks for second readings.

    Args:
        snippet: The snippet.
        original: The file.
        matches: Matched lines; seen as they are when a method is called.
        language: Our name of the language, or None.
    """

    def __init__(
        self, snippet: Snippet, original: Outline, matches: dict[int, int], language: str | None
    ) -> None:
        self.prose = language is not None and language in PROSE
        self.snippet = snippet
        self.lines = snippet.outline
        self.original = original
        self.matches = matches

    def check_owner(self, first: int, place: int, known: set[int]) -> None:
        """Refuse a new head over a line that the file has under another head at the same depth."""
        owner = self.lines.parents[first]
        if owner < 0 or owner in known or is_closer(self.lines.stripped[first]):
            return
        same_depth = self.lines.widths[first] == self.original.widths[place]
        if same_depth and self.original.parents[place] >= 0:
            message = (
                "it may be a new block or the new form of the one at line "
                f"{self.original.parents[place] + 1} of the file"
            )
            raise undetermined(self.snippet, owner, "replace_or_add", message)

    def check_addition(self, near: int, far: int, old: int) -> None:
        """Refuse a new line that may as well be another form of the line where it would go.

        Args:
            near: The new line next to the matched one.
            far: The new line next to the marker, so next to ``old`` in the result.
            old: The line of the file next to the matched one.
        """
        if is_closer(self.original.stripped[old]) and self.original.parents[old] >= 0:
            old = self.original.parents[old]
        text = self.original.stripped[old]
        twice = self.lines.stripped[far] == text and not is_closer(text)
        if self.prose and _is_paragraph(self.lines.stripped[near]) and _is_paragraph(text):
            message = f"the paragraph may be new or replace the one at line {old + 1} of the file"
            raise undetermined(self.snippet, near, "replace_or_add", message)
        owner = self.lines.parents[near]
        known = owner < 0 or owner in self.matches
        statement = self.lines.stripped[near]
        same = self.lines.widths[near] == self.original.widths[old] and (
            same_statement(statement, text) or alike_calls(statement, text)
        )
        if twice or (known and same):
            message = f"it may be new or replace line {old + 1} of the file"
            raise undetermined(self.snippet, near, "replace_or_add", message)

    def check_remarks(self, new: list[int], old: int) -> None:
        """Refuse a comment in front of hidden code that has one."""
        words = (*(self.lines.stripped[i] for i in new), self.original.stripped[old])
        if not self.prose and all(map(is_remark, words)):
            message = f"the comment may be new or replace the one at line {old + 1} of the file"
            raise undetermined(self.snippet, new[0], "replace_or_add", message)

    def check_cut(self, segment: Segment, last: int, place: int) -> None:
        """Refuse a snippet whose end is only the beginning of a line or of a block of the file."""
        if segment.after is not None:
            return
        line = self.lines.stripped[segment.end - 1]
        if segment.end - 1 in self.matches:
            below = self.original.next_solid(place + 1)
            if self.original.name(place) is None or below == len(self.original.lines):
                return
            if self.original.widths[below] > self.original.widths[place] and segment.start < last:
                message = "the snippet ends with the head of a block; it may have been cut off"
                raise undetermined(self.snippet, segment.end - 1, "file_end", message)
            return
        rest = self.original.stripped[place + 1 : place + 1 + _NEAR]
        at = next((i for i, text in enumerate(rest, place + 1) if is_cut_off(line, text)), None)
        if at is None and rest and len(line) < len(rest[0]) and rest[0].startswith(line):
            # Whole words; but then the block goes on.
            below = self.original.next_solid(place + 2)
            going = below < len(self.original.lines)
            going = going and self.original.widths[below] >= self.original.widths[place + 1]
            at = place + 1 if going else None
        if at is not None:
            message = f"it is the beginning of line {at + 1} of the file; it may have been cut off"
            raise undetermined(self.snippet, segment.end - 1, "file_end", message)

    def check_definitions(self, segment: Segment, last: int, lost: list[int]) -> None:
        """Refuse to drop definitions that a snippet without a word does not show."""
        shown = {self.lines.name(i) for i in range(segment.start, segment.end)}
        names = [self.original.member(i) for i in lost]
        gone = [name for name in names if name is not None and name not in shown]
        if gone:
            message = (
                f"the block ends here in the snippet, and {gone[0]} follows in the file; put a "
                "marker inside the block to keep it, or remove it by a comment"
            )
            raise undetermined(self.snippet, last, "deletion_unclear", message)


def _is_paragraph(stripped: str) -> bool:
    """Say whether a line of a document is running text, not a heading, an entry or markup."""
    return stripped[:1].isalpha()
