"""Records that cross module borders: plain data, no behaviour beyond derived values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apply_edit.report import Report


class EditFormat(StrEnum):
    """How an edit is written."""

    LAZY = "lazy"
    UDIFF = "udiff"
    SEARCH_REPLACE = "search_replace"
    ROO_DIFF = "roo_diff"
    V4A = "v4a"
    STR_REPLACE = "str_replace"
    WHOLE = "whole"
    INSTRUCTION = "instruction"


class Severity(StrEnum):
    """What a finding of the guard does to the result."""

    WARN = "warn"
    REFUSE = "refuse"


class FileOp(StrEnum):
    """What an edit does to one file."""

    UPDATE = "update"
    ADD = "add"
    DELETE = "delete"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the caller should know about a result that is good nevertheless.

    Args:
        code: A stable word for programs, for example ``looser_match``.
        message: One sentence for people.
        lines: 1-based line numbers of the *result* (or of the edit where the message says so).
    """

    code: str
    message: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Hunk:
    r"""One change: old text to be found in the file and the new text that takes its place.

    Args:
        old: Text to find, in the edit's own spelling; ``""`` for a pure insertion or a new file.
        new: Text to put there; ``""`` for a pure deletion.
        anchors: Lines (in order) after which the place must be searched, as V4A ``@@`` lines or the
            section heading of a diff give them.
        heading: What a diff writes behind the numbers of ``@@``: a line above the place, as far as
            the tool that wrote it could tell. A hint that only chooses among equal places.
        start_line: 1-based line that the edit claims for ``old``; a hint, never trusted alone.
        whole_lines: True where ``old`` and ``new`` are sequences of whole lines, False where they
            are pieces of text (``str_replace``).
        replace_all: Every occurrence is meant.
        occurrences: How many occurrences the edit expects; None where it does not say.
        at_end: ``old`` must end at the end of the file.
        edit_line: 1-based line of the edit where the hunk begins, for messages.
        insert_after: For a pure insertion that names its place by number: how many lines of the
            file stand before it (0 is the top of the file).
        readings: Other ``(old, new)`` pairs that the same lines of the edit may mean, tried after
            the first one at every step of the search.
        kinds: For a hunk of a diff: the sign of each of its lines (`` ``, ``-``, ``+``), which says
            which of several equal lines goes.
    """

    old: str
    new: str
    anchors: tuple[str, ...] = ()
    start_line: int | None = None
    whole_lines: bool = True
    replace_all: bool = False
    occurrences: int | None = None
    at_end: bool = False
    edit_line: int | None = None
    insert_after: int | None = None
    readings: tuple[tuple[str, str], ...] = ()
    kinds: str = ""
    heading: str | None = None


@dataclass(frozen=True, slots=True)
class FileEdit:
    """What an edit does to one file.

    Args:
        path: Path as the edit writes it, or ``None`` where the edit names none.
        op: Update, add, delete, or replace the whole content.
        hunks: Changes in the edit's order. For ``ADD`` and ``REPLACE`` one hunk with ``old == ""``.
        move_to: New path for a move.
        ordered: The format puts hunks in the order of the file (diffs, V4A patches), so the order
            may tell equal places apart.
        executable: Whether the file shall be a program; None where the edit does not say.
    """

    path: str | None
    op: FileOp = FileOp.UPDATE
    hunks: tuple[Hunk, ...] = ()
    move_to: str | None = None
    ordered: bool = False
    executable: bool | None = None


@dataclass(frozen=True, slots=True)
class ParsedEdit:
    """An edit in its intermediate form, whatever it was written in.

    Args:
        format: The format it was written in.
        files: For structured formats: one entry per file. Empty for lazy, whole and instruction.
        snippet: For ``LAZY`` and ``WHOLE``: the code, taken out of fence and prose.
        instruction: The sentence, for ``INSTRUCTION`` or accompanying another format.
        notices: What the parser had to overlook (a wrong count, a missing header).
    """

    format: EditFormat
    files: tuple[FileEdit, ...] = ()
    snippet: str | None = None
    instruction: str | None = None
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class HunkOutcome:
    """What became of one hunk.

    Args:
        status: ``applied``, ``already_applied``, ``no_op`` or ``failed``.
        step: Name of the search step that found it (``exact``, ``trailing_space``, …).
        start_line: 1-based line of the original where it was applied.
        score: Similarity in 0..1 of the place that was found; 1.0 for an exact match.
    """

    status: str
    step: str = "exact"
    start_line: int | None = None
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class DirectResult:
    """A structured edit applied without a model.

    Args:
        text: The new text.
        outcomes: One per hunk, in the edit's order.
        notices: Looser matches, overlooked faults of the edit.
        deleted: The edit deletes the file (``text`` is then ``""``).
        moved_to: New path, where the edit moves the file.
        hunks: The hunks in the reading that was applied, one per hunk of the edit; empty where the
            edit has none (a new, whole or deleted file).
    """

    text: str
    outcomes: tuple[HunkOutcome, ...] = ()
    notices: tuple[Notice, ...] = ()
    deleted: bool = False
    moved_to: str | None = None
    hunks: tuple[Hunk, ...] = ()


@dataclass(frozen=True, slots=True)
class LazyMerge:
    """A lazy snippet merged without a model, unique under the plain reading.

    Args:
        text: The merged text.
        notices: What the reader may want to know.
        spans: ``(start, end)`` half-open 0-based *line* spans of ``text`` that come from the
            snippet and not from the original.
    """

    text: str
    notices: tuple[Notice, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check of the guard found in a merged text.

    Args:
        check: Name of the check, for example ``leaked_marker``.
        severity: Refuse or warn.
        message: What, where, what to do.
        lines: ``(start, end)`` half-open 0-based line spans of the merged text.
        detail: The near miss: first differing line, lost lines, … JSON-serialisable.
    """

    check: str
    severity: Severity
    message: str
    lines: tuple[tuple[int, int], ...] = ()
    detail: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HunkScore:
    """How sure the target was of one change.

    Args:
        start_line: 1-based first line of the change in the result.
        end_line: Its last line; one less than ``start_line`` where lines were only taken away.
        mean_logprob: Mean log-probability of its tokens.
        confidence: The smallest probability of any of its tokens, in 0..1.
    """

    start_line: int
    end_line: int
    mean_logprob: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Try:
    """One try at a text that the target was asked for.

    Args:
        scope: What the target saw: ``file``, ``windows`` or ``wider`` windows; ``confirm`` is the
            same file in other words, ``merge`` the deterministic merge, which needs no target.
        refused: Code of the error that ended the try, None where its text was good.
        message: What was wrong.
    """

    scope: str
    refused: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class EditResult:
    """A merged file.

    Args:
        text: The merged text, line ends and all; encode it with ``SourceText.to_bytes``.
        strategy: ``direct`` (spliced or merged without a model), ``model`` (written by the target),
            ``merge`` (the deterministic merge, because the target's text was refused).
        format: The format that the edit was taken for.
        warnings: What the caller should know.
        report: What the target did, or None where no model ran.
        agreement: Whether target and deterministic merge wrote the same text; None where only one
            of them spoke.
        deleted: The edit deletes the file; ``text`` is then ``""``.
        moved_to: New path, where the edit moves the file.
        executable: Whether the file shall be a program; None where the edit does not say.
        tries: What was tried to get the text, in order; empty where no target was asked.
        hunks: How sure the target was of each change that it made.
        confidence: The smallest probability that the target gave to any word of its text, in 0..1;
            None where the text is not the target's.
    """

    text: str
    strategy: str
    format: EditFormat
    warnings: tuple[Notice, ...] = ()
    report: Report | None = None
    agreement: bool | None = None
    deleted: bool = False
    moved_to: str | None = None
    tries: tuple[Try, ...] = ()
    hunks: tuple[HunkScore, ...] = ()
    confidence: float | None = None
    executable: bool | None = None


def notices_of(findings: Iterable[Finding]) -> tuple[Notice, ...]:
    """Return what the caller should know of findings that do not refuse."""
    return tuple(
        Notice(f.check, f.message, tuple(start + 1 for start, _ in f.lines)) for f in findings
    )
