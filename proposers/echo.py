"""A word that was replaced once is likely to be replaced again: apply renames to copied drafts.

Told of each change of the original, it remembers those that put one word in the place of another.
From then on the old word is the new one in what is copied. A rename that the output contradicts
(the old word stands there again, more often than the new one) is forgotten.

Needs a view of ids as text: the same word is split differently after a space, a dot or a quote.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from proposers.base import Draft
from proposers.file_cursor import Change
from proposers.reference import EDIT, TextView, labelled, reencoded

# A rename is short; what is longer is another text.
_LONGEST = 8
_MOST_RULES = 8
_WORD = re.compile(rb"[^\W\d][\w]*(?:[.-]\w+)*", re.ASCII)
_WORD_BEFORE = re.compile(rb"\w*\Z", re.ASCII)
_WORD_AFTER = re.compile(rb"\A\w*", re.ASCII)
_EDGE = re.compile(rb"\w", re.ASCII)


@dataclass(slots=True)
class _Rename:
    old: bytes
    new: bytes
    balance: int = 0
    pattern: re.Pattern[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.pattern = _whole(self.old)


def _whole(word: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![A-Za-z0-9_])" + re.escape(word) + rb"(?![A-Za-z0-9_])")


class Echo:
    """Renames seen so far.

    Args:
        view: Ids as text.
    """

    def __init__(self, view: TextView) -> None:
        self._view = view
        self._renames: list[_Rename] = []

    def learn(self, old: Sequence[int], new: Sequence[int], change: Change) -> None:
        """Take notice of a change.

        Args:
            old: Ids of the reference.
            new: Ids of the output.
            change: What became what.
        """
        sizes = (change.stop - change.start, change.new_stop - change.new_start)
        if max(sizes) > _LONGEST:
            return
        before, after = self._around(old, change.start, change.stop)
        now_before, now_after = self._around(new, change.new_start, change.new_stop)
        was = before + self._bytes(old[change.start : change.stop]) + after
        now = now_before + self._bytes(new[change.new_start : change.new_stop]) + now_after
        rename = _rename(was, now)
        if rename is not None and all(rename.old != known.old for known in self._renames):
            self._renames = [*self._renames, rename][-_MOST_RULES:]

    def observe(self, written: Sequence[int]) -> None:
        """Take notice of new output; forget renames that it contradicts."""
        if not self._renames or not written:
            return
        text = self._bytes(written)
        for rename in self._renames:
            rename.balance += len(_whole(rename.new).findall(text))
            rename.balance -= len(rename.pattern.findall(text))
        self._renames = [rename for rename in self._renames if rename.balance >= 0]

    def apply(self, draft: Draft, limit: int) -> Draft:
        """Return the draft with the renames applied to what it copies from the original."""
        for rename in self._renames:
            draft = self._renamed(draft, rename)
        return draft.clip(limit)

    def _renamed(self, draft: Draft, rename: _Rename) -> Draft:
        pieces = [self._view.token_bytes(token) for token in draft.ids]
        text = b"".join(pieces)
        ends = list(accumulate(map(len, pieces)))
        labels = [name for name, count in draft.source_runs() for _ in range(count)]
        regions = [name for name, count in draft.regions for _ in range(count)]
        ids: list[int] = []
        runs: list[tuple[str, str, int]] = []
        done = 0
        for found in rename.pattern.finditer(text):
            # One token more on each side, because the new word may join with its neighbours.
            first = max(0, bisect_right(ends, found.start()) - 1)
            last = min(len(ends), bisect_right(ends, found.end() - 1) + 2)
            if first < done or labels[first] != "original":
                continue
            start = ends[first - 1] if first else 0
            window = text[start : found.start()] + rename.new + text[found.end() : ends[last - 1]]
            new = reencoded(self._view, (), window)
            if new is None:
                continue
            ids += [*draft.ids[done:first], *new]
            runs += zip(labels[done:first], regions[done:first], [1] * (first - done), strict=True)
            runs.append(("echo", EDIT, len(new)))
            done = last
        if not done:
            return draft
        runs += zip(labels[done:], regions[done:], [1] * (len(labels) - done), strict=True)
        return labelled((*ids, *draft.ids[done:]), runs)

    def _around(self, ids: Sequence[int], start: int, stop: int) -> tuple[bytes, bytes]:
        """Return the text just outside a span, as far as a word may reach."""
        before = self._bytes(ids[max(0, start - _LONGEST) : start])
        after = self._bytes(ids[stop : stop + _LONGEST])
        return _WORD_BEFORE.findall(before)[0], _WORD_AFTER.findall(after)[0]

    def _bytes(self, ids: Sequence[int]) -> bytes:
        return b"".join(map(self._view.token_bytes, (token for token in ids if token >= 0)))


def _rename(was: bytes, now: bytes) -> _Rename | None:
    """Return the rename that makes one text the other, None where it is more than a rename.

    >>> rename = _rename(b" old_name(", b" new_name(")
    >>> rename.old, rename.new
    (b'old_name', b'new_name')
    """
    start = 0
    while start < min(len(was), len(now)) and was[start] == now[start]:
        start += 1
    while start and _EDGE.match(was[start - 1 : start]):
        start -= 1
    end = 0
    while end < min(len(was), len(now)) - start and was[-1 - end] == now[-1 - end]:
        end += 1
    while end and _EDGE.match(was[len(was) - end : len(was) - end + 1]):
        end -= 1
    old, new = was[start : len(was) - end], now[start : len(now) - end]
    if len(old) < 2 or not _WORD.fullmatch(old) or not _WORD.fullmatch(new):
        return None
    return _Rename(old, new)
