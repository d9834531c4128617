"""A target in the role of the draft model: what ``proposers.DraftModel`` wants of one.

The draft model's rows go through the same function as the target's, so ``q`` is what its tokens are
drawn from, after temperature, top-k, top-p, min-p and penalties.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import torch

from apply_edit.decode.cost import PassCost
from apply_edit.decode.sampling import (
    Sampling,
    Uniforms,
    draw,
    noise_seed,
    penalise,
    position_noise,
    probabilities,
)
from apply_edit.decode.target import Block, Target
from proposers import Guess


class TargetSmallModel:
    """One row of a target that drafts.

    Greedy requests get its argmax and position-seeded ones what it makes of the same noise, both as
    deterministic drafts. Otherwise tokens are drawn, and ``q`` goes with them.

    The row is opened by the first ids, so a small model that is never asked holds nothing.

    Args:
        target: The small model. Close the row with ``close``.
        sampling: Sampling of the request.
        prompt_length: Tokens of the prompt; what follows is output, for the penalties.
        vocab_size: Ids of the target that will verify. Where the small model has more, they are cut
            before anything is drawn.
        cost: Told what every pass took; None for nobody.

    Attributes:
        passes: Passes so far.
        seconds: Seconds that they took.
    """

    def __init__(
        self,
        target: Target,
        sampling: Sampling,
        prompt_length: int,
        vocab_size: int,
        cost: PassCost | None = None,
    ) -> None:
        self.passes = 0
        self.seconds = 0.0
        self._target = target
        self._sampling = sampling
        self._prompt_length = prompt_length
        self._common = min(vocab_size, target.vocab_size)
        self._cost = cost
        self._ids: list[int] = []
        self._row: int | None = None
        # Not the numbers that the verification uses: drafts must be independent of them.
        self._dice = random.Random(None if sampling.seed is None else f"draft {sampling.seed}")
        self._noise_seed = noise_seed(Uniforms(sampling.seed))

    def close(self) -> None:
        """Give the row back; a second call changes nothing."""
        if self._row is not None:
            self._target.close_row(self._row)
            self._row = None
        self._ids.clear()

    @property
    def context_limit(self) -> int:
        """Most ids that can be cached."""
        return self._target.context_limit

    @property
    def length(self) -> int:
        """Number of cached ids."""
        return len(self._ids)

    def rollback(self, length: int) -> None:
        """Forget all but the first ``length`` ids; see ``SmallModel.rollback``."""
        if self._row is not None:
            self._target.rollback(self._row, length)
        del self._ids[length:]

    def extend(self, ids: Sequence[int], position: int) -> Guess:
        """Append ids and return the token that follows; see ``SmallModel.extend``."""
        started = time.perf_counter()
        if self._row is None:
            self._row = self._target.open_row()
        scores = self._target.score([Block(self._row, tuple(ids), 1)])[0]
        before = len(self._ids)
        self._ids += ids
        guess = self._guess(scores.logits(0, 1)[:, : self._common], position)
        seconds = time.perf_counter() - started
        self.passes += 1
        self.seconds += seconds
        if self._cost is not None:
            self._cost.observe(len(ids), before, seconds)
        return guess

    def _guess(self, logits: torch.Tensor, position: int) -> Guess:
        if self._sampling.has_penalties:
            prompt, output = self._ids[: self._prompt_length], self._ids[self._prompt_length :]
            logits = penalise(logits, self._sampling, prompt, [output])
        if self._sampling.greedy:
            sure = float(torch.softmax(logits[0], dim=-1).max())
            return Guess(int(logits[0].argmax()), sure)
        row = probabilities(logits, self._sampling)[0].cpu()
        sure = float(row.max())
        if self._sampling.noise == "position":
            noise = position_noise(self._noise_seed, position, self._common)
            return Guess(int((row.log() + noise).argmax()), sure)
        return Guess(draw(row, self._dice.random()), sure, row)
