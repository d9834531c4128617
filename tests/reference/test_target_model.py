"""The text-book decoding runs on the engine's own targets, and their passes can be timed."""

import gc

import numpy as np
import pytest

from apply_edit.lab.target_model import TargetModel
from apply_edit.reference import autoregressive_decode, speculative_decode
from tests.reference.fakes import VOCAB, hash_choice, plain


class RowTarget:
    """A target over a next-token rule; its rows hold the ids that were fed."""

    vocab_size = VOCAB
    context_limit = 4096
    device = "cpu"

    def __init__(self, choose):
        self.choose = choose
        self.rows = {}
        self.opened = 0
        self.scored = []  # (cached, fed, wanted) of each pass

    def open_row(self):
        """Open an empty row."""
        self.opened += 1
        self.rows[self.opened] = []
        return self.opened

    def close_row(self, row):
        """Forget a row; a second time is an error."""
        del self.rows[row]

    def length(self, row):
        """Return how many ids a row holds."""
        return len(self.rows[row])

    def rollback(self, row, length):
        """Shorten a row."""
        assert 0 <= length <= len(self.rows[row])
        del self.rows[row][length:]

    def score(self, blocks):
        """Append one block and keep its rows of logits."""
        (block,) = blocks
        ids = self.rows[block.row]
        self.scored.append((len(ids), len(block.ids), block.wanted))
        start = len(ids) + len(block.ids) - block.wanted
        ids += block.ids
        table = np.eye(VOCAB, dtype=np.float32)
        rows = table[[self.choose(ids[: i + 1]) for i in range(start, len(ids))]]
        return [type("Rows", (), {"logits": lambda self, start, stop: rows[start:stop]})()]


def test_speculative_decoding_over_targets_equals_plain_decoding():
    """Two targets behind the adapter decode as the target alone does, and no row is left open."""
    rule = hash_choice(1)
    target, draft = RowTarget(rule), RowTarget(hash_choice(1, 0.6))
    got, rate = speculative_decode(TargetModel(target), TargetModel(draft), [1, 2], 40, 4, None)
    assert got == plain(rule, [1, 2], 40, None)
    assert 0 < rate < 1
    gc.collect()
    assert target.rows == draft.rows == {}


def test_one_target_may_serve_both_sides():
    """Each side has a row of its own."""
    target = RowTarget(hash_choice(2))
    model = TargetModel(target)
    got, rate = speculative_decode(model, model, [1], 20, 4, None)
    assert (got, rate) == (plain(hash_choice(2), [1], 20, None), 1.0)
    assert target.opened == 2


def test_teacher_forcing_gives_a_row_per_id():
    """Row i says what comes after id i, and the row of the target is closed again."""
    rule = hash_choice(3)
    target = RowTarget(rule)
    rows = TargetModel(target).logits([4, 5, 6])
    assert rows.argmax(-1).tolist() == [rule([4]), rule([4, 5]), rule([4, 5, 6])]
    assert target.rows == {}


def test_passes_are_timed_behind_the_prefix():
    """The prefix is cached once, each pass is rolled back, and all its rows are asked for."""
    target = RowTarget(hash_choice(3))
    seconds = TargetModel(target).pass_seconds([1, 2, 3], 5, 2)
    assert target.scored == [(0, 3, 1), (3, 5, 5), (3, 5, 5)]
    assert len(seconds) == 2
    assert min(seconds) > 0
    assert target.rows == {}


def test_a_prefill_is_timed_without_a_prefix():
    """Only the last row is asked for, as in a real prefill."""
    target = RowTarget(hash_choice(3))
    assert len(TargetModel(target).pass_seconds((), 7, 1)) == 1
    assert target.scored == [(0, 7, 1)]


def test_a_real_architecture_behind_the_adapter(tmp_path):
    """A tiny random Qwen2 in float32: speculative equals plain, and logits do not depend on blocks.

    The draft is the target with slightly disturbed weights, so that drafts are accepted and
    rejected.
    """
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from apply_edit.decode.transformers_target import load

    torch.manual_seed(0)
    config = transformers.Qwen2Config(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        initializer_range=0.5,
        bos_token_id=None,
        eos_token_id=None,
    )
    big = transformers.Qwen2ForCausalLM(config)
    big.save_pretrained(tmp_path / "target")
    with torch.no_grad():
        for parameter in big.parameters():
            parameter += 0.05 * torch.randn_like(parameter)
    big.save_pretrained(tmp_path / "draft")
    target = TargetModel(load(tmp_path / "target", 64, "cpu", "float32"))
    draft = TargetModel(load(tmp_path / "draft", 64, "cpu", "float32"))
    want = autoregressive_decode(target, [5, 6, 7], 48, None)
    got, rate = speculative_decode(target, draft, [5, 6, 7], 48, 4, None)
    assert got == want
    assert 0 < rate < 1
    rows = target.logits([5, 6, 7, *want])
    assert rows.shape == (51, 64)
    assert rows[2:-1].argmax(-1).tolist() == want
