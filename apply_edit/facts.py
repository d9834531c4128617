"""A result as plain JSON values: the same for the command line and the service."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from apply_edit.types import EditResult


def facts_of(result: EditResult) -> dict[str, Any]:
    """Return everything about a result but its text."""
    return {
        "strategy": result.strategy,
        "format": result.format.value,
        "warnings": [asdict(notice) for notice in result.warnings],
        "agreement": result.agreement,
        "confidence": result.confidence,
        "hunks": [asdict(hunk) for hunk in result.hunks],
        "tries": [asdict(each) for each in result.tries],
        "report": None if result.report is None else result.report.to_dict(),
        "deleted": result.deleted,
        "moved_to": result.moved_to,
    }
