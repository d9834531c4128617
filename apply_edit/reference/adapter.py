"""The narrow door to a model with a KV cache, whatever arrays it works with.

This is the only module of the reference that meets foreign arrays. It imports no framework: a torch
tensor can only turn up where torch has been imported already, and is then taken as it comes.

What a model has to offer (:class:`CachedModel`):

``forward(input_ids, use_cache=True, past_key_values=cache)``
    Runs one pass over ids that are not in the cache yet (``None``: nothing is) and returns a tuple
    ``(logits, cache)`` or an object with ``.logits`` and ``.past_key_values``. The logits have one
    row *per input id*, ``[len, vocab]`` or ``[1, len, vocab]``; row i speaks of the id after
    ``input_ids[i]``. NumPy arrays, nested lists and torch tensors on any device will do.
``truncate_cache(past_key_values, valid_length)``
    Drops every position from ``valid_length`` on and returns the cache, or shortens it in place and
    returns ``None``.

``input_ids`` comes in the form that the model can take. A ``torch.nn.Module`` gets an int64 tensor
``[1, len]`` on its device. Any other object is offered, in its very first pass (there is no cache
then that a failed attempt could harm), a flat ``list[int]``, an int64 array ``[1, len]`` and, where
torch is loaded, a tensor ``[1, len]``, in this order; it keeps the first form that it does not
refuse with ``TypeError``, ``ValueError``, ``AttributeError`` or ``IndexError``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

# A value that belongs to the model's framework: arrays, caches, the model object itself.
Foreign: TypeAlias = Any
Form: TypeAlias = Callable[[list[int]], Foreign]


class CachedModel(Protocol):
    """A model with a cache; see the module's description for the exact terms."""

    def forward(
        self, input_ids: Foreign, use_cache: bool = True, past_key_values: Foreign = None
    ) -> Foreign:
        """Run one pass over ``input_ids`` after the cached positions."""

    def truncate_cache(self, past_key_values: Foreign, valid_length: int) -> Foreign:
        """Keep the first ``valid_length`` positions of the cache."""


def _torch() -> Foreign:
    """Return torch where somebody has imported it, else ``None``; never imports it."""
    return sys.modules.get("torch")


def _no_grad() -> AbstractContextManager[object]:
    torch = _torch()
    return nullcontext() if torch is None else torch.no_grad()


def to_numpy(values: Foreign) -> NDArray[Any]:
    """Return ``values`` as a NumPy array; tensors leave graph and device behind."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        torch = _torch()
        # NumPy has no bfloat16; any other type keeps its precision, and with it its ties.
        if torch is not None and values.dtype == torch.bfloat16:
            values = values.float()
        values = values.numpy()
    return np.asarray(values)


def _device(model: Foreign) -> Foreign:
    """Return the device that the model names or that its parameters are on, else ``None``."""
    device = getattr(model, "device", None)
    if device is None and hasattr(model, "parameters"):
        device = next((parameter.device for parameter in model.parameters()), None)
    return device


def _forms(model: CachedModel) -> list[Form]:
    """Return the forms of ``input_ids`` to try on this model, in order."""
    torch = _torch()

    def batch_tensor(ids: list[int]) -> Foreign:
        return torch.tensor([ids], dtype=torch.int64, device=_device(model))

    if torch is not None and isinstance(model, torch.nn.Module):
        return [batch_tensor]
    flat_and_batch: list[Form] = [list, lambda ids: np.asarray([ids], dtype=np.int64)]
    return flat_and_batch if torch is None else [*flat_and_batch, batch_tensor]


def synchronise(*models: Foreign) -> None:
    """Wait until the devices have done what was asked of them; a clock means nothing before.

    Does nothing where torch is not loaded or no model is on a device that works ahead.
    """
    torch = _torch()
    if torch is None:
        return
    kinds = {str(_device(model)).partition(":")[0] for model in models}
    if "mps" in kinds:
        torch.mps.synchronize()
    # A model that names no device may still compute on one that has been used before.
    if "cuda" in kinds or torch.cuda.is_initialized():
        torch.cuda.synchronize()


class CachedSequence:
    """One model, its cache, and how many positions of the sequence are in it.

    Args:
        model: The model.

    Attributes:
        length: Cached positions.
        passes: Forward passes so far.
    """

    def __init__(self, model: CachedModel) -> None:
        self._model = model
        self._cache: Foreign = None
        self._form: Form | None = None
        self.length = 0
        self.passes = 0

    def extend(self, ids: Sequence[int]) -> NDArray[Any]:
        """Run one pass over ``ids``, which follow the cached positions.

        Returns:
            Logits ``[len(ids), vocab]``; row i speaks of the id after ``ids[i]``.

        Raises:
            ValueError: The model's logits have another shape.
        """
        ids = list(ids)
        with _no_grad():
            output = self._first_pass(ids) if self._form is None else self._run(self._form, ids)
        logits, self._cache = _unpack(output)
        self.length += len(ids)
        self.passes += 1
        return _rows(logits, len(ids))

    def rollback(self, length: int) -> None:
        """Forget every position from ``length`` on.

        Raises:
            ValueError: ``length`` is negative or more than is cached.
        """
        if not 0 <= length <= self.length:
            message = f"cannot roll back to {length}: the cache holds {self.length} positions"
            raise ValueError(message)
        if length == self.length:
            return
        shortened = self._model.truncate_cache(self._cache, length)
        if shortened is not None:
            self._cache = shortened
        self.length = length

    def _run(self, form: Form, ids: list[int]) -> Foreign:
        return self._model.forward(form(ids), use_cache=True, past_key_values=self._cache)

    def _first_pass(self, ids: list[int]) -> Foreign:
        refusal: Exception | None = None
        for form in _forms(self._model):
            try:
                output = self._run(form, ids)
            except (TypeError, ValueError, AttributeError, IndexError) as error:
                refusal = refusal or error
            else:
                self._form = form
                return output
        message = f"the model's forward takes input_ids in no form that is known: {refusal}"
        raise ValueError(message) from refusal


def _unpack(output: Foreign) -> tuple[Foreign, Foreign]:
    """Return logits and cache from a pair or from an object that has both as attributes."""
    if isinstance(output, (tuple, list)):
        if len(output) < 2:
            message = "forward must return (logits, cache); is use_cache=True ignored?"
            raise ValueError(message)
        return output[0], output[1]
    return output.logits, output.past_key_values


def _rows(logits: Foreign, expected: int) -> NDArray[Any]:
    rows = to_numpy(logits)
    if rows.ndim == 3 and rows.shape[0] == 1:
        rows = rows[0]
    if rows.ndim != 2 or rows.shape[0] != expected:
        message = (
            f"forward must return one row of logits per input id ([{expected}, vocab] or "
            f"[1, {expected}, vocab]); got shape {rows.shape}"
        )
        raise ValueError(message)
    return rows
