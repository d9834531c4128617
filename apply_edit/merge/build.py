"""Write the merged text: lines of the file with their own bytes, new lines in the file's style.

Does not know: how the places were found.
"""

from __future__ import annotations

from apply_edit.merge.indent import Scale, scale_of
from apply_edit.merge.outline import Outline, head_name, is_closer, width
from apply_edit.merge.place import Placed
from apply_edit.merge.snippet import Segment, Snippet, undetermined
from apply_edit.merge.soft import past_annotations
from apply_edit.text import dominant_newline, split_lines, strip_end


class Builder:
    """Puts the pieces together.

    Args:
        text: The file.
        original: Its outline.
        snippet: The snippet.
        matches: Matched lines, changed forms included.
    """

    def __init__(
        self, text: str, original: Outline, snippet: Snippet, matches: dict[int, int]
    ) -> None:
        self.raw = split_lines(text)
        self.original = original
        self.snippet = snippet
        self.lines = snippet.outline
        self.matches = matches
        self.newline = dominant_newline(text)
        self.ends_open = bool(text) and not text.endswith(("\n", "\r"))
        self.scale = scale_of(self.lines, original, matches)
        self.out: list[str] = []
        self.spans: list[tuple[int, int]] = []

    def build(self, placed: list[Placed]) -> tuple[str, tuple[tuple[int, int], ...]]:
        """Return the merged text and the line spans that come from the snippet.

        Raises:
            MergeUndetermined: Two segments want the same lines, or moved lines cannot be indented.
        """
        at = 0
        for number, item in enumerate(placed):
            if item.start < at:
                message = "its place in the file overlaps that of the lines before it"
                raise undetermined(self.snippet, item.segment.start, "order", message)
            self.out += self.raw[at : item.start]
            self._segment(item)
            at = item.end
            if item.wraps > item.end:
                stop = item.wraps
                if number + 1 < len(placed):
                    stop = min(stop, placed[number + 1].start)
                self._wrap(item, stop)
                at = max(at, stop)
        self.out += self.raw[at:]
        self._close()
        return "".join(self.out), tuple(self.spans)

    def _segment(self, item: Placed) -> None:
        segment = item.segment
        if item.leads and segment.before is not None and self.out:
            wanted = segment.blanks_before or self._usual_gap(segment.start, item.start)
            self._blank(wanted - self._blanks_at_end())
        reindent = self.scale or Reindent(segment, self.lines, self.original, self.matches)
        faithful = self._keeps_trailing(segment)
        start = len(self.out)
        for i in range(segment.start, segment.end):
            self.out.append(self._line(i, reindent, faithful))
            if i not in self.matches:
                self._mark(len(self.out) - 1)
        if item.trails and segment.after is not None and item.end < len(self.raw):
            following = self.original.next_solid(item.end)
            below = following - item.end
            if following < len(self.raw) and not is_closer(self.original.stripped[following]):
                wanted = segment.blanks_after or self._gap_above(following)
                self._blank(wanted - below)
        if start and not self.out[start - 1].endswith(("\n", "\r")):
            self.out[start - 1] += self.newline

    def _line(self, i: int, reindent: Reindent | Scale, as_written: bool) -> str:
        line = self.lines.lines[i]
        place = self.matches.get(i)
        if place is None:
            return reindent.apply(line) + self.newline
        raw = self.raw[place]
        own = strip_end(raw)
        end = raw[len(own) :] or self.newline
        new = reindent.apply(line)
        if own == new or (own.rstrip() == new.rstrip() and not as_written):
            return own + end
        self._mark(len(self.out))
        return new + end

    def _keeps_trailing(self, segment: Segment) -> bool:
        """Say whether the snippet writes trailing space where the file has it."""
        for i in range(segment.start, segment.end):
            place = self.matches.get(i)
            line = self.lines.lines[i]
            if place is not None and line != line.rstrip() and line == self.original.lines[place]:
                return True
        return False

    def _blank(self, count: int) -> None:
        for _ in range(count):
            self._mark(len(self.out))
            self.out.append(self.newline)

    def _usual_gap(self, i: int, at: int) -> int:
        """Return how many blank lines a new definition gets that has none in the snippet.

        As many as the last definition before it at the same depth has above it.
        """
        i = past_annotations(self.lines.stripped, i, len(self.lines.stripped))
        if self.lines.name(i) is None:
            return 0
        for head in reversed(self.original.solid_between(0, at)):
            same_depth = self.original.widths[head] == self.lines.widths[i]
            if same_depth and (gap := self._gap_above(head)):
                return gap
        return 0

    def _gap_above(self, head: int) -> int:
        """Return how many blank lines stand above a definition of the file; 0 for other lines."""
        text = self.original.stripped
        if head_name(text[head]) is None:
            return 0
        while head and text[head - 1].startswith(("@", "#", "//", "*", "/*")):
            head -= 1
        return head - 1 - self.original.previous_solid(head)

    def _blanks_at_end(self) -> int:
        count = 0
        while count < len(self.out) and not self.out[-1 - count].strip():
            count += 1
        return count

    def _wrap(self, item: Placed, stop: int) -> None:
        """Move lines of the file into the block that the segment's last line opens."""
        base = self.original.next_solid(item.end)
        after = item.segment.after
        if base >= stop or after is None:
            self.out += self.raw[item.end : stop]
            return
        hidden = self.raw[item.end : stop]
        if any(quote in line for line in hidden for quote in ('"""', "'''", "`")):
            message = "the lines that it wraps hold a text of several lines"
            raise undetermined(self.snippet, item.segment.end - 1, "wrap", message)
        add = after.width - self.original.widths[base]
        own = self.raw[base]
        indent = own[: len(own) - len(own.lstrip(" \t"))]
        if add <= 0:
            self.out += hidden
            return
        fill = "\t" * (add // 4) if indent.startswith("\t") else " " * add
        for line in hidden:
            if line.strip():
                self._mark(len(self.out))
            self.out.append(fill + line if line.strip() else line)

    def _mark(self, line: int) -> None:
        if self.spans and self.spans[-1][1] == line:
            self.spans[-1] = (self.spans[-1][0], line + 1)
        else:
            self.spans.append((line, line + 1))

    def _close(self) -> None:
        """Give every line but the last an end, and the last one what the file had."""
        for i, line in enumerate(self.out[:-1]):
            if not line.endswith(("\n", "\r")):
                self.out[i] = line + self.newline
        if self.out and self.ends_open:
            self.out[-1] = strip_end(self.out[-1])


class Reindent:
    """Gives the lines of a segment the indentation of the file where the snippet is shifted.

    The segment is shifted where *all* its matched lines differ from the file's in the same way; one
    line that is indented as in the file shows that the others were indented anew on purpose.
    """

    def __init__(
        self, segment: Segment, lines: Outline, original: Outline, matches: dict[int, int]
    ) -> None:
        self.table: dict[str, str] = {}
        self.shift = 0
        pairs = [
            (_indent(lines.lines[i]), _indent(original.lines[matches[i]]))
            for i in range(segment.start, segment.end)
            if i in matches and lines.stripped[i] == original.stripped[matches[i]] != ""
        ]
        if 3 * sum(mine != theirs for mine, theirs in pairs) < 2 * len(pairs):
            return
        table: dict[str, str] = {}
        for mine, theirs in pairs:
            if table.setdefault(mine, theirs) != theirs or (mine == theirs != ""):
                return
        if any(mine != theirs for mine, theirs in table.items()):
            self.table = table
            shifts = {width(theirs) - width(mine) for mine, theirs in table.items()}
            self.shift = shifts.pop() if len(shifts) == 1 else 0
            self.tabs = any("\t" in theirs for theirs in table.values())
            steps = sorted(width(mine) for mine in table if mine)
            self.unit = (steps[0] if steps else 4) if self.shift == 0 else 4

    def apply(self, line: str) -> str:
        """Return the line as the file would indent it."""
        if not self.table or not line.strip():
            return line
        mine = _indent(line)
        rest = line[len(mine) :]
        if mine in self.table:
            return self.table[mine] + rest
        known = [key for key in self.table if mine.startswith(key)]
        if known:
            key = max(known, key=len)
            more = mine[len(key) :]
            if self.tabs and more.strip(" ") == "":
                more = "\t" * max(1, round(len(more) / self.unit))
            return self.table[key] + more + rest
        columns = max(0, width(mine) + self.shift)
        return ("\t" * (columns // 4) if self.tabs else " " * columns) + rest


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t\x0c"))]
