"""What one apply cost: passes, drafts, accepted runs, seconds.

Counts follow the words of arXiv:2211.17192. ``accepted`` never counts the extra token (residual or
bonus) of a pass; ``emitted`` does. Both are counted before the output is trimmed at a stop, except
that draft tokens behind a stop are ``discarded``, so that
``drafted == accepted + rejected + discarded`` always holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any


@dataclass(frozen=True, slots=True)
class PassRecord:
    """One target pass that verified a draft (a pass that only reads the prompt has none).

    Args:
        width: Tokens that the target processed in this pass.
        drafted: Draft tokens among them.
        accepted: Length of the accepted run, ``0..drafted``.
        emitted: Tokens that became output.
        discarded: Draft tokens behind a stop.
        runs: ``(region, source, drafted, accepted)`` runs of the draft, in order.
        seconds: Wall time of the pass.
    """

    width: int
    drafted: int
    accepted: int
    emitted: int
    discarded: int = 0
    runs: tuple[tuple[str, str, int, int], ...] = ()
    seconds: float = 0.0

    @property
    def sources(self) -> tuple[tuple[str, int, int], ...]:
        """``(source, drafted, accepted)`` runs of the draft, in order."""
        grouped = groupby(self.runs, key=lambda run: run[1])
        return tuple((name, *_sums(run[2:] for run in runs)) for name, runs in grouped)

    @property
    def output_runs(self) -> list[tuple[str, str, int]]:
        """``(region, source, count)`` runs of the tokens that the pass emitted.

        The extra token is the target's own: ``corrected`` and novel where it took the place of a
        draft token, else a ``bonus`` in the region of the token before.
        """
        found = [(region, source, taken) for region, source, _, taken in self.runs if taken]
        if self.emitted > self.accepted:
            full = self.accepted == self.drafted > 0
            region = found[-1][0] if full and found else "novel"
            found.append((region, "bonus" if full else "corrected", self.emitted - self.accepted))
        return found

    @property
    def rejected(self) -> int:
        """Draft tokens that the target did not agree with (and those behind them)."""
        return self.drafted - self.accepted - self.discarded


@dataclass(slots=True)
class Report:
    """Counts and times of one apply; grows while the loop runs.

    Args:
        prompt_tokens: Tokens of the prompt.
        cached_prompt_tokens: Tokens of the prompt that were cached by an earlier request.
        windows: Windows of the file that the target rewrote; 0 where it wrote the whole file.
        prefill_passes: Passes that only read the prompt.
        records: One entry per verifying pass.
        load_s: Seconds to load the target (0 when it was loaded before).
        prefill_s: Seconds of passes that read the prompt, the fused first one included.
        decode_s: Seconds of the other passes.
        proposer_s: Seconds spent in proposers.
        draft_s: Those among them that a draft model took.
    """

    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    windows: int = 0
    prefill_passes: int = 0
    records: list[PassRecord] = field(default_factory=list)
    load_s: float = 0.0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    proposer_s: float = 0.0
    draft_s: float = 0.0

    def absorb(self, other: Report) -> None:
        """Add the counts and times of another decoding of the same apply (another window)."""
        self.prompt_tokens += other.prompt_tokens
        self.cached_prompt_tokens += other.cached_prompt_tokens
        self.prefill_passes += other.prefill_passes
        self.records += other.records
        self.load_s += other.load_s
        self.prefill_s += other.prefill_s
        self.decode_s += other.decode_s
        self.proposer_s += other.proposer_s
        self.draft_s += other.draft_s

    @property
    def passes(self) -> int:
        """Target passes that emitted output."""
        return len(self.records)

    @property
    def drafted(self) -> int:
        """Draft tokens offered."""
        return sum(record.drafted for record in self.records)

    @property
    def accepted(self) -> int:
        """Draft tokens accepted."""
        return sum(record.accepted for record in self.records)

    @property
    def emitted(self) -> int:
        """Output tokens."""
        return sum(record.emitted for record in self.records)

    @property
    def acceptance_rate(self) -> float:
        """Accepted over drafted; 0.0 when nothing was drafted."""
        drafted = self.drafted
        return self.accepted / drafted if drafted else 0.0

    @property
    def tokens_per_pass(self) -> float:
        """Output tokens per verifying target pass; 0.0 before the first."""
        return self.emitted / self.passes if self.passes else 0.0

    @property
    def run_lengths(self) -> list[int]:
        """Accepted run length of each pass, in order."""
        return [record.accepted for record in self.records]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as one JSON-serialisable object."""
        by_source: dict[str, dict[str, int]] = {}
        by_region: dict[str, dict[str, int]] = {}
        for record in self.records:
            for region, source, drafted, accepted in record.runs:
                for table, name in ((by_source, source), (by_region, region or "unknown")):
                    entry = table.setdefault(name, {"drafted": 0, "accepted": 0})
                    entry["drafted"] += drafted
                    entry["accepted"] += accepted
        histogram = Counter(self.run_lengths)
        return {
            "passes": self.passes,
            "prefill_passes": self.prefill_passes,
            "drafted": self.drafted,
            "accepted": self.accepted,
            "emitted": self.emitted,
            "prompt_tokens": self.prompt_tokens,
            "cached_prompt_tokens": self.cached_prompt_tokens,
            "windows": self.windows,
            "acceptance_rate": round(self.acceptance_rate, 4),
            "tokens_per_pass": round(self.tokens_per_pass, 2),
            "run_lengths": self.run_lengths,
            "run_length_histogram": {str(k): histogram[k] for k in sorted(histogram)},
            "by_source": by_source,
            "by_region": by_region,
            "output": [list(run) for record in self.records for run in record.output_runs],
            "seconds": {
                "load": round(self.load_s, 3),
                "prefill": round(self.prefill_s, 3),
                "decode": round(self.decode_s, 3),
                "proposer": round(self.proposer_s, 4),
                "draft": round(self.draft_s, 4),
            },
        }


def _sums(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    drafted, accepted = zip(*pairs, strict=True)
    return sum(drafted), sum(accepted)
