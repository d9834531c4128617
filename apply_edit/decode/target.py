"""The one seam between the engine and a model.

A target keeps *rows*. A row is one request: a sequence of cached tokens with an absolute length.
``score`` appends blocks of tokens to rows, one block per row and one forward pass for all of them,
and gives back next-token logits for the last positions that the caller asked for. ``rollback``
shortens a row again, and after it the row is as if the tokens behind had never been seen.
``snapshot`` copies a row's first tokens, and another row can begin with the copy instead of having
them scored.

Implementations: ``TransformersTarget`` and, for tests, scripted and hash targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch

    from apply_edit.decode.cache import Prefix


@dataclass(frozen=True, slots=True)
class Block:
    """Tokens to append to one row in one pass.

    Args:
        row: The row.
        ids: Tokens, at least one.
        wanted: How many positions, counted from the end of the block, need next-token logits.
        parents: For a token tree: ``parents[i]`` is the index in ``ids`` of the token before token
            ``i``, -1 for the end of the row, always less than ``i``. None for a linear block, where
            token ``i`` follows token ``i - 1``.
    """

    row: int
    ids: tuple[int, ...]
    wanted: int
    parents: tuple[int, ...] | None = None


class Scores(Protocol):
    """Next-token logits of the wanted positions of one block; computed when asked for.

    Row ``i`` belongs to position ``len(block.ids) - block.wanted + i``. The language model head is
    a good part of a small model's pass, so rows behind the first rejection are never computed.
    """

    num_rows: int

    def logits(self, start: int, stop: int) -> torch.Tensor:
        """Return rows ``[start, stop)`` as a ``[stop - start, vocab]`` float32 tensor on the CPU or
        the target's device.
        """  # noqa: D205 one sentence needs two lines
        ...


class Target(Protocol):
    """A model with rows of cached tokens."""

    vocab_size: int
    context_limit: int

    def open_row(self, prefix: Prefix | None = None) -> int:
        """Return a new row: empty, or with the tokens of a prefix of this target cached.

        Raises:
            DeviceError: The device has run out of memory; there is no new row.
        """
        ...

    def snapshot(self, row: int, length: int) -> Prefix:
        """Copy what is cached of a row's first ``length`` tokens; the row does not notice.

        Raises:
            ValueError: The row has fewer tokens, or none are asked for.
            DeviceError: The device has run out of memory.
        """
        ...

    def close_row(self, row: int) -> None:
        """Forget a row and free what it holds."""
        ...

    def length(self, row: int) -> int:
        """Return the number of cached tokens of a row."""
        ...

    def score(self, blocks: Sequence[Block]) -> list[Scores]:
        """Append one block to each of several rows, in one forward pass.

        Raises:
            DeviceError: The device has run out of memory; the rows are as before.
        """
        ...

    def rollback(self, row: int, length: int) -> None:
        """Shorten a row to its first ``length`` tokens.

        Raises:
            ValueError: ``length`` is negative or beyond the row's length.
        """
        ...

    def keep_branch(self, row: int, base: int, offsets: Sequence[int]) -> None:
        """Keep one branch of a token tree that was scored last.

        Args:
            row: The row.
            base: Length of the row before the tree was appended.
            offsets: Indexes into the tree's ``ids``, ascending, of the tokens to keep; the row's
                length becomes ``base + len(offsets)``.
        """
        ...
