"""Targets and tokenizers without weights.

Every fake target keeps its own copy of what each cache slot holds, checks what it is asked to do,
and counts passes, so that a test can place rejections exactly and see that none leaves a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from apply_edit.decode.cache import Prefix
from apply_edit.decode.target import Block, Scores
from apply_edit.engine import Engine

# Rows of a hash target: a prime, so that hashes spread; small, so that it is made at once.
_TABLE = 997


@dataclass
class FakeScores:
    """Logits rows that were computed beforehand."""

    rows: torch.Tensor

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def logits(self, start: int, stop: int) -> torch.Tensor:
        """Return rows ``[start, stop)``."""
        if not 0 <= start < stop <= self.num_rows:
            message = f"rows {start}..{stop} asked for, there are {self.num_rows}"
            raise AssertionError(message)
        return self.rows[start:stop]


@dataclass
class FakeTarget:
    """A target whose logits are a function of the tokens before.

    Args:
        next_logits: Maps the ids of a row to ``[vocab]`` logits of the next token.
        vocab_size: Number of ids.
        context_limit: Most tokens of a row.
    """

    next_logits: Callable[[tuple[int, ...]], torch.Tensor]
    vocab_size: int
    context_limit: int = 1 << 20
    rows: dict[int, list[int]] = field(default_factory=dict)
    num_passes: int = 0
    widths: list[int] = field(default_factory=list)
    _next: int = 0
    _tree: dict[int, list[int]] = field(default_factory=dict)

    def open_row(self, prefix: Prefix | None = None) -> int:
        """Return a new row; the key of a token is its id."""
        self._next += 1
        self.rows[self._next] = [] if prefix is None else prefix.keys[0].flatten().tolist()
        return self._next

    def snapshot(self, row: int, length: int) -> Prefix:
        """Copy a row's first ids, 8 bytes each; see ``Target.snapshot``."""
        assert 0 < length <= len(self.rows[row])
        return Prefix((torch.tensor(self.rows[row][:length]).view(1, -1, 1),), ())

    def close_row(self, row: int) -> None:
        """Forget a row."""
        del self.rows[row]

    def length(self, row: int) -> int:
        """Return the cached tokens of a row."""
        return len(self.rows[row])

    def score(self, blocks: Sequence[Block]) -> list[Scores]:
        """Append blocks; see ``Target.score``."""
        assert blocks, "a pass needs at least one block"
        assert len({block.row for block in blocks}) == len(blocks), "one block per row"
        self.num_passes += 1
        self.widths.append(sum(len(block.ids) for block in blocks))
        return [self._score(block) for block in blocks]

    def _score(self, block: Block) -> Scores:
        assert block.ids, "an empty block was scored"
        assert 0 <= block.wanted <= len(block.ids)
        assert all(0 <= token < self.vocab_size for token in block.ids), "an id out of range"
        cached = self.rows[block.row]
        base = tuple(cached)
        assert len(base) + len(block.ids) <= self.context_limit, "the context is exceeded"
        parents = block.parents or tuple(range(-1, len(block.ids) - 1))
        prefixes: list[tuple[int, ...]] = []
        for node, parent in enumerate(parents):
            assert parent < node
            before = prefixes[parent] if parent >= 0 else base
            prefixes.append((*before, block.ids[node]))
        cached.extend(block.ids)
        wanted = prefixes[len(prefixes) - block.wanted :] if block.wanted else []
        logits = [self.next_logits(prefix) for prefix in wanted]
        return FakeScores(torch.stack(logits) if logits else torch.zeros(0, self.vocab_size))

    def rollback(self, row: int, length: int) -> None:
        """Shorten a row; see ``Target.rollback``."""
        if not 0 <= length <= len(self.rows[row]):
            message = f"rollback to {length} of {len(self.rows[row])}"
            raise ValueError(message)
        del self.rows[row][length:]

    def keep_branch(self, row: int, base: int, offsets: Sequence[int]) -> None:
        """Keep a branch; see ``Target.keep_branch``."""
        cached = self.rows[row]
        kept = [cached[base + offset] for offset in offsets]
        assert list(offsets) == sorted(set(offsets))
        cached[base:] = kept


def scripted_target(
    prompt_length: int, script: Sequence[int], vocab_size: int, context_limit: int = 1 << 20
) -> FakeTarget:
    """Return a target that writes ``script`` after any prompt of the given length.

    Its wish depends on the position only, so a rejected draft token does not disturb it. Behind the
    script it goes on with token 0.
    """

    def next_logits(prefix: tuple[int, ...]) -> torch.Tensor:
        place = len(prefix) - prompt_length
        row = torch.zeros(vocab_size)
        row[script[place] if 0 <= place < len(script) else 0] = 1.0
        return row

    return FakeTarget(next_logits, vocab_size, context_limit)


def hash_target(vocab_size: int = 50, context: int = 8, seed: int = 0) -> FakeTarget:
    """Return a target whose next token depends on a hash of the last ids; no float ties."""
    generator = torch.Generator().manual_seed(seed)
    return _table_target(torch.randn(_TABLE, vocab_size, generator=generator), context)


def tie_target(vocab_size: int = 50, context: int = 8, seed: int = 0) -> FakeTarget:
    """Return a hash target with three values of logits only, so that nearly every row has ties."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.randint(0, 3, (_TABLE, vocab_size), generator=generator).float()
    return _table_target(table, context)


def _table_target(table: torch.Tensor, context: int) -> FakeTarget:
    rows = list(table)

    def next_logits(prefix: tuple[int, ...]) -> torch.Tensor:
        # Hashes of tuples of ints are the same in every process.
        return rows[hash(prefix[-context:]) % _TABLE]

    return FakeTarget(next_logits, table.shape[1])


class ByteTokenizer:
    """One token per byte, then one each for special tokens."""

    is_byte_level = True
    chat_template = None
    vocab_size = 258
    eos_ids = frozenset({256})

    def encode_data(self, text: str) -> list[int]:
        """Encode text as its bytes."""
        return list(text.encode("utf-8"))

    def encode_control(self, text: str) -> list[int]:
        """Encode text as its bytes; there is no special syntax."""
        return list(text.encode("utf-8"))

    def token_bytes(self, token: int) -> bytes:
        """Return the byte of a token, nothing for a special one."""
        return bytes([token]) if token < 256 else b""

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids."""
        return b"".join(self.token_bytes(i) for i in ids).decode("utf-8", errors="replace")


def writing_engine(answer: str | Callable[[str], str], doubt: str = "") -> Engine:
    """Return an engine whose target answers every prompt with ``answer``.

    Args:
        answer: What it writes between the answer's tags, or a function from the prompt to that.
        doubt: The target is sure of every token but those that begin this text, of which it thinks
            that another token is all but as likely.
    """
    known: dict[tuple[int, ...], bytes] = {}

    def next_logits(prefix: tuple[int, ...]) -> torch.Tensor:
        text = bytes(prefix)
        if b"<updated-code>\n" not in text:
            # A prompt that is read ahead goes up to its file only; what follows is of no interest.
            return torch.zeros(ByteTokenizer.vocab_size)
        begin = text.rindex(b"<updated-code>\n") + len(b"<updated-code>\n")
        prompt = prefix[:begin]
        if prompt not in known:
            text_of = answer if isinstance(answer, str) else answer(text[:begin].decode())
            known[prompt] = text_of.encode() + b"</updated-code>"
        row = torch.zeros(ByteTokenizer.vocab_size)
        place = len(prefix) - begin
        written = known[prompt]
        row[written[place] if place < len(written) else 256] = 30.0
        if doubt and written.startswith(doubt.encode(), place):
            row[0] = 29.99
        return row

    target = FakeTarget(next_logits, ByteTokenizer.vocab_size)
    return Engine(target, ByteTokenizer())  # type: ignore[arg-type] # the fake has all that is used


class PieceTokenizer:
    """Ids that stand for given bytes: several characters, one, or a part of one."""

    is_byte_level = True
    chat_template = None
    eos_ids: frozenset[int] = frozenset()

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = tuple(pieces)
        self.vocab_size = len(self.pieces)

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes of a token."""
        return self.pieces[token]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids."""
        return b"".join(self.pieces[i] for i in ids).decode("utf-8", errors="replace")
