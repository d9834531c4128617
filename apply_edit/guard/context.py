"""A merge under examination, and everything that more than one check derives from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from apply_edit.align import Op, line_ops
from apply_edit.guard.hunks import readings, spliced
from apply_edit.guard.judge import Judgement, judge
from apply_edit.guard.keys import loose
from apply_edit.guard.reach import Reach, reach_of
from apply_edit.guard.remarks import remark_lines
from apply_edit.guard.whole_blocks import removed_on_request, restated_lines
from apply_edit.syntax import Definition, canonical_language, definitions, has_grammar
from apply_edit.text import split_lines
from apply_edit.types import EditFormat, Hunk, ParsedEdit

# Parsing takes about a second per megabyte and is done up to four times; larger files go without.
_SYNTAX_LIMIT = 400_000
# How many lines from either end a model's opening or closing words may take.
_EDGE_LINES = 6


@dataclass(frozen=True)
class Context:
    """A merge, and what the checks derive from it; each derived value is computed once.

    Args:
        original: The file before.
        text: The file after.
        edit: The edit, narrowed to this file.
        language: Any name of the language; None where unknown.
        truncated: The model stopped at its limit.
    """

    original: str
    text: str
    edit: ParsedEdit
    language: str | None
    truncated: bool

    @cached_property
    def old(self) -> list[str]:
        """Lines of the original without line ends."""
        return [line.rstrip("\r\n") for line in split_lines(self.original)]

    @cached_property
    def new(self) -> list[str]:
        """Lines of the result without line ends."""
        return [line.rstrip("\r\n") for line in split_lines(self.text)]

    @cached_property
    def old_keys(self) -> list[str]:
        """Loose keys of the original's lines."""
        return [loose(line) for line in self.old]

    @cached_property
    def new_keys(self) -> list[str]:
        """Loose keys of the result's lines."""
        same = [op for op in self.ops if op.kind == "equal"]
        keys = [""] * len(self.new)
        for op in same:
            keys[op.new_start : op.new_end] = self.old_keys[op.old_start : op.old_end]
        for op in self.changes:
            for j in range(op.new_start, op.new_end):
                keys[j] = loose(self.new[j])
        return keys

    @cached_property
    def ops(self) -> list[Op]:
        """Alignment of ``old`` and ``new``."""
        return line_ops(self.old, self.new)

    @cached_property
    def changes(self) -> list[Op]:
        """The ops that are not ``equal``."""
        return [op for op in self.ops if op.kind != "equal"]

    @cached_property
    def inserted(self) -> list[int]:
        """Indexes of result lines that are not lines of the original, in order."""
        return [j for op in self.changes for j in range(op.new_start, op.new_end)]

    @cached_property
    def ends(self) -> tuple[list[int], list[int]]:
        """Indexes of the first and of the last few result lines that are not blank."""
        solid = (j for j, line in enumerate(self.new) if line.strip())
        last = (j for j in reversed(range(len(self.new))) if self.new[j].strip())
        return list(islice(solid, _EDGE_LINES)), list(islice(last, _EDGE_LINES))[::-1]

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """All hunks of a structured edit."""
        return tuple(hunk for file in self.edit.files for hunk in file.hunks)

    @cached_property
    def structured(self) -> bool:
        """The edit names old and new text itself."""
        return bool(self.edit.files)

    @cached_property
    def edit_text(self) -> str:
        """Everything that the edit says, for the question whether it says something at all."""
        parts = [self.edit.snippet or "", self.edit.instruction or ""]
        parts += [part for hunk in self.hunks for pair in readings(hunk) for part in pair]
        return "\n".join(parts)

    @cached_property
    def content_keys(self) -> frozenset[str]:
        """Loose keys of the lines that the edit wants in the file: snippet or new text."""
        parts = [self.edit.snippet or ""]
        parts += [new for hunk in self.hunks for _, new in readings(hunk)]
        return frozenset(loose(line) for part in parts for line in split_lines(part))

    @cached_property
    def grammar(self) -> str | None:
        """Language to parse with, or None: unknown, no grammar, or a file too large to parse."""
        if max(len(self.original), len(self.text)) > _SYNTAX_LIMIT:
            return None
        return canonical_language(self.language) if has_grammar(self.language) else None

    @cached_property
    def definitions(self) -> list[Definition]:
        """Definitions of the original; none without a grammar."""
        return [] if self.grammar is None else definitions(self.original, self.grammar)

    @cached_property
    def wanted(self) -> Counter[str] | None:
        """How often each line must be in the result, where the edit says that for every line."""
        text = self.edit.snippet if self.edit.format is EditFormat.WHOLE else None
        if self.structured:
            text = spliced(self.original, self.hunks)
        return None if text is None else Counter(loose(line) for line in split_lines(text))

    @cached_property
    def restated(self) -> set[int]:
        """Original lines of definitions that the snippet writes out in full."""
        return restated_lines(self)

    @cached_property
    def old_remarks(self) -> frozenset[int]:
        """Original lines that are comment or docstring."""
        return remark_lines(self.old, canonical_language(self.language))

    @cached_property
    def new_remarks(self) -> frozenset[int]:
        """Result lines that are comment or docstring."""
        return remark_lines(self.new, canonical_language(self.language))

    @cached_property
    def on_request(self) -> set[int]:
        """Original lines of definitions that the snippet asks to remove."""
        return removed_on_request(self)

    @cached_property
    def reach(self) -> Reach:
        """What the snippet covers of the result."""
        return reach_of(self.edit.snippet or "", self.old_keys, self.new_keys)

    @cached_property
    def judgement(self) -> Judgement:
        """Changed lines that the edit does not account for."""
        return judge(self)

    @property
    def is_prose(self) -> bool:
        """The file is a document, in which fences and sentences are content."""
        return canonical_language(self.language) in {"markdown", "rst", "text", "asciidoc", "latex"}

    @property
    def by_instruction(self) -> bool:
        """The edit is a sentence, so that nothing says which lines it means."""
        return self.edit.format is EditFormat.INSTRUCTION
