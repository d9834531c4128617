"""Which further drafts join the first one in a token tree.

Where it is unclear what the output goes on with, a proposer has several guesses. Each is right one
time in ten or so, and widens the pass by its tokens. A branch that leaves the drafts before it
behind s tokens helps where the target agrees with them for s tokens and then with this branch:

    gain(m) = P(parted at s) b (1 + c1 + c1 c2 + … ) t      m terms
    cost(m) = T(width + m) - T(width)

``b`` is the chance of a draft of this rank to be right where those before it are wrong, a Beta
posterior; ``c`` the chance that a branch that began right goes on so; ``t`` the time per token of
passes like this one. The m with the largest gain - cost is taken, none where it is not positive.

So trees come by themselves where a wider pass is nearly free, and stay away where it is not. As for
``acceptance``, evidence costs nothing: branches that were not offered are compared with what the
target wrote.

Knows neither models nor files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

from apply_edit.decode.acceptance import Beta, agreement
from proposers import Draft

# Most branches of a tree beside the first draft.
MOST = 15
# Chance of a draft of each rank, and then of each further token of it, counted on 180 real edits
# whose snippets were withheld; rounded.
_BY_RANK = (0.13, 0.085, 0.08, 0.055, 0.055, 0.04, 0.045, 0.04, 0.04, 0.03, 0.025, 0.02)
_GOES_ON = (0.45, 0.6, 0.75, 0.75, 0.8, 0.85, 0.8)
# Chance of the 1st, 2nd, … token of a branch that begins right. Plain lists: arrays this short
# cost more than they save, and this is done before every pass.
_RIGHT = tuple(accumulate((1.0, *_GOES_ON), mul))
_WEIGHT = 20.0


@dataclass(frozen=True, slots=True)
class Trunk:
    """The first draft of a pass, to which branches are added.

    Args:
        draft: What is offered of it.
        reached: Chance that its first 0, 1, … tokens are right, ``[len(draft) + 1]``.
        costs: Time of the pass with 0, 1, … tokens beside the draft's,
            ``[1 + MOST * longest branch]``.
        per_token: Time per token of passes like this one.
    """

    draft: Draft
    reached: list[float]
    costs: list[float]
    per_token: float


class Branches:
    """Chooses branches, and learns what they are worth.

    One per request; see ``carried``.

    Args:
        earlier: Evidence of earlier requests by rank, already discounted.
    """

    longest = len(_GOES_ON) + 1

    def __init__(self, earlier: Sequence[Beta] = ()) -> None:
        seen = [Beta(beta.accepted, beta.diverged) for beta in earlier]
        self._evidence = seen or [Beta(0.0, 0.0) for _ in range(MOST)]

    def chance(self, rank: int) -> float:
        """Return the chance of the draft of a rank, 0 for the first behind the trunk."""
        prior, seen = _BY_RANK[min(rank, len(_BY_RANK) - 1)], self._evidence[rank]
        accepted = prior * _WEIGHT + seen.accepted
        return accepted / (_WEIGHT + seen.accepted + seen.diverged)

    def choose(self, trunk: Trunk, others: Sequence[Draft]) -> list[Draft]:
        """Return those of the other drafts that pay, cut where they stop paying.

        Drawn drafts are left out: whether one pays depends on its tokens, and leaving a draw out
        because of what it is would not be a fair draw.
        """
        # Tokens and chances of what is in the tree.
        tree = [(trunk.draft.ids, trunk.reached)]
        chosen: list[Draft] = []
        added = 0
        for rank, draft in enumerate(others[:MOST]):
            if draft.probs is not None or not len(draft):
                continue
            shared, reached = max(
                ((agreement(ids, draft.ids), chances) for ids, chances in tree),
                key=lambda pair: pair[0],
            )
            own = min(len(draft) - shared, self.longest)
            if own <= 0:
                continue
            begins = _parts_at(reached, shared) * self.chance(rank)
            length = _best_length(begins * trunk.per_token, trunk.costs[added : added + own + 1])
            if length:
                chosen.append(draft.clip(shared + length))
                right = [begins * chance for chance in _RIGHT[:length]]
                tree.append((chosen[-1].ids, reached[: shared + 1] + right))
                added += length
        return chosen

    def learn(self, drafts: Sequence[Draft], ids: Sequence[int]) -> None:
        """Take notice of which draft was right where those before it were wrong.

        Args:
            drafts: All that were at hand, the trunk first.
            ids: What was written.
        """
        if len(drafts) < 2 or not ids:
            return
        agreed = [agreement(draft.ids, ids) for draft in drafts]
        for rank, draft in enumerate(drafts[1 : MOST + 1]):
            earlier = drafts[: rank + 1]
            shared = max(agreement(one.ids, draft.ids) for one in earlier)
            own, best = agreed[rank + 1], max(agreed[: rank + 1])
            if shared < min(len(draft), len(ids)) and best == shared <= own:
                seen = self._evidence[rank]
                seen.accepted += own > shared
                seen.diverged += own == shared

    def carried(self, share: float = 0.7, most: float = 200.0) -> Branches:
        """Return what the next request of the process begins with; see ``Acceptance.carried``."""
        return Branches([seen.discounted(share, most) for seen in self._evidence])


def pays(one: float, two: float) -> bool:
    """Return whether branches can be worth their width, where T(1) and T(2) are so many seconds.

    At the most that the best branch gains there is nothing to win, and T is not that exact.
    """
    return two - one < _BY_RANK[0] / 2 * one


def _best_length(gain: float, costs: Sequence[float]) -> int:
    """Return how many tokens of a branch to offer.

    Args:
        gain: Time that its first token is expected to save.
        costs: Time of the pass with 0, 1, … of its tokens.
    """
    best, length, total = 0.0, 0, 0.0
    for count in range(1, len(costs)):
        total += gain * _RIGHT[count - 1]
        worth = total - (costs[count] - costs[0])
        if worth > best:
            best, length = worth, count
    return length


def _parts_at(reached: Sequence[float], shared: int) -> float:
    """Return the chance that a draft is right for so many tokens and wrong behind them."""
    behind = reached[shared + 1] if shared + 1 < len(reached) else 0.0
    return reached[shared] - behind
