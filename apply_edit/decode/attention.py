"""Ragged attention: every row attends to its own cache, nothing is padded.

The model sees one long sequence: the blocks of all rows behind each other. Linear layers work on
it as it is. Only attention must tell the rows apart, and it does so here: it writes each row's new
keys and values into the cache and lets the row's queries attend to the row's keys. Positions are
given to the model explicitly, so rotary embeddings are right for every row and for token trees.

Static storage pads the blocks to a few widths. What a pass does then depends on tensors of fixed
shapes only (ids, positions, slots, masks) and on no Python number, which is what capturing it as a
CUDA graph needs; ``tests/unit/test_attention.py`` replays a pass at another length in this way.

Registered with transformers under ``NAME`` and used through ``config._attn_implementation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from apply_edit.decode.cache import KVCache
from apply_edit.decode.target import Block
from apply_edit.decode.tree import depths
from apply_edit.errors import ModelLoadError

NAME = "apply_edit_ragged"
# Arguments of attention that change its result and that this implementation does not know.
_UNKNOWN = ("softcap", "s_aux", "position_bias", "sinks", "indices")


@dataclass(slots=True)
class RaggedPlan:
    """Who is who in one packed pass.

    Args:
        cache: The cache of all rows.
        rows: ``(row, start, stop)``: the row and its half-open span in the packed sequence.
        visible: Per row ``[width, keys]`` bool, True where a query may look; None where the row is
            empty and the block linear, which is plain causal attention. ``keys`` is ``length +
            width``, or the capacity of static storage.
        slots: Per row ``[width]`` int64, where its keys and values go.
        key_positions: Per row ``[keys]`` int64 absolute positions of what may be looked at.
        positions: ``[1, total]`` int64 absolute positions of the packed sequence.
    """

    cache: KVCache
    rows: list[tuple[int, int, int]]
    visible: list[torch.Tensor | None]
    slots: list[torch.Tensor]
    key_positions: list[torch.Tensor]
    positions: torch.Tensor
    made: dict[tuple[int | None, int], list[torch.Tensor | None]] = field(default_factory=dict)

    def masks(self, window: int | None, groups: int) -> list[torch.Tensor | None]:
        """Return the masks for one kind of layer, repeated for grouped queries."""
        key = (window, groups)
        if key not in self.made:
            self.made[key] = [
                None if window is None and mask is None else self._mask(i, mask, window, groups)
                for i, mask in enumerate(self.visible)
            ]
        return self.made[key]

    def _mask(
        self, index: int, mask: torch.Tensor | None, window: int | None, groups: int
    ) -> torch.Tensor:
        _, start, stop = self.rows[index]
        if mask is None:
            width = stop - start
            mask = torch.ones(width, width, dtype=torch.bool, device=self.positions.device).tril()
        if window is not None:
            query = self.positions[0, start:stop, None]
            mask = mask & (self.key_positions[index][None, :] > query - window)
        return mask.repeat(groups, 1) if groups > 1 else mask


def make_plan(cache: KVCache, blocks: Sequence[Block], device: torch.device) -> RaggedPlan:
    """Lay blocks out behind each other and work out who may look where."""
    plan = RaggedPlan(cache, [], [], [], [], torch.empty(0))
    positions: list[torch.Tensor] = []
    total = 0
    for block in blocks:
        length, width = cache.length(block.row), len(block.ids)
        slots = torch.arange(length, length + width, device=device)
        own = slots
        if block.parents is not None:
            own = torch.tensor([length + depth for depth in depths(block.parents)], device=device)
        keys = torch.arange(cache.static_capacity or length + width, device=device)
        # Cached tokens sit at their own position; the block's own ones where the tree puts them.
        keys[length : length + width] = own
        plan.rows.append((block.row, total, total + width))
        plan.visible.append(_visible(length, block, cache.static_capacity, device))
        plan.slots.append(slots)
        plan.key_positions.append(keys)
        positions.append(own)
        total += width
    plan.positions = torch.cat(positions)[None]
    return plan


def _visible(
    length: int, block: Block, capacity: int | None, device: torch.device
) -> torch.Tensor | None:
    width = len(block.ids)
    if block.parents is None:
        if length == 0 and capacity is None:
            return None
        within = torch.ones(width, width, dtype=torch.bool, device=device).tril()
    else:
        within = _ancestors(block.parents).to(device)
    before = torch.ones(width, length, dtype=torch.bool, device=device)
    mask = torch.cat([before, within], dim=1)
    if capacity is not None:
        behind = torch.zeros(width, capacity - mask.shape[1], dtype=torch.bool, device=device)
        mask = torch.cat([mask, behind], dim=1)
    return mask


def _ancestors(parents: Sequence[int]) -> torch.Tensor:
    """Return ``[n, n]`` bool: node ``i`` may look at itself and its ancestors."""
    matrix = torch.eye(len(parents), dtype=torch.bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            matrix[node] |= matrix[parent]
    return matrix


def ragged_attention(  # noqa: PLR0913 transformers' signature
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    ragged: RaggedPlan | None = None,
    **kwargs: Any,  # noqa: ANN401 whatever layers pass
) -> tuple[torch.Tensor, None]:
    """Attend row by row; the signature is the one that transformers calls.

    Args:
        module: The attention layer; its ``layer_idx`` finds the cache.
        query: ``[1, heads, total, dim]``.
        key: ``[1, kv_heads, total, dim]``.
        value: ``[1, kv_heads, total, dim]``.
        attention_mask: None; masks come with the plan.
        scaling: Factor on the scores.
        sliding_window: Tokens that a query may look back, or None.
        ragged: The plan of this pass.
        **kwargs: Whatever else the model's layers pass on.

    Returns:
        ``[1, total, heads, dim]`` and None.
    """
    unknown = [name for name in _UNKNOWN if kwargs.get(name) is not None]
    if ragged is None or attention_mask is not None or unknown:
        what = ", ".join(unknown) or "an attention mask of its own"
        message = f"this model's attention uses {what}, which apply-edit does not support"
        raise ModelLoadError(message)
    heads, kv_heads = query.shape[1], key.shape[1]
    groups = heads // kv_heads
    layer = int(module.layer_idx)  # type: ignore[arg-type] # nn.Module types attributes as modules
    outputs = []
    masks = ragged.masks(sliding_window, groups)
    for (row, start, stop), mask, slots in zip(ragged.rows, masks, ragged.slots, strict=True):
        width = stop - start
        new = key[0, :, start:stop], value[0, :, start:stop]
        keys, values = ragged.cache.write(row, layer, new, slots)
        rows_query = query[:, :, start:stop]
        if mask is None:
            attended = torch.nn.functional.scaled_dot_product_attention(
                rows_query, keys[None], values[None], is_causal=True, scale=scaling, enable_gqa=True
            )
        else:
            # Queries that share a key head are laid behind each other instead of repeating keys
            # and values for every head: no copy of the cache in any pass.
            packed = rows_query.reshape(1, kv_heads, groups * width, -1)
            attended = torch.nn.functional.scaled_dot_product_attention(
                packed, keys[None], values[None], attn_mask=mask[None, None], scale=scaling
            ).reshape(1, heads, width, -1)
        outputs.append(attended.transpose(1, 2))
    return torch.cat(outputs, dim=1), None


def register() -> None:
    """Make transformers know this implementation by ``NAME``."""
    ALL_ATTENTION_FUNCTIONS.register(NAME, ragged_attention)
