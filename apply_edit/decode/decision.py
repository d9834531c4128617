"""Why a pass got the draft that it got: what ``--explain`` prints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """Whether a draft model was asked before a pass, and why; for ``--explain``.

    Args:
        limit: Tokens that it may draft; 0: it was not asked.
        alpha: Chance that one of them is right.
        price_s: Seconds per token.
        reading_s: Seconds to read what it has not seen.
        waited: Passes in novel text without it.
        saved_s: Seconds that a token saves.
    """

    limit: int
    alpha: float
    price_s: float
    reading_s: float
    waited: int
    saved_s: float


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
        asked: What was decided about a draft model, None where it was out of the question.
        branches: Length of each further draft of a token tree.
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
    asked: Asked | None = None
    branches: tuple[int, ...] = ()

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
        f"{_branches(decision.branches)}{'' if decision.asked is None else _asked(decision.asked)}"
    )


def _branches(lengths: tuple[int, ...]) -> str:
    """Return the part of a line that is about further drafts."""
    return f"; branches {' '.join(map(str, lengths))}" if lengths else ""


def _asked(asked: Asked) -> str:
    """Return the part of a line that is about the draft model."""
    what = f"asked for {asked.limit}" if asked.limit else "not asked"
    return (
        f"; draft model {what}: alpha {asked.alpha:.2f}, {asked.price_s:.3g} s and "
        f"{asked.saved_s:+.3g} s saved a token, {asked.reading_s:.2g} s to read, "
        f"{asked.waited} passes waited"
    )
