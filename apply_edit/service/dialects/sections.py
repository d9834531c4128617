r"""Take the file and the update out of a message that marks them with tags.

::

    <instruction>…</instruction>   optional, also spelled <instructions>
    <code>the file</code>          the first <code>
    <update>the edit</update>      optional beside an instruction; up to the last </update>

Nothing is trimmed: the file begins right behind ``<code>`` and ends right before ``</code>``. File
and edit may hold these very tags. Where the border ``</code><update>`` can be seen more than once,
the one that leaves balanced tags on both sides is the border; else no elision marker may stand
before it (a file has none, a snippet does), and of two the last one counts. What remains ambiguous
is refused: a wrong border would be written into a file.

Does not know: what the edit is written in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apply_edit.errors import EditParseError
from apply_edit.markers import is_marker
from apply_edit.text import split_lines, strip_end

_INSTRUCTION = re.compile(r"\s*<instructions?>", re.IGNORECASE)
_INSTRUCTION_END = re.compile(r"</instructions?>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Tags:
    """Names of the tags around file and update."""

    original: str
    update: str

    @property
    def opening(self) -> str:
        """The tag before the file."""
        return f"<{self.original}>"

    @property
    def closing(self) -> str:
        """The tag behind the file."""
        return f"</{self.original}>"

    @property
    def update_opening(self) -> str:
        """The tag before the update."""
        return f"<{self.update}>"

    @property
    def update_closing(self) -> str:
        """The tag behind the update."""
        return f"</{self.update}>"


CODE_UPDATE = Tags("code", "update")
SOURCE_SNIPPET = Tags("source_file", "update_snippet")


@dataclass(frozen=True, slots=True)
class Sections:
    """What stands between the tags.

    Args:
        original: The file.
        update: The edit; None where there is no such section or it is blank.
        instruction: The sentence, stripped; None where there is none.
    """

    original: str
    update: str | None
    instruction: str | None


def read(text: str, tags: Tags) -> Sections | None:
    """Return the sections of a message, None where it has no file between tags.

    Args:
        text: The message.
        tags: Names of the tags.

    Raises:
        EditParseError: A section is not closed, or its border cannot be told.
    """
    instruction, start = _instruction(text, tags)
    opening = _opening(text, tags, start)
    if opening is None:
        return None
    body = text[opening:]
    last_update = body.rfind(tags.update_closing)
    if body.rfind(tags.closing) > last_update:
        return _without_update(body, tags, instruction)
    if last_update < 0:
        raise _unclosed(tags.closing)
    body = body[:last_update]
    end, begin = _border(body, tags)
    update = body[begin:]
    return Sections(body[:end], update if update.strip() else None, instruction)


def _instruction(text: str, tags: Tags) -> tuple[str | None, int]:
    """Return the instruction, and where the search for the file begins."""
    first = _INSTRUCTION.match(text)
    if first is None:
        return None, 0
    # The instruction may speak of tags; the file's tag follows its end directly.
    end = re.compile(rf"</instructions?>\s*(?={re.escape(tags.opening)})", re.IGNORECASE)
    last = end.search(text, first.end())
    if last is None:
        last = _INSTRUCTION_END.search(text, first.end())
    if last is None:
        raise _unclosed(first[0].strip().replace("<", "</"))
    return text[first.end() : last.start()].strip() or None, last.end()


def _opening(text: str, tags: Tags, start: int) -> int | None:
    """Return where the file begins.

    Prompts in prose speak of "the <update> snippet" and "the <code> below" before they come to
    the file; its own tag then begins a line.
    """
    found = text.find(tags.opening, start)
    if found < 0:
        return None
    if tags.update_opening in text[start:found]:
        found = text.find("\n" + tags.opening, start)
        if found < 0:
            return None
        found += 1
    return found + len(tags.opening)


def _without_update(body: str, tags: Tags, instruction: str | None) -> Sections:
    original, _, behind = body.rpartition(tags.closing)
    if tags.update_opening in behind:
        raise _unclosed(tags.update_closing)
    return Sections(original, None, instruction)


def _border(body: str, tags: Tags) -> tuple[int, int]:
    """Return where the file ends and where the update begins."""
    between = re.compile(re.escape(tags.closing) + r"\s*" + re.escape(tags.update_opening))
    borders = [match.span() for match in between.finditer(body)]
    if len(borders) == 1:
        return borders[0]
    if not borders:
        return _distant_border(body, tags)
    balanced = _balanced(body, tags, borders)
    if len(balanced) == 1:
        return balanced[0]
    marker = _first_marker(body, borders[0][1])
    before = [span for span in borders if marker is None or span[0] <= marker]
    if len(before) > 2:
        message = (
            f"the file or the edit has {tags.closing}{tags.update_opening} in it, so that the end "
            "of the file cannot be told; send the file in `prediction`, or use POST /v1/apply"
        )
        raise EditParseError(message, option="messages")
    return before[-1]


def _distant_border(body: str, tags: Tags) -> tuple[int, int]:
    """Find the border where text stands between the sections."""
    begin = body.rfind(tags.update_opening)
    if begin < 0:
        raise _unclosed(tags.update_opening)
    end = body.rfind(tags.closing, 0, begin)
    if end < 0:
        raise _unclosed(tags.closing)
    return end, begin + len(tags.update_opening)


def _balanced(body: str, tags: Tags, borders: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the borders that leave balanced tags on both sides, in one walk each way."""
    pattern = re.compile(rf"<(/?)({re.escape(tags.original)}|{re.escape(tags.update)})>")
    events = list(pattern.finditer(body))
    starts = {event.start(): i for i, event in enumerate(events)}
    steps = [(event[2] == tags.update, -1 if event[1] else 1) for event in events]
    ahead = _even(steps)
    behind = _even([(kind, -step) for kind, step in reversed(steps)])
    good = []
    for span in borders:
        i = starts[span[0]]
        # The border itself is two tags: the file's closing one and the update's opening one.
        if ahead[i] and behind[len(events) - i - 2]:
            good.append(span)
    return good


def _even(steps: Iterable[tuple[bool, int]]) -> list[bool]:
    """Say for each count of leading tags whether they are balanced, kind by kind.

    >>> _even([(False, 1), (False, -1), (True, -1)])
    [True, False, True, False]
    """
    depths = [0, 0]
    sound = True
    even = [True]
    for kind, step in steps:
        depths[kind] += step
        sound = sound and depths[kind] >= 0
        even.append(sound and depths == [0, 0])
    return even


def _first_marker(body: str, start: int) -> int | None:
    """Return where the first elision marker behind ``start`` stands."""
    at = start
    for line in split_lines(body[start:]):
        if is_marker(strip_end(line)):
            return at
        at += len(line)
    return None


def _unclosed(tag: str) -> EditParseError:
    message = f"{tag} is missing from the message: it may have been cut off"
    return EditParseError(message, option="messages")
