"""Latency of speculative against plain decoding, through the same code."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import fmean
from typing import TypeVar

from apply_edit.reference.adapter import CachedModel, synchronise
from apply_edit.reference.cached import autoregressive_decode, check_request, speculative_decode

T = TypeVar("T")


# Eight arguments, because this signature is the published one.
def benchmark_decoding(  # noqa: PLR0913
    target_model: CachedModel,
    draft_model: CachedModel,
    prompts: list[list[int]],
    max_new_tokens: int,
    gamma: int,
    eos_token_id: int | None,
    warmup_runs: int = 2,
    num_runs: int = 5,
) -> dict[str, float]:
    """Time both ways of decoding over all prompts, taking turns so that both see the same machine.

    Args:
        target_model: The model that decides.
        draft_model: The model that proposes.
        prompts: At least one prompt.
        max_new_tokens: Most new tokens per prompt.
        gamma: Longest draft per round.
        eos_token_id: Ends an output; ``None`` for no such id.
        warmup_runs: Rounds over all prompts that are not timed (allocators, compilers, caches).
        num_runs: Rounds over all prompts that are.

    Returns:
        ``mean_latency_speculative`` and ``mean_latency_autoregressive`` in seconds per prompt,
        ``speedup`` (their ratio; above 1 where speculation is faster), ``mean_acceptance_rate``
        over prompts, ``tokens_per_second_speculative`` and ``tokens_per_second_autoregressive``.

    Raises:
        ValueError: No prompts, an impossible number of runs, or a value outside its range.
    """
    if not prompts or warmup_runs < 0 or num_runs < 1:
        message = (
            "benchmark needs at least one prompt, warmup_runs >= 0 and num_runs >= 1; got "
            f"{len(prompts)} prompts, warmup_runs={warmup_runs}, num_runs={num_runs}"
        )
        raise ValueError(message)
    for prompt in prompts:
        check_request(prompt, max_new_tokens, gamma)

    def timed(work: Callable[[], T]) -> tuple[T, float]:
        synchronise(target_model, draft_model)
        start = time.perf_counter()
        result = work()
        synchronise(target_model, draft_model)
        return result, time.perf_counter() - start

    fast: list[tuple[int, float]] = []  # (tokens, seconds) of each run
    slow: list[tuple[int, float]] = []
    rates: list[float] = []
    for run in range(warmup_runs + num_runs):
        for prompt in prompts:
            (ids, rate), fast_s = timed(
                lambda prompt=prompt: speculative_decode(  # type: ignore[misc]
                    target_model, draft_model, prompt, max_new_tokens, gamma, eos_token_id
                )
            )
            plain, slow_s = timed(
                lambda prompt=prompt: autoregressive_decode(  # type: ignore[misc]
                    target_model, prompt, max_new_tokens, eos_token_id
                )
            )
            if run >= warmup_runs:
                fast.append((len(ids), fast_s))
                slow.append((len(plain), slow_s))
                rates.append(rate)
    return _summary(fast, slow, rates)


def _summary(
    fast: list[tuple[int, float]], slow: list[tuple[int, float]], rates: list[float]
) -> dict[str, float]:
    """Reduce runs of (tokens, seconds) to the published figures."""
    mean_fast = fmean(seconds for _, seconds in fast)
    mean_slow = fmean(seconds for _, seconds in slow)
    return {
        "mean_latency_speculative": mean_fast,
        "mean_latency_autoregressive": mean_slow,
        "speedup": mean_slow / mean_fast,
        "mean_acceptance_rate": fmean(rates),
        "tokens_per_second_speculative": fmean(tokens for tokens, _ in fast) / mean_fast,
        "tokens_per_second_autoregressive": fmean(tokens for tokens, _ in slow) / mean_slow,
    }
