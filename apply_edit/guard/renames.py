"""A sentence that asks for a new name: is the old one gone?

A name that was changed in most places and left in one is broken code that often still parses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from apply_edit.guard.base import Check
from apply_edit.guard.context import Context
from apply_edit.guard.remarks import remark_lines
from apply_edit.syntax import canonical_language, definitions
from apply_edit.types import Finding, Severity

_NAME = r"[`'\"]?(?P<{}>[A-Za-z_$][\w$]*)[`'\"]?"
_KIND = (
    r"(?:the\s+|its\s+)?(?:(?:local|private|public|global|static|instance|enum|type|class|struct|helper|"
    r"keyword|named|inner|exported)\s+)*(?:(?:parameter|param|argument|arg|variable|var|constant|const|"
    r"function|method|class|struct|enum|variant|member|field|attribute|property|prop|interface|type|"
    r"alias|trait|module|macro|key|column|table|hook|component|identifier|symbol|name)s?\s+)?"
)
_RENAME = re.compile(
    rf"\brenam(?:e|ing)\s+{_KIND}{_NAME.format('old')}(?:\(\))?(?P<where>\s[^.;:]*?)?"
    rf"\s+(?:to|into|as)\s+{_NAME.format('new')}",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\b(?:of|in|inside|within)\s+(?:the\s+)?(?:\w+\s+)??[`'\"]?(\w+)[`'\"]?")
_WORDS_TOO = re.compile(r"\b(?:docstring|doc|comment|javadoc|documentation)s?\b", re.IGNORECASE)
_PARTLY = re.compile(r"\b(?:only|but|except|stays?|leave|keep|not)\b", re.IGNORECASE)
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`")
_COMMENT = re.compile(r"(?://|#|--\s|/\*).*")


class NameLeft(Check):
    """An old name that is still there after it was to be renamed."""

    name = "name_left"
    severity = Severity.REFUSE
    description = "a sentence asks to rename something, and the old name is still used"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield the lines that still have the name, unless the sentence makes exceptions."""
        sentence = (merge.edit.instruction or "") if merge.by_instruction else ""
        wish = _RENAME.search(sentence)
        if wish is None or _PARTLY.search(sentence):
            return
        old, new = wish["old"], wish["new"]
        word = re.compile(rf"(?<![\w$]){re.escape(old)}(?![\w$])")
        if not re.search(rf"(?<![\w$]){re.escape(new)}(?![\w$])", merge.text):
            return  # something else is wrong, and others see it
        span = self._span(merge, wish["where"] or "", sentence, old)
        words_too = _WORDS_TOO.search(sentence) is not None
        skipped = (
            frozenset()
            if words_too
            else remark_lines(merge.new, canonical_language(merge.language))
        )
        left = [
            j
            for j in span
            if j not in skipped and word.search(merge.new[j] if words_too else _code(merge.new[j]))
        ]
        if left:
            message = (
                f"{old} was to become {new}, and line {left[0] + 1} of the result still has {old}"
            )
            yield self.finding(message, left)

    def _span(self, merge: Context, where: str, sentence: str, old: str) -> list[int]:
        """Return the lines in which the name has to go: of a named definition, or all."""
        names = {*_PLACE.findall(where), *_PLACE.findall(sentence)} - {old}
        if merge.grammar is None or not names:
            return list(range(len(merge.new)))
        found = [
            each
            for each in definitions(merge.text, merge.grammar)
            if each.name.split(".")[-1] in names
        ]
        if not found:
            return list(range(len(merge.new)))
        return sorted({j for each in found for j in range(each.start_line, each.end_line)})


def _code(line: str) -> str:
    """Return a line without its strings and comment.

    >>> _code('log("n", n)  # n')
    'log("", n)  '
    """
    return _COMMENT.sub("", _STRING.sub('""', line))
