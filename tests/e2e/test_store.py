"""The converter as it really runs, on GGUF files of a few kilobytes; and the real draft model."""

import json
import os
import stat

import gguf
import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors.numpy import load_file

from apply_edit.errors import DiskFull, ModelLoadError
from apply_edit.models import Meter, SilentProgress, Store, convert, locate
from apply_edit.models.conversion import convert_in_child
from apply_edit.models.layout import Layout

HIDDEN, MIDDLE, VOCABULARY, HEADS = 32, 64, 259, 2
DRAFT = "qwen2.5-coder-0.5b-instruct"


def tensors(seed=0):
    """Return the tensors of a one-layer model by their names in a GGUF file."""
    shapes = {
        "token_embd.weight": (VOCABULARY, HIDDEN),
        "output_norm.weight": (HIDDEN,),
        "blk.0.attn_norm.weight": (HIDDEN,),
        "blk.0.ffn_norm.weight": (HIDDEN,),
        "blk.0.attn_q.weight": (HIDDEN, HIDDEN),
        "blk.0.attn_k.weight": (HIDDEN, HIDDEN),
        "blk.0.attn_v.weight": (HIDDEN, HIDDEN),
        "blk.0.attn_q.bias": (HIDDEN,),
        "blk.0.attn_k.bias": (HIDDEN,),
        "blk.0.attn_v.bias": (HIDDEN,),
        "blk.0.attn_output.weight": (HIDDEN, HIDDEN),
        "blk.0.ffn_gate.weight": (MIDDLE, HIDDEN),
        "blk.0.ffn_up.weight": (MIDDLE, HIDDEN),
        "blk.0.ffn_down.weight": (HIDDEN, MIDDLE),
    }
    random = np.random.default_rng(seed)
    return {name: random.standard_normal(s, dtype=np.float32) for name, s in shapes.items()}


def write_gguf(path, values, quantised=("blk.0.ffn_up.weight",)):
    """Write a small Qwen2 model with a byte-level vocabulary; some tensors are quantised."""
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_name("tiny")
    writer.add_block_count(1)
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(MIDDLE)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-6)
    tokens = [chr(256 + n) for n in range(256)] + ["ab", "<|endoftext|>", "<|im_end|>"]
    tokens[:2] = ["a", "b"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([1] * 257 + [3, 3])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(258)
    writer.add_bos_token_id(257)
    writer.add_pad_token_id(257)
    for name, value in values.items():
        if name in quantised:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quantize(value, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_gguf_file_becomes_a_folder_that_can_be_loaded(tmp_path):
    """Tensors keep their values under the model's names, as float32, with all that is needed."""
    values = tensors()
    source = write_gguf(tmp_path / "tiny.gguf", values)

    found = locate(str(source), store=Store(layout=Layout(tmp_path / "home")))

    weights = {}
    for path in found.path.glob("*.safetensors"):
        weights |= load_file(path)
    layer = "model.layers.0."
    assert weights.keys() == set(
        json.loads((found.path / "model.safetensors.index.json").read_text())["weight_map"]
    )
    assert len(weights) == len(values)
    assert all(value.dtype == np.float32 for value in weights.values())
    same = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
        f"{layer}self_attn.q_proj.weight": "blk.0.attn_q.weight",
        f"{layer}self_attn.v_proj.bias": "blk.0.attn_v.bias",
        f"{layer}mlp.down_proj.weight": "blk.0.ffn_down.weight",
        f"{layer}post_attention_layernorm.weight": "blk.0.ffn_norm.weight",
    }
    for name, gguf_name in same.items():
        np.testing.assert_array_equal(weights[name], values[gguf_name])
    up = weights[f"{layer}mlp.up_proj.weight"]
    np.testing.assert_allclose(up, values["blk.0.ffn_up.weight"], atol=0.02)
    config = json.loads((found.path / "config.json").read_text())
    assert config["architectures"] == ["Qwen2ForCausalLM"]
    assert config["tie_word_embeddings"] is True
    assert stat.S_IMODE(os.stat(next(found.path.glob("*.safetensors"))).st_mode) == 0o644


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"", "not a GGUF file"),
        (lambda data: b"PK\3\4" + data[4:], "not a GGUF file"),
        (lambda data: data[:4], "damaged"),
        (lambda data: data[:1000], "damaged"),
        (lambda data: data[:-5000], "damaged"),
        (lambda data: data[:100] + b"\xff" * 200 + data[300:], "damaged"),
    ],
)
def test_a_damaged_gguf_file_is_a_load_error(tmp_path, damage, message):
    """Whatever is wrong with the file, the error is one line and no folder stays behind."""
    source = write_gguf(tmp_path / "tiny.gguf", tensors())
    source.write_bytes(damage(source.read_bytes()))

    with pytest.raises(ModelLoadError, match=message) as caught:
        locate(str(source), store=Store(layout=Layout(tmp_path / "home")))

    assert "\n" not in caught.value.message
    assert list((tmp_path / "home" / "models").iterdir()) == []


def test_a_missing_tensor_is_named(tmp_path):
    """A file without a tensor that the model needs is refused, and not filled with noise."""
    values = tensors()
    del values["blk.0.attn_k.bias"]
    source = write_gguf(tmp_path / "tiny.gguf", values)
    (tmp_path / "out").mkdir()

    with pytest.raises(ModelLoadError, match=r"blk\.0\.attn_k\.bias: the file has none"):
        convert_in_child(source, tmp_path / "out", Meter(SilentProgress()))


def test_a_tensor_that_nobody_wants_is_named(tmp_path):
    """A file with more than the model has is another model."""
    source = write_gguf(tmp_path / "t.gguf", tensors() | {"blk.0.extra": np.ones(4, np.float32)})
    (tmp_path / "out").mkdir()

    with pytest.raises(ModelLoadError, match=r"blk\.0\.extra: .* the model wants none"):
        convert_in_child(source, tmp_path / "out", Meter(SilentProgress()))


def test_too_little_space_for_the_conversion_is_said(tmp_path, monkeypatch, capsys):
    """The converter checks by the file's own size, and tells its caller as JSON."""
    source = write_gguf(tmp_path / "tiny.gguf", tensors())
    (tmp_path / "out").mkdir()

    def refuse(path, needed, purpose):
        raise convert.disk_full(path, needed, 0, purpose)

    monkeypatch.setattr(convert, "require_space", refuse)

    assert convert.main([str(source), str(tmp_path / "out")]) == convert.KNOWN_ERROR

    record = json.loads(capsys.readouterr().err.strip().split("\n")[-1])
    assert record["code"] == "disk_full"
    assert record["needed_bytes"] > 30_000_000


def test_a_disk_that_fills_up_under_safetensors_is_a_full_disk(tmp_path):
    """The writer's own error for ENOSPC is recognised; its other errors are not taken for it."""
    full = SafetensorError("I/O error: No space left on device (os error 28)")
    with pytest.raises(DiskFull), convert._full_disk_guard(tmp_path, 5, "convert"):
        raise full
    other = SafetensorError("I/O error: Input/output error (os error 5)")
    with pytest.raises(SafetensorError), convert._full_disk_guard(tmp_path, 5, "convert"):
        raise other


@pytest.mark.slow
def test_the_draft_model_is_pulled_once_and_loads():
    """The second pull finds the first one's folder untouched, and the folder loads."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    store = Store()
    folder = store.pull(DRAFT)
    times = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}

    assert store.pull(DRAFT) == folder
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == times
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    text = "def f(x):\r\n\treturn '<|im_start|>é\u2028'\n"
    ids = tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids
    assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text
    model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=False)
    assert model.config.vocab_size == 151936
    assert str(model.dtype) == "torch.float32"
