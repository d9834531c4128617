"""Draft with a small language model that keeps a cache of its own.

Knows no framework and no probabilities: the small model is injected (``SmallModel``), and draws its
tokens itself. Here is only the bookkeeping: what the small model has seen, what it has to forget,
when to stop.

Drafting stops before an unsure token, behind an ending one, and where its tokens lead back into a
text that can be copied: from there on copying is surer, and free. A deterministic draft goes on
with that copy; a drawn one ends there, because a policy may cut copies and no drawn token.

Source: arXiv:2211.17192.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from proposers.base import NOTHING, Draft
from proposers.file_cursor import Cursor
from proposers.reference import NOVEL, labelled

# Agreeing tokens after which copying has resumed; fewer than what moves a cursor's home, because
# a wrong guess ends a draft early and does no more harm than that.
_RESUMED = 4


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

    def extend(self, ids: Sequence[int], position: int) -> Guess:
        """Append ids (at least one) and return the token that follows.

        Args:
            ids: The ids.
            position: Place in the output of the token that follows.
        """
        ...


class DraftModel:
    """Let a small model continue the output.

    Args:
        model: The small model, its cache empty.
        prompt: Prompt ids; the small model reads them before its first draft.
        floor: Stop before a token whose distribution is less sure than this.
        ends: Tokens behind which nothing is drafted.
        resume: Follows the output in the text that copying may lead back to; None for no such text.
        window: Where more output than this is unread, the small model reads only so much of its
            end, and what is before is left out; None reads everything.
    """

    def __init__(
        self,
        model: SmallModel,
        prompt: Sequence[int],
        floor: float = 0.0,
        ends: frozenset[int] = frozenset(),
        resume: Cursor | None = None,
        window: int | None = None,
    ) -> None:
        self._model = model
        self._prompt = tuple(prompt)
        self._floor = floor
        self._ends = ends
        self._resume = resume
        self._window = window
        # Ids of the output that are left out, between the prompt and what is fed.
        self._skipped = 0
        self._fed: list[int] = []
        self._agreed = 0

    def unread(self, output: Sequence[int]) -> int:
        """Return how many ids the small model has to read before it can draft; at least one."""
        same = self._same(output)
        return self._total(output) - same

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Return what the small model would write; see ``Proposer.propose``."""
        same = self._same(output)
        # All but the last proposed token are fed, too.
        limit = min(limit, self._model.context_limit - self._total(output) + 1)
        if limit <= 0:
            return NOTHING
        if self._resume is not None:
            self._resume.follow(output)
        pending = self._catch_up(output, same)
        ids: list[int] = []
        probs: list[Any] = []
        while True:
            guess = self._model.extend(pending, len(output) + len(ids))
            self._fed += pending
            if guess.confidence < self._floor:
                break
            ids.append(guess.token)
            probs.append(guess.q)
            if len(ids) == limit or guess.token in self._ends:
                break
            if self._resumed(output, ids) is not None:
                break
            pending = [guess.token]
        # One drawn token makes the draft a drawn one; the model draws all of them or none.
        drawn = any(q is not None for q in probs)
        regions = ((NOVEL, len(ids)),) if ids else ()
        return Draft(tuple(ids), "draft_model", (), regions, probs if drawn else None)

    def continued(self, output: Sequence[int], draft: Draft, limit: int) -> Draft:
        """Let a draft that leads back into the text to copy from go on with it.

        Args:
            output: The output that the draft continues.
            draft: What ``propose`` gave.
            limit: Longest draft that is of use.
        """
        place = self._resumed(output, draft.ids)
        if self._resume is None or place is None or draft.probs is not None:
            return draft
        reference = self._resume.reference
        copied = reference.draft(place, place + limit - len(draft))
        runs = reference.runs(place, place + len(copied))
        return labelled((*draft.ids, *copied.ids), [("draft_model", NOVEL, len(draft)), *runs])

    def _resumed(self, output: Sequence[int], ids: Sequence[int]) -> int | None:
        """Return where in the text to copy from a draft has arrived, None if nowhere."""
        if self._resume is None or not ids:
            return None
        return self._resume.after((*output[-_RESUMED:], *ids), _RESUMED)

    def _catch_up(self, output: Sequence[int], same: int) -> list[int]:
        """Roll the small model back to what was kept; return the ids that it has not seen.

        The newest id is always among them: its row is the first that is needed.
        """
        self._model.rollback(same)
        del self._fed[same:]
        return [self._at(output, place) for place in range(same, self._total(output))]

    def _same(self, output: Sequence[int]) -> int:
        """Return how many of the ids that were fed still hold, the newest id left out."""
        # Everything up to the last proposal has been compared before.
        same, most = self._agreed, min(len(self._fed), self._total(output) - 1)
        while same < most and self._fed[same] == self._at(output, same):
            same += 1
        if self._window is not None and len(output) - self._skipped > self._window:
            unread = self._total(output) - max(same, len(self._prompt))
            if unread > self._window:
                # To leave out more of the output is quicker than to read it.
                self._skipped = len(output) - self._window
                same = min(same, len(self._prompt))
                del self._fed[same:]
        self._agreed = same
        return same

    def _total(self, output: Sequence[int]) -> int:
        """Return the length of what the small model is to see: prompt and end of the output."""
        return len(self._prompt) + len(output) - self._skipped

    def _at(self, output: Sequence[int], place: int) -> int:
        start = len(self._prompt)
        return self._prompt[place] if place < start else output[self._skipped + place - start]
