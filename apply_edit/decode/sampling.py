"""From logits to the distribution that a token is drawn from: one function for p and for q.

Order, as in the common engines: penalties on the logits, temperature, top-k, top-p, min-p. A
temperature of 0 is greedy: the lowest id among the largest penalised logits.

Sources: arXiv:1909.05858 (repetition penalty), arXiv:1904.09751 (top-p), arXiv:2407.01082 (min-p).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from apply_edit.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn.

    Args:
        temperature: 0 is greedy.
        top_k: Keep the k largest; 0 keeps all.
        top_p: Keep the smallest set of largest probabilities that adds up to this.
        min_p: Keep what is at least this fraction of the largest probability.
        repetition_penalty: Divides positive and multiplies negative logits of ids in prompt and
            output; 1 is none.
        presence_penalty: Subtracted from the logits of ids in the output.
        frequency_penalty: Subtracted once per occurrence in the output.
        seed: Seed of the random numbers; None takes one from the operating system.
        noise: ``rejection`` is speculative sampling with min(1, p/q). ``position`` draws with noise
            that depends on the seed and the position only, so that speculative sampling equals
            plain sampling with the same seed, token for token.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None
    noise: Literal["rejection", "position"] = "rejection"

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        checks = (
            ("temperature", self.temperature >= 0 and math.isfinite(self.temperature), "0 or more"),
            ("top_k", self.top_k >= 0, "0 or more"),
            ("top_p", 0 < self.top_p <= 1, "in (0, 1]"),
            ("min_p", 0 <= self.min_p <= 1, "in [0, 1]"),
            ("repetition_penalty", 0 < self.repetition_penalty < math.inf, "more than 0"),
            ("presence_penalty", abs(self.presence_penalty) <= 100, "in [-100, 100]"),
            ("frequency_penalty", abs(self.frequency_penalty) <= 100, "in [-100, 100]"),
            ("noise", self.noise in ("rejection", "position"), "rejection or position"),
        )
        for name, good, wanted in checks:
            if not good:
                message = f"{name} is {getattr(self, name)!r}; it must be {wanted}"
                raise ConfigError(message, option=name)

    @property
    def greedy(self) -> bool:
        """Whether the largest logit is taken."""
        return self.temperature == 0.0

    @property
    def has_penalties(self) -> bool:
        """Whether logits depend on the tokens before."""
        return (
            self.repetition_penalty != 1.0
            or self.presence_penalty != 0.0
            or self.frequency_penalty != 0.0
        )


def penalise(
    logits: torch.Tensor,
    sampling: Sampling,
    prompt: Sequence[int],
    outputs: Sequence[Sequence[int]],
) -> torch.Tensor:
    """Apply the penalties.

    Args:
        logits: ``[n, vocab]`` float32.
        sampling: The settings.
        prompt: Prompt ids.
        outputs: For each row the output ids before it, drafts included; rows of a rejected draft
            leave no trace because nothing is kept between calls. An id that the target does not
            have (a draft model may have more) is passed over.

    Returns:
        ``[n, vocab]``; ``logits`` itself when there are no penalties.
    """
    if not sampling.has_penalties:
        return logits
    result = logits.clone()
    known = range(logits.shape[1])
    for row, output in zip(result, outputs, strict=True):
        counts = Counter(token for token in output if token in known)
        if sampling.repetition_penalty != 1.0:
            seen = sorted(set(prompt) | set(counts))
            index = torch.tensor(seen, dtype=torch.long, device=row.device)
            values = row[index]
            factor = sampling.repetition_penalty
            row[index] = torch.where(values > 0, values / factor, values * factor)
        if counts:
            index = torch.tensor(list(counts), dtype=torch.long, device=row.device)
            number = torch.tensor(list(counts.values()), dtype=row.dtype, device=row.device)
            row[index] -= sampling.presence_penalty + sampling.frequency_penalty * number
    return result


def probabilities(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Turn penalised logits into the distribution that is drawn from.

    Args:
        logits: ``[n, vocab]`` float32.
        sampling: The settings; greedy gives one-hot rows.

    Returns:
        ``[n, vocab]`` float64 rows that add up to 1.
    """
    if sampling.greedy:
        best = logits.argmax(dim=-1, keepdim=True)
        return torch.zeros_like(logits, dtype=torch.float64).scatter_(1, best, 1.0)
    scaled = logits.double() / sampling.temperature
    if 0 < sampling.top_k < scaled.shape[1]:
        order = scaled.argsort(dim=-1, descending=True, stable=True)
        scaled = scaled.scatter(1, order[:, sampling.top_k :], -torch.inf)
    probs = torch.softmax(scaled, dim=-1)
    if sampling.top_p < 1.0:
        ranked, order = probs.sort(dim=-1, descending=True, stable=True)
        # A token stays when the mass before it is below top_p, so at least one always does.
        drop = ranked.cumsum(dim=-1) - ranked >= sampling.top_p
        probs = probs.scatter(1, order, ranked.masked_fill(drop, 0.0))
    if sampling.min_p > 0.0:
        floor = probs.max(dim=-1, keepdim=True).values * sampling.min_p
        probs = probs.masked_fill(probs < floor, 0.0)
    return probs / probs.sum(dim=-1, keepdim=True)


class Uniforms:
    """The only source of randomness of a request: numbers in [0, 1)."""

    def __init__(self, seed: int | None) -> None:
        self._random = random.Random(seed)

    def next(self) -> float:
        """Return the next number."""
        return self._random.random()


def noise_seed(uniforms: Uniforms) -> int:
    """Take the seed of position noise from the numbers of a request (the first of them).

    A draft model that is given the same seed meets the same noise and agrees more often.
    """
    return int(uniforms.next() * (1 << 40))


def draw(probs: torch.Tensor, uniform: float) -> int:
    """Draw an id from one distribution by inverting its cumulative sum.

    Args:
        probs: ``[vocab]``, not necessarily adding up to exactly 1.
        uniform: Number in [0, 1).

    Returns:
        An id with positive probability.

    >>> draw(torch.tensor([0.5, 0.0, 0.5]), 0.5)
    2
    """
    total = probs.double().cumsum(0)
    place = int(torch.searchsorted(total, uniform * total[-1].item(), right=True))
    if place < len(probs) and probs[place] > 0:
        return place
    # Rounding has led behind the last token with mass.
    return int(probs.nonzero()[-1])


def position_noise(seed: int, position: int, vocab: int) -> torch.Tensor:
    """Return Gumbel noise that depends on seed and position only.

    ``argmax(log p + noise)`` is a draw from p; the same position always gets the same noise, so a
    draft changes nothing about what is drawn.

    Returns:
        ``[vocab]`` float64.
    """
    generator = torch.Generator().manual_seed((seed * 1_000_003 + position) % (1 << 63))
    uniform = torch.rand(vocab, generator=generator, dtype=torch.float64)
    return -torch.log(-torch.log(uniform.clamp_(1e-300, 1.0 - 1e-16)))
