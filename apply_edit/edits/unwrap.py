r"""Take an edit out of the prose and the code fences that a chat model puts around it.

Only whole fence lines count, and an outer fence is closed by the last matching line, not by the
first: the code inside may have fences of its own.

Does not know: what the code inside means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from apply_edit.markers import is_marker
from apply_edit.text import split_lines, strip_end

_FENCE = re.compile(r"^(?P<indent> {0,3})(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
_THOUGHTS = re.compile(
    r"\s*(?P<tag><think(?:ing)?>).*?</think(?:ing)?>[ \t]*\r?\n?(?P<rest>.*)\Z", re.DOTALL
)
_TAGGED = re.compile(
    r"\s*(?P<tag><(?P<name>updated[-_]?(?:code|file)|update|final[-_]?code|merged[-_]?code|answer|"
    r"output|result|edit|code[-_]?edit)>)[ \t]*\r?\n(?P<rest>.*\n)[ \t]*</(?P=name)>\s*\Z",
    re.DOTALL | re.IGNORECASE,
)
_NAME_TRIM = "`*_\"' \t:#"


def edit_lines(edit: str) -> list[str]:
    r"""Split an edit into lines that keep their ends; a lone ``\r`` is part of a line.

    A diff line whose text has a carriage return inside must not fall apart: its second half has no
    prefix. An edit without any line feed is split at carriage returns.
    """
    if "\n" not in edit:
        return split_lines(edit)
    return re.findall(r"[^\n]*\n|[^\n]+\Z", edit)


@dataclass(frozen=True, slots=True)
class Fenced:
    """A fenced block of a text.

    Args:
        info: What stands behind the opening fence, for example ``python``.
        code: Lines between the fences, line ends kept.
        start: 0-based index of the opening line. end: index behind the closing line.
        closed: A closing fence was found.
    """

    info: str
    code: str
    start: int
    end: int
    closed: bool


def fences(text: str) -> list[Fenced]:
    """Return the outer fenced blocks of ``text`` in order.

    A fence is closed by the next line that is only a fence of the same kind and at least the same
    length, counting fences with an info string inside as opened and closed in pairs.
    """
    lines = edit_lines(text)
    blocks: list[Fenced] = []
    i = 0
    while i < len(lines):
        opening = _FENCE.match(strip_end(lines[i]).rstrip())
        if opening is None:
            i += 1
            continue
        end = _closing(lines, i + 1, opening["fence"])
        closed = end < len(lines)
        code = "".join(lines[i + 1 : end])
        blocks.append(Fenced(opening["info"].strip(), code, i, min(end + 1, len(lines)), closed))
        i = end + 1
    return blocks


def _closing(lines: list[str], start: int, fence: str) -> int:
    """Return the index of the line that closes ``fence``, or ``len(lines)``."""
    depth = 0
    for i in range(start, len(lines)):
        match = _FENCE.match(strip_end(lines[i]).rstrip())
        if match is None or match["fence"][0] != fence[0] or len(match["fence"]) < len(fence):
            continue
        if match["info"].strip():
            depth += 1
        elif depth:
            depth -= 1
        else:
            return i
    return len(lines)


def outer_code(text: str, original: str | None = None) -> tuple[str, str | None]:
    r"""Return the code of an answer and the info string of the fence it stood in.

    Args:
        text: The whole answer.
        original: The file; a fence that the file itself begins with is not a wrapper.

    Returns:
        Code and info string; the text itself and None where there is no wrapper.

    >>> outer_code("Here it is:\n```python\nx = 1\n```\nDone.\n")
    ('x = 1\n', 'python')
    """
    text = _without_tags(text, original or "")
    lines = edit_lines(text)
    opening = next((i for i, line in enumerate(lines) if _is_fence(line)), None)
    if opening is None or _own_fence(lines, original):
        return text, None
    first = _FENCE.match(strip_end(lines[opening]).rstrip())
    if first is None:
        return text, None
    only_fence_before = not "".join(lines[:opening]).strip()
    last = max(
        (i for i in range(opening + 1, len(lines)) if _closes(lines[i], first["fence"])),
        default=None,
    )
    ends = last is not None and not "".join(lines[last + 1 :]).strip()
    if only_fence_before and last is not None and ends and not _in_a_row(fences(text)):
        return "".join(lines[opening + 1 : last]), first["info"].strip()
    block = fences(text)[0]
    around = [*lines[: block.start], *lines[block.end :]]
    if _is_content(around, original):
        return text, None
    return block.code, block.info


def _without_tags(text: str, original: str) -> str:
    """Take away a model's thoughts before its answer, and a tag around all of it."""
    for pattern in (_THOUGHTS, _TAGGED):
        match = pattern.match(text)
        # The root of a new XML file may have any name.
        if match is not None and original.strip() and match["tag"] not in original:
            text = match["rest"]
    return text


def _in_a_row(blocks: list[Fenced]) -> bool:
    """Say whether blocks follow one another, and are not fences inside an outer one."""
    return len(blocks) > 1 and all(b.closed for b in blocks) and all(b.info for b in blocks[1:])


def _is_fence(line: str) -> bool:
    return _FENCE.match(strip_end(line).rstrip()) is not None


def _closes(line: str, fence: str) -> bool:
    match = _FENCE.match(strip_end(line).rstrip())
    return (
        match is not None
        and not match["info"].strip()
        and match["fence"][0] == fence[0]
        and len(match["fence"]) >= len(fence)
    )


def _is_content(around: list[str], original: str | None) -> bool:
    """Say whether the lines around a fence belong to the edit: markers, or lines of the file.

    Prose around an answer is neither; a Markdown file's own text around its fences is.
    """
    known = {line.strip() for line in split_lines(original or "")} - {""}
    return any(is_marker(strip_end(line)) or line.strip() in known for line in around)


def _own_fence(lines: list[str], original: str | None) -> bool:
    """Say whether the fences of the answer are those of the file."""
    if original is None or not lines:
        return False
    own = split_lines(original)
    return bool(own) and strip_end(own[0]) == strip_end(lines[0]) and _is_fence(own[0])


def named_before(lines: list[str], start: int) -> str | None:
    """Return the file name that the lines above ``start`` give, or None.

    The nearest line that is not blank counts: a bare name, a heading, or a sentence that has one
    name in backquotes.
    """
    for i in range(start - 1, max(-1, start - 3), -1):
        line = lines[i].strip()
        if not line:
            continue
        return file_name(line)
    return None


def file_name(line: str) -> str | None:
    """Return the file name that a line consists of or has in backquotes, or None.

    >>> file_name("### src/a b.txt"), file_name("Here is `b.txt`:"), file_name("Here it is:")
    ('src/a b.txt', 'b.txt', None)
    """
    quoted: list[str] = re.findall(r"`([^`]+)`", line)
    names = [name for name in quoted if _looks_like_path(name)]
    if names:
        return names[-1]
    bare = line.strip(_NAME_TRIM)
    if line.rstrip().endswith((".", "?", "!")) and " " in bare:
        return None
    return bare if _looks_like_path(bare) else None


def _looks_like_path(name: str) -> bool:
    if not name or len(name) > 250 or re.search(r"[<>|\"*?=;(){}]", name):
        return False
    if " " in name and not re.search(r"[\\/]|^[\w-]+( [\w-]+){0,2}\.\w{1,8}$", name):
        return False
    return (
        re.search(r"\.\w{1,10}$|/[\w.-]+$|^(?:Makefile|Dockerfile|Gemfile|LICENSE)$", name)
        is not None
    )
