"""From the scores of a pass to what is emitted: which branch is accepted, which token follows.

Greedy and position-seeded decoding *pick* a token behind every node, whatever was drafted; a branch
is accepted as far as it agrees. Rejection sampling judges the candidates. In both cases the token
behind the accepted branch is the residual token, or the bonus token where nothing more was drafted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Choice:
    """What a pass decided.

    Args:
        path: Nodes of the accepted branch, from the root on.
        extra: The token behind it: residual or bonus.
        logprobs: The target's own log-probability of each of these tokens, the extra one included;
            empty where nobody asked. Taken before penalties, temperature and cuts, so that it says
            what the target thinks of the text however the text was drawn.
    """

    path: list[int]
    extra: int
    logprobs: tuple[float, ...] = ()


class Chooser:
    """Decides for one request.

    Args:
        sampling: How tokens are drawn.
        prompt: Prompt ids, for the repetition penalty.
        logprobs: Also give the log-probability of what is chosen.
    """

    def __init__(
        self, sampling: Sampling, prompt: Sequence[int], *, logprobs: bool = False
    ) -> None:
        self._sampling = sampling
        self._prompt = prompt
        self._wants_logprobs = logprobs
        self._uniforms = Uniforms(sampling.seed)
        self._noise_seed = noise_seed(self._uniforms)

    def choose(self, tree: Tree, scores: Scores, output: Sequence[int]) -> Choice:
        """Return the accepted branch and the token behind it.

        Args:
            tree: What was drafted.
            scores: Row ``n + 1`` is behind node ``n``.
            output: Committed output ids.
        """
        rows = _Rows(tree, scores, output, self._sampling, self._prompt)
        if not self._sampling.greedy and self._sampling.noise != "position":
            path, extra = verify_sampled(tree, rows.distribution, self._uniforms.next)
            return Choice(path, extra, self._logprobs_of(rows, tree, path, extra))
        found: list[float] = []

        def pick(node: int) -> int:
            token = self._pick(rows, node)
            if self._wants_logprobs:
                # Now, because the logits of this row are at hand; each pick is emitted.
                found.append(rows.logprob(node, token))
            return token

        path, extra = walk_picks(tree, pick)
        return Choice(path, extra, tuple(found))

    def _logprobs_of(
        self, rows: _Rows, tree: Tree, path: Sequence[int], extra: int
    ) -> tuple[float, ...]:
        if not self._wants_logprobs:
            return ()
        tokens = [*(tree.ids[node] for node in path), extra]
        return tuple(map(rows.logprob, [-1, *path], tokens))

    def _pick(self, rows: _Rows, node: int) -> int:
        if self._sampling.greedy:
            return int(rows.logits(node).argmax())
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
        self._raw: torch.Tensor | None = None
        self._logits: torch.Tensor | None = None

    def logprob(self, node: int, token: int) -> float:
        """Return the log-probability of a token behind a node, before penalties."""
        self.logits(node)
        assert self._raw is not None  # noqa: S101 for the type checker: the line above filled it
        # Row by row, so that a row gives the same number in a chunk of any size.
        row = self._raw[node + 1 - self._start]
        return float(row[token] - row.logsumexp(dim=-1))

    def logits(self, node: int) -> torch.Tensor:
        """Return the penalised logits behind a node, ``[vocab]``."""
        row = node + 1
        if self._logits is None or not 0 <= row - self._start < len(self._logits):
            stop = self._stop(row)
            self._raw = logits = self._scores.logits(row, stop)
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
