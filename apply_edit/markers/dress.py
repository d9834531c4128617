"""Take comment signs, brackets and ellipses off a line.

Does not know: what the words mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DOTS = r"(?:\.{3,}|…+|⋮+)"

# Comment openers with their closers, longest first. The bare ``..`` is reStructuredText.
_WRAPPED = (
    ("{{/*", "*/}}"),
    ("{{!--", "--}}"),
    ("{/*", "*/}"),
    ("<!--", "-->"),
    ("<%#", "%>"),
    ("<%--", "--%>"),
    ("{{!", "}}"),
    ("{#", "#}"),
    ("@*", "*@"),
    ("(*", "*)"),
    ("/*", "*/"),
    ('"""', '"""'),
    ("'''", "'''"),
)
_LEADERS = re.compile(
    r"(?://+[/!]?|\#+!?|--+|;+|%+|\.\.(?=\s)|'(?=\s)|\*(?=\s)|!(?=\s)|(?i:@?rem)(?=\s))\s*"
)
_BRACKETS = (
    ("[", "]"),
    ("(", ")"),
    ("<", ">"),
    ("{", "}"),
    ("\uff08", "\uff09"),
    ("\u3010", "\u3011"),
)
_LEADING_DOTS = re.compile(rf"{DOTS}\s*")
_TRAILING_DOTS = re.compile(rf"\s*{DOTS}$")


@dataclass(frozen=True, slots=True)
class Comment:
    """The words of a line and how they are dressed.

    Args:
        text: Words between the ellipses.
        opener: The sign that opens the comment, "" where the line is no comment.
        commented: The words stand in a comment of some language.
        bracketed: They stand in brackets: ``[...]``, ``(same as before)``.
        before: An ellipsis stands before them. after: one stands behind them.
        spaced: The leading ellipsis is followed by a space, unlike a spread operator.
    """

    text: str
    opener: str
    commented: bool
    bracketed: bool
    before: bool
    after: bool
    spaced: bool


def undress(stripped: str) -> Comment:
    """Take comment signs, brackets and ellipses off a stripped line.

    >>> undress("/* ... (rest) */").text, undress("// a b").opener
    ('rest', '//')
    """
    text, opener, commented = _without_comment(stripped)
    text, bracketed = _without_brackets(text)
    lead = _LEADING_DOTS.match(text)
    if lead is not None:
        text = text[lead.end() :]
    spaced = lead is not None and lead[0][-1:].isspace()
    trail = _TRAILING_DOTS.search(text)
    if trail is not None:
        text = text[: trail.start()]
    text, inner = _without_brackets(text.strip())
    return Comment(
        text,
        opener,
        commented,
        bracketed or inner,
        lead is not None,
        trail is not None,
        spaced,
    )


def _without_comment(text: str) -> tuple[str, str, bool]:
    """Return the words, the sign before them, and whether it makes them a comment."""
    for opener, closer in _WRAPPED:
        if text.startswith(opener) and text.endswith(closer) and len(text) > len(opener + closer):
            inner = text[len(opener) : -len(closer)].strip(" \t*-!")
            # A docstring of three dots is code; one with words in it may be a marker.
            return inner, opener, opener not in ('"""', "'''") or bool(inner.strip(". "))
    leader = _LEADERS.match(text)
    if leader is None:
        return text, "", False
    return text[leader.end() :].strip(" */-=#"), leader[0].strip(), True


def _without_brackets(text: str) -> tuple[str, bool]:
    for opener, closer in _BRACKETS:
        if text.startswith(opener) and text.endswith(closer) and len(text) > 4:
            inner = text[1:-1].strip()
            if opener not in inner and closer not in inner:
                return inner, True
    return text, False
