r"""Recognise lines of a lazy snippet that stand for code of the file instead of being code.

An *elision marker* says "what is here in the file stays": ``// ... existing code ...``, ``# rest of
the file unchanged``, ``<!-- ... -->``. A *removal comment* asks for a deletion: ``# remove foo``.

The recognition is deliberately narrow: a comment that a programmer would write for its own sake
(``# ... see above``) and code that has three dots (JavaScript spread, Python ``...``) are not
markers. Where the line alone cannot tell, :func:`is_bare_ellipsis` says so and the caller decides.

Does not know: files, languages, alignment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
_BRACKETS = (("[", "]"), ("(", ")"), ("<", ">"), ("{", "}"))
_DOTS = r"(?:\.{3,}|…+|⋮+)"
_LEADING_DOTS = re.compile(rf"{_DOTS}\s*")
_TRAILING_DOTS = re.compile(rf"\s*{_DOTS}$")
_BARE = re.compile(rf"{_DOTS}$|\[\s*{_DOTS}\s*\]$|\(\s*{_DOTS}\s*\)$")

_THING = (
    r"(?:code|codes|file|files|class|classes|function|functions|method|methods|module|body|"
    r"implementation|implementations|import|imports|include|includes|logic|content|contents|"
    r"definition|definitions|declaration|declarations|constructor|constructors|field|fields|"
    r"property|properties|props|test|tests|type|types|style|styles|rule|rules|route|routes|"
    r"handler|handlers|line|lines|item|items|entry|entries|case|cases|component|components|"
    r"script|document|section|sections|block|component|config|configuration|setup|struct|"
    r"interface|interfaces|constant|constants|variable|variables|statement|statements|"
    r"service|services|setting|settings|helper|helpers|option|options|key|keys|value|values|"
    r"parameter|parameters|argument|arguments|attribute|attributes|element|elements|"
    r"dependency|dependencies|execution|loop|part|parts|template|markup|jsx|html|text|list|"
    r"array|object|enum|trait|impl|namespace|package|table|column|columns|query|queries|"
    r"state|hook|hooks|effect|effects|comment|comments|docstring|everything|stuff|things)"
)
# Words that in a comment without dots can only be about the source text itself.
_CODE = (
    r"(?:code|file|class|functions?|methods?|module|body|implementations?|imports?|logic|"
    r"definitions?|declarations?|constructors?|tests|styles|routes|components?|document|struct|"
    r"interface|script|section|template|types|helpers)"
)
_SAME = r"(?:unchanged|untouched|unmodified|intact|the same|same|as is|as-is|as before|identical)"
_STAYS = (
    rf"(?:(?:is|are|remains?|stays?|kept|left|was|were|goes|go)\s+)*(?:{_SAME}|here|below|above)"
)
_WORDS = r"(?:[\w'\u2019`.\-/()&,]+\s+){0,4}?"
_QUANT = r"(?:the|all|all the|all other|your|any|every|this|its|our|my|of|of the)"
_TAIL = rf"(?:\s+(?:{_STAYS}|for brevity|goes here|continues|remains?|of the (?:file|class|code)))*"

# Each phrase must be the whole text of the comment. Those of _STRONG mean elision on their own.
_STRONG = tuple(
    re.compile(rf"(?:{pattern})[.!:]?$", re.IGNORECASE)
    for pattern in (
        rf"(?:{_QUANT}\s+)*(?:rest|remainder)\s+(?:of\s+)?(?:{_QUANT}\s+)*{_WORDS}{_THING}{_TAIL}",
        rf"(?:the\s+)?(?:rest|remainder|others|everything else|all else)(?:\s+of\s+it)?\s+{_STAYS}",
        rf"(?:{_QUANT}\s+)*(?:previous|original|same)\s+code{_TAIL}",
        rf"(?:{_QUANT}\s+)*(?:existing|remaining|unchanged)\s+"
        rf"(?:\w+\s+)?(?:code|imports|implementation|methods|functions|logic|content|body|"
        rf"fields|tests|lines|styles|properties|routes|types|file contents?){_TAIL}",
        rf"(?:{_QUANT}\s+)*(?:(?:existing|other|remaining|previous|original|same)\s+)+"
        rf"{_WORDS}{_THING}\s+(?:(?:is|are|remains?|stays?|kept|left)\s+)*{_SAME}",
        rf"(?:{_QUANT}\s+)*{_WORDS}{_CODE}\s+(?:is|are|remains?|stays?|kept|left)\s+{_SAME}",
        rf"(?:{_QUANT}\s+)*{_CODE}\s+{_SAME}",
        r"(?:no changes?|nothing changes|nothing changed)(?:\s+(?:here|needed|below|above))?",
        rf"(?:{_SAME}|same)\s+(?:as\s+)?(?:before|above|original|the original|in the original)",
        rf"(?:keep|leave|retain|preserve)\s+(?:the\s+)?(?:rest|remainder|everything(?:\s+else)?)"
        rf"(?:\s+of\s+(?:{_QUANT}\s+)*{_WORDS}{_CODE})?(?:\s+{_STAYS})?",
        rf"(?:keep|leave|retain|preserve)\s+(?:{_QUANT}\s+)*(?:existing|other|remaining)\s+"
        rf"{_WORDS}{_CODE}{_TAIL}",
        rf"(?:keep|leave|retain|preserve)\s+{_WORDS}{_THING}\s+(?:\w+\s+)?{_SAME}",
        rf"(?:\w+\s+)?(?:{_THING}|rest)\s+(?:is\s+|are\s+)?(?:omitted|elided|truncated|snipped)"
        r"(?:\s+.{0,30})?",
        r"(?:omitted|elided|truncated|snipped)\s+(?:for\s+brevity|unchanged\s+\w+)",
        rf"(?:your|the)\s+existing\s+{_WORDS}{_THING}{_TAIL}",
    )
)
# These need an ellipsis beside them (or brackets around them) to mean elision.
_WITH_DOTS = tuple(
    re.compile(rf"(?:{pattern})[.!:]?$", re.IGNORECASE)
    for pattern in (
        rf"(?:{_QUANT}\s+)*(?:existing|remaining|other|previous|original|unchanged|same|rest|more|"
        rf"earlier|current|untouched|remainder|unmodified)(?:\s+[\w'\u2019`.\-/()&,]+){{0,6}}",
        rf"(?:{_QUANT}\s+)*{_WORDS}{_THING}\s+(?:{_STAYS}|continues|goes here|omitted|elided)",
        rf"(?:{_SAME}|as above|snip|snipped|omitted|elided|skip|skipped|truncated|etc|"
        r"content|code|no change|no changes)",
        r"(?:code|lines?|methods?|functions?|content)\s+(?:above|below|before|after|between|here)",
        r"(?:keep|leave|retain|preserve)\s+.{1,60}",
        r"[\w'\u2019`.\-/()&,\s]{1,60}\s(?:unchanged|untouched|as before|as is|the same|omitted)",
        r"\d+\s+(?:more\s+)?(?:unchanged\s+)?lines?(?:\s+\w+)?",
        rf"(?:the\s+)?{_THING}\s+(?:here|above|below)",
    )
)
_REMOVAL = re.compile(
    r"(?:(?:please\s+)?(?:remove|delete|drop)(?:d|s)?|(?:removed|deleted|dropped))\b\s*[:\-\u2013\u2014]?\s*"
    r"(?P<what>\S.*)$",
    re.IGNORECASE,
)
_REMOVED_LATER = re.compile(
    r"(?P<what>\S.*?)\s+(?:is|are|was|were|has been|have been)?\s*"
    r"(?:removed|deleted|to be removed|to be deleted)\.?$",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"\b(?:the|all|your|any|its|our|rest|remainder|of|existing|remaining|other|previous|original|"
    r"unchanged|untouched|same|is|are|remains?|stays?|kept|keep|leave|as|before|here|below|above|"
    r"omitted|elided|for|brevity|more|in|this|everything|else|code|goes|continues)\b",
    re.IGNORECASE,
)
_INLINE = re.compile(
    r"^(?P<code>.*?\S)\s*(?P<marker>(?:\{/\*.*\*/\}|/\*.*\*/|<!--.*-->|//.*|\#.*|--\s.*))"
    r"(?P<rest>\s*[})\];,]*\s*)$"
)


@dataclass(frozen=True, slots=True)
class _Comment:
    """The words of a line and how they are dressed.

    Args:
        text: Words between the ellipses.
        commented: The words stand in a comment of some language.
        bracketed: They stand in brackets: ``[...]``, ``(same as before)``.
        before: An ellipsis stands before them. after: one stands behind them.
        spaced: The leading ellipsis is followed by a space, unlike a spread operator.
    """

    text: str
    commented: bool
    bracketed: bool
    before: bool
    after: bool
    spaced: bool


def is_marker(line: str) -> bool:
    """Say whether the whole line stands for elided code of the file.

    Args:
        line: One line; indentation and line end do not matter.

    >>> is_marker("    // ... existing code ...")
    True
    >>> is_marker("# ... see above")
    False
    >>> is_marker("  ...args,")
    False
    """
    stripped = line.strip()
    if not stripped or len(stripped) > 200 or is_bare_ellipsis(line):
        return False
    return _means_elision(_undress(stripped))


def is_bare_ellipsis(line: str) -> bool:
    """Say whether the line is only an ellipsis, with no comment sign around it.

    It may be a marker, or code (a Python body, the end of a YAML document): the language and the
    file decide.

    >>> is_bare_ellipsis("    ..."), is_bare_ellipsis("# ...")
    (True, False)
    """
    return _BARE.match(line.strip()) is not None


def trailing_marker(line: str) -> tuple[str, str, str] | None:
    """Split a line of code that ends in (or wraps) a marker comment.

    Returns:
        Code before the marker, the marker, and closing brackets behind it; None without a marker.

    >>> trailing_marker("function f() { /* ... existing code ... */ }")
    ('function f() {', '/* ... existing code ... */', ' }')
    """
    body = line.rstrip()
    if is_marker(body):
        return None
    match = _INLINE.match(body)
    if match is None or not _means_elision(_undress(match["marker"].strip())):
        return None
    return match["code"], match["marker"], match["rest"]


def removal_comment(line: str) -> str | None:
    """Return what a comment asks to be removed, in its own words, or None.

    Whether those words name something of the file is for the caller to find out: ``# remove
    trailing spaces`` is a comment like any other.

    >>> removal_comment("    // removed: legacyLogin()")
    'legacyLogin()'
    """
    comment = _undress(line.strip())
    if not comment.commented or len(comment.text) > 120:
        return None
    for pattern in (_REMOVAL, _REMOVED_LATER):
        match = pattern.match(comment.text)
        if match is not None:
            return match["what"].strip().rstrip(".:")
    return None


def marker_subject(line: str) -> str | None:
    """Return what a marker says is kept, without the filler words; None where it names nothing.

    >>> marker_subject("# ... existing imports ...")
    'imports'
    >>> marker_subject("// ... existing code ...") is None
    True
    """
    if not is_marker(line):
        return None
    words = " ".join(_FILLER.sub(" ", _undress(line.strip()).text).split()).strip(" .,:-")
    return words or None


def _means_elision(comment: _Comment) -> bool:
    dots = comment.before or comment.after
    if not comment.text:
        return comment.commented and dots
    if comment.commented and comment.before and comment.after:
        return len(comment.text.split()) <= 10
    if comment.commented or comment.bracketed:
        if any(p.match(comment.text) for p in _STRONG):
            return True
        if comment.after and not comment.before and len(comment.text.split()) > 4:
            return False  # a sentence that trails off
        if dots or (comment.bracketed and not comment.commented):
            return any(p.match(comment.text) for p in _WITH_DOTS)
        return comment.text in {"unchanged", "(unchanged)", "same", "same as before"}
    # Without a comment sign only dots on both sides, or dots set off by a space, can be a marker.
    if comment.before and (comment.after or comment.spaced):
        both = _STRONG + _WITH_DOTS if comment.after else _STRONG
        return any(p.match(comment.text) for p in both)
    return False


def _undress(stripped: str) -> _Comment:
    """Take comment signs, brackets and ellipses off a stripped line."""
    text, commented = _without_comment(stripped)
    text, bracketed = _without_brackets(text)
    lead = _LEADING_DOTS.match(text)
    if lead is not None:
        text = text[lead.end() :]
    spaced = lead is not None and lead[0][-1:].isspace()
    trail = _TRAILING_DOTS.search(text)
    if trail is not None:
        text = text[: trail.start()]
    text, inner = _without_brackets(text.strip())
    return _Comment(
        text, commented, bracketed or inner, lead is not None, trail is not None, spaced
    )


def _without_comment(text: str) -> tuple[str, bool]:
    for opener, closer in _WRAPPED:
        if text.startswith(opener) and text.endswith(closer) and len(text) > len(opener + closer):
            inner = text[len(opener) : -len(closer)].strip(" \t*-!")
            # A docstring of three dots is code; one with words in it may be a marker.
            return inner, opener not in ('"""', "'''") or bool(inner.strip(". "))
    leader = _LEADERS.match(text)
    if leader is None:
        return text, False
    return text[leader.end() :].strip(" */-=#"), True


def _without_brackets(text: str) -> tuple[str, bool]:
    for opener, closer in _BRACKETS:
        if text.startswith(opener) and text.endswith(closer) and len(text) > 4:
            inner = text[1:-1].strip()
            if opener not in inner and closer not in inner:
                return inner, True
    return text, False
