"""A target that runs a transformers model.

Loads a folder with ``config.json`` and safetensors, never code and never pickles. The store keeps
float32 weights, which transformers maps from the file on a CPU: loading costs little more than
opening it.

At load the whole chain is probed: the same tokens are scored once by the model's own code and once
in two blocks with a rollback in between. An architecture whose cache cannot be rolled back, or
whose attention does something that ours does not, is refused by name.

Source of the float32 rule: in half precision a pass of width 1 and a wide pass round differently,
so near ties can fall either way; on a CPU float32 is the default because exactness is the promise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.utils import logging as transformers_logging

from apply_edit.decode import attention
from apply_edit.decode.cache import KVCache, Prefix
from apply_edit.decode.target import Block, Scores
from apply_edit.errors import ApplyEditError, DeviceError, ModelLoadError

# An object of transformers, which has no types to speak of.
Foreign: TypeAlias = Any

# Layer kinds whose state is keys and values by position; everything else is refused.
_ROLLBACK_KINDS = frozenset({"full_attention", "sliding_attention"})
# What gives away a recurrent architecture whose configuration lists no layer kinds.
_RECURRENT_MARKS = ("mamba", "ssm", "linear_attn", "rwkv", "conv_kernel", "conv_l_cache", "xlstm")
# Padding adds less than this to any block.
_WIDEST_BUCKET = 256
_PROBE_TOLERANCE = {torch.float32: 1e-2, torch.bfloat16: 1.0, torch.float16: 0.25}


class LazyScores:
    """Logits of one block, computed from its hidden states row by row when asked for.

    Args:
        hidden: ``[num_rows, hidden]`` last hidden states.
        head: Maps ``[n, hidden]`` to ``[n, vocab]`` logits.
        vocab_size: Ids that the tokenizer knows; the padded rows of the head behind them are cut.
    """

    def __init__(self, hidden: torch.Tensor, head: Foreign, vocab_size: int) -> None:
        self._hidden = hidden
        self._head = head
        self._vocab_size = vocab_size
        self.num_rows = hidden.shape[0]

    def logits(self, start: int, stop: int) -> torch.Tensor:
        """Return rows ``[start, stop)``; see ``Scores.logits``."""
        with torch.inference_mode():
            rows: torch.Tensor = self._head(self._hidden[start:stop])
            return rows[:, : self._vocab_size].float()


class TransformersTarget:
    """A transformers causal language model behind the ``Target`` seam.

    Args:
        model: The model, its attention set to ``attention.NAME``.
        vocab_size: Ids that the tokenizer knows.
        static_capacity: Tokens per row for a static cache, None for a growing one.
    """

    def __init__(self, model: Foreign, vocab_size: int, static_capacity: int | None = None) -> None:
        self.model = model
        self._backbone = model.get_decoder()
        self._head = model.get_output_embeddings()
        text_config = model.config.get_text_config()
        self.device: torch.device = model.device
        self.dtype: torch.dtype = model.dtype
        self.vocab_size = min(vocab_size, self._head.out_features)
        limit = int(getattr(text_config, "max_position_embeddings", 0)) or 1 << 20
        self.context_limit = min(limit, static_capacity or limit)
        self._is_static = static_capacity is not None
        # The last block of a full row is padded, too.
        capacity = None if static_capacity is None else static_capacity + _WIDEST_BUCKET
        self._cache = KVCache(text_config.num_hidden_layers, capacity)

    def open_row(self, prefix: Prefix | None = None) -> int:
        """Return a new row; see ``Target.open_row``."""
        with _device_errors():
            return self._cache.open_row(prefix)

    def snapshot(self, row: int, length: int) -> Prefix:
        """Copy a row's first tokens; see ``Target.snapshot``."""
        with _device_errors():
            return self._cache.snapshot(row, length)

    def close_row(self, row: int) -> None:
        """Forget a row."""
        self._cache.close_row(row)

    def length(self, row: int) -> int:
        """Return the number of cached tokens of a row."""
        return self._cache.length(row)

    def rollback(self, row: int, length: int) -> None:
        """Shorten a row; see ``Target.rollback``."""
        self._cache.rollback(row, length)

    def keep_branch(self, row: int, base: int, offsets: Sequence[int]) -> None:
        """Keep one branch of a tree; see ``Target.keep_branch``."""
        self._cache.keep_branch(row, base, offsets)

    def score(self, blocks: Sequence[Block]) -> list[Scores]:
        """Append blocks in one forward pass; see ``Target.score``."""
        fed = [padded(block) for block in blocks] if self._is_static else blocks
        plan = attention.make_plan(self._cache, fed, self.device)
        ids = torch.tensor([[i for block in fed for i in block.ids]], device=self.device)
        with torch.inference_mode(), _device_errors():
            hidden = self._backbone(
                input_ids=ids, position_ids=plan.positions, ragged=plan, use_cache=False
            ).last_hidden_state[0]
        scores: list[Scores] = []
        for block, (row, start, _) in zip(blocks, plan.rows, strict=True):
            stop = start + len(block.ids)
            self._cache.commit(row, len(block.ids))
            scores.append(
                LazyScores(hidden[stop - block.wanted : stop], self._head, self.vocab_size)
            )
        return scores


@contextmanager
def own_attention(target: TransformersTarget) -> Iterator[Foreign]:
    """Lend the transformers model with its own attention, for comparison; ours is back afterwards.

    The same weights serve both, so that a comparison needs no second copy of them.
    """
    model = target.model
    model.set_attn_implementation("sdpa" if model._supports_sdpa else "eager")
    try:
        yield model
    finally:
        model.set_attn_implementation(attention.NAME)


def padded(block: Block) -> Block:
    """Fill a block up to one of a few widths with tokens that nothing looks at.

    They lie behind a linear block and beside the branches of a tree, and are never committed.

    >>> padded(Block(0, (7, 8, 9), 1)).ids
    (7, 8, 9, 0)
    >>> padded(Block(0, (7, 8, 9), 1, (-1, 0, 0))).parents
    (-1, 0, 0, -1)
    """
    extra = bucket(len(block.ids)) - len(block.ids)
    parents = None if block.parents is None else (*block.parents, *(-1,) * extra)
    return Block(block.row, (*block.ids, *(0,) * extra), block.wanted, parents)


def bucket(width: int) -> int:
    """Return the padded width: powers of two, and multiples of 256 above.

    >>> [bucket(width) for width in (1, 3, 64, 65, 256, 257)]
    [1, 4, 64, 128, 256, 512]
    """
    if width > _WIDEST_BUCKET:
        return -(-width // _WIDEST_BUCKET) * _WIDEST_BUCKET
    return 1 << (width - 1).bit_length()


def load(
    folder: Path,
    vocab_size: int,
    device: str = "auto",
    dtype: str = "auto",
    static_capacity: int | None = None,
) -> TransformersTarget:
    """Load a model folder.

    Args:
        folder: Folder with ``config.json`` and ``*.safetensors``.
        vocab_size: Ids that the tokenizer knows.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        dtype: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        static_capacity: Tokens per row for a static cache, None for a growing one.

    Raises:
        ModelLoadError: The folder is not a model that can be used; the message names what is wrong.
        DeviceError: The device is missing or too small.
    """
    place = choose_device(device)
    kind = choose_dtype(place, dtype)
    attention.register()
    with _quiet():
        try:
            config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        except (OSError, ValueError, KeyError) as error:
            message = f"{folder} has no configuration that can be read: {_first_line(error)}"
            raise ModelLoadError(message) from None
        _refuse_recurrent(config)
        with _device_errors():
            model = _load_model(folder, config, place, kind)
    target = TransformersTarget(model, vocab_size, static_capacity)
    _probe(target, model)
    return target


def choose_device(device: str) -> torch.device:
    """Return the device to run on.

    Raises:
        DeviceError: The device is unknown or not there.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        place = torch.device(device)
    except RuntimeError:
        message = f"unknown device {device!r}; use auto, cpu, cuda or cuda:N"
        raise DeviceError(message) from None
    if place.type == "cuda" and not torch.cuda.is_available():
        message = "no CUDA device is available to torch on this machine; use --device cpu"
        raise DeviceError(message)
    return place


def choose_dtype(device: torch.device, dtype: str) -> torch.dtype:
    """Return the number format: float32 on CPUs, bfloat16 (or float16 before Ampere) on CUDA."""
    if dtype != "auto":
        named: torch.dtype = getattr(torch, dtype)
        return named
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return torch.float32


def _load_model(folder: Path, config: Foreign, device: torch.device, dtype: torch.dtype) -> Foreign:
    try:
        model = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=dtype,
            attn_implementation=attention.NAME,
            trust_remote_code=False,
            use_safetensors=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        message = f"the model in {folder} cannot be loaded: {_first_line(error)}"
        raise ModelLoadError(message) from None
    placed: Foreign = model
    return placed.to(device).eval()


def _refuse_recurrent(config: Foreign) -> None:
    text_config = config.get_text_config()
    kinds = set(getattr(text_config, "layer_types", None) or ())
    foreign = sorted(kinds - _ROLLBACK_KINDS)
    words = [text_config.model_type, *text_config.to_dict()]
    marks = [m for m in _RECURRENT_MARKS if any(m in word.lower() for word in words)]
    if foreign or marks:
        name = (config.architectures or [config.model_type])[0]
        message = (
            f"{name} keeps state that cannot be rolled back ({', '.join(foreign or marks)}); "
            "use a model with attention layers only"
        )
        raise ModelLoadError(message, architecture=name)


def _probe(target: TransformersTarget, model: Foreign) -> None:
    """Check that blocks, rollback and our attention give what the model's own code gives."""
    ids = [(37 * i + 11) % min(target.vocab_size, 1000) for i in range(12)]
    row = target.open_row()
    try:
        target.score([Block(row, tuple(ids[:5]), 0)])
        target.score([Block(row, tuple(reversed(ids)), 0)])
        target.rollback(row, 5)
        ours = target.score([Block(row, tuple(ids[5:]), 2)])[0].logits(0, 2)
        with own_attention(target), torch.inference_mode():
            own = model(
                torch.tensor([ids], device=target.device), use_cache=False, logits_to_keep=2
            )
    except (TypeError, AttributeError, ValueError) as error:
        message = f"{type(model).__name__} cannot be run row by row: {_first_line(error)}"
        raise ModelLoadError(message, architecture=type(model).__name__) from None
    finally:
        target.close_row(row)
    gap = (own.logits[0, :, : target.vocab_size].float() - ours).abs().max().item()
    if not gap <= _PROBE_TOLERANCE.get(target.dtype, 1.0):
        message = (
            f"{type(model).__name__} gives other logits after a rollback (off by {gap:.3g}); "
            "it does something that apply-edit does not support"
        )
        raise ModelLoadError(message, architecture=type(model).__name__)


@contextmanager
def _device_errors() -> Iterator[None]:
    try:
        yield
    except torch.OutOfMemoryError as error:
        message = f"the device has run out of memory: {_first_line(error)}"
        raise DeviceError(message) from None
    except ApplyEditError:
        raise
    except RuntimeError as error:
        if "not enough memory" in str(error) or "can't allocate memory" in str(error):
            message = f"not enough memory: {_first_line(error)}"
            raise DeviceError(message) from None
        raise


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers' warnings and bars off the user's terminal while loading."""
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call] # transformers
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call] # transformers
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
