"""The guard: checks on a merged text before it is given to anybody.

:func:`check` lists what is wrong, :func:`enforce` refuses. Every check is a class in
:data:`CHECKS` with a name, a severity and a description; ``docs/guard.md`` has the table. The guard
compares texts; it does not know who made them, and it never changes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType

from apply_edit.errors import ConfigError, GuardRefused
from apply_edit.guard.base import Check
from apply_edit.guard.code import DuplicateDefinition, SyntaxErrors
from apply_edit.guard.context import Context
from apply_edit.guard.leaks import LeakedFence, LeakedProse, LeakedTag, LeakedThinking
from apply_edit.guard.left_markers import LeakedMarker
from apply_edit.guard.loss import CodeLost, OutsideEdit, SnippetMissing
from apply_edit.guard.renames import NameLeft
from apply_edit.guard.shape import (
    EncodingJunk,
    FileEmptied,
    NoOp,
    RepetitionLoop,
    WhitespaceOnly,
)
from apply_edit.guard.truncated import Truncated
from apply_edit.guard.unasked import UnaskedPlace
from apply_edit.types import Finding, ParsedEdit, Severity

__all__ = ["CHECKS", "Check", "check", "enforce"]

# In the order in which findings are reported: what explains most comes first.
CHECKS: Mapping[str, type[Check]] = MappingProxyType(
    {
        each.name: each
        for each in (
            Truncated,
            FileEmptied,
            LeakedMarker,
            LeakedFence,
            LeakedProse,
            LeakedThinking,
            LeakedTag,
            RepetitionLoop,
            EncodingJunk,
            CodeLost,
            OutsideEdit,
            SnippetMissing,
            UnaskedPlace,
            NameLeft,
            DuplicateDefinition,
            SyntaxErrors,
            NoOp,
            WhitespaceOnly,
        )
    }
)


def check(
    original: str,
    text: str,
    edit: ParsedEdit,
    *,
    language: str | None = None,
    truncated: bool = False,
    disabled: frozenset[str] = frozenset(),
) -> list[Finding]:
    """List everything that the checks find, in the order of :data:`CHECKS`.

    Args:
        original: The file before.
        text: The file after.
        edit: The edit; of a patch for several files, the part for this one.
        language: Language of the file by any of its names; None where unknown.
        truncated: The model stopped at its limit.
        disabled: Names of checks to leave out.

    Raises:
        ConfigError: ``disabled`` has a name that is no check's.
    """
    unknown = sorted(disabled - set(CHECKS))
    if unknown:
        message = f"there is no check {unknown[0]!r}; the checks are {', '.join(CHECKS)}"
        raise ConfigError(message, option="disabled_checks")
    merge = Context(original, text, edit, language, truncated)
    return [
        finding
        for name, each in CHECKS.items()
        if name not in disabled
        for finding in each().find(merge)
    ]


def enforce(
    original: str,
    text: str,
    edit: ParsedEdit,
    *,
    language: str | None = None,
    truncated: bool = False,
    disabled: frozenset[str] = frozenset(),
) -> list[Finding]:
    """Return the warnings about a merge, or refuse it; the arguments are those of :func:`check`.

    Raises:
        GuardRefused: At least one finding is a refusal. Its field ``findings`` has all of them.
        ConfigError: ``disabled`` has a name that is no check's.
    """
    findings = check(
        original, text, edit, language=language, truncated=truncated, disabled=disabled
    )
    refusals = [found for found in findings if found.severity is Severity.REFUSE]
    if refusals:
        others = f" (and {len(refusals) - 1} more)" if len(refusals) > 1 else ""
        message = f"the merged text was refused: {refusals[0].message}{others}"
        raise GuardRefused(message, findings=[_as_object(found) for found in findings])
    return findings


def _as_object(finding: Finding) -> dict[str, object]:
    return {**asdict(finding), "severity": finding.severity.value}
