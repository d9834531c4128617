"""Find the lines of the file that each segment replaces, from the matched lines.

Between its first and its last matched line a segment stands as it is. What this module decides is
the rest: lines in front of the first and behind the last match (:mod:`edges`), and segments without
any match.

Does not know: text, line ends.
"""

from __future__ import annotations

from dataclasses import dataclass

from apply_edit.merge.deletions import check_deletions
from apply_edit.merge.edges import Edges, owner_of
from apply_edit.merge.outline import Outline, is_closer
from apply_edit.merge.snippet import Segment, Snippet, undetermined
from apply_edit.merge.soft import pair_lines

# What a file may begin with that nothing may come before: interpreter, package, docstring, pragma.
_FIRST = ("#!", "package ", "<?", "<!", "from __future__", '"', "'", "---", "#", "//", "/*")


@dataclass(frozen=True, slots=True)
class Placed:
    """A segment and the lines ``[start, end)`` of the file that it replaces.

    Args:
        segment: The segment.
        start: First line of the file that goes.
        end: Line behind the last one that goes.
        leads: The segment begins with added lines, so blank lines before it are the snippet's wish.
        trails: The segment ends with added lines.
        wraps: Lines ``[end, wraps)`` of the file move into a block that the segment opens.
    """

    segment: Segment
    start: int
    end: int
    leads: bool
    trails: bool
    wraps: int = 0


class Placer:
    """Works through the segments in order.

    Args:
        snippet: The snippet.
        original: The file.
        matches: Matched lines.
        language: Our name of the language, or None.
    """

    def __init__(
        self, snippet: Snippet, original: Outline, matches: dict[int, int], language: str | None
    ) -> None:
        self.snippet = snippet
        self.lines = snippet.outline
        self.original = original
        self.matches = dict(matches)
        self.edges = Edges(snippet, original, self.matches, language)

    def place(self) -> list[Placed]:
        """Return every segment with its span.

        Raises:
            MergeUndetermined: A segment has no single place.
        """
        placed: list[Placed] = []
        floor = 0
        for number, segment in enumerate(self.snippet.segments):
            ceiling = self._ceiling(number)
            found = self._found(segment)
            if not found:
                self._pair(segment, self._hidden(segment, floor, ceiling))
                found = self._found(segment)
            if found:
                item = self._anchored(segment, found[0], found[-1], floor, ceiling)
            else:
                item = self._unanchored(segment, floor, ceiling)
            placed.append(item)
            floor = max(item.end, item.wraps)
        return placed

    def _found(self, segment: Segment) -> list[int]:
        """Return the matched lines of a segment that are not blank."""
        solid = self.lines.solid_between(segment.start, segment.end)
        return [i for i in solid if i in self.matches]

    def _ceiling(self, number: int) -> int:
        """Return the first line of the file that a later segment has matched."""
        for segment in self.snippet.segments[number + 1 :]:
            for i in range(segment.start, segment.end):
                if i in self.matches:
                    return self.matches[i]
        return len(self.original.lines)

    def _pair(self, segment: Segment, old: list[int]) -> None:
        """Match a segment of new lines with the lines of the file that it changes, if any."""
        new = self.lines.solid_between(segment.start, segment.end)
        pairs = pair_lines(new, self.lines, old, self.original, self.matches)
        places = list(pairs.values())
        if places and len(self.original.solid_between(places[0], places[-1])) > 2 * len(new) + 5:
            message = "its lines resemble lines of the file that are far apart"
            raise undetermined(self.snippet, segment.start, "ambiguous", message)
        self.matches.update(pairs)

    def _hidden(self, segment: Segment, floor: int, ceiling: int) -> list[int]:
        """Lines that a segment without a match may replace: those of its block."""
        low, high = floor, ceiling
        owner = owner_of(self.lines, self.matches, segment.start)
        if owner is not None:
            low = max(low, owner + 1)
            high = min(high, self.original.block_end(owner))
        found = self.original.solid_between(low, high)
        return found if len(found) <= 300 else []

    def _anchored(
        self, segment: Segment, first: int, last: int, floor: int, ceiling: int
    ) -> Placed:
        start, leads = self.edges.start(segment, first, floor)
        end, trails = self.edges.end(segment, last, ceiling)
        check_deletions(self.snippet, self.original, self.matches, segment, self.edges.language)
        wraps = self._wrapped(segment, end, ceiling) if trails else 0
        return Placed(segment, start, end, leads, trails, wraps)

    def _unanchored(self, segment: Segment, floor: int, ceiling: int) -> Placed:
        """Place new lines between two markers: at the end of their block, where that is plain."""
        lines = self.original.lines
        owner = owner_of(self.lines, self.matches, segment.start)
        end = len(lines) if owner is None else self.original.block_end(owner)
        tail = self.original.previous_solid(end)
        if owner is not None and self._closes(tail, owner):
            end = tail
        if segment.before is None and segment.after is not None and owner is None:
            return self._on_top(segment)
        if segment.before is None or not floor <= end:
            message = "nothing in it is in the file, so it has no place there"
            raise undetermined(self.snippet, segment.start, "no_anchor", message)
        if ceiling < end or (owner is None and segment.after is not None):
            message = "it is new, and the markers around it do not say where it goes"
            raise undetermined(self.snippet, segment.start, "placement", message)
        at = max(floor, self.original.previous_solid(end) + 1)
        if owner is not None and at - 1 > owner:
            new = self.lines.solid_between(segment.start, segment.end)
            self.edges.doubts.check_addition(new[0], new[-1], at - 1)
        return Placed(segment, at, at, True, ceiling > end)

    def _on_top(self, segment: Segment) -> Placed:
        """Place new lines in front of everything, unless something has to stay in front of them."""
        if self.edges.prose:
            message = "it may be new or replace the start of the file; show the lines around it"
            raise undetermined(self.snippet, segment.start, "replace_or_add", message)
        if self.original.stripped[self.original.next_solid(0)].startswith(_FIRST):
            message = "it is new, and what the file begins with has to stay at the top"
            raise undetermined(self.snippet, segment.start, "placement", message)
        return Placed(segment, 0, 0, False, True)

    def _wrapped(self, segment: Segment, end: int, ceiling: int) -> int:
        """Return the end of the lines that move into a block that the last line opens."""
        opener = segment.end - 1
        if segment.after is None or opener in self.matches:
            return 0
        if segment.after.width <= self.lines.widths[opener]:
            return 0
        owner = owner_of(self.lines, self.matches, opener)
        if owner is None:
            return 0
        stop = min(ceiling, self.original.block_end(owner))
        tail = self.original.previous_solid(stop)
        return tail if self._closes(tail, owner) else stop

    def _closes(self, i: int, owner: int) -> bool:
        """Say whether a line of the file is the closing line of a block."""
        return is_closer(self.original.stripped[i]) and self.original.parents[i] == owner
