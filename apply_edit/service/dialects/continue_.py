r"""Continue: its default prompt, and answers that its filters let through.

Continue runs every answer through filters that were made for chat models: they drop a first line
that ends in a colon and leading blank lines, and stop at a code fence. A fenced answer survives
them, unless the file has fences of its own or one of a few lines at which they stop or which they
drop. Such an answer is refused, because Continue would write a cut file and call it done.
"""

from __future__ import annotations

import re

from apply_edit.errors import EditParseError, GuardRefused
from apply_edit.service.dialects.records import Asked, Reply

_FENCE = "```"
_ORIGINAL = re.compile(r"ORIGINAL CODE:[ \t]*\n```[^\n`]*\n")
_BORDER = re.compile(r"\n```[ \t]*\n+SUGGESTED EDIT:[ \t]*\n```[^\n`]*\n")
_CLOSING = "\n```"
_CUTS = re.compile(
    r"^(?:[^\S\n]|\ufeff)*(?P<fence>```)|^</START EDITING HERE>|(?:^|[^\S\n])"
    r"(?:# End of file\.|<STOP EDITING HERE|\[/CODE\])",
    re.MULTILINE,
)
_DROPPED_FIRST = frozenset({"<COMPLETION>", "[CODE]", "<START EDITING HERE>", "{{FILL_HERE}}"})


def read(text: str) -> Asked | None:
    r"""Return what Continue's default apply prompt asks for, None for any other text.

    The prompt is ``ORIGINAL CODE:`` and ``SUGGESTED EDIT:``, each with a fenced block. The line
    end before a closing fence belongs to the fence.

    Args:
        text: The user message.

    Raises:
        EditParseError: A block is not closed, or there are several places where the first may end.
    """
    begin = _ORIGINAL.search(text)
    if begin is None:
        return None
    # An empty block has no line of its own: let the border see the end of the opening fence.
    body = text[begin.end() - 1 :]
    borders = list(_BORDER.finditer(body))
    if len(borders) != 1:
        message = (
            f"found {len(borders)} places where ORIGINAL CODE ends and SUGGESTED EDIT begins, "
            "there has to be one; set promptTemplates.apply as docs/clients.md shows"
        )
        raise EditParseError(message, option="messages")
    end = body.rfind(_CLOSING, borders[0].end() - 1)
    if end < 0:
        message = "the block behind SUGGESTED EDIT is not closed: it may have been cut off"
        raise EditParseError(message, option="messages")
    return Asked(body[1 : borders[0].start()], body[borders[0].end() : end], reply=Reply.FENCED)


def require_survival(text: str, what: str) -> None:
    """Refuse a text that Continue's filters would cut.

    Args:
        text: File or result.
        what: How to call it in the message.

    Raises:
        GuardRefused: Something in it makes the filters stop, or drop a line.
    """
    cut = _CUTS.search(text)
    first = text.partition("\n")[0].strip()
    if cut is None and first not in _DROPPED_FIRST:
        return
    line = 1 if cut is None else text.count("\n", 0, cut.end()) + 1
    why = "a code fence" if cut is not None and cut["fence"] else "a line"
    message = (
        f"line {line} of {what} begins or holds {why} at which Continue cuts the answer, so it "
        "would write a broken file; apply this edit with the command line or POST /v1/apply"
    )
    finding = {"check": "continue_filters", "message": message, "lines": [line]}
    raise GuardRefused(message, findings=[finding])


def fenced(text: str) -> str:
    r"""Return a file as a fenced block.

    >>> fenced("a\n")
    '```\na\n```'
    """
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{_FENCE}\n{text}{end}{_FENCE}"
