"""Why a pass got the draft that it got: what ``--explain`` prints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """Why a pass got the draft that it got; for ``--explain``.

    Args:
        number: Number of the pass, from 1.
        prefix_length: Tokens in the cache.
        head: Tokens of the pass that are no draft.
        drafted: Length of the draft that was on offer.
        runs: Region, source, length and mean acceptance of each of its runs.
        first: Chance that its first token is right.
        costs: ``(width, seconds)`` entries of the cost table.
        is_measured: The seconds are a measurement; otherwise a usual shape, corrected by the passes
            of this process.
        gamma: How many tokens are offered.
        expected: Tokens that the pass is expected to emit.
        seconds: Expected time of the pass.
        plain: Tokens per second without a draft.
    """

    number: int
    prefix_length: int
    head: int
    drafted: int
    runs: tuple[tuple[str, str, int, float], ...]
    first: float
    costs: tuple[tuple[int, float], ...]
    is_measured: bool
    gamma: int
    expected: float
    seconds: float
    plain: float

    @property
    def tokens_per_second(self) -> float:
        """What the pass is expected to give."""
        return self.expected / self.seconds


def explain_line(decision: Decision) -> str:
    """Return a decision as one line for people."""
    runs = " + ".join(
        f"{region}/{source} {count} (alpha {alpha:.4g})"
        for region, source, count, alpha in decision.runs
    )
    unit = "s" if decision.is_measured else "x"
    costs = " ".join(f"{width}:{seconds:.3g}{unit}" for width, seconds in decision.costs)
    return (
        f"pass {decision.number}: after {decision.prefix_length} tokens, head {decision.head}, "
        f"draft {runs or 'none'}; first token {decision.first:.2f}; T {costs}; "
        f"gamma {decision.gamma}: {decision.expected:.1f} tokens in {decision.seconds:.3g} {unit} "
        f"= {decision.tokens_per_second:.3g}/{unit}, plain {decision.plain:.3g}/{unit}"
    )
