"""From the scores of a pass to what is emitted: which branch is accepted, which token follows.

Greedy and position-seeded decoding *pick* a token behind every node, whatever was drafted; a branch
is accepted as far as it agrees. Rejection sampling judges the candidates. In both cases the token
behind the accepted branch is the residual token, or the bonus token where nothing more was drafted.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from apply_edit.decode.sampling import (
    Sampling,
    Uniforms,
    noise_seed,
    penalise,
    position_noise,
    probabilities,
)
from apply_edit.decode.target import Scores
from apply_edit.decode.tree import Tree, walk_picks
from apply_edit.decode.verify import verify_sampled

# Rows of the language model head that are computed at once: enough for good matrix products, few
# enough that memory stays flat and rows behind a rejection are rarely computed. A distribution
# costs more than an argmax, so fewer of them.
PICK_CHUNK = 64
SAMPLE_CHUNK = 8


class Chooser:
    """Decides for one request.

    Args:
        sampling: How tokens are drawn.
        prompt: Prompt ids, for the repetition penalty.
    """

    def __init__(self, sampling: Sampling, prompt: Sequence[int]) -> None:
        self._sampling = sampling
        self._prompt = prompt
        self._uniforms = Uniforms(sampling.seed)
        self._noise_seed = noise_seed(self._uniforms)

    def choose(self, tree: Tree, scores: Scores, output: Sequence[int]) -> tuple[list[int], int]:
        """Return the accepted branch and the token behind it.

        Args:
            tree: What was drafted.
            scores: Row ``n + 1`` is behind node ``n``.
            output: Committed output ids.
        """
        rows = _Rows(tree, scores, output, self._sampling, self._prompt)
        if self._sampling.greedy:
            return walk_picks(tree, lambda node: int(rows.logits(node).argmax()))
        if self._sampling.noise == "position":
            return walk_picks(tree, lambda node: self._pick(rows, node))
        return verify_sampled(tree, rows.distribution, self._uniforms.next)

    def _pick(self, rows: _Rows, node: int) -> int:
        probs = rows.distribution(node)
        noise = position_noise(self._noise_seed, rows.position(node), len(probs))
        return int((probs.log() + noise).argmax())


class _Rows:
    """Penalised rows behind the nodes of a tree, computed in chunks along a branch."""

    def __init__(
        self,
        tree: Tree,
        scores: Scores,
        output: Sequence[int],
        sampling: Sampling,
        prompt: Sequence[int],
    ) -> None:
        self._tree = tree
        self._scores = scores
        self._output = output
        self._sampling = sampling
        self._prompt = prompt
        self._start = 0
        self._logits: torch.Tensor | None = None

    def logits(self, node: int) -> torch.Tensor:
        """Return the penalised logits behind a node, ``[vocab]``."""
        row = node + 1
        if self._logits is None or not 0 <= row - self._start < len(self._logits):
            stop = self._stop(row)
            logits = self._scores.logits(row, stop)
            if self._sampling.has_penalties:
                # Row i sees the draft tokens before it and no others.
                outputs = [[*self._output, *self._tree.branch(row - 1)] for row in range(row, stop)]
                logits = penalise(logits, self._sampling, self._prompt, outputs)
            self._start, self._logits = row, logits
        return self._logits[row - self._start]

    def distribution(self, node: int) -> torch.Tensor:
        """Return the distribution behind a node, ``[vocab]`` float64 on the CPU."""
        return probabilities(self.logits(node)[None], self._sampling)[0].cpu()

    def position(self, node: int) -> int:
        """Return the output position of the token behind a node."""
        return len(self._output) + (0 if node < 0 else self._tree.depths[node] + 1)

    def _stop(self, row: int) -> int:
        """Return where a chunk ends that starts at ``row`` and stays on one branch."""
        chunk = PICK_CHUNK if self._sampling.greedy else SAMPLE_CHUNK
        stop = row + 1
        last = min(row + chunk, len(self._tree) + 1)
        while stop < last and self._tree.parents[stop - 1] == stop - 2:
            stop += 1
        return stop


def token_logprobs(scores: Scores, rows: Sequence[int], tokens: Sequence[int]) -> list[float]:
    """Return the target's own log-probability of each token.

    Taken before penalties, temperature and cuts, so that it says what the model thinks of the text
    however the text was drawn.

    Args:
        scores: The scores of a pass.
        rows: The row that each token was chosen by.
        tokens: The tokens.
    """
    result = []
    for row, token in zip(rows, tokens, strict=True):
        logits = scores.logits(row, row + 1)[0]
        result.append(float(torch.log_softmax(logits.double(), dim=-1)[token]))
    return result
