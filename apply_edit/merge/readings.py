"""Choose between the readings of a snippet that has lines which may be markers.

Such a line is read as it stands and as a marker, and the file decides: where the line as a comment
would take the place of code, or where the file has code that only a marker accounts for, it is a
marker. Where that is not clear the snippet has no plain reading.

Does not know: how a snippet is merged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from apply_edit.errors import MergeUndetermined
from apply_edit.markers.suspects import DOCUMENTS, Kind, Suspect, dots_are_text, find_suspects
from apply_edit.merge.outline import Outline, is_closer
from apply_edit.merge.place import Placed
from apply_edit.merge.snippet import Marker, Segment, Snippet
from apply_edit.merge.soft import is_comment
from apply_edit.swallowed import Swallowed, dangling, swallowed
from apply_edit.text import split_lines, strip_end


@dataclass(frozen=True, slots=True)
class Reading:
    """A merged text, and what its markers stood for.

    Args:
        text: The merged text.
        spans: Line spans of ``text`` that come from the snippet.
        hides: Whether the marker at a line of the snippet stands for code. A marker right behind
            another one is not in it.
    """

    text: str
    spans: tuple[tuple[int, int], ...] = ()
    hides: dict[int, bool] | None = None


# Merges the snippet with these of its lines (0-based) as markers, or refuses.
Read = Callable[[frozenset[int]], Reading]


def hiding(
    placed: Sequence[Placed], snippet: Snippet, original: Outline, matches: dict[int, int]
) -> dict[int, bool]:
    """Say of each marker, by its line, whether it stands for lines of code.

    Args:
        placed: The segments with their places, in order.
        snippet: The snippet.
        original: The file.
        matches: Matched lines.
    """
    hides: defaultdict[int, bool] = defaultdict(bool)
    done = 0
    for item in placed:
        before, after = item.segment.before, item.segment.after
        if before is not None:
            hides[before.line] |= _has_code(original, done, item.start)
        if after is not None:
            hides[after.line] |= _has_code(original, item.end, item.wraps)
        done = max(item.end, item.wraps)
    last = placed[-1].segment
    if last.after is not None:
        end = _block_end(last.after, last, snippet.outline, original, matches)
        hides[last.after.line] |= _has_code(original, done, end)
    return dict(hides)


def _block_end(
    marker: Marker, segment: Segment, lines: Outline, original: Outline, matches: dict[int, int]
) -> int:
    """Return the end of the block of the file that a marker behind the last segment stands in."""
    for i in range(segment.end - 1, segment.start - 1, -1):
        if lines.stripped[i] and lines.widths[i] < marker.width and i in matches:
            return original.block_end(matches[i])
    return len(original.lines)


def _has_code(original: Outline, start: int, end: int) -> bool:
    texts = (original.stripped[i] for i in original.solid_between(start, end))
    return any(not is_closer(t) and not is_comment(t) and any(map(str.isalnum, t)) for t in texts)


def choose(original: Outline, snippet: str, language: str | None, read: Read) -> Reading:
    """Return the one plain reading of a snippet.

    Args:
        original: The file.
        snippet: The snippet.
        language: Our name of the language, or None.
        read: Merges the snippet.

    Raises:
        MergeUndetermined: There is none; ``marker_unclear`` where that is for a line that may be a
            marker.
    """
    lines = [strip_end(line) for line in split_lines(snippet)]
    whole = Outline(tuple(lines))
    heads = {
        i
        for i, text in enumerate(whole.stripped)
        if text in original.places or (whole.name(i) or "") in original.named_places
    }
    suspects = find_suspects(lines, original.places, heads, language)
    choice = _Choice(original, lines, language in DOCUMENTS or language is None)
    asked = [each for each in suspects if each.kind is not Kind.VAGUE]
    reading = choice.decide(asked, read) if asked else read(frozenset())
    vague = {each.text for each in suspects if each.kind is Kind.VAGUE}
    choice.check(reading, vague)
    return reading


class _Choice:
    """Weighs the readings of one snippet.

    Args:
        original: The file.
        lines: The snippet's lines.
        prose: The file is a document, or its language is not known.
    """

    def __init__(self, original: Outline, lines: list[str], prose: bool) -> None:
        self.original = original
        self.lines = lines
        self.prose = prose

    def decide(self, asked: list[Suspect], read: Read) -> Reading:
        """Return the reading in which each suspect is what the file says it is."""
        every = frozenset(each.number for each in asked)
        literal = _attempt(read, frozenset())
        elided = _attempt(read, every)
        eaten = self._eaten(literal, {each.text for each in asked})
        chosen = frozenset(
            each.number for each in asked if self._elides(each, literal, elided, eaten)
        )
        if chosen == every and isinstance(elided, Reading):
            return elided
        if not chosen and isinstance(literal, Reading):
            return literal
        return read(chosen)

    def _elides(
        self,
        suspect: Suspect,
        literal: Reading | MergeUndetermined,
        elided: Reading | MergeUndetermined,
        eaten: dict[str, Swallowed],
    ) -> bool:
        """Say whether a suspect is a marker, given what either reading makes of it."""
        hides = isinstance(elided, Reading) and (elided.hides or {}).get(suspect.number, True)
        if suspect.kind is Kind.DATA_DOTS:
            return True
        if suspect.kind is Kind.TEXT_DOTS:
            return self._dots_elide(suspect, elided, hides, eaten)
        if isinstance(elided, MergeUndetermined):
            if suspect.text in eaten:
                raise self._undetermined(suspect, eaten[suspect.text], elided)
            return False
        if not hides or isinstance(literal, MergeUndetermined) or suspect.text in eaten:
            return hides
        if suspect.kind is Kind.COMMENT and (suspect.attached or suspect.inside):
            return False
        if suspect.kind is Kind.COMMENT and self._is_original(elided):
            raise self._unclear(suspect, None)
        return True

    def _dots_elide(
        self,
        suspect: Suspect,
        elided: Reading | MergeUndetermined,
        hides: bool,
        eaten: dict[str, Swallowed],
    ) -> bool:
        if dots_are_text(self.lines, suspect.number, self.original.places):
            if suspect.text in eaten and eaten[suspect.text].shrinks:
                raise self._unclear(suspect, eaten[suspect.text])
            return False
        if isinstance(elided, Reading) and not hides:
            raise self._unclear(suspect, None)
        return True

    def _is_original(self, reading: Reading) -> bool:
        return tuple(map(strip_end, split_lines(reading.text))) == self.original.lines

    def _eaten(
        self, reading: Reading | MergeUndetermined, texts: Collection[str]
    ) -> dict[str, Swallowed]:
        """Return which of the texts take the place of lines of the file."""
        if isinstance(reading, MergeUndetermined):
            return {}
        new = [strip_end(line) for line in split_lines(reading.text)]
        places = [j for j, line in enumerate(new) if line.strip() in texts]
        found = swallowed(self.original.lines, new, places, prose=self.prose)
        return {new[each.line].strip(): each for each in found}

    def check(self, reading: Reading, vague: Collection[str]) -> None:
        """Refuse a reading in which a comment that may be a marker takes the place of code."""
        new = [strip_end(line) for line in split_lines(reading.text)]
        places = {j for j, line in enumerate(new) if line.strip() in vague}
        if not self.prose:
            places.update(dangling(self.original.lines, new))
        for each in swallowed(self.original.lines, new, places, prose=self.prose):
            text = new[each.line].strip()
            number = next((i for i, x in enumerate(self.lines) if x.strip() == text), 0)
            raise self._unclear(Suspect(number, text, Kind.VAGUE), each)

    def _undetermined(
        self, suspect: Suspect, eaten: Swallowed, error: MergeUndetermined
    ) -> MergeUndetermined:
        """Say why a suspect is read as a marker, and what is not clear then."""
        message = (
            f"{error.message} (line {suspect.number + 1}, {suspect.text!r}, is read as a marker, "
            f"because as a comment it takes the place of {len(eaten.lost)} lines of the file)"
        )
        return MergeUndetermined(message, **error.fields)

    def _unclear(self, suspect: Suspect, eaten: Swallowed | None) -> MergeUndetermined:
        place = f"line {suspect.number + 1} of the snippet: {suspect.text!r}"
        if eaten is None:
            message = (
                f"{place} may be new, or stand for lines of the file that stay; write "
                "'... existing code ...' as a comment if it stands for lines, and leave it out if "
                "it does not"
            )
        else:
            lost = self.original.stripped[eaten.lost[0]]
            message = (
                f"{place} may stand for lines of the file that stay, and if it does not, "
                f"{len(eaten.lost)} of them are deleted (from line {eaten.lost[0] + 1}, "
                f"{lost[:60]!r}, on); write '... existing code ...' as a comment if they stay, and "
                "leave the line out if they go"
            )
        return MergeUndetermined(message, reason="marker_unclear", line=suspect.number + 1)


def _attempt(read: Read, markers: frozenset[int]) -> Reading | MergeUndetermined:
    try:
        return read(markers)
    except MergeUndetermined as error:
        return error
