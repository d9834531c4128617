"""The benchmark times both ways of decoding and reports them together."""

import pytest

from apply_edit.reference import benchmark, benchmark_decoding
from tests.reference.fakes import FakeModel, hash_choice

KEYS = {
    "mean_latency_speculative",
    "mean_latency_autoregressive",
    "speedup",
    "mean_acceptance_rate",
    "tokens_per_second_speculative",
    "tokens_per_second_autoregressive",
}


class Clock:
    """A clock that moves with the passes of the models: target 1 s each, draft 0.1 s."""

    def __init__(self, target, draft):
        self.target, self.draft = target, draft

    def perf_counter(self):
        """Return the time."""
        return len(self.target.passes) + 0.1 * len(self.draft.passes)


def test_the_figures_are_those_of_the_clock(monkeypatch):
    """With known pass times every figure can be worked out by hand."""
    target, draft = FakeModel(hash_choice(1)), FakeModel(hash_choice(1))
    waits = []
    monkeypatch.setattr(benchmark, "time", Clock(target, draft))
    monkeypatch.setattr(benchmark, "synchronise", lambda *models: waits.append(models))
    got = benchmark_decoding(target, draft, [[1], [2, 3]], 20, 4, None, 1, 3)
    assert set(got) == KEYS
    # A perfect draft at gamma 4: 4 target passes, 16 draft passes; plain: 20 target passes.
    assert got["mean_latency_speculative"] == pytest.approx(5.6)
    assert got["mean_latency_autoregressive"] == pytest.approx(20)
    assert got["speedup"] == pytest.approx(20 / 5.6)
    assert got["mean_acceptance_rate"] == 1.0
    assert got["tokens_per_second_speculative"] == pytest.approx(20 / 5.6)
    assert got["tokens_per_second_autoregressive"] == pytest.approx(1)
    # (1 + 3) runs, two prompts, two ways; the device is waited for before and after each.
    assert len(waits) == 4 * 2 * 2 * 2
    assert len(target.passes) == 4 * 2 * (4 + 20)


def test_defaults_run():
    """Without further arguments there are two warm-up runs and five timed ones."""
    target = FakeModel(hash_choice(1))
    got = benchmark_decoding(target, FakeModel(hash_choice(2)), [[1]], 3, 2, 5)
    assert set(got) == KEYS
    assert all(value >= 0 for value in got.values())


@pytest.mark.parametrize(
    ("prompts", "warmup", "runs"), [([], 2, 5), ([[1]], -1, 5), ([[1]], 2, 0), ([[]], 2, 5)]
)
def test_impossible_requests_are_refused(prompts, warmup, runs):
    """No prompts, an empty prompt or no runs raise ValueError before any pass."""
    target = FakeModel(hash_choice(1))
    with pytest.raises(ValueError, match=r"must be in|needs at least"):
        benchmark_decoding(target, target, prompts, 4, 2, None, warmup, runs)
    assert target.passes == []
