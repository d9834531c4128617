"""Token trees: several drafts in one pass, of which the target keeps the best branch.

Drafts that begin alike share nodes. A node's *candidates* are the draft tokens offered behind it,
in the order of the drafts. They are judged one after another: the first that is accepted is walked
to, and each that is not leaves the residual for the next one to be judged by. A linear draft is a
tree with one branch, and one walk serves both.

The rule that keeps sampling exact: a candidate that was *drawn* must be judged whatever it turned
out to be. Leaving it out because of its value (it repeats a sibling, the tree is getting wide, it
is no id of the target) would leave the others drawn from another distribution than the ``q`` they
carry. So repeated draws stay separate candidates of one node, and cuts go by counts that are fixed
before drawing. Copies are no draws and may be dropped at will.

Knows neither torch nor models. Source: arXiv:2305.09781 (token trees, multi-step speculative
sampling). Proof: docs/exactness.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

from proposers import Draft

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A draft token offered behind some node.

    Args:
        node: The node that stands for it.
        token: Its id.
        q: The distribution that it was drawn from, ``[vocab]``; None for one that was not drawn.
    """

    node: int
    token: int
    q: Any = None


@dataclass(frozen=True)
class Tree:
    """Draft tokens as nodes 0, 1, …; -1 is the root, the newest committed token.

    Args:
        ids: Token of each node.
        parents: Node before each node, -1 for the root; always less than the node itself.
        sources: Draft source of each node.
        regions: Region of each node, empty where unknown.
        offered: ``offered[n + 1]`` are the candidates behind node ``n``, in the order of judging.
    """

    ids: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    offered: tuple[tuple[Candidate, ...], ...] = ((),)

    def __len__(self) -> int:
        return len(self.ids)

    def candidates(self, node: int) -> tuple[Candidate, ...]:
        """Return what is offered behind a node."""
        return self.offered[node + 1]

    @cached_property
    def depths(self) -> list[int]:
        """Depth of each node; 0 for what follows the root."""
        return depths(self.parents)

    @property
    def height(self) -> int:
        """Length of the longest branch."""
        return max(self.depths, default=-1) + 1

    @property
    def is_linear(self) -> bool:
        """Whether there is one branch only."""
        return self.parents == tuple(range(-1, len(self.ids) - 1))

    def branch(self, node: int) -> list[int]:
        """Return the tokens from the root to a node, the node's own included."""
        tokens: list[int] = []
        while node >= 0:
            tokens.append(self.ids[node])
            node = self.parents[node]
        return tokens[::-1]


def depths(parents: Sequence[int]) -> list[int]:
    """Return the depth of every node of a token tree.

    >>> depths([-1, 0, 0, 2])
    [0, 1, 1, 2]
    """
    result: list[int] = []
    for parent in parents:
        result.append(0 if parent < 0 else result[parent] + 1)
    return result


def merge(drafts: Sequence[Draft]) -> Tree:
    """Merge drafts into a tree; the first one becomes nodes 0, 1, ….

    >>> tree = merge([Draft((5, 6, 7)), Draft((5, 8)), Draft((5, 6))])
    >>> tree.ids, tree.parents
    ((5, 6, 7, 8), (-1, 0, 1, 0))
    """
    ids: list[int] = []
    parents: list[int] = []
    sources: list[str] = []
    regions: list[str] = []
    offered: list[list[Candidate]] = [[]]
    children: dict[tuple[int, int], int] = {}
    for draft in drafts:
        names = [name for name, count in draft.source_runs() for _ in range(count)]
        areas = [name for name, count in draft.regions for _ in range(count)] or [""] * len(names)
        node = -1
        for place, token in enumerate(draft.ids):
            parent, q = node, None if draft.probs is None else draft.probs[place]
            node = children.setdefault((parent, token), len(ids))
            is_new = node == len(ids)
            if is_new:
                ids.append(token)
                parents.append(parent)
                sources.append(names[place])
                regions.append(areas[place])
                offered.append([])
            if is_new or q is not None:
                offered[parent + 1].append(Candidate(node, token, q))
    judged = tuple(map(tuple, offered))
    return Tree(tuple(ids), tuple(parents), tuple(sources), tuple(regions), judged)


class Judge(Protocol[P]):
    """Arithmetic on distributions of one kind: tensors in the engine, fractions in the proof."""

    def accepts(self, p: P, candidate: Candidate) -> bool:
        """Return True with probability min(1, p(x) / q(x))."""
        ...

    def residual(self, p: P, candidate: Candidate) -> P:
        """Return max(0, p - q), normalised."""
        ...

    def draw(self, p: P) -> int:
        """Draw a token from p."""
        ...


def walk_sampled(tree: Tree, target: Callable[[int], P], judge: Judge[P]) -> tuple[list[int], int]:
    """Accept a branch by rejection sampling.

    Args:
        tree: What was drafted.
        target: Gives the target's distribution behind a node.
        judge: Decides.

    Returns:
        The nodes of the accepted branch from the root on, and the residual or bonus token behind.
    """
    path: list[int] = []
    node = -1
    while True:
        p = target(node)
        for candidate in tree.candidates(node):
            if judge.accepts(p, candidate):
                node = candidate.node
                path.append(node)
                break
            p = judge.residual(p, candidate)
        else:
            return path, judge.draw(p)


def walk_picks(tree: Tree, pick: Callable[[int], int]) -> tuple[list[int], int]:
    """Accept the branch that the picks follow.

    Args:
        tree: What was drafted.
        pick: Gives the target's choice behind a node.

    Returns:
        The nodes of the accepted branch from the root on, and the token behind it.

    >>> walk_picks(merge([Draft((7, 8)), Draft((7, 5))]), {-1: 7, 0: 5, 1: 3, 2: 4}.__getitem__)
    ([0, 2], 4)
    """
    path: list[int] = []
    node = -1
    while True:
        choice = pick(node)
        following = (c.node for c in tree.candidates(node) if c.token == choice)
        child = next(following, None)
        if child is None:
            return path, choice
        path.append(child)
        node = child
