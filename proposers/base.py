"""What every proposer is: committed output in, a draft out.

A *draft* is a guess of the next tokens. The target verifies it in one pass, so a wrong draft costs
time and never changes the output. A *copy* draft is deterministic: the distribution it was drawn
from is a point mass, and ``probs`` is None. A draft that was sampled from a small model carries the
exact distributions it was sampled from.

Nothing here knows text, models or files: token ids go in, token ids come out.

Source: arXiv:2211.17192 (the words), arXiv:2304.04487 (copying from a reference).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Draft:
    """A guess of the next tokens.

    Args:
        ids: Token ids, at most as many as were asked for.
        source: Where they come from (``original``, ``snippet``, ``prediction``, ``lookup``,
            ``draft_model``); one source per draft unless ``sources`` says otherwise.
        sources: ``(source, count)`` runs that add up to ``len(ids)``, for a draft that was put
            together from several places; empty means all from ``source``.
        regions: ``(region, count)`` runs that add up to ``len(ids)``; a region is ``unchanged`` (a
            copy of the original), ``edit`` (text of the edit) or ``novel``. Empty where unknown.
        probs: ``[len(ids), vocab]`` distributions that ``ids`` were sampled from, or None for a
            deterministic draft.
    """

    ids: tuple[int, ...] = ()
    source: str = "none"
    sources: tuple[tuple[str, int], ...] = ()
    regions: tuple[tuple[str, int], ...] = ()
    probs: Any = None

    def __len__(self) -> int:
        return len(self.ids)

    def source_runs(self) -> tuple[tuple[str, int], ...]:
        """Return the ``(source, count)`` runs of the draft."""
        if self.sources:
            return self.sources
        return ((self.source, len(self.ids)),) if self.ids else ()

    def clip(self, limit: int) -> Draft:
        """Return the first ``limit`` tokens of the draft."""
        if len(self.ids) <= limit:
            return self
        probs = None if self.probs is None else self.probs[:limit]
        return Draft(
            self.ids[:limit],
            self.source,
            _clip_runs(self.source_runs(), limit),
            _clip_runs(self.regions, limit),
            probs,
        )


def _clip_runs(runs: tuple[tuple[str, int], ...], limit: int) -> tuple[tuple[str, int], ...]:
    kept: list[tuple[str, int]] = []
    left = limit
    for name, count in runs:
        take = min(count, left)
        if take:
            kept.append((name, take))
        left -= take
    return tuple(kept)


NOTHING = Draft()


class Proposer(Protocol):
    """A draft source for one request.

    A proposer may keep state about the output it has seen (a cursor). It is called with an output
    that only ever grows by appending, it never changes that output, and for the same sequence of
    outputs it gives the same drafts.
    """

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Guess what follows ``output``.

        Args:
            output: Committed output ids, without the prompt.
            limit: Longest draft that is of use; 0 gives an empty draft.

        Returns:
            A draft of 0 to ``limit`` tokens.
        """
        ...


@runtime_checkable
class Closable(Protocol):
    """A proposer that holds something until its request has ended: a draft model's row."""

    def close(self) -> None:
        """Give it back, in the thread that runs the passes; a second call changes nothing."""
        ...


@runtime_checkable
class TreeProposer(Protocol):
    """A proposer that can also offer alternatives, for a token tree."""

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Guess what follows ``output``; see ``Proposer.propose``."""
        ...

    def propose_tree(self, output: Sequence[int], limit: int) -> list[Draft]:
        """Guess what follows ``output``, in several ways.

        Called instead of ``propose`` in a step, not in addition. Drafts that were sampled
        (``probs`` is not None) must be drawn independently of each other, or carry in ``probs`` the
        distribution given those before; how many there are must not depend on what they are.

        Args:
            output: Committed output ids, without the prompt.
            limit: Longest draft that is of use.

        Returns:
            Drafts of up to ``limit`` tokens, the best first; the first is what ``propose`` gives.
        """
        ...
