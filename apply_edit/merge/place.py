"""Find the lines of the file that each segment replaces, from the matched lines.

Between its first and its last matched line a segment stands as it is. What this module decides is
the rest: lines in front of the first and behind the last match, and segments without any match.

Does not know: text, line ends.
"""

from __future__ import annotations

from dataclasses import dataclass

from apply_edit.errors import MergeUndetermined
from apply_edit.merge.outline import Outline, head_name, is_closer
from apply_edit.merge.snippet import PROSE, Segment, Snippet
from apply_edit.merge.soft import is_comment, pair_lines, same_statement

# Behind (before) the last (first) line that the snippet shows, a file may go on for as many lines
# and still be taken as the part that the snippet's end (start) replaces.
_EDGE_LINES = 15


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


def undetermined(snippet: Snippet, line: int, reason: str, message: str) -> MergeUndetermined:
    """Build the refusal; ``line`` is one of the snippet's outline."""
    at = snippet.origins[min(line, len(snippet.origins) - 1)] + 1
    return MergeUndetermined(f"line {at} of the snippet: {message}", reason=reason, line=at)


def prune(snippet: Snippet, original: Outline, matches: dict[int, int]) -> dict[int, int]:
    """Drop matches that are there by chance: inside a definition that is new, or a stray brace."""
    kept = dict(matches)
    lines = snippet.outline
    for segment in snippet.segments:
        for i in range(segment.start, segment.end):
            text = lines.stripped[i]
            if i in kept and is_closer(text):
                owner = lines.parents[i]
                if owner >= segment.start and owner not in kept and not _held(kept, i):
                    del kept[i]
            if i in kept or head_name(text) is None:
                continue
            inside = [k for k in lines.solid_between(i + 1, min(segment.end, lines.block_end(i)))]
            found = [k for k in inside if k in kept]
            telling = [k for k in found if original.counts[lines.stripped[k]] == 1]
            if len(found) * 2 < len(inside) or len(telling) < 2:
                for k in found:
                    del kept[k]
    return kept


def _held(matches: dict[int, int], i: int) -> bool:
    """Say whether a neighbour is matched to the neighbour."""
    return matches.get(i - 1) == matches[i] - 1 or matches.get(i + 1) == matches[i] + 1


class Placer:
    """Works through the segments in order.

    Args:
        snippet: The snippet.
        original: The file.
        matches: Matched lines.
    """

    def __init__(
        self, snippet: Snippet, original: Outline, matches: dict[int, int], language: str | None
    ) -> None:
        self.prose = language in PROSE
        self.snippet = snippet
        self.lines = snippet.outline
        self.original = original
        self.matches = dict(matches)

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
                self._pair(
                    segment, segment.start, segment.end, self._hidden(segment, floor, ceiling)
                )
                found = self._found(segment)
            if found:
                item = self._anchored(segment, found[0], found[-1], floor, ceiling)
            else:
                item = self._unanchored(segment, floor, ceiling)
            placed.append(item)
            floor = item.end
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

    def _pair(self, segment: Segment, start: int, end: int, old: list[int]) -> None:
        new = [i for i in range(start, end) if i not in self.matches]
        self.matches.update(pair_lines(new, self.lines, old, self.original, self.matches))

    def _hidden(self, segment: Segment, floor: int, ceiling: int) -> list[int]:
        """Lines that a segment without a match may replace: those of its block."""
        low, high = floor, ceiling
        owner = self._owner(segment.start)
        if owner is not None:
            low = max(low, owner + 1)
            high = min(high, self.original.block_end(owner))
        found = self.original.solid_between(low, high)
        return found if len(found) <= 300 else []

    def _owner(self, i: int) -> int | None:
        """Return the line of the file that owns a line of the snippet, where that is matched."""
        for parent in self.lines.owners(i):
            if parent in self.matches:
                return self.matches[parent]
        return None

    def _anchored(
        self, segment: Segment, first: int, last: int, floor: int, ceiling: int
    ) -> Placed:
        start, leads = self._start(segment, first, floor)
        end, trails = self._end(segment, last, ceiling)
        self._check_deletions(segment, first)
        wraps = self._wrapped(segment, end, ceiling) if trails else 0
        return Placed(segment, start, end, leads, trails, wraps)

    # -- the start of a segment -------------------------------------------------------------

    def _start(self, segment: Segment, first: int, floor: int) -> tuple[int, bool]:
        """Return where the segment starts in the file, and whether it starts with added lines."""
        place = self.matches[first]
        new = self.lines.solid_between(segment.start, first)
        if not new:
            return place, False
        above = self.original.solid_between(floor, place)
        if not above and segment.before is None:
            return floor, True
        near = above[-(len(new) + 2) :]
        comments = self._comment_block(new, first, place, floor)
        if comments is not None:
            return comments, False
        pairs = pair_lines(new, self.lines, near, self.original, self.matches)
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
            self._check_addition(new[-1], above[-1])
        if above and self.lines.widths[new[0]] > self.lines.widths[first]:
            return above[-1] + 1, True  # the end of the block before, not the start of what follows
        return place, True

    def _check_addition(self, new: int, old: int) -> None:
        """Refuse a new line that may as well be another form of the line where it would go."""
        owner = self.lines.parents[new]
        if owner >= 0 and owner not in self.matches:
            return
        if self.lines.widths[new] == self.original.widths[old] and same_statement(
            self.lines.stripped[new], self.original.stripped[old]
        ):
            message = f"it may be new or replace line {old + 1} of the file"
            raise undetermined(self.snippet, new, "replace_or_add", message)

    def _from_top(self, segment: Segment, above: list[int]) -> bool:
        """A snippet with markers but none at its start begins where the file does."""
        return segment.before is None and bool(self.snippet.markers) and len(above) <= _EDGE_LINES

    def _decorates(self, i: int) -> bool:
        text = self.lines.stripped[i]
        return text.startswith(("@", "#[", "[")) or is_comment(text)

    def _comment_block(self, new: list[int], first: int, place: int, floor: int) -> int | None:
        """Return the start of the comment above a head that new comment lines take the place of."""
        if not all(is_comment(self.lines.stripped[i]) for i in new):
            return None
        if head_name(self.lines.stripped[first]) is None:
            return None
        at = place
        while at > floor and is_comment(self.original.stripped[at - 1]):
            at -= 1
        return at if at < place else None

    # -- the end of a segment ---------------------------------------------------------------

    def _end(self, segment: Segment, last: int, ceiling: int) -> tuple[int, bool]:
        """Return where the segment ends in the file, and whether it ends with added lines."""
        place = self.matches[last]
        new = self.lines.solid_between(last + 1, segment.end)
        closed = self._closed_block(segment, last, new, ceiling)
        if closed is not None and closed > place + 1:
            return self._full_block(segment, last, new, closed)
        if closed is not None and new:
            return place + 1, True
        if not new:
            self._check_tail(segment, place)
            return place + 1, False
        owner = self._owner(new[0])
        if owner is not None:
            ceiling = min(ceiling, max(place + 1, self.original.block_end(owner)))
        below = self.original.solid_between(place + 1, ceiling)
        if not below:
            return place + 1, True
        pairs = pair_lines(new, self.lines, below[: len(new) + 2], self.original, self.matches)
        if pairs:
            latest = max(pairs)
            self.matches.update(pairs)
            if segment.after is None and len(below) <= _EDGE_LINES and self.snippet.markers:
                return len(self.original.lines), False
            return pairs[latest] + 1, latest != new[-1]
        if segment.after is None and self.snippet.markers and len(below) <= _EDGE_LINES:
            message = "it may replace the end of the file or be added before it"
            raise undetermined(self.snippet, last + 1, "file_end", message)
        self._check_addition(new[0], below[0])
        return place + 1, True

    def _check_tail(self, segment: Segment, place: int) -> None:
        """Refuse where a snippet that marks what it elides says nothing of the rest of the file."""
        if segment.after is not None or not self.snippet.markers or not self._from_file_level():
            return
        rest = self.original.solid_between(place + 1, len(self.original.lines))
        if rest:
            message = "the snippet ends here without a marker, and the file goes on"
            raise undetermined(self.snippet, segment.end - 1, "file_end", message)

    def _from_file_level(self) -> bool:
        """Say whether the snippet starts at the start of the file, by a marker or its first line."""
        first = self.snippet.segments[0]
        if first.before is not None:
            return True
        return self.matches.get(first.start) == self.original.next_solid(0)

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
        if not heads or self.prose:
            return None
        if not new and (
            is_closer(self.lines.stripped[probe])
            or self._hides_next(segment, last)
            or (segment.after is not None and head_name(self.lines.stripped[heads[-1]]) is None)
        ):
            return None
        end = self.original.block_end(self.matches[heads[-1]])
        # A later segment inside the block shows that the marker stands in it, however indented.
        return end if end <= ceiling else None

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
        if not new and segment.after is not None:
            message = (
                "the block ends here in the snippet and goes on in the file; whether those lines "
                "are deleted or stand for the marker is not said"
            )
            raise undetermined(self.snippet, last, "deletion_unclear", message)
        rest = self.original.solid_between(closed, len(self.original.lines))
        if segment.after is None and not rest:
            return len(self.original.lines), False
        return closed, False

    # -- segments without a match -----------------------------------------------------------

    def _unanchored(self, segment: Segment, floor: int, ceiling: int) -> Placed:
        """Place new lines between two markers: at the end of their block, where that is plain."""
        lines = self.original.lines
        owner = self._owner(segment.start)
        end = len(lines) if owner is None else self.original.block_end(owner)
        tail = self.original.previous_solid(end)
        if owner is not None and tail > owner and is_closer(self.original.stripped[tail]):
            if self.original.parents[tail] == owner:
                end = tail
        if segment.before is None and segment.after is not None and owner is None:
            return Placed(segment, 0, 0, False, True)
        if segment.before is None or not floor <= end:
            message = "nothing in it is in the file, so it has no place there"
            raise undetermined(self.snippet, segment.start, "no_anchor", message)
        if ceiling < end or (owner is None and segment.after is not None):
            message = "it is new, and the markers around it do not say where it goes"
            raise undetermined(self.snippet, segment.start, "placement", message)
        at = self.original.previous_solid(end) + 1 if end < len(lines) or lines else end
        return Placed(segment, max(at, floor), max(at, floor), True, ceiling > end)

    def _wrapped(self, segment: Segment, end: int, ceiling: int) -> int:
        """Return the end of the lines that move into a block which the segment's last line opens."""
        opener = segment.end - 1
        if segment.after is None or opener in self.matches:
            return 0
        if segment.after.width <= self.lines.widths[opener]:
            return 0
        owner = self._owner(opener)
        if owner is None:
            return 0
        stop = min(ceiling, self.original.block_end(owner))
        tail = self.original.previous_solid(stop)
        if is_closer(self.original.stripped[tail]) and self.original.parents[tail] == owner:
            stop = tail
        return stop

    def _check_deletions(self, segment: Segment, first: int) -> None:
        """Refuse a segment that would drop a great part of the file between two of its lines."""
        previous = first
        for i in range(first + 1, segment.end):
            if i not in self.matches:
                continue
            gone = self.original.solid_between(self.matches[previous] + 1, self.matches[i])
            new = self.lines.solid_between(previous + 1, i)
            self._check_gap(i, gone, new)
            previous = i

    def _check_gap(self, i: int, gone: list[int], new: list[int]) -> None:
        if len(gone) - len(new) > 100:
            message = f"{len(gone)} lines of the file are missing before it, with no marker"
            raise undetermined(self.snippet, i, "large_deletion", message)
        if self.snippet.markers or len(self.matches) >= len(self.original.solid) // 2:
            return
        lost = [j for j in gone if head_name(self.original.stripped[j]) is not None]
        if any(self.original.parents[j] < 0 for j in lost) and not new:
            message = "a definition of the file is missing before it, with no marker"
            raise undetermined(self.snippet, i, "deletion_unclear", message)
