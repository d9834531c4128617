"""Load a draft model: a small target of the same tokenizer, and what its passes cost.

On a CPU its linear layers are quantised to int8 while they run (dynamic quantisation). One scale
serves all rows of a pass, so a row's logits depend on the other rows. A draft model may do that,
because ``q`` is whatever it really drew from; a target may not.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import torch

from apply_edit.decode.calibrate import quick_cost
from apply_edit.decode.cost import PassCost
from apply_edit.decode.target import Target
from apply_edit.decode.tokens import TextTokenizer, require_same_tokenizer
from apply_edit.decode.transformers_target import TransformersTarget, choose_device, load
from apply_edit.errors import ConfigError, ModelLoadError

INT8 = "int8"


@dataclass(frozen=True, slots=True)
class DraftTarget:
    """A loaded draft model; shared by all requests.

    Args:
        target: The model. It never verifies anything.
        cost: What its passes take; corrected by every one of them.
    """

    target: Target
    cost: PassCost


def load_draft(
    folder: Path, tokenizer: TextTokenizer, device: str, dtype: str, kept: Path
) -> DraftTarget:
    """Load a draft model and find out what it costs.

    Args:
        folder: Folder of the draft model.
        tokenizer: The target's tokenizer.
        device: Device of the target.
        dtype: ``auto`` (int8 on a CPU), ``int8``, ``float32``, ``bfloat16`` or ``float16``.
        kept: Folder of kept measurements; a draft model that has none is measured for some seconds.

    Raises:
        ModelLoadError: It cannot be loaded, its tokenizer is another one, or int8 is not to be had.
        ConfigError: int8 was asked for on a device that is no CPU.
        DeviceError: The device is missing or too small.
    """
    target, kind = load_draft_target(folder, tokenizer, device, dtype)
    return DraftTarget(target, quick_cost(target, folder, kept, kind))


def load_draft_target(
    folder: Path, tokenizer: TextTokenizer, device: str, dtype: str
) -> tuple[TransformersTarget, str]:
    """Load a draft model; return it and its number format. See ``load_draft``."""
    require_same_tokenizer(tokenizer, TextTokenizer.load(folder))
    on_cpu = choose_device(device).type == "cpu"
    if dtype == INT8 and not on_cpu:
        message = f"int8 is for CPUs, and the draft model runs on {device}; use bfloat16 or auto"
        raise ConfigError(message, option="draft_dtype")
    if dtype == INT8 or (dtype == "auto" and on_cpu):
        target = load(folder, tokenizer.vocab_size, device, "float32")
        return quantised(target), INT8
    target = load(folder, tokenizer.vocab_size, device, dtype)
    return target, str(target.dtype).removeprefix("torch.")


def quantised(target: TransformersTarget) -> TransformersTarget:
    """Quantise a target's linear layers in place and return the target over them.

    Raises:
        ModelLoadError: This version of torch cannot.
    """
    try:
        # The layers stay as they are; only the tool is announced to move to another package.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "torch.ao.quantization is deprecated")
            warnings.filterwarnings("ignore", "torch.quantize_per_tensor")
            from torch.ao.quantization import quantize_dynamic

            model = quantize_dynamic(  # type: ignore[no-untyped-call] # torch has no types here
                target.model, {torch.nn.Linear}, dtype=torch.qint8, inplace=True
            )
    except (ImportError, AttributeError, RuntimeError) as error:
        message = (
            f"torch {torch.__version__} cannot quantise a draft model to int8 ({error}); "
            "use --draft-dtype float32"
        )
        raise ModelLoadError(message) from None
    return TransformersTarget(model, target.vocab_size)
