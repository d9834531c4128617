"""What a check of the guard is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from apply_edit.guard.context import Context
from apply_edit.guard.keys import to_spans
from apply_edit.types import Finding, Severity


class Check(ABC):
    """One question about a merge. A check has no state; ``severity`` is its worst answer."""

    name: ClassVar[str]
    severity: ClassVar[Severity]
    description: ClassVar[str]

    @abstractmethod
    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield what is wrong with the merge."""

    def finding(
        self,
        message: str,
        lines: Sequence[int] = (),
        severity: Severity | None = None,
        **detail: object,
    ) -> Finding:
        """Make a finding of this check.

        Args:
            message: What, where, what to do.
            lines: 0-based indexes of result lines, increasing; they are joined to spans.
            severity: Where it is less than the worst answer.
            **detail: The near miss.
        """
        return Finding(self.name, severity or self.severity, message, to_spans(lines), detail)
