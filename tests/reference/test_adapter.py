"""The door to foreign models: arrays of all kinds, and errors that say what is wrong."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from apply_edit.reference import speculative_decode
from apply_edit.reference.adapter import CachedSequence, synchronise, to_numpy
from tests.reference.fakes import VOCAB, FakeModel, hash_choice, plain


def test_importing_the_reference_imports_no_framework():
    """A fresh interpreter has no torch in it after the import."""
    code = "import sys, apply_edit.reference; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class Scripted:
    """A model that returns what it is given to return."""

    def __init__(self, output):
        self.output = output

    def forward(self, input_ids, use_cache=True, past_key_values=None):
        """Return the prepared output."""
        return self.output

    def truncate_cache(self, past_key_values, valid_length):
        """Leave the cache as it is."""
        return past_key_values


@pytest.mark.parametrize("logits", [[[1, 2], [3, 4]], np.ones((2, 2)), np.ones((1, 2, 2))])
def test_logits_come_out_as_one_row_per_id(logits):
    """Nested lists, two dimensions or a batch of one."""
    assert CachedSequence(Scripted((logits, None))).extend([5, 6]).shape == (2, 2)


@pytest.mark.parametrize("shape", [(2,), (1, 2), (3, 2), (2, 2, 2), (1, 1, 2)])
def test_logits_of_another_shape_are_refused(shape):
    """For example a model that returns the last row only."""
    with pytest.raises(ValueError, match="one row of logits per input id"):
        CachedSequence(Scripted((np.ones(shape), None))).extend([5, 6])


def test_a_missing_cache_is_refused():
    """A one-element tuple is a model without its cache."""
    with pytest.raises(ValueError, match="use_cache=True"):
        CachedSequence(Scripted((np.ones((1, 2)),))).extend([5])


@pytest.mark.parametrize("length", [-1, 4])
def test_a_rollback_goes_only_to_what_is_cached(length):
    """Negative lengths and lengths beyond the cache are errors."""
    sequence = CachedSequence(FakeModel(hash_choice(1)))
    sequence.extend([1, 2, 3])
    with pytest.raises(ValueError, match=f"cannot roll back to {length}"):
        sequence.rollback(length)
    sequence.rollback(0)
    assert sequence.length == 0


def test_a_model_that_takes_no_form_of_ids_says_why():
    """The model's own complaint is the cause of the error."""

    class Picky(Scripted):
        def forward(self, input_ids, use_cache=True, past_key_values=None):
            raise TypeError("only punched cards")

    with pytest.raises(ValueError, match="only punched cards") as caught:
        CachedSequence(Picky(None)).extend([1])
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_failure_after_the_first_pass_is_the_models_own():
    """Once the form is settled, errors are not taken for a refusal of the form."""
    sequence = CachedSequence(FakeModel(hash_choice(1)))
    sequence.extend([1])
    with pytest.raises(TypeError):
        sequence.extend([None])


@pytest.fixture
def torch():
    """Return torch, or skip where it is not installed."""
    return pytest.importorskip("torch")


def test_tensors_lose_graph_and_half_precision(torch):
    """A bfloat16 tensor that requires a gradient becomes a plain array; float64 stays float64."""
    half = torch.ones(2, 3, dtype=torch.bfloat16, requires_grad=True)
    assert to_numpy(half).dtype == np.float32
    assert to_numpy(torch.ones(2, dtype=torch.float64)).dtype == np.float64


def test_a_model_that_wants_tensors_gets_them(torch):
    """An object that is no module but calls tensor methods is served a [1, len] tensor."""
    rule = hash_choice(4)
    model = FakeModel(rule, form="tensor")
    got, _ = speculative_decode(model, model, [1, 2], 12, 3, None)
    assert got == plain(rule, [1, 2], 12, None)


def test_a_torch_module_gets_int64_tensors_on_its_device(torch):
    """A module with bfloat16 logits and a tensor cache decodes by its rule, without a graph."""
    seen = []

    class Successor(torch.nn.Module):
        """Says id + 1; keeps what it was fed as its cache."""

        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.eye(VOCAB, dtype=torch.bfloat16).roll(1, 1))

        def forward(self, input_ids, use_cache=True, past_key_values=None):
            seen.append((input_ids.dtype, input_ids.shape[0], torch.is_grad_enabled()))
            cache = (
                input_ids
                if past_key_values is None
                else torch.cat([past_key_values, input_ids], dim=1)
            )
            return SimpleNamespace(logits=self.table[input_ids], past_key_values=cache)

        def truncate_cache(self, past_key_values, valid_length):
            return past_key_values[:, :valid_length]

    got, rate = speculative_decode(Successor(), Successor(), [3], 10, 4, 2)
    assert got == [4, 5, 6, 7, 8, 9, 10, 11, 12, 0]
    assert rate == 1.0
    assert set(seen) == {(torch.int64, 1, False)}


@pytest.mark.parametrize(
    ("device", "initialised", "want"),
    [
        ("cpu", False, []),
        ("cuda:0", False, ["cuda"]),
        (None, True, ["cuda"]),
        ("mps", False, ["mps"]),
    ],
)
def test_synchronise_waits_for_the_devices_in_use(monkeypatch, device, initialised, want):
    """A GPU is waited for where a model names it or where it has been used already."""
    calls = []
    fake = SimpleNamespace(
        cuda=SimpleNamespace(
            is_initialized=lambda: initialised, synchronize=lambda: calls.append("cuda")
        ),
        mps=SimpleNamespace(synchronize=lambda: calls.append("mps")),
    )
    monkeypatch.setitem(sys.modules, "torch", fake)
    synchronise(SimpleNamespace(device=device))
    assert calls == want


def test_synchronise_needs_no_framework(monkeypatch):
    """Where torch was never loaded there is nothing to wait for."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    synchronise(object())
