"""Prompts' first tokens, kept for later requests that begin alike.

A prompt holds the original before the edit, so two edits of one file share most of it. What a row
has cached of that part is copied here, and a later row begins with the copy instead of having the
tokens scored again. The logits behind it are those of a fresh pass, within float noise.

Used by the thread that steps the rows, by nobody else; others may read the counts.

Knows token ids and bytes, neither files nor requests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apply_edit.decode.cache import Prefix
from apply_edit.decode.target import Target
from apply_edit.errors import DeviceError

DEFAULT_BYTES = 1 << 30
# Reading fewer tokens again costs no more than a pass that happens anyway.
SHORTEST = 64

_Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Entry:
    ids: _Ids
    prefix: Prefix


class PrefixCache:
    """Keeps prefixes up to a number of bytes and forgets those first that were not used longest.

    Args:
        limit_bytes: Most bytes of keys and values; 0 keeps nothing.
        shortest: Fewest tokens that are worth keeping or reusing.
    """

    def __init__(self, limit_bytes: int = DEFAULT_BYTES, shortest: int = SHORTEST) -> None:
        if limit_bytes < 0:
            message = f"the prefix cache is limited to {limit_bytes} bytes; give 0 or more"
            raise ValueError(message)
        self._limit = limit_bytes
        self._shortest = shortest
        self._entries: list[_Entry] = []  # the one that was used last is the last
        self.hits = 0
        self.misses = 0
        self.reused_tokens = 0
        self.num_bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def keeps(self) -> bool:
        """Whether anything can be kept at all."""
        return self._limit > 0

    def find(self, ids: Sequence[int]) -> Prefix | None:
        """Return the longest prefix of a prompt that is kept, or None; counts a hit or a miss.

        At least one token of the prompt is left out: without scoring one there are no logits.
        """
        if not self.keeps:
            return None
        wanted = _array(ids)
        common, entry = self._nearest(wanted[:-1])
        if entry is None or common < self._shortest:
            self.misses += 1
            return None
        self._touch(entry)
        self.hits += 1
        self.reused_tokens += common
        return entry.prefix.first(common)

    def put(self, ids: Sequence[int], snapshot: Callable[[], Prefix]) -> None:
        """Keep a prefix.

        Args:
            ids: Its tokens.
            snapshot: Makes the copy; not called where these tokens are kept already. When the
                memory for it is not there, everything that is kept is given up instead.
        """
        if not self.keeps or len(ids) < self._shortest:
            return
        wanted = _array(ids)
        common, entry = self._nearest(wanted)
        if entry is not None and common == len(wanted):
            self._touch(entry)
            return
        try:
            prefix = snapshot()
        except DeviceError:
            self.clear()
            return
        if prefix.num_bytes > self._limit:
            return
        # What the new one begins with is in it.
        for old in [old for old in self._entries if _common(old.ids, wanted) == len(old.ids)]:
            self._forget(old)
        while self.num_bytes + prefix.num_bytes > self._limit:
            self._forget(self._entries[0])
        self._entries.append(_Entry(wanted, prefix))
        self.num_bytes += prefix.num_bytes

    def clear(self) -> None:
        """Forget everything; the counts go on."""
        self._entries.clear()
        self.num_bytes = 0

    def _nearest(self, ids: _Ids) -> tuple[int, _Entry | None]:
        """Return the entry that shares most first tokens with ``ids``, and how many it shares."""
        shared = [(_common(entry.ids, ids), entry) for entry in self._entries]
        return max(shared, key=lambda pair: pair[0], default=(0, None))

    def _touch(self, entry: _Entry) -> None:
        # By identity: records of arrays cannot be compared.
        self._entries.sort(key=lambda other: other is entry)

    def _forget(self, entry: _Entry) -> None:
        self._entries = [other for other in self._entries if other is not entry]
        self.num_bytes -= entry.prefix.num_bytes


class PromptPrefix:
    """The first tokens of one prompt, on their way out of the cache and into it.

    Args:
        cache: The cache, None for none.
        prompt_ids: The prompt.
        worth_keeping: How many of its first tokens later prompts are likely to share.
    """

    def __init__(
        self, cache: PrefixCache | None, prompt_ids: tuple[int, ...], worth_keeping: int
    ) -> None:
        self._cache = cache
        self._prompt = prompt_ids
        keeps = cache is not None and cache.keeps
        self.worth_keeping = min(worth_keeping, len(prompt_ids)) if keeps else 0
        self._is_kept = False

    def find(self) -> Prefix | None:
        """Return what a row for the prompt can begin with; see ``PrefixCache.find``."""
        return None if self._cache is None else self._cache.find(self._prompt)

    def keep(self, target: Target, row: int) -> None:
        """Keep what is worth keeping, as far as a row has read it."""
        if self._cache is None or self._is_kept:
            return
        length = min(self.worth_keeping, target.length(row))
        self._is_kept = length == self.worth_keeping
        self._cache.put(self._prompt[:length], lambda: target.snapshot(row, length))


def _array(ids: Sequence[int]) -> _Ids:
    return np.asarray(ids, dtype=np.int64)


def _common(one: _Ids, other: _Ids) -> int:
    """Return how many first tokens two sequences share."""
    count = min(len(one), len(other))
    differs = one[:count] != other[:count]
    return int(differs.argmax()) if differs.any() else count
