"""Align two sequences of lines in time that grows with their number, not with its square.

Common ends are taken off first. What remains gets a longest common subsequence (rapidfuzz, one bit
per cell); where that table would be too large, it is cut at lines that occur once on either side
(patience), and where there are none it is aligned window by window.

Does not know: what a line is. Any hashable key does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import LCSseq

# Largest table (old lines times new lines) given to the exact algorithm: one bit per cell.
_EXACT_CELLS = 100_000_000
# Window of the alignment by pieces, for long stretches in which every line occurs many times.
_WINDOW = 4096

OpKind = Literal["equal", "replace", "insert", "delete"]


@dataclass(frozen=True, slots=True)
class Op:
    """One stretch of an alignment; spans are half-open and 0-based.

    Args:
        kind: ``equal``, ``replace``, ``insert`` or ``delete``.
        old_start: First line of the old text.
        old_end: Line after its last one; equal to ``old_start`` for an insertion.
        new_start: First line of the new text.
        new_end: Line after its last one; equal to ``new_start`` for a deletion.
    """

    kind: OpKind
    old_start: int
    old_end: int
    new_start: int
    new_end: int


def line_ops(original_lines: Sequence[str], new_lines: Sequence[str]) -> list[Op]:
    """Align two sequences of lines; the ops cover both from start to end, in order.

    Equal and changed stretches alternate. Short differences get a longest common subsequence; long
    ones are first cut at lines that occur once on either side. Time grows with the number of
    lines, not with its square.

    Args:
        original_lines: Lines (or any keys made of them) of the old text.
        new_lines: The same of the new text.

    >>> [(o.kind, o.old_start, o.old_end, o.new_start, o.new_end) for o in line_ops("abc", "aXc")]
    [('equal', 0, 1, 0, 1), ('replace', 1, 2, 1, 2), ('equal', 2, 3, 2, 3)]
    """
    ids: dict[str, int] = {}
    old = [ids.setdefault(line, len(ids)) for line in original_lines]
    new = [ids.setdefault(line, len(ids)) for line in new_lines]
    return fill(_equal_blocks(old, new), len(old), len(new))


def _equal_blocks(old: list[int], new: list[int]) -> list[tuple[int, int, int]]:
    """Return maximal equal stretches ``(old_start, new_start, length)`` in order."""
    prefix = common_prefix(old, new)
    suffix = common_prefix(old[prefix:][::-1], new[prefix:][::-1])
    middle_old, middle_new = old[prefix : len(old) - suffix], new[prefix : len(new) - suffix]
    blocks = [(0, 0, prefix)]
    blocks += [(a + prefix, b + prefix, n) for a, b, n in _middle(middle_old, middle_new)]
    blocks.append((len(old) - suffix, len(new) - suffix, suffix))
    return blocks


def common_prefix(old: Sequence[object], new: Sequence[object]) -> int:
    """Return how many items the two sequences begin with in common."""
    length = min(len(old), len(new))
    if old[:length] == new[:length]:
        return length
    return next(i for i in range(length) if old[i] != new[i])


def _middle(old: list[int], new: list[int]) -> Iterator[tuple[int, int, int]]:
    if not old or not new:
        return
    if len(old) * len(new) <= _EXACT_CELLS:
        yield from _exact(old, new)
        return
    anchors = _unique_anchors(old, new)
    if not anchors:
        yield from _windows(old, new)
        return
    start_old = start_new = 0
    for a, b in [*anchors, (len(old), len(new))]:
        for x, y, n in _equal_blocks(old[start_old:a], new[start_new:b]):
            yield x + start_old, y + start_new, n
        if a < len(old):
            yield a, b, 1
        start_old, start_new = a + 1, b + 1


def _exact(old: list[int], new: list[int]) -> Iterator[tuple[int, int, int]]:
    for op in LCSseq.opcodes(old, new):
        if op.tag == "equal":
            yield op.src_start, op.dest_start, op.src_end - op.src_start


def _unique_anchors(old: list[int], new: list[int]) -> list[tuple[int, int]]:
    """Return pairs of positions of lines that occur once in either text, increasing in both."""
    count_old, count_new = Counter(old), Counter(new)
    place = {key: i for i, key in enumerate(new) if count_new[key] == 1}
    pairs = [(i, place[key]) for i, key in enumerate(old) if count_old[key] == 1 and key in place]
    # Longest increasing subsequence by patience: tails[k] ends the best one of length k + 1.
    tails: list[int] = []
    at: list[int] = []
    back: list[int] = []
    for index, (_, b) in enumerate(pairs):
        k = bisect_left(tails, b)
        back.append(at[k - 1] if k else -1)
        tails[k : k + 1] = [b]
        at[k : k + 1] = [index]
    chain: list[tuple[int, int]] = []
    index = at[-1] if at else -1
    while index >= 0:
        chain.append(pairs[index])
        index = back[index]
    return chain[::-1]


def _windows(old: list[int], new: list[int]) -> Iterator[tuple[int, int, int]]:
    """Align by pieces: commit the front of each window, begin the next where it ended.

    It loses the thread only where more than half a window of lines was inserted or removed between
    lines that occur many times each; the alignment is then coarse, never wrong.
    """
    i = j = 0
    while i < len(old) and j < len(new):
        blocks = list(_exact(old[i : i + _WINDOW], new[j : j + _WINDOW]))
        last = i + _WINDOW >= len(old) and j + _WINDOW >= len(new)
        limit = 2 * _WINDOW if last else _WINDOW * 3 // 4
        end_old = end_new = 0
        for a, b, n in blocks:
            length = min(n, limit - max(a, b))
            if length > 0:
                yield a + i, b + j, length
                end_old, end_new = a + length, b + length
        if last:
            return
        if not end_old:
            end_old = end_new = _WINDOW // 2
        i, j = i + end_old, j + end_new


def fill(blocks: list[tuple[int, int, int]], num_old: int, num_new: int) -> list[Op]:
    """Turn equal stretches into ops that cover everything; adjacent equal stretches are joined.

    Args:
        blocks: ``(old_start, new_start, length)``, increasing; a length may be 0.
        num_old: Number of old lines.
        num_new: Number of new lines.
    """
    ops: list[Op] = []
    i = j = 0
    for a, b, n in [*blocks, (num_old, num_new, 0)]:
        if i < a or j < b:
            kind: OpKind = "insert" if i == a else "delete" if j == b else "replace"
            ops.append(Op(kind, i, a, j, b))
        if n and ops and ops[-1].kind == "equal":
            ops[-1] = Op("equal", ops[-1].old_start, a + n, ops[-1].new_start, b + n)
        elif n:
            ops.append(Op("equal", a, a + n, b, b + n))
        i, j = a + n, b + n
    return ops
