"""Draft with a small language model that keeps a cache of its own.

Knows no framework and no probabilities: the small model is injected (``SmallModel``), and draws its
tokens itself. Here is only the bookkeeping: what the small model has seen, what it has to forget,
when to stop.

Source: arXiv:2211.17192.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from proposers.base import NOTHING, Draft


@dataclass(frozen=True, slots=True)
class Guess:
    """The small model's next token.

    Args:
        token: The token, drawn or decided.
        confidence: The largest probability of the distribution that it comes from. Of the
            distribution, not of the token: stopping may not depend on what was drawn.
        q: The distribution that the token was drawn from, ``[vocab]``; None if it was not drawn.
    """

    token: int
    confidence: float
    q: Any = None


class SmallModel(Protocol):
    """A model with a cached sequence."""

    @property
    def context_limit(self) -> int:
        """Most ids that can be cached."""
        ...

    @property
    def length(self) -> int:
        """Number of cached ids."""
        ...

    def rollback(self, length: int) -> None:
        """Forget all but the first ``length`` ids."""
        ...

    def extend(self, ids: Sequence[int]) -> Guess:
        """Append ids (at least one) and return the token that follows."""
        ...


class DraftModel:
    """Let a small model continue the output.

    Args:
        model: The small model, its cache empty.
        prompt: Prompt ids; the small model reads them before its first draft.
        floor: Stop before a token whose distribution is less sure than this.
        ends: Tokens behind which nothing is drafted.
    """

    def __init__(
        self,
        model: SmallModel,
        prompt: Sequence[int],
        floor: float = 0.0,
        ends: frozenset[int] = frozenset(),
    ) -> None:
        self._model = model
        self._prompt = tuple(prompt)
        self._floor = floor
        self._ends = ends
        self._fed: list[int] = []
        self._agreed = 0

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Return what the small model would write; see ``Proposer.propose``."""
        # All but the last proposed token are fed, too.
        room = self._model.context_limit - len(self._prompt) - len(output) + 1
        limit = min(limit, room)
        if limit <= 0:
            return NOTHING
        pending = self._catch_up(output)
        ids: list[int] = []
        probs: list[Any] = []
        while True:
            guess = self._model.extend(pending)
            self._fed += pending
            if guess.confidence < self._floor:
                break
            ids.append(guess.token)
            probs.append(guess.q)
            if len(ids) == limit or guess.token in self._ends:
                break
            pending = [guess.token]
        # One drawn token makes the draft a drawn one; the model draws all of them or none.
        drawn = any(q is not None for q in probs)
        return Draft(tuple(ids), "draft_model", probs=probs if drawn else None)

    def _catch_up(self, output: Sequence[int]) -> list[int]:
        """Roll the small model back to what was kept; return the ids that it has not seen.

        The newest id is always among them: its row is the first that is needed.
        """
        start = len(self._prompt)
        total = start + len(output)
        # Everything up to the last proposal has been compared before.
        same = min(self._agreed, len(self._fed))
        while same < min(len(self._fed), total - 1) and self._fed[same] == self._at(output, same):
            same += 1
        self._agreed = same
        self._model.rollback(same)
        del self._fed[same:]
        return [self._at(output, place) for place in range(same, total)]

    def _at(self, output: Sequence[int], place: int) -> int:
        start = len(self._prompt)
        return self._prompt[place] if place < start else output[place - start]
