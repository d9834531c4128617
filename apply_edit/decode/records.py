"""What became of a token tree: the counts of a pass, and where its tokens came from.

Pure: knows trees and counts, neither targets nor requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from apply_edit.decode.tree import Tree
from apply_edit.report import PassRecord


def record_of(tree: Tree, path: Sequence[int], kept: int, width: int, seconds: float) -> PassRecord:
    """Count what became of a tree of which ``kept`` tokens (extra token included) stayed."""
    accepted = path[:kept]
    # The output ended inside the accepted branch: what lies deeper, in any branch, was not judged.
    ended = kept <= len(path)
    taken = set(accepted)
    labels = list(zip(tree.regions, tree.sources, strict=True))
    runs = [(key, list(nodes)) for key, nodes in groupby(range(len(tree)), key=labels.__getitem__)]
    counted = tuple((*key, len(nodes), len(taken.intersection(nodes))) for key, nodes in runs)
    return PassRecord(
        width=width,
        drafted=len(tree),
        accepted=len(accepted),
        emitted=kept,
        discarded=sum(depth >= kept for depth in tree.depths) if ended else 0,
        runs=counted,
        seconds=seconds,
    )


def sources_of(tree: Tree, path: Sequence[int], kept: int) -> tuple[tuple[str, int], ...]:
    """Return ``(source, count)`` runs over the ``kept`` tokens of a path and the one behind it."""
    names = [tree.sources[node] for node in path[:kept]]
    runs = [(name, len(list(same))) for name, same in groupby(names)]
    if kept > len(path):
        last = path[-1] if path else -1
        runs.append(("corrected" if tree.candidates(last) else "bonus", 1))
    return tuple(runs)
