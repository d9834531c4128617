"""The usual wordings of elision markers in English, as patterns over the whole comment.

They go beyond words (:mod:`words`): some need an order, some let in a word of the file's own, as in
``rest of the Parser class``.

Does not know: comment signs, other languages.
"""

from __future__ import annotations

import re

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

# Each phrase must be the whole text of the comment. Those of STRONG mean elision on their own.
STRONG = tuple(
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
        rf"(?:{_SAME}|same)\s+(?:as\s+)?(?:before|original|the original|in the original)",
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
WITH_DOTS = tuple(
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
