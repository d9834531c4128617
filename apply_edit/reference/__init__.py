"""Speculative decoding to read and to check against: small, in plain Python and NumPy.

Three layers, from the idea to real models:

- over lists of probabilities (:mod:`~apply_edit.reference.lists`): the whole loop, passes counted;
- one round over functions of a prefix (:mod:`~apply_edit.reference.rounds`), and the formulas that
  say what it is worth (:mod:`~apply_edit.reference.theory`);
- over models with a KV cache (:mod:`~apply_edit.reference.cached`), with a benchmark.

They share one verification (:mod:`~apply_edit.reference.verify`). Why its output is exact is
written down in ``docs/exactness.md`` and proved by enumeration in ``tests/exactness``.

Words: arXiv:2211.17192.
"""

from apply_edit.reference.adapter import CachedModel
from apply_edit.reference.benchmark import benchmark_decoding
from apply_edit.reference.cached import autoregressive_decode, speculative_decode
from apply_edit.reference.lists import (
    CountingModel,
    greedy_decode,
    lookup_proposer,
    model_proposer,
    speculative_greedy,
    speculative_sample,
)
from apply_edit.reference.rounds import speculative_step
from apply_edit.reference.theory import (
    acceptance_rate,
    best_gamma,
    break_even_cost,
    expected_speedup,
    expected_tokens,
)
from apply_edit.reference.verify import (
    Draws,
    UniformDraws,
    Verdict,
    acceptance_probability,
    argmax,
    residual,
    sample,
    verify,
)

__all__ = [
    "CachedModel",
    "CountingModel",
    "Draws",
    "UniformDraws",
    "Verdict",
    "acceptance_probability",
    "acceptance_rate",
    "argmax",
    "autoregressive_decode",
    "benchmark_decoding",
    "best_gamma",
    "break_even_cost",
    "expected_speedup",
    "expected_tokens",
    "greedy_decode",
    "lookup_proposer",
    "model_proposer",
    "residual",
    "sample",
    "speculative_decode",
    "speculative_greedy",
    "speculative_sample",
    "speculative_step",
    "verify",
]
