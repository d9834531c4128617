r"""Recognise lines of a lazy snippet that stand for code of the file instead of being code.

An *elision marker* says "what is here in the file stays": ``// ... existing code ...``, ``# rest of
the file unchanged``, ``<!-- ... -->``. A *removal comment* asks for a deletion: ``# remove foo``.

A line alone does not always tell. :func:`elision` says how sure it is: ``CERTAIN`` lines are
markers wherever a snippet has them, while of ``LIKELY`` and ``DOUBTFUL`` ones the file has to say
whether it has code there that the snippet does not show. Comments that a programmer would write
for their own sake (``# ... see above``) and code that has three dots (JavaScript spread, Python
``...``) are neither. :func:`is_bare_ellipsis` leaves its line to the caller altogether.

Does not know: files, alignment.
"""

from __future__ import annotations

import re
from enum import IntEnum

from apply_edit.markers.dress import DOTS, Comment, undress
from apply_edit.markers.phrases import STRONG, WITH_DOTS
from apply_edit.markers.words import Said, said

__all__ = [
    "Elision",
    "comment_text",
    "elision",
    "is_bare_ellipsis",
    "is_marker",
    "is_real_comment",
    "marker_subject",
    "removal_comment",
    "trailing_marker",
]

_BARE = re.compile(rf"{DOTS}$|\[\s*{DOTS}\s*\]$|\(\s*{DOTS}\s*\)$")
_MAX_MARKER = 200
# A member of a JSON object that stands for others: ``"...": "..."``, ``"// ...": ""``.
_MEMBER = re.compile(
    r"(?P<q>[\"'])(?P<key>[^\"']{1,100})(?P=q)\s*:\s*"
    r"(?P<value>\"[^\"]{0,100}\"|'[^']{0,100}'|null|true|\{\s*\}|\[\s*\]|[.…]+)\s*,?$"
)
# Dots where a value or an entry should be, though not behind a name: ``X = [...]``, ``"...",``.
_HOLE = re.compile(
    rf"(?<![\w\])])(?:\[\s*{DOTS}\s*\]|\{{\s*{DOTS}\s*\}})"
    rf"|(?P<q>[\"']){DOTS}(?P=q)\s*(?:[:,\]}}]|$)|^{DOTS},$"
)
_MAX_CODE = 400
_NOTE_KEYS = frozenset({"//", "#", "_comment", "comment", "__comment__", "$comment"})
# Where a body has to be, one that says nothing, with the marker behind it.
_PLACEHOLDER = re.compile(r"(?:pass|\.\.\.)\s+(?=#)")
# Signs of comments that are not signs of something else in other languages.
_REMARKS = ("//", "#", "--", "/*", "<!--", "{/*", "{#", "(*", ";", "%")
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


_OPENERS = ("{", "(", "[")


class Elision(IntEnum):
    """How sure it is that a line stands for code that is left out."""

    NONE = 0
    """It is code, data, text, or a comment with something to say."""
    DOUBTFUL = 1
    """A comment that may be meant so: ``# other``, ``// body``."""
    LIKELY = 2
    """It says nothing else, but a file may have such a comment: ``# as before``."""
    CERTAIN = 3
    """Nobody writes it for another reason: ``# ... existing code ...``."""


def is_marker(line: str) -> bool:
    """Say whether the whole line stands for elided code of the file, whatever the file has.

    Args:
        line: One line; indentation and line end do not matter.

    >>> is_marker("    // ... existing code ...")
    True
    >>> is_marker("# ... see above")
    False
    >>> is_marker("  ...args,")
    False
    """
    return elision(line) is Elision.CERTAIN


def elision(line: str) -> Elision:
    """Say how sure it is that the whole line stands for elided code of the file.

    A bare ellipsis is ``NONE``: see :func:`is_bare_ellipsis`.

    Args:
        line: One line; indentation and line end do not matter.

    >>> elision("# as before").name, elision("// other").name, elision("# why").name
    ('LIKELY', 'DOUBTFUL', 'NONE')
    """
    stripped = line.strip()
    if not stripped or len(stripped) > _MAX_CODE or is_bare_ellipsis(line):
        return Elision.NONE
    level = _member_elision(stripped)
    if level is Elision.NONE and len(stripped) <= _MAX_MARKER:
        level = _comment_elision(stripped)
    hole = level is Elision.NONE and _HOLE.search(stripped) is not None
    return Elision.DOUBTFUL if hole and not undress(stripped).commented else level


def _comment_elision(stripped: str) -> Elision:
    placeholder = _PLACEHOLDER.match(stripped)
    comment = undress(stripped[placeholder.end() :] if placeholder else stripped)
    if _means_elision(comment):
        return Elision.CERTAIN
    # ``#else`` is a directive.
    told = placeholder is not None or (stripped[0] == "#" and stripped[1:2].isalpha())
    return Elision.NONE if told else _vague_elision(comment)


def is_bare_ellipsis(line: str) -> bool:
    """Say whether the line is only an ellipsis, with no comment sign around it.

    It may be a marker, or code (a Python body, the end of a YAML document): the language and the
    file decide.

    >>> is_bare_ellipsis("    ..."), is_bare_ellipsis("# ...")
    (True, False)
    """
    return _BARE.match(line.strip()) is not None


def is_real_comment(line: str) -> bool:
    """Say whether a line is a comment with words, and no marker of any kind.

    >>> is_real_comment("# why"), is_real_comment("# as before"), is_real_comment("#include <a.h>")
    (True, False, False)
    """
    stripped = line.strip()
    if len(stripped) > _MAX_MARKER or elision(stripped) is not Elision.NONE:
        return False
    comment = undress(stripped)
    if not comment.commented or not any(c.isalnum() for c in comment.text):
        return False
    directive = stripped[0] == "#" and stripped[1:2].isalpha()
    return comment.opener.startswith(_REMARKS) and not directive


def comment_text(line: str) -> str:
    """Return the words of a comment without its signs; of any other line, the line.

    >>> comment_text("  // return a;")
    'return a;'
    """
    return undress(line.strip()).text


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
    if match is None:
        return None
    level = _comment_elision(match["marker"].strip())
    # Between brackets with nothing else in them, less will do.
    alone = match["code"].endswith(_OPENERS) and match["rest"].strip() != ""
    if level is not Elision.CERTAIN and not (alone and level is Elision.LIKELY):
        return None
    return match["code"], match["marker"], match["rest"]


def removal_comment(line: str) -> str | None:
    """Return what a comment asks to be removed, in its own words, or None.

    Whether those words name something of the file is for the caller to find out: ``# remove
    trailing spaces`` is a comment like any other.

    >>> removal_comment("    // removed: legacyLogin()")
    'legacyLogin()'
    """
    comment = undress(line.strip())
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
    words = " ".join(_FILLER.sub(" ", undress(line.strip()).text).split()).strip(" .,:-")
    return words or None


def _means_elision(comment: Comment) -> bool:
    dots = comment.before or comment.after
    if not comment.text:
        return comment.commented and dots
    if comment.commented and comment.before and comment.after:
        return len(comment.text.split()) <= 10
    if comment.commented or comment.bracketed:
        if any(p.match(comment.text) for p in STRONG):
            return True
        if comment.after and not comment.before and len(comment.text.split()) > 4:
            return False  # a sentence that trails off
        if dots or (comment.bracketed and not comment.commented):
            plain = any(p.match(comment.text) for p in WITH_DOTS)
            return plain or (dots and said(comment.text) is Said.ELISION)
        return comment.text in {"unchanged", "(unchanged)", "same", "same as before"}
    # Without a comment sign only dots on both sides, or dots set off by a space, can be a marker.
    if comment.before and (comment.after or comment.spaced):
        both = STRONG + WITH_DOTS if comment.after else STRONG
        return any(p.match(comment.text) for p in both) or said(comment.text) is Said.ELISION
    return False


def _vague_elision(comment: Comment) -> Elision:
    """Judge a line that is not certain by whether all its words are those of markers."""
    if not comment.commented and not comment.bracketed:
        return Elision.NONE
    what = said(comment.text)
    if what is Said.ELISION:
        return Elision.LIKELY
    return Elision.DOUBTFUL if what is Said.MAYBE and comment.commented else Elision.NONE


def _member_elision(stripped: str) -> Elision:
    """Judge a member of an object by its key and its value; NONE for other lines."""
    member = _MEMBER.match(stripped)
    if member is None:
        return Elision.NONE
    key, value = member["key"], member["value"]
    text = value.strip("\"'")
    if key in _NOTE_KEYS:
        return _comment_elision(f"// {text}")
    if is_bare_ellipsis(key):
        says_so = is_bare_ellipsis(text) or _comment_elision(f"// ... {text}") is Elision.CERTAIN
        return Elision.CERTAIN if text and says_so else Elision.LIKELY
    if "..." not in key or (text and not is_bare_ellipsis(text) and value[0] in "\"'"):
        return Elision.NONE
    return _comment_elision(key if undress(key).commented else f"// {key}")
