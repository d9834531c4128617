"""A folder with a tiny random model that the product loads like any other: no download."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, Qwen2Config

_END = "<|endoftext|>"


def make(folder: Path) -> Path:
    """Write a 2-layer Qwen2 of a few kilobytes with a token per byte, and return its folder."""
    folder.mkdir(parents=True)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({char: n for n, char in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([_END])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = Qwen2Config(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=8192,
        eos_token_id=tokenizer.token_to_id(_END),
        bos_token_id=None,
    )
    torch.manual_seed(0)
    # Saving shows a progress bar.
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(folder)
    return folder
