"""How likely the next draft tokens are to be accepted, learned from every token that was written.

Copying is all or nothing: runs of hundreds of tokens, then an edit. So acceptances are not taken to
be independent with one rate. What is estimated is the *hazard*, the chance that a draft token is
wrong given that those before it were right, and it depends on how long draft and output have agreed
by then (*trust*): right after a divergence every other token is wrong, after 64 agreeing tokens one
in hundreds. One Beta posterior per region, source and step of trust; its mean is

    alpha = (a + accepted) / (a + accepted + b + diverged)

Evidence costs nothing: a draft that was cut, or not offered at all, is compared with what the
target wrote anyway.

Knows neither models nor files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proposers import Draft

Floats = NDArray[np.float64]
Run = tuple[str, str, int]
"""Region, source, number of tokens."""

# Steps of trust: the first token of the output; after eight or more drafts in a row whose first
# token was wrong, after four, two, one; after 1, 2, 4, … agreeing tokens; where a draft goes on
# with another source or region. A draft model copies nothing: one step for all of its tokens.
STEPS = (
    "start", "wrong 8", "wrong 4", "wrong 2", "wrong 1",
    "1", "2", "4", "8", "16", "32", "64", "256", "border", "model",
)  # fmt: skip
_START, _BORDER, _MODEL = 0, len(STEPS) - 2, len(STEPS) - 1
DRAFT_MODEL = "draft_model"
_WRONG = ((8, 1), (4, 2), (2, 3), (1, 4))
_AGREED = ((256, 12), (64, 11), (32, 10), (16, 9), (8, 8), (4, 7), (2, 6), (1, 5))
# To begin right is worth as much trust as this many agreeing tokens.
_TRUST_AT_START = 64
_REGION_OF_SOURCE = {"snippet": "edit", "draft_model": "novel", "echo": "edit"}


@dataclass(frozen=True, slots=True)
class Trust:
    """Where copying stands.

    Args:
        agreed: Tokens for which draft and output have agreed since they last parted; -1 at the
            start of the output.
        wrong: Drafts in a row whose first token was wrong.
    """

    agreed: int = -1
    wrong: int = 0

    def after(self, agreed: int, *, diverged: bool) -> Trust:
        """Return the trust after a draft that was right for ``agreed`` tokens.

        >>> Trust(5).after(3, diverged=False), Trust(5).after(3, diverged=True)
        (Trust(agreed=8, wrong=0), Trust(agreed=0, wrong=1))
        >>> Trust(0, 1).after(0, diverged=True)
        Trust(agreed=0, wrong=2)
        """
        if diverged:
            return Trust(0, 1 if agreed else self.wrong + 1)
        if agreed == 0:
            return self
        return Trust(agreed + (_TRUST_AT_START if self.agreed < 0 else self.agreed))

    @property
    def step(self) -> int:
        """Index into ``STEPS`` for the next token."""
        if self.agreed < 0 and not self.wrong:
            return _START
        steps, value = (_AGREED, self.agreed) if self.agreed > 0 else (_WRONG, self.wrong)
        return next((step for least, step in steps if value >= least), 4)


@dataclass(frozen=True, slots=True)
class Segment:
    """Draft tokens that share one posterior.

    Args:
        region: Their region.
        source: Their source.
        step: Index into ``STEPS``.
        count: How many.
    """

    region: str
    source: str
    step: int
    count: int


def runs_of(draft: Draft) -> tuple[Run, ...]:
    """Return region, source and length of each run of a draft; an unknown region is its source's.

    >>> runs_of(Draft((1, 2, 3), "original", regions=(("unchanged", 2), ("edit", 1))))
    (('unchanged', 'original', 2), ('edit', 'original', 1))
    """
    result: list[Run] = []
    regions = list(draft.regions)
    for source, count in draft.source_runs():
        if not regions:
            result.append((_REGION_OF_SOURCE.get(source, "unchanged"), source, count))
            continue
        while count and regions:
            region, left = regions[0]
            take = min(count, left)
            result.append((region, source, take))
            count -= take
            regions[0] = (region, left - take)
            if left == take:
                regions.pop(0)
    return tuple(result)


def segments(runs: Iterable[Run], trust: Trust) -> Iterator[Segment]:
    """Split runs where trust makes a step, as if every token were accepted."""
    for index, (region, source, count) in enumerate(runs):
        left = count
        if source == DRAFT_MODEL:
            yield Segment(region, source, _MODEL, count)
            continue
        if index and left:
            yield Segment(region, source, _BORDER, 1)
            trust = trust.after(1, diverged=False)
            left -= 1
        while left > 0:
            step = trust.step
            reach = _reach(trust)
            take = left if reach is None else min(left, reach)
            yield Segment(region, source, step, take)
            trust = trust.after(take, diverged=False)
            left -= take


def _reach(trust: Trust) -> int | None:
    """Return for how many tokens the step of trust stays the same; None for ever."""
    if trust.agreed <= 0:
        return 1
    above = [least for least, _ in _AGREED if least > trust.agreed]
    return min(above) - trust.agreed if above else None


@dataclass(slots=True)
class Beta:
    """A Beta posterior of one acceptance probability.

    Args:
        accepted: Pseudo-count of accepted tokens, prior included.
        diverged: Pseudo-count of divergences, prior included.
    """

    accepted: float
    diverged: float

    @property
    def mean(self) -> float:
        """The acceptance probability that is expected."""
        return self.accepted / (self.accepted + self.diverged)

    def discounted(self, share: float, most: float) -> Beta:
        """Return a share of the counts, and no more than ``most`` of them in all."""
        total = self.accepted + self.diverged
        factor = min(share, most / total) if total else 0.0
        return Beta(self.accepted * factor, self.diverged * factor)


class Acceptance:
    """Posteriors of one request.

    Args:
        earlier: Evidence of earlier requests, ``(region, source, step)`` → counts, already
            discounted; see ``carried``.
    """

    def __init__(self, earlier: dict[tuple[str, str, int], Beta] | None = None) -> None:
        self._evidence: dict[tuple[str, str, int], Beta] = {
            key: Beta(beta.accepted, beta.diverged) for key, beta in (earlier or {}).items()
        }

    def posterior(self, region: str, source: str, step: int) -> Beta:
        """Return the posterior: prior, evidence of earlier requests and of this one."""
        prior = prior_of(region, source, step)
        seen = self._evidence.get((region, source, step))
        if seen is None:
            return prior
        return Beta(prior.accepted + seen.accepted, prior.diverged + seen.diverged)

    def alphas(self, runs: Sequence[Run], trust: Trust) -> Floats:
        """Return, per token of a draft, the chance that it is right where those before it are."""
        parts = list(segments(runs, trust))
        means = [self.posterior(p.region, p.source, p.step).mean for p in parts]
        return np.repeat(np.asarray(means, dtype=np.float64), [p.count for p in parts])

    def learn(self, runs: Sequence[Run], trust: Trust, agreed: int, *, diverged: bool) -> None:
        """Take notice of how far a draft was right.

        Args:
            runs: The draft.
            trust: Where copying stood before it.
            agreed: How many of its first tokens were right.
            diverged: The one behind them was wrong; otherwise nothing is known about it.
        """
        left = agreed
        for part in segments(runs, trust):
            taken = min(left, part.count)
            ends = diverged and taken < part.count
            if taken or ends:
                key = (part.region, part.source, part.step)
                seen = self._evidence.setdefault(key, Beta(0.0, 0.0))
                seen.accepted += taken
                seen.diverged += ends
            left -= taken
            if ends or (left == 0 and not diverged):
                return

    def carried(self, share: float = 0.7, most: float = 2000.0) -> Acceptance:
        """Return posteriors for the next request of the process.

        Args:
            share: How much of the evidence stays; files differ more than passes over one file.
            most: Evidence per posterior that is kept at most, in tokens.
        """
        return Acceptance(
            {key: seen.discounted(share, most) for key, seen in self._evidence.items()}
        )


def agreement(draft: Sequence[int], ids: Sequence[int]) -> int:
    """Return for how many tokens a draft and what was written, or another draft, agree.

    >>> agreement((1, 2, 3), (1, 2, 9, 9)), agreement((1, 2, 3), (1, 2))
    (2, 2)
    """
    count = min(len(draft), len(ids))
    if tuple(draft[:count]) == tuple(ids[:count]):
        return count
    return next(place for place in range(count) if draft[place] != ids[place])


def expectations(alphas: Floats) -> Floats:
    """Return E(0), E(1), …: the tokens that a pass emits with so many draft tokens.

    With one rate for all tokens this is ``reference.expected_tokens``.

    >>> expectations(np.array([0.5, 0.5])).tolist()
    [1.0, 1.5, 1.75]
    """
    return np.concatenate(([1.0], 1.0 + np.cumsum(np.cumprod(alphas))))


# Hazard per step of trust (in the order of STEPS) as counted while copying 60 real files without
# knowing the edit; rounded.
_COPY = (
    0.02, 0.95, 0.8, 0.6, 0.5,
    0.22, 0.11, 0.055, 0.03, 0.01, 0.005, 0.002, 0.0005, 0.05,
)  # fmt: skip
_FACTORS = {"prediction": 0.2, "original": 1.0, "snippet": 1.0, "closing": 1.0}
_OTHER_FACTOR = 2.0
# New text resembles the file and never follows it for long.
_LEAST_IN_NOVEL = 0.05
# Weight of the prior in tokens. Where it is the first token that decides, a few drafts must be
# enough to learn that it is always wrong.
_WEIGHT_IN_DOUBT, _WEIGHT_IN_TRUST = 4.0, 100.0
# Accepted and rejected tokens of a draft model, counted per token and not by trust.
_MODEL_PRIOR = (7.0, 3.0)
_WRONG_STEPS = frozenset(step for _, step in _WRONG)
_DOUBTFUL = _WRONG_STEPS | {_START, 5, _BORDER}


def prior_of(region: str, source: str, step: int) -> Beta:
    """Return what is believed before any evidence."""
    if step == _MODEL:
        return Beta(*_MODEL_PRIOR)
    factor = _FACTORS.get(source, _OTHER_FACTOR)
    if step in _WRONG_STEPS:
        # A source that was wrong is no better than the others.
        factor = max(factor, 1.0)
    hazard = min(0.97, _COPY[step] * factor)
    if region == "novel":
        hazard = max(hazard, _LEAST_IN_NOVEL)
    weight = _WEIGHT_IN_DOUBT if step in _DOUBTFUL else _WEIGHT_IN_TRUST
    return Beta((1 - hazard) * weight, hazard * weight)
