"""How long the next draft may be: the policy that knows what passes cost.

A draft is cut where the time of this pass and of what is left to write after it is least:

    gamma  = argmin over g of  T(head + g) + E[V(what is left)]
    V(n)   = n min over w <= n of  T(w) / E(w - 1)
    E(g)   = 1 + a1 + a1 a2 + … + a1 … ag

``ai`` is the chance that draft token i is right given those before it (``acceptance``), ``T`` the
time of a pass (``cost``). V says what an accepted token saves: the time to write it later, at the
best rate. Where a pass is one of many alike, this is the g with the most tokens per second,
``E(g) / T(1 + g)``. See docs/gamma.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from apply_edit.decode.acceptance import (
    DRAFT_MODEL,
    Acceptance,
    Floats,
    Run,
    Trust,
    agreement,
    expectations,
    runs_of,
)
from apply_edit.decode.branches import MOST, Branches, Trunk, pays
from apply_edit.decode.cost import WIDTHS, PassCost
from apply_edit.decode.decision import Asked, Decision, explain_line
from apply_edit.decode.drawn import LONGEST_DRAWN, Price, ask
from apply_edit.report import PassRecord
from proposers import Draft

__all__ = [
    "LONGEST_DRAFT",
    "CostGamma",
    "Decision",
    "best_cut",
    "expectations",
    "explain_line",
]

LONGEST_DRAFT = 4096
# Rows of the language model head that are computed whatever the first of them says.
_HEAD_CHUNK = 64


class CostGamma:
    """Maximise expected tokens per second over the draft at hand.

    One per request. Hand ``acceptance.carried()`` to the policy of the next request.

    Args:
        cost: T of the target; shared by all requests, corrected by every pass.
        acceptance: What earlier requests have taught, None for nothing.
        branches: What they have taught about token trees, None for nothing.
        expected_tokens: A guess of the output's length, None for no guess.
        longest: Longest draft that is looked at.
        learns_cost: Passes of this request are passes of its own, so their times say something
            about T. False in a batch.
    """

    def __init__(
        self,
        cost: PassCost,
        acceptance: Acceptance | None = None,
        branches: Branches | None = None,
        *,
        expected_tokens: int | None = None,
        longest: int = LONGEST_DRAFT,
        learns_cost: bool = True,
    ) -> None:
        self._cost = cost
        self.acceptance = acceptance or Acceptance()
        self.branches = branches or Branches()
        self._expected = expected_tokens
        self._longest = longest
        self._learns_cost = learns_cost
        self._trust = Trust()
        self._written = 0
        self._offered: Draft | None = None
        self._others: Sequence[Draft] = ()
        self._chosen: tuple[Floats, int, int] | None = None
        self._prefix = 0
        self._asked: Asked | None = None
        self.decisions: list[Decision] = []

    def limit(self) -> int:
        """Return the longest draft that is looked at; a copy costs nothing to make."""
        return self._longest

    def drawn_limit(self, price: Price) -> int:
        """Return how many tokens a draft model should draft now; see ``drawn.ask``."""
        if not self._cost.is_in_seconds:
            return 0
        most = min(self._longest, LONGEST_DRAWN)
        alphas = self.acceptance.alphas((("novel", DRAFT_MODEL, most),), self._trust)
        self._asked = ask(alphas, self._cost.at(np.arange(1, most + 2), self._prefix), price)
        return self._asked.limit

    def choose(self, draft: Draft, prefix_length: int, head: int) -> int:
        """Return where to cut a draft; see ``GammaPolicy.choose``."""
        self._offered, self._prefix = draft, prefix_length
        runs = runs_of(draft)
        alphas = self.acceptance.alphas(runs, self._trust)
        expected = expectations(alphas)
        costs = self._cost.at(np.arange(head, head + len(alphas) + 1), prefix_length)
        if draft.probs is not None or not len(draft):
            gamma = len(draft)
        else:
            gamma = best_cut(alphas, costs, self._value(runs, len(draft)))
        self._explain(runs, alphas, head, gamma, float(expected[gamma]), float(costs[gamma]))
        self._asked = None
        self._chosen = (alphas, head, gamma)
        return gamma

    @property
    def is_branching(self) -> bool:
        """Whether a branch can pay on this device."""
        one, two = self._cost.at(np.arange(1, 3), self._prefix).tolist()
        return pays(one, two)

    def branch(self, others: Sequence[Draft]) -> list[Draft]:
        """Return the branches that pay; see ``branches``."""
        trunk = self._trunk()
        if trunk is None:
            return []
        self._others = others
        chosen = self.branches.choose(trunk, others)
        self.decisions[-1] = replace(self.decisions[-1], branches=tuple(map(len, chosen)))
        return chosen

    def observe(self, record: PassRecord, ids: Sequence[int]) -> None:
        """Learn from what was written behind the draft, offered or not."""
        self._written += len(ids)
        draft, self._offered = self._offered, None
        if draft is not None:
            self.branches.learn((draft, *self._others), ids)
        self._others = ()
        if draft is not None and len(draft):
            agreed = agreement(draft.ids, ids)
            diverged = agreed < min(len(draft), len(ids))
            self.acceptance.learn(runs_of(draft), self._trust, agreed, diverged=diverged)
            # A draft model copies nothing, so its success says nothing about copying.
            copied = agreed - (runs_of(draft)[0][2] if draft.source == DRAFT_MODEL else 0)
            if copied > 0 or draft.source != DRAFT_MODEL:
                self._trust = self._trust.after(copied, diverged=diverged)
        # Behind a rejection the head is not computed: such a pass would make T look cheap.
        if self._learns_cost and record.drafted < record.accepted + _HEAD_CHUNK:
            self._cost.observe(record.width, self._prefix, record.seconds)

    def _value(self, runs: Sequence[Run], length: int) -> Floats:
        """Return the time to write what is left after 0, 1, 2, … more tokens.

        What is left is written in equal passes of the best width that fits into it, with the trust
        that one more agreeing token gives: in doubt that says what waiting for a token is worth.
        """
        closed = runs[-1][1] == "closing"
        if closed:
            # The draft reaches to the end of the output.
            left = length
        elif self._expected is None:
            left = length + self._longest
        else:
            left = max(self._expected - self._written, length + 1)
        region, source, _ = max(runs, key=lambda run: run[2])
        beyond = () if closed else ((region, source, self._longest - length),)
        later = self._trust.after(1, diverged=False)
        steady = self.acceptance.alphas((*runs, *beyond), later)
        widths = np.arange(1, len(steady) + 2)
        per_token = self._cost.at(widths, self._prefix) / expectations(steady)
        best = np.minimum.accumulate(per_token)
        rest = np.maximum(left - np.arange(length + 2), 0)
        return np.asarray(rest * best[np.clip(rest, 1, len(best)) - 1], dtype=np.float64)

    def _trunk(self) -> Trunk | None:
        """Return what branches are added to; None where the first draft was drawn."""
        draft = self._offered
        if draft is None or draft.probs is not None or self._chosen is None:
            return None
        alphas, head, gamma = self._chosen
        reached = np.concatenate(([1.0], np.cumprod(alphas[:gamma])))
        start = head + gamma
        costs = self._cost.at(np.arange(start, start + MOST * Branches.longest + 1), self._prefix)
        alone = self._cost.seconds(1 + gamma, self._prefix)
        per_token = alone / float(reached.sum())
        return Trunk(draft.clip(gamma), reached.tolist(), costs.tolist(), per_token)

    def _explain(
        self,
        runs: Sequence[Run],
        alphas: Floats,
        head: int,
        gamma: int,
        expected: float,
        seconds: float,
    ) -> None:
        ends = np.cumsum([count for _, _, count in runs], dtype=int)
        means = [
            (region, source, count, float(alphas[end - count : end].mean()))
            for (region, source, count), end in zip(runs, ends, strict=True)
            if count
        ]
        marks = sorted({1, *(w for w in WIDTHS if w <= head + len(alphas)), head + gamma})
        times = self._cost.at(np.asarray(marks), self._prefix)
        self.decisions.append(
            Decision(
                number=len(self.decisions) + 1,
                prefix_length=self._prefix,
                head=head,
                drafted=len(alphas),
                runs=tuple(means),
                first=float(alphas[0]) if len(alphas) else 0.0,
                costs=tuple(zip(marks, times.tolist(), strict=True)),
                is_measured=self._cost.measured,
                gamma=gamma,
                expected=expected,
                seconds=seconds,
                plain=1.0 / float(times[0]),
                asked=self._asked,
            )
        )


def best_cut(alphas: Floats, costs: Floats, value: Floats) -> int:
    """Return the g that minimises the time of the pass and of what is left after it.

    Args:
        alphas: Chance of each draft token given those before it, ``[n]``.
        costs: Time of the pass with 0, 1, …, n draft tokens, ``[n + 1]``.
        value: Time to write what is left after 0, 1, …, n + 1 more tokens, ``[n + 2]``.
    """
    reached = np.concatenate(([1.0], np.cumprod(alphas)))
    # A pass that stops after k accepted tokens has emitted k + 1.
    parted = np.concatenate(([0.0], np.cumsum((reached[:-1] - reached[1:]) * value[1:-1])))
    return int(np.argmin(costs + parted + reached * value[1:]))
