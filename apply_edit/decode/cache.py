"""The KV cache: rows with absolute lengths, rollback, branch compaction.

Each row owns its buffers, so rows of a batch accept different lengths without padding or copying,
and rollback is one assignment. transformers' own caches shrink all rows together, by a relative
number whose meaning changed between releases; this one hands the model nothing but the two methods
that attention layers call.

Two kinds of storage: *dynamic* buffers grow by half; *static* ones have a fixed capacity and
address, are written through an index tensor and outlive their row, to be taken over by the next:
what capturing a pass as a CUDA graph needs.

A *prefix* is a copy of a row's first tokens. It belongs to no row, so it outlives the one that it
was taken from, and rows that begin with it do not share memory with it or with each other.

Only attention keys and values live here, in the model's own number format, for every position from
the first on; a sliding window is a matter of the mask. There are no quantised, offloaded or
windowed caches to roll back, because this is the only cache that a target has. Recurrent and
convolution states cannot be rolled back and are refused when a model is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from apply_edit.errors import DeviceError

_FIRST_CAPACITY = 1024


@dataclass(slots=True)
class _Row:
    length: int = 0
    keys: list[torch.Tensor] = field(default_factory=list)  # per layer [heads, capacity, dim]
    values: list[torch.Tensor] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Prefix:
    """Keys and values of a row's first tokens, copied out of the row.

    Args:
        keys: Per layer ``[heads, length, dim]``.
        values: As ``keys``.
    """

    keys: tuple[torch.Tensor, ...]
    values: tuple[torch.Tensor, ...]

    @property
    def length(self) -> int:
        """Number of tokens."""
        return self.keys[0].shape[1]

    @property
    def num_bytes(self) -> int:
        """Memory of the tokens, in bytes."""
        return sum(t.element_size() * t.nelement() for t in (*self.keys, *self.values))

    def first(self, length: int) -> Prefix:
        """Return the first ``length`` tokens; they share the memory of this prefix."""
        keys = tuple(tensor[:, :length] for tensor in self.keys)
        return Prefix(keys, tuple(tensor[:, :length] for tensor in self.values))


class KVCache:
    """Keys and values of all rows and layers.

    Args:
        num_layers: Attention layers of the model.
        capacity: Fixed capacity of each row in tokens (static storage), or None to grow (dynamic).
    """

    def __init__(self, num_layers: int, capacity: int | None = None) -> None:
        self._num_layers = num_layers
        self._capacity = capacity
        self._rows: dict[int, _Row] = {}
        self._spare: list[_Row] = []
        self._next_row = 0

    @property
    def static_capacity(self) -> int | None:
        """Tokens per row for static storage, None for dynamic."""
        return self._capacity

    @torch.inference_mode()  # see keep_branch
    def open_row(self, prefix: Prefix | None = None) -> int:
        """Return a new row: empty, or holding a copy of a prefix.

        Raises:
            DeviceError: The prefix does not fit static storage.
        """
        state = self._spare.pop() if self._spare else _Row()
        if prefix is not None:
            for layer, (keys, values) in enumerate(zip(prefix.keys, prefix.values, strict=True)):
                self._reserve(state, layer, prefix.length, keys, values)
                state.keys[layer][:, : prefix.length] = keys
                state.values[layer][:, : prefix.length] = values
            state.length = prefix.length
        row = self._next_row
        self._next_row += 1
        self._rows[row] = state
        return row

    @torch.inference_mode()  # see keep_branch
    def snapshot(self, row: int, length: int) -> Prefix:
        """Copy the first ``length`` tokens of a row.

        Raises:
            ValueError: The row has fewer tokens, or none are asked for.
        """
        state = self._rows[row]
        if not 0 < length <= state.length:
            message = f"cannot copy {length} tokens of a row of {state.length}"
            raise ValueError(message)
        keys = tuple(tensor[:, :length].clone() for tensor in state.keys)
        return Prefix(keys, tuple(tensor[:, :length].clone() for tensor in state.values))

    def close_row(self, row: int) -> None:
        """Forget a row; its static buffers are kept for the next one."""
        state = self._rows.pop(row)
        if self._capacity is not None:
            state.length = 0
            self._spare.append(state)

    def length(self, row: int) -> int:
        """Return the number of cached tokens of a row."""
        return self._rows[row].length

    def write(
        self, row: int, layer: int, new: tuple[torch.Tensor, torch.Tensor], slots: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Put new keys and values behind the row's length; ``commit`` makes them count.

        Args:
            row: The row.
            layer: Index of the attention layer.
            new: Keys and values, ``[heads, width, dim]`` each.
            slots: ``[width]`` int64: the positions behind the row's length, ascending. Static
                storage reads them on the device, so that a captured pass can write elsewhere.

        Returns:
            Keys and values to attend to: ``[heads, length + width, dim]``, or ``[heads, capacity,
            dim]`` for static storage, where what lies behind must be masked.
        """
        state = self._rows[row]
        start, stop = state.length, state.length + len(slots)
        self._reserve(state, layer, stop, *new)
        stores = (state.keys[layer], state.values[layer])
        for store, fresh in zip(stores, new, strict=True):
            if self._capacity is None:
                store[:, start:stop] = fresh
            else:
                store.index_copy_(1, slots, fresh)
        if self._capacity is not None:
            return stores
        return stores[0][:, :stop], stores[1][:, :stop]

    def commit(self, row: int, width: int) -> None:
        """Count ``width`` tokens that all layers have written."""
        self._rows[row].length += width

    def rollback(self, row: int, length: int) -> None:
        """Shorten a row to its first ``length`` tokens.

        Raises:
            ValueError: ``length`` is negative or beyond the row's length.
        """
        state = self._rows[row]
        if not 0 <= length <= state.length:
            message = f"cannot roll a row of {state.length} tokens back to {length}"
            raise ValueError(message)
        state.length = length

    @torch.inference_mode()  # the buffers are made inside a pass, and are inference tensors
    def keep_branch(self, row: int, base: int, offsets: Sequence[int]) -> None:
        """Move the tokens at ``base + offsets`` together behind ``base`` and drop the others.

        Raises:
            ValueError: An offset is out of range or the offsets do not ascend.
        """
        state = self._rows[row]
        places = [base + offset for offset in offsets]
        if places != sorted(set(places)) or (places and places[-1] >= state.length):
            message = f"offsets {list(offsets)} do not ascend within {state.length - base} tokens"
            raise ValueError(message)
        stop = base + len(places)
        if places != list(range(base, stop)):
            index = torch.tensor(places, device=state.keys[0].device)
            for store in (state.keys, state.values):
                for tensor in store:
                    # index_select copies first, so overlapping source and destination are safe.
                    tensor[:, base:stop] = tensor.index_select(1, index)
        state.length = stop

    def num_bytes(self) -> int:
        """Return the memory that the buffers of all rows hold, in bytes."""
        return sum(
            tensor.element_size() * tensor.nelement()
            for state in (*self._rows.values(), *self._spare)
            for tensor in (*state.keys, *state.values)
        )

    def _reserve(
        self, state: _Row, layer: int, stop: int, keys: torch.Tensor, values: torch.Tensor
    ) -> None:
        if len(state.keys) == layer:
            capacity = self._capacity or max(_FIRST_CAPACITY, stop)
            for store, like in ((state.keys, keys), (state.values, values)):
                # Zeros, not garbage: a masked NaN is still a NaN after the product with the values.
                store.append(like.new_zeros(like.shape[0], capacity, like.shape[2]))
        held = state.keys[layer].shape[1]
        if stop <= held:
            return
        if self._capacity is not None:
            message = f"a row of {stop} tokens does not fit the static cache of {held}"
            raise DeviceError(message, capacity=held, needed=stop)
        grown = max(stop, held + held // 2)
        for store in (state.keys, state.values):
            old = store[layer]
            new = old.new_zeros(old.shape[0], grown, old.shape[2])
            new[:, : state.length] = old[:, : state.length]
            store[layer] = new
