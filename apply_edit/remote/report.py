"""What a target in another process did, as that process counted it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apply_edit.report import Report


class ReceivedReport(Report):
    """A report of which only the totals are known, not the single passes.

    Args:
        data: What ``Report.to_dict`` gave on the other side.

    Raises:
        KeyError: A total is missing.
        TypeError, ValueError: One has the wrong kind.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        seconds = data["seconds"]
        super().__init__(
            prompt_tokens=int(data["prompt_tokens"]),
            cached_prompt_tokens=int(data["cached_prompt_tokens"]),
            windows=int(data["windows"]),
            prefill_passes=int(data["prefill_passes"]),
            load_s=float(seconds["load"]),
            prefill_s=float(seconds["prefill"]),
            decode_s=float(seconds["decode"]),
            proposer_s=float(seconds["proposer"]),
            draft_s=float(seconds["draft"]),
        )
        self._data = dict(data)
        self._counts = {
            name: int(data[name]) for name in ("passes", "drafted", "accepted", "emitted")
        }
        self._run_lengths = [int(length) for length in data["run_lengths"]]

    @property
    def passes(self) -> int:
        """Target passes that emitted output."""
        return self._counts["passes"]

    @property
    def drafted(self) -> int:
        """Draft tokens offered."""
        return self._counts["drafted"]

    @property
    def accepted(self) -> int:
        """Draft tokens accepted."""
        return self._counts["accepted"]

    @property
    def emitted(self) -> int:
        """Output tokens."""
        return self._counts["emitted"]

    @property
    def run_lengths(self) -> list[int]:
        """Accepted run length of each pass, in order."""
        return self._run_lengths

    def to_dict(self) -> dict[str, Any]:
        """Return what was received."""
        return dict(self._data)
