"""Decide what the first and the last lines of a segment replace.

A segment that begins and ends with lines of the file replaces what is between them. One that begins
or ends with new lines adds them there, or puts them in the place of lines that it does not show.

Does not know: the other segments, but for where they begin and end.
"""

from __future__ import annotations

import re

from apply_edit.merge.doubts import Doubts
from apply_edit.merge.outline import Outline, assigned_name, head_name, is_closer
from apply_edit.merge.snippet import PROSE, Segment, Snippet, undetermined
from apply_edit.merge.soft import ANNOTATION, annotation_name, is_comment, is_remark, pair_lines
from apply_edit.syntax.docstrings import string_end

# Behind (before) the last (first) line that the snippet shows, a file may go on for as many lines
# and still be taken as the part that the snippet's end (start) replaces.
_EDGE_LINES = 15
# Behind such a statement nothing of its block is run.
_TERMINAL = re.compile(
    r"(?:return|raise|throw|break|continue|yield|panic!?|exit|sys\.exit)\b|[\])}]"
)
# The end of a block goes for new lines, and so many more of it without further proof.
_FEW = 40


def owner_of(lines: Outline, matches: dict[int, int], i: int) -> int | None:
    """Return the line of the file that owns a line of the snippet, where that is matched."""
    for parent in lines.owners(i):
        if parent in matches:
            return matches[parent]
    return None


class Edges:
    """Finds where segments start and end in the file.

    Args:
        snippet: The snippet.
        original: The file.
        matches: Matched lines; changed forms of lines of the file are added as they are found.
        language: Our name of the language, or None.
    """

    def __init__(
        self, snippet: Snippet, original: Outline, matches: dict[int, int], language: str | None
    ) -> None:
        self.prose = language is not None and language in PROSE
        self.language = language
        self.snippet = snippet
        self.lines = snippet.outline
        self.original = original
        self.matches = matches
        self.doubts = Doubts(snippet, original, matches, language)

    def start(self, segment: Segment, first: int, floor: int) -> tuple[int, bool]:
        """Return where the segment starts in the file, and whether it starts with added lines."""
        place = self.matches[first]
        new = self.lines.solid_between(segment.start, first)
        if not new:
            return place, False
        above = self.original.solid_between(floor, place)
        if not above and segment.before is None:
            return floor, True
        near = above[-(len(new) + 2) :]
        block = self._block_above(new, first, place, floor)
        if block is not None:
            return block, False
        pairs = pair_lines(new, self.lines, near, self.original, self.matches)
        self.doubts.check_owner(first, place, {*self.matches, *pairs})
        if pairs:
            earliest = min(pairs)
            self.matches.update(pairs)
            at = pairs[earliest]
            return (0, True) if self._from_top(segment, above) else (at, earliest != new[0])
        if segment.before is None and self.snippet.markers and len(above) <= _EDGE_LINES:
            if all(self._decorates(i) for i in new):
                return place, True
            message = "it may replace the start of the file or be added to it"
            raise undetermined(self.snippet, segment.start, "file_start", message)
        if above:
            self.doubts.check_addition(new[-1], new[0], above[-1])
        if above and self.lines.widths[new[0]] > self.lines.widths[first]:
            return above[-1] + 1, True  # the end of the block before, not the start of what follows
        if above and segment.blanks_before == 0 and self._continues(new, above[-1]):
            return above[-1] + 1, True
        return place, True

    def _continues(self, new: list[int], old: int) -> bool:
        """Say whether new lines in front of a gap are entries like the one before the gap."""
        gap = not self.lines.stripped[new[-1] + 1] and not self.original.stripped[old + 1]
        entries = [*(self.lines.stripped[i] for i in new), self.original.stripped[old]]
        return gap and all(assigned_name(text) is not None for text in entries)

    def _from_top(self, segment: Segment, above: list[int]) -> bool:
        """A snippet with markers but none at its start begins where the file does."""
        return segment.before is None and bool(self.snippet.markers) and len(above) <= _EDGE_LINES

    def _decorates(self, i: int) -> bool:
        text = self.lines.stripped[i]
        return text.startswith(("@", "#[", "[")) or is_comment(text)

    def _block_above(self, new: list[int], first: int, place: int, floor: int) -> int | None:
        """Return the start of the annotations or comments that new ones take the place of."""
        annotations = self._annotation_block(new, place, floor)
        if annotations is not None:
            return annotations
        return self._comment_block(new, first, place, floor)

    def _annotation_block(self, new: list[int], place: int, floor: int) -> int | None:
        """Return the start of the annotations above a line of which new ones are other forms.

        They are where none of the old ones' names is missing.
        """
        at = place
        while at > floor and ANNOTATION.match(self.original.stripped[at - 1]):
            at -= 1
        ours = {annotation_name(self.lines.stripped[i]) for i in new}
        theirs = {annotation_name(self.original.stripped[j]) for j in range(at, place)}
        return at if theirs and None not in ours and theirs <= ours else None

    def _comment_block(self, new: list[int], first: int, place: int, floor: int) -> int | None:
        """Return the start of the comment above a line that new comment lines take the place of."""
        is_head = head_name(self.lines.stripped[first]) is not None
        is_one = is_comment if is_head else is_remark
        if self.prose or not all(is_one(self.lines.stripped[i]) for i in new):
            return None
        at = place
        while at > floor and is_one(self.original.stripped[at - 1]):
            at -= 1
        if not is_head and place - at > len(new) + 1:
            message = f"the comment may be new or replace the one at line {at + 1} of the file"
            raise undetermined(self.snippet, new[0], "replace_or_add", message)
        return at if at < place else None

    def end(self, segment: Segment, last: int, ceiling: int) -> tuple[int, bool]:
        """Return where the segment ends in the file, and whether it ends with added lines."""
        place = self.matches[last]
        new = self.lines.solid_between(last + 1, segment.end)
        self.doubts.check_cut(segment, last, place)
        place, new = self._past_docstring(place, new, ceiling)
        closed = self._closed_block(segment, last, new, ceiling)
        if closed is not None and closed > place + 1:
            return self._full_block(segment, last, new, closed)
        if closed is not None and new:
            return place + 1, True
        if not new:
            self._check_tail(segment, place)
            return place + 1, False
        owner = owner_of(self.lines, self.matches, new[0])
        if owner is not None:
            ceiling = min(ceiling, max(place + 1, self.original.block_end(owner)))
        below = self.original.solid_between(place + 1, ceiling)
        if not below:
            return place + 1, True
        pairs = pair_lines(new, self.lines, below[: len(new) + 2], self.original, self.matches)
        if pairs:
            latest = max(pairs)
            self.matches.update(pairs)
            if self._to_end(segment, below):
                return below[-1] + 1, False
            return pairs[latest] + 1, latest != new[-1]
        if self._to_end(segment, below):
            message = "it may replace the end of the file or be added before it"
            raise undetermined(self.snippet, last + 1, "file_end", message)
        self.doubts.check_addition(new[0], new[-1], below[0])
        self.doubts.check_remarks(new, below[0])
        return place + 1, True

    def _past_docstring(self, place: int, new: list[int], ceiling: int) -> tuple[int, list[int]]:
        """Let a docstring take the place of the one that stands below the same head.

        Returns:
            The last line of the file that is dealt with, and the new lines that are left.
        """
        text = self.original.stripped
        if not (self.language == "python" and new and text[place].endswith(":")):
            return place, new
        end = string_end(self.lines.stripped, new[0])
        old_end = string_end(text, self.original.next_solid(place + 1))
        if end is None or old_end is None or old_end > ceiling:
            return place, new
        return old_end - 1, [i for i in new if i >= end]

    def _to_end(self, segment: Segment, below: list[int]) -> bool:
        """Say whether a snippet with markers but none at its end may end where the file does."""
        return (
            segment.after is None
            and bool(self.snippet.markers)
            and len(below) <= _EDGE_LINES
            and self._from_file_level()
        )

    def _check_tail(self, segment: Segment, place: int) -> None:
        """Refuse where a snippet that marks what it elides says nothing of the rest of the file."""
        if segment.after is not None or not self._from_file_level():
            return
        rest = self.original.solid_between(place + 1, len(self.original.lines))
        solid = [i for i in self.matches if self.lines.stripped[i]]
        # Without markers it may be the new file with less at its end.
        shows_most = len(solid) * 10 >= len(self.original.solid) * 6
        if rest and (self.snippet.markers or shows_most):
            message = "the snippet ends here without a marker, and the file goes on"
            raise undetermined(self.snippet, segment.end - 1, "file_end", message)

    def _from_file_level(self) -> bool:
        """Say whether the snippet starts where the file does, by a marker or its first line."""
        first = self.snippet.segments[0]
        if first.before is not None:
            return True
        if self._is_one_definition(first.start):
            return False
        return self.matches.get(first.start) == self.original.next_solid(0)

    def _past_decoration(self, i: int) -> int:
        """Return the first line from ``i`` on that is no decorator, comment or blank line."""
        while i < len(self.lines.lines) and self._decorates(i):
            i = self.lines.next_solid(i + 1)
        return i

    def _is_one_definition(self, start: int) -> bool:
        """Say whether the snippet is one definition: it stands for itself, not for the file."""
        head = self._past_decoration(start)
        if head >= len(self.lines.lines) or self.lines.name(head) is None:
            return False
        return all(
            self.lines.widths[i] > self.lines.widths[head] or self.lines.parents[i] == head
            for i in self.lines.solid_between(head + 1, len(self.lines.lines))
        )

    def _closed_block(
        self, segment: Segment, last: int, new: list[int], ceiling: int
    ) -> int | None:
        """Return the end of the block that the segment shows to its end, where it does.

        A head in the segment whose block is over in the snippet, at a line or a marker that is
        not deeper than the head, has been shown in full.
        """
        probe = new[0] if new else last
        depth = segment.after.width if segment.after is not None else 0
        heads = [
            h
            for h in self.lines.owners(probe)
            if h >= segment.start and h in self.matches and self.lines.widths[h] >= depth
        ]
        if not heads or self.prose or (not new and not self._shows_end(segment, last, heads[-1])):
            return None
        head = self.matches[heads[-1]]
        named = head_name(self.original.stripped[head]) is not None
        # A marker at the depth of an ``if`` stands for its ``else`` too.
        end = self.original.block_end(head) if named else self.original.clause_end(head)
        # A later segment inside the block shows that the marker stands in it, however indented.
        return end if end <= ceiling else None

    def _shows_end(self, segment: Segment, last: int, head: int) -> bool:
        """Say whether a segment that ends in a line of the file means to show its block's end."""
        text = self.lines.stripped
        if is_closer(text[last]) or head_name(text[head]) is None:
            return False
        if segment.after is not None:
            return not self._hides_next(segment, last)
        before = self.lines.solid_between(segment.start, head)
        return all(self._decorates(i) for i in before)

    def _hides_next(self, segment: Segment, last: int) -> bool:
        """Say whether the marker is indented like the next line of the file, so stands for it."""
        following = self.original.next_solid(self.matches[last] + 1)
        return (
            segment.after is not None
            and following < len(self.original.lines)
            and self.original.widths[following] <= segment.after.width
        )

    def _full_block(
        self, segment: Segment, last: int, new: list[int], closed: int
    ) -> tuple[int, bool]:
        self._check_block(segment, last, new, closed)
        rest = self.original.solid_between(closed, len(self.original.lines))
        if segment.after is None and not rest:
            return len(self.original.lines), False
        return closed, False

    def _check_block(self, segment: Segment, last: int, new: list[int], closed: int) -> None:
        """Refuse to drop the end of a block on the word of a snippet that may just stop there."""
        lost = self.original.solid_between(self.matches[last] + 1, closed)
        lost = [i for i in lost if not is_closer(self.original.stripped[i])]
        self.doubts.check_definitions(segment, last, lost)
        meant = (
            bool(new)
            and self._ends(segment, new)
            and (
                segment.after is not None
                or self._from_file_level()
                or self._starts_definition(segment.start)
            )
        )
        if (lost and not meant) or len(lost) > 4 * len(new) + _FEW:
            message = (
                "the block ends here in the snippet and goes on in the file; whether those lines "
                "are deleted or only not shown is not said"
            )
            raise undetermined(self.snippet, last, "deletion_unclear", message)

    def _ends(self, segment: Segment, new: list[int]) -> bool:
        """Say whether the last line of a segment ends the definition that it is in."""
        text = self.lines.stripped[segment.end - 1]
        if segment.after is None or is_closer(text) or _TERMINAL.match(text) is not None:
            return True
        heads = (h for h in self.lines.owners(new[0]) if h in self.matches)
        return self.lines.name(next(heads, new[0])) is None

    def _starts_definition(self, i: int) -> bool:
        """Say whether a definition starts at a line, decorators and comments before it."""
        i = self._past_decoration(i)
        return i < len(self.lines.lines) and head_name(self.lines.stripped[i]) is not None
