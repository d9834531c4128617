import json

import pytest
import torch
import transformers

from apply_edit.decode.target import Block
from apply_edit.decode.transformers_target import TransformersTarget, choose_dtype, load
from apply_edit.errors import DeviceError, ModelLoadError
from tests.tiny import VOCAB, own_logits, qwen2_config, sliding_config, tiny_model, tiny_target

RECURRENT = [
    *("Mamba", "Mamba2", "FalconMamba", "RecurrentGemma", "Rwkv", "Jamba", "Bamba", "Zamba"),
    *("Qwen3Next", "Lfm2", "FalconH1", "GraniteMoeHybrid", "MiniMax", "NemotronH", "xLSTM"),
]


@pytest.mark.parametrize("name", RECURRENT)
def test_architectures_that_cannot_be_rolled_back_are_refused_by_name(name, tmp_path):
    """Recurrent and hybrid models are refused before their weights are read."""
    config = getattr(transformers, f"{name}Config")(architectures=[f"{name}ForCausalLM"])
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict(), default=str))
    with pytest.raises(ModelLoadError, match=f"{name}ForCausalLM keeps state"):
        load(tmp_path, VOCAB, "cpu")


def saved(config, folder):
    """Write a tiny random model."""
    model = tiny_model(config)
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("config", [qwen2_config(), sliding_config(4)], ids=["full", "sliding"])
@pytest.mark.parametrize("capacity", [None, 64])
def test_a_folder_is_loaded_and_gives_the_models_own_logits(config, capacity, tmp_path):
    """Loading probes the model and the target then scores as the model's own code does."""
    model = saved(config, tmp_path)
    target = load(tmp_path, VOCAB, "cpu", static_capacity=capacity)
    assert target.context_limit == (capacity or 512)
    ids = [5, 3, 8, 1, 2, 9, 9, 4]
    row = target.open_row()
    target.score([Block(row, tuple(ids[:3]), 0)])
    ours = target.score([Block(row, tuple(ids[3:]), 5)])[0].logits(0, 5)
    assert torch.allclose(ours, own_logits(model, ids)[3:], atol=1e-4)


def test_attention_that_does_more_than_ours_is_refused(tmp_path):
    """A model whose attention squashes its scores is refused when it is loaded."""
    config = transformers.Gemma2Config(
        vocab_size=100,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        architectures=["Gemma2ForCausalLM"],
    )
    saved(config, tmp_path)
    with pytest.raises(ModelLoadError, match="softcap"):
        load(tmp_path, VOCAB, "cpu")


def test_a_cache_that_goes_wrong_is_caught_by_the_probe(tmp_path, monkeypatch):
    """A rollback that leaves a token behind makes loading fail, not decoding."""
    saved(qwen2_config(), tmp_path)
    right = TransformersTarget.rollback
    monkeypatch.setattr(
        TransformersTarget, "rollback", lambda self, row, length: right(self, row, length + 1)
    )
    with pytest.raises(ModelLoadError, match="other logits after a rollback"):
        load(tmp_path, VOCAB, "cpu")


def test_a_folder_without_weights_is_refused(tmp_path):
    """The message names the folder."""
    qwen2_config().save_pretrained(tmp_path)
    with pytest.raises(ModelLoadError, match=str(tmp_path)):
        load(tmp_path, VOCAB, "cpu")


def test_weights_of_another_shape_are_refused(tmp_path):
    """A configuration that does not fit the weights is found."""
    saved(qwen2_config(), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "intermediate_size": 50}))
    with pytest.raises(ModelLoadError, match="cannot be loaded"):
        load(tmp_path, VOCAB, "cpu")


@pytest.mark.parametrize("device", ["cuda", "nonsense"])
def test_a_missing_device_is_an_error(device, tmp_path, monkeypatch):
    """Asking for a device that is not there is refused; nothing falls back silently."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match="device"):
        load(tmp_path, VOCAB, device)


def test_float32_is_the_default_on_a_cpu():
    """Exactness is the promise, so a CPU gets full precision."""
    assert choose_dtype(torch.device("cpu"), "auto") == torch.float32
    assert choose_dtype(torch.device("cpu"), "bfloat16") == torch.bfloat16


@pytest.mark.parametrize("width", [1, 3, 5, 17])
def test_padding_changes_nothing(width):
    """Static storage pads blocks to a few widths; the logits are those of dynamic storage."""
    ids = tuple((11 * i + 3) % VOCAB for i in range(width))
    rows = []
    for capacity in (None, 64):
        target = tiny_target(qwen2_config(), capacity)
        row = target.open_row()
        target.score([Block(row, (1, 2, 3), 1)])
        target.score([Block(row, ids, width)])
        assert target.length(row) == 3 + width
        rows.append(target.score([Block(row, (7,), 1)])[0].logits(0, 1))
    assert torch.allclose(*rows, atol=1e-4)


def test_a_static_row_can_be_filled_to_its_limit():
    """The last block of a full row is padded beyond the limit and still fits."""
    target = tiny_target(qwen2_config(), 40)
    row = target.open_row()
    target.score([Block(row, tuple(range(33)), 1)])
    target.score([Block(row, (1, 2, 3, 4, 5, 6, 7), 1)])
    assert target.length(row) == target.context_limit == 40


@pytest.mark.parametrize("capacity", [None, 64])
def test_a_row_after_a_broken_off_request_is_as_new(capacity):
    """What a cancelled or stopped request left in the cache does not show in the next one."""
    target = tiny_target(qwen2_config(), capacity)
    fresh = tiny_target(qwen2_config(), capacity)
    row = target.open_row()
    target.score([Block(row, (9, 8, 7, 6, 5, 4, 3), 1)])
    target.rollback(row, 2)
    target.close_row(row)
    pair = []
    for one in (target, fresh):
        row = one.open_row()
        pair.append(one.score([Block(row, (1, 2, 3), 3)])[0].logits(0, 3))
    assert torch.equal(*pair)
