"""What Continue does to an answer before it becomes a diff, in its order.

Written anew from a description of the chain, for the question whether our answers survive it:
English at the start, code fences, lines to stop at, lines to skip, white space at line ends,
English at the end. ``splitlines`` is not used: the chain knows only line feeds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

_FENCE = "```"
_GREETINGS = (
    "here is",
    "here's",
    "sure, here",
    "sure thing",
    "sure!",
    "to fill",
    "certainly",
    "of course",
    "the code should",
)
_AFTERWORDS = ("explanation:", "here is", "here's how", "the above")
_OPENERS = ("<COMPLETION>", "[CODE]", "<START EDITING HERE>", "{{FILL_HERE}}")
_STOPS = re.compile(r"(?:^|\s)(?:# End of file\.|<STOP EDITING HERE)")
_CODE_END = re.compile(r"(?:^|\s)\[/CODE\]")
_SKIPPED = "</START EDITING HERE>"

Lines = Iterable[str]


def survive(answer: str) -> str:
    """Return what is left of an answer; a final newline is not told from none."""
    lines: Lines = answer.split("\n")
    chain: tuple[Callable[[Lines], Iterator[str]], ...] = (
        english_at_start,
        code_block,
        stops,
        skips,
        trimmed,
        english_at_end,
    )
    for each in chain:
        lines = each(lines)
    return "\n".join(lines)


def english_at_start(lines: Lines) -> Iterator[str]:
    """Drop leading blank lines, a first line that reads like a greeting, and a blank one after."""
    begun = greeted = False
    for line in lines:
        blank = not line.strip()
        if not begun and blank:
            continue
        if not begun and _greets(line):
            begun = greeted = True
            continue
        if greeted and blank:
            greeted = False
            continue
        begun, greeted = True, False
        yield line


def code_block(lines: Lines) -> Iterator[str]:
    """Drop what may stand before the code, and stop at the next fence, whose ever it is."""
    begun = False
    for line in lines:
        fence = line.lstrip().startswith(_FENCE)
        if not begun and (fence or line.strip() in _OPENERS):
            continue
        begun = True
        if fence or _CODE_END.search(line):
            return
        yield line


def stops(lines: Lines) -> Iterator[str]:
    """Stop at a line with one of the phrases that end a file."""
    for line in lines:
        if _STOPS.search(line):
            return
        yield line


def skips(lines: Lines) -> Iterator[str]:
    """Drop lines that begin with a marker of the prompt."""
    return (line for line in lines if not line.startswith(_SKIPPED))


def trimmed(lines: Lines) -> Iterator[str]:
    """Drop white space at the ends of lines."""
    return (line.rstrip() for line in lines)


def english_at_end(lines: Lines) -> Iterator[str]:
    """Stop at an explanation behind the closing fence."""
    closed = False
    for line in lines:
        closed = closed or line.strip() == _FENCE
        if closed and line.lower().startswith(_AFTERWORDS):
            return
        yield line


def _greets(line: str) -> bool:
    text = line.strip().lower()
    return text.startswith(_GREETINGS) or (text.endswith(":") and not text.startswith("def"))
