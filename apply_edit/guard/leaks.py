"""Checks for text that belongs to the conversation with a model and not into a file.

They look at lines that the merge brought in, never at lines that the original had. What the edit
itself spells out as content is no leak. Elision markers are in :mod:`left_markers`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from apply_edit.guard.base import Check
from apply_edit.guard.context import Context
from apply_edit.guard.keys import shown
from apply_edit.syntax import canonical_language
from apply_edit.text import split_lines
from apply_edit.types import EditFormat, Finding, Severity

# Where a tag alone on its line is ordinary.
_MARKUP = frozenset({"html", "xml", "javascript", "tsx", "vue", "svelte", "php", "markdown"})
_FENCE = re.compile(r"\s*(?:```|~~~)")
_THINK = re.compile(
    r"</?(?:think|thinking|thought|reasoning|reflection|scratchpad)>", re.IGNORECASE
)
_TAG_NAMES = (
    r"(?:code|update|updated-code|updated_code|instruction|instructions|original|original_code|"
    r"edit|snippet|update_snippet|source_file|update_file|final_file|merged|merged_code|answer|"
    r"output|response|initial_code|edit_snippet|file)"
)
_PROMPT_TAG = re.compile(rf"^\s*</?{_TAG_NAMES}(?:[-_:][0-9a-f]{{4,}})?>\s*$", re.IGNORECASE)
_EDGE_TAG = re.compile(
    r"^\s*</?(?:update|updated-code|updated_code|code)(?:[-_:][0-9a-f]{4,})?>"
    r"|</?(?:update|updated-code|updated_code|code)(?:[-_:][0-9a-f]{4,})?>\s*$"
)
_CONTROL = re.compile(
    r"<\|[a-z_]{2,30}\|>|<\uff5c[^<>]{2,40}\uff5c>|\[/?INST\]|</s>\s*$|<(?:start|end)_of_turn>"
)
_PATCH = re.compile(
    r"^(?:<{5,9} ?(?:SEARCH|HEAD|ORIGINAL|UPDATED)?\s*$|>{5,9} ?(?:REPLACE|UPDATED|ORIGINAL)?\s*$"
    r"|-{5,9} SEARCH\s*$|\+{5,9} REPLACE\s*$|\*\*\* (?:Begin|End) Patch\s*$"
    r"|\*\*\* (?:Update|Add|Delete) File: |\*\*\* End of File\s*$"
    r"|@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|diff --git a/|\\ No newline at end of file\s*$)"
)
_ABOUT = (
    r"\b(?:code|file|files|snippet|version|update|updates|updated|edit|edits|edited|change|changes|"
    r"changed|merge|merged|modification|modifications|modified|function|method|class|result|"
    r"implementation|script|content|complete|full|final)\b"
)
_APOLOGY = (
    r"(?:i['\u2019]m|i am) (?:sorry|unable|not able)\b|sorry,? (?:but )?i\b|i apologi[sz]e\b"
    r"|i can(?:not|['\u2019]t) (?:help|assist|do|apply|make)\b|as an ai\b"
)
# What no document begins with but an answer that holds one.
_PREAMBLE = re.compile(
    rf"[\s*_>]{{0,5}}(?:{_APOLOGY}|(?:sure[!,.:]? |certainly[!,.:]? |of course[!,.:]? )?"
    r"(?:here|below)(?:['\u2019]s| is| are) (?:the|your|an?) (?:\w+[ -]){0,3}(?:updated|modified|"
    r"edited|merged|revised|corrected|complete|full|final|requested)\b[^.]{0,60}:\s*\W{0,3}$)",
    re.IGNORECASE,
)
_OPENING = re.compile(
    rf"[\s*_>]{{0,5}}(?:{_APOLOGY}|"
    r"(?:sure|certainly|of course|absolutely|okay|ok|great|alright|understood|got it)"
    r"\s*[!,.:\u2014-]"
    rf"|(?:here|below|this|these|the following)(?:['\u2019]s| is| are)\b.{{0,80}}{_ABOUT}"
    rf"|(?:i|we)(?:['\u2019]ve| have|['\u2019]ll| will)\b.{{0,100}}{_ABOUT}"
    r"|i (?:made|changed|updated|added|removed|merged|applied|modified|replaced|kept)\b"
    r"|let me\b|to (?:apply|merge) (?:the|this|these)\b"
    r"|(?:the )?(?:updated|merged|modified|complete|full|final|resulting)\s"
    rf".{{0,40}}{_ABOUT}.{{0,40}}:\s*\W{{0,3}}$"
    r")",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"[\s*_>]{0,5}(?:"
    r"(?:i|we)(?:['\u2019]ve| have) (?:\w+ )?(?:made|changed|updated|added|removed|merged|applied|"
    r"modified|replaced|kept|implemented|integrated|included|fixed|refactored|renamed|left)\b"
    r"|i (?:made|changed|updated|added|removed|merged|applied|modified|replaced|kept)\b"
    rf"|(?:this|the|these|those|all)\b.{{0,40}}{_ABOUT}.{{0,60}}\b(?:has|have|is|are|was|were|"
    r"will|now|should|includes?|adds?|ensures?|implements?|incorporates?|integrates?|remains?)\b"
    r"|(?:explanation|summary|changes|key changes|changes made|what changed|notes?)"
    r"\s*(?:of .{0,30})?:"
    r"|note that\b|let me know\b|(?:i )?hope this\b|feel free\b|please (?:let me|note|make sure)\b"
    rf"|(?:here|below)(?:['\u2019]s| is| are)\b.{{0,80}}{_ABOUT}"
    r")",
    re.IGNORECASE,
)


class LeakedFence(Check):
    """A code fence of the model's answer that became part of the file."""

    name = "leaked_fence"
    severity = Severity.REFUSE
    description = "a code fence (```) of the answer was left in the text"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield new fence lines that neither file nor edit has a use for."""
        fences = [j for j in merge.inserted if _FENCE.match(merge.new[j])]
        lines = [j for j in fences if merge.new_keys[j] not in merge.content_keys]
        if not lines:
            return
        first, last = merge.ends
        at_end = lines[0] == first[0] or lines[-1] == last[-1]
        if merge.is_prose or self._has_fences(merge):
            # Fences are content here; only one around the whole text cannot be.
            if lines[0] != first[0] or fences[-1] != last[-1]:
                return
            lines = [lines[0], fences[-1]]
        message = (
            f"line {lines[0] + 1} of the result is the code fence {shown(merge.new[lines[0]])}, "
            "which neither the file nor the edit has"
        )
        # A sentence may ask for a docstring or a comment, and an example in it may be fenced.
        lenient = merge.by_instruction and not at_end
        yield self.finding(message, lines, Severity.WARN if lenient else None)

    def _has_fences(self, merge: Context) -> bool:
        return any(_FENCE.match(line) for line in merge.old) or any(
            _FENCE.match(line) for line in split_lines(merge.edit_text)
        )


class LeakedProse(Check):
    """Words that a model says about its answer, before or behind it."""

    name = "leaked_prose"
    severity = Severity.REFUSE
    description = "the answer's words about itself (`Here is the updated code:`) were left in"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield new first and last lines that talk about the answer."""
        first, last = merge.ends
        if merge.by_instruction:
            # A sentence may ask for a docstring, which is prose too, but not on the very edge.
            first, last = first[:1], last[-1:]
        # In a whole file for a program, such a line is the model's, although it is in the edit.
        whole = merge.edit.format is EditFormat.WHOLE and bool(merge.original.strip())
        answer = whole and merge.language is not None
        fresh = set(merge.inserted)
        if whole and merge.is_prose:
            edges = [(j, _PREAMBLE) for j in first[:1]]
        else:
            edges = [*((j, _OPENING) for j in first), *((j, _CLOSING) for j in last)]
        lines = sorted(
            {
                j
                for j, pattern in edges
                if j in fresh
                and not merge.new[j][:1].isspace()
                and pattern.match(merge.new[j])
                and (
                    answer
                    or (
                        merge.new_keys[j] not in merge.content_keys
                        and merge.new[j].strip() not in merge.edit_text
                    )
                )
            }
        )
        if lines:
            message = (
                f"line {lines[0] + 1} of the result, {shown(merge.new[lines[0]])}, talks about the "
                "answer instead of being part of the file"
            )
            # In a document, a sentence that a sentence asked for cannot be told from chatter.
            lenient = merge.by_instruction and merge.is_prose
            yield self.finding(message, lines, Severity.WARN if lenient else None)


class LeakedThinking(Check):
    """A block in which a model thinks aloud."""

    name = "leaked_thinking"
    severity = Severity.REFUSE
    description = "a `<think>` block was left in the text"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield new lines with a tag of that kind, unless file or edit has it."""
        yield from _foreign(self, merge, [_THINK], "a tag around a model's thoughts")


class LeakedTag(Check):
    """A tag of the prompt, a control token, or the syntax of a patch."""

    name = "leaked_tag"
    severity = Severity.REFUSE
    description = "a tag of the prompt, a control token or a line of patch syntax was left in"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield new lines with one, unless file or edit has it."""
        patterns = [_CONTROL, _PATCH]
        if canonical_language(merge.language) not in _MARKUP:
            patterns.append(_PROMPT_TAG)
        yield from _foreign(self, merge, patterns, "part of a prompt or of a patch")
        first, last = merge.ends
        lines = [
            j
            for j in sorted({*first[:1], *last[-1:]}.intersection(merge.inserted))
            if _EDGE_TAG.search(merge.new[j]) and merge.new_keys[j] not in merge.content_keys
        ]
        if lines:
            message = (
                f"line {lines[0] + 1} of the result, {shown(merge.new[lines[0]])}, begins or ends "
                "the text with a tag of the prompt"
            )
            yield self.finding(message, lines)


def _foreign(
    check: Check, merge: Context, patterns: list[re.Pattern[str]], what: str
) -> Iterator[Finding]:
    """Find new lines with a pattern whose very words occur neither in the file nor in the edit."""
    lines: list[int] = []
    # An answer of code is written by a model: what it has around the code is no excuse.
    answer = merge.edit.format in (EditFormat.WHOLE, EditFormat.LAZY) and merge.original.strip()
    first, last = merge.ends
    edges = {*first[:1], *last[-1:]} if answer else set()
    for j in merge.inserted:
        line = merge.new[j]
        hits = [m[0].strip() for p in patterns if (m := (p.search(line)))]
        alone = j in edges and any(p.fullmatch(line.strip()) for p in patterns)
        excuse = "" if alone else merge.edit_text
        if any(hit not in merge.original and hit not in excuse for hit in hits):
            lines.append(j)
    if lines:
        message = (
            f"line {lines[0] + 1} of the result, {shown(merge.new[lines[0]])}, has {what}, which "
            "neither the file nor the edit has"
        )
        yield check.finding(message, lines)
