"""Predict what speculation will bring, from a text, teacher-forced rows and pass times.

Nothing here decodes speculatively: that is the point of predicting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apply_edit.lab.seam import Bench, Drafter, Prompt, TimedModel
from apply_edit.lab.temperature import probabilities
from apply_edit.reference.lists import lookup_proposer
from apply_edit.reference.theory import acceptance_rate, expected_tokens


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of everything that a decoding consists of.

    Args:
        draft_step: One cached single-token pass of the draft model.
        target: Cached target pass by width; has at least width 1.
    """

    draft_step: float
    target: Mapping[int, float]

    @property
    def ratio(self) -> float:
        """Return c, a draft step over a target step."""
        return self.draft_step / self.target[1]

    def target_pass(self, width: float) -> float:
        """Return the time of a target pass, interpolated between the widths that were timed."""
        widths = sorted(self.target)
        return float(np.interp(width, widths, [self.target[w] for w in widths]))


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is predicted for one drafter on one workload.

    Args:
        alpha: Acceptance rate per judged draft.
        share: Accepted over drafted ids; below alpha, as drafts after a rejection count.
        tokens_per_pass: Emitted ids per target pass, extra token included.
        speedup_flat: Speed over plain decoding if a pass took the same time at any width.
        speedup: The same with the measured time of each width.
    """

    alpha: float
    share: float
    tokens_per_pass: float
    speedup_flat: float
    speedup: float


def measure_costs(bench: Bench, prefix: Sequence[int], steps: int) -> Costs:
    """Time ``steps`` single-token passes of both models, and wider passes of the target.

    The median is taken, since a machine that is interrupted only ever gets slower.
    """
    widest = max(drafter.gamma for drafter in bench.drafters) + 1
    widths = [2**power for power in range(1, widest.bit_length()) if 2**power < widest]
    wide = {w: _median(bench.target, prefix, w, max(3, steps // 20)) for w in [*widths, widest]}
    return Costs(
        draft_step=_median(bench.draft, prefix, 1, steps),
        target={**wide, 1: _median(bench.target, prefix, 1, steps)},
    )


def _median(model: TimedModel, prefix: Sequence[int], width: int, repeats: int) -> float:
    return median(model.pass_seconds(prefix, width, repeats))


def alphas(
    target: TimedModel, draft: TimedModel, prompt: Prompt, text: Sequence[int], temperature: float
) -> list[float]:
    """Return the sum of min(p, q) at every position of ``text``, which follows ``prompt``.

    Position i of the text is judged by the row after the id before it, which for i = 0 is the last
    one of the prompt.
    """
    first = len(prompt.ids) - 1
    fed = [*prompt.ids, *text[:-1]]
    p_rows, q_rows = target.logits(fed)[first:], draft.logits(fed)[first:]
    return [_overlap(p, q, temperature) for p, q in zip(p_rows, q_rows, strict=True)]


def _overlap(p_logits: NDArray[Any], q_logits: NDArray[Any], temperature: float) -> float:
    p, q = probabilities(p_logits, temperature), probabilities(q_logits, temperature)
    # Vocabularies may be padded to different widths; what only one side has overlaps nothing.
    common = min(len(p), len(q))
    return acceptance_rate(p[:common], q[:common])


def lookup_rounds(
    prompt: Prompt, text: Sequence[int], gamma: int, ngram: int
) -> list[tuple[int, int]]:
    """Replay prompt lookup over a text that the target wrote.

    A copied draft is accepted when the target's own choice is the same id, and ``text`` is what the
    target chose; so the replay is exact for greedy text and unbiased for sampled text.

    Returns:
        (drafted, accepted) of each pass; a pass emits ``accepted + 1`` ids.
    """
    propose = lookup_proposer(prompt.reference, ngram)
    rounds = []
    done = 0
    while done < len(text):
        room = len(text) - done - 1
        draft = list(propose([*prompt.ids, *text[:done]], min(gamma, room)))
        accepted = 0
        while accepted < len(draft) and draft[accepted] == text[done + accepted]:
            accepted += 1
        rounds.append((len(draft), accepted))
        done += accepted + 1
    return rounds


def forecast(
    bench: Bench,
    drafter: Drafter,
    texts: Sequence[tuple[Prompt, Sequence[int]]],
    temperature: float,
    costs: Costs,
) -> Forecast:
    """Predict one drafter on prompts and the texts that the target wrote to them."""
    if drafter.ngram is None:
        return _forecast_model(bench, drafter.gamma, texts, temperature, costs)
    rounds = [
        one
        for prompt, text in texts
        for one in lookup_rounds(prompt, text, drafter.gamma, drafter.ngram)
    ]
    return _forecast_lookup(rounds, _prefill(bench.target, texts), costs)


def _forecast_lookup(rounds: Sequence[tuple[int, int]], prefill: float, costs: Costs) -> Forecast:
    drafted, accepted = (sum(column) for column in zip(*rounds, strict=True))
    judged = accepted + sum(right < proposed for proposed, right in rounds)
    emitted = accepted + len(rounds)
    plain = prefill + emitted * costs.target[1]
    spent = sum(costs.target_pass(1 + proposed) for proposed, _ in rounds)
    return Forecast(
        alpha=accepted / judged if judged else 0.0,
        share=accepted / drafted if drafted else 0.0,
        tokens_per_pass=emitted / len(rounds),
        speedup_flat=plain / (prefill + len(rounds) * costs.target[1]),
        speedup=plain / (prefill + spent),
    )


def _forecast_model(
    bench: Bench,
    gamma: int,
    texts: Sequence[tuple[Prompt, Sequence[int]]],
    temperature: float,
    costs: Costs,
) -> Forecast:
    alpha = fmean(
        rate
        for prompt, text in texts
        for rate in alphas(bench.target, bench.draft, prompt, text, temperature)
    )
    per_pass = expected_tokens(min(alpha, 1.0), gamma)
    emitted = sum(len(text) for _, text in texts)
    prefill = _prefill(bench.target, texts)
    both_prefills = prefill + _prefill(bench.draft, texts)
    plain = prefill + emitted * costs.target[1]
    drafting = gamma * costs.draft_step
    passes = emitted / per_pass
    return Forecast(
        alpha=alpha,
        share=(per_pass - 1) / gamma,
        tokens_per_pass=per_pass,
        speedup_flat=plain / (both_prefills + passes * (costs.target[1] + drafting)),
        speedup=plain / (both_prefills + passes * (costs.target_pass(gamma + 1) + drafting)),
    )


def _prefill(model: TimedModel, texts: Sequence[tuple[Prompt, Sequence[int]]]) -> float:
    """Return the time of the passes over all prompts."""
    return sum(_median(model, (), len(prompt.ids), 1) for prompt, _ in texts)
