"""Tiny random models of real architectures, built in place: no download, milliseconds a pass."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoModelForCausalLM, MistralConfig, Qwen2Config

from apply_edit.decode import attention
from apply_edit.decode.transformers_target import TransformersTarget

VOCAB = 97
_SIZES = {
    "vocab_size": 100,  # three padded rows behind the tokenizer's 97 ids
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "initializer_range": 0.4,  # large enough that logits depend on far tokens
}


def qwen2_config() -> Any:
    """Return a 2-layer Qwen2 with grouped queries."""
    return Qwen2Config(**_SIZES, architectures=["Qwen2ForCausalLM"])


def sliding_config(window: int) -> Any:
    """Return a 2-layer Mistral whose layers look ``window`` tokens back."""
    return MistralConfig(**_SIZES, sliding_window=window, architectures=["MistralForCausalLM"])


def tiny_model(config: Any, seed: int = 0) -> Any:
    """Return a random float32 model with our attention."""
    attention.register()
    torch.manual_seed(seed)
    model: Any = AutoModelForCausalLM.from_config(
        config, dtype=torch.float32, attn_implementation=attention.NAME
    )
    return model.eval()


def tiny_target(config: Any, static_capacity: int | None = None) -> TransformersTarget:
    """Return a target over a tiny random model."""
    return TransformersTarget(tiny_model(config), VOCAB, static_capacity)


def own_logits(model: Any, ids: list[int]) -> torch.Tensor:
    """Return the logits that the model's own code gives, ``[len(ids), VOCAB]``."""
    model.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            rows: torch.Tensor = model(torch.tensor([ids]), use_cache=False).logits[0, :, :VOCAB]
            return rows
    finally:
        model.set_attn_implementation(attention.NAME)
