"""One request as a state machine: plan a block, have it scored, commit what was accepted.

``loop`` drives a single row and ``batch`` several at once; both call ``plan``, one forward pass of
the target, and ``commit``, in this order.

After every commit the cache holds all committed tokens but the newest one, which is the first token
of the next block: ``target.length(row) == len(prefix) - 1``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from proposers import Draft, Proposer

from apply_edit.decode.detokenize import Decodes, Detokenizer
from apply_edit.decode.gamma import GammaPolicy
from apply_edit.decode.sampling import Sampling, Uniforms, penalise, position_noise, probabilities
from apply_edit.decode.stops import StopText
from apply_edit.decode.target import Block, Scores, Target
from apply_edit.decode.verify import verify_picks, verify_sampled
from apply_edit.errors import PromptTooLong
from apply_edit.report import PassRecord, Report

FinishReason = Literal["eos", "stop", "length", "cancelled"]


@dataclass(frozen=True, slots=True)
class Request:
    """What to decode.

    Args:
        prompt_ids: The prompt, at least one token.
        max_new_tokens: Most tokens to emit, the ending token included.
        eos_ids: Tokens that end the output; part of ``ids``, not of the text.
        stop: Strings that end the output; not part of the text.
        sampling: How tokens are drawn.
        prefill_chunk: Most prompt tokens in one pass, so that a long prompt can be cancelled and
            attention masks stay small.
    """

    prompt_ids: tuple[int, ...]
    max_new_tokens: int
    eos_ids: frozenset[int] = frozenset()
    stop: tuple[str, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    prefill_chunk: int = 1024


@dataclass(frozen=True, slots=True)
class Event:
    """What one pass gave.

    Args:
        text: Text that is now certain; pieces joined are the output's text.
        ids: Tokens that were committed.
        sources: ``(source, count)`` runs over ``ids``: a draft source, ``corrected`` or ``bonus``.
        record: Counts of the pass; None for a pass that only read a chunk of the prompt.
        finish: Why the output ended, None while it goes on.
    """

    text: str
    ids: tuple[int, ...]
    sources: tuple[tuple[str, int], ...]
    record: PassRecord | None
    finish: FinishReason | None


class Row:
    """One request on its way through a target.

    Args:
        target: The target; a row of it is opened here and closed by ``close``.
        tokenizer: Decodes ids.
        request: What to decode.
        proposer: Draft source of this request.
        policy: Gamma of this request.

    Raises:
        PromptTooLong: The prompt leaves no room for even one token.
    """

    def __init__(
        self,
        target: Target,
        tokenizer: Decodes,
        request: Request,
        proposer: Proposer,
        policy: GammaPolicy,
    ) -> None:
        if not request.prompt_ids:
            message = "the prompt is empty; the target needs at least one token to start from"
            raise ValueError(message)
        if len(request.prompt_ids) >= target.context_limit:
            message = (
                f"file and edit take {len(request.prompt_ids)} tokens and the model's context is "
                f"{target.context_limit}; edit a smaller part of the file or use a model with a "
                "longer context"
            )
            raise PromptTooLong(message, limit=target.context_limit, actual=len(request.prompt_ids))
        self._target = target
        self._request = request
        self._proposer = proposer
        self._policy = policy
        self._detokenizer = Detokenizer(tokenizer)
        self._stops = StopText(request.stop)
        self._uniforms = Uniforms(request.sampling.seed)
        self._noise_seed = int(self._uniforms.next() * (1 << 40))
        self._draft = Draft()
        self._width = 0
        self._pending = 0
        self.id = target.open_row()
        self.output: list[int] = []
        self.report = Report(prompt_tokens=len(request.prompt_ids))
        self.finish: FinishReason | None = None

    def close(self) -> None:
        """Give the row back to the target."""
        self._target.close_row(self.id)

    def cancel(self) -> Event:
        """End the output where it is; whatever a pass in flight gives is not committed."""
        self.finish = "cancelled"
        return Event("", (), (), None, "cancelled")

    def plan(self) -> Block:
        """Return the next block: a chunk of the prompt, or the newest tokens and a draft.

        The last chunk of the prompt already carries the first draft: one pass less.
        """
        cached = self._target.length(self.id)
        prompt = self._request.prompt_ids
        if cached < len(prompt):
            left = len(prompt) - cached
            if left > self._request.prefill_chunk:
                chunk = prompt[cached : cached + self._request.prefill_chunk]
                self._pending = len(chunk)
                return Block(self.id, chunk, 0)
            head = prompt[cached:]
        else:
            head = (self.output[-1],)
        started = time.perf_counter()
        self._draft = self._propose()
        self.report.proposer_s += time.perf_counter() - started
        self._pending = 0
        self._width = len(head) + len(self._draft)
        return Block(self.id, head + self._draft.ids, len(self._draft) + 1)

    def commit(self, scores: Scores, seconds: float) -> Event:
        """Verify the draft of the last ``plan`` and commit what was accepted.

        Args:
            scores: The target's answer to the planned block.
            seconds: Wall time of the pass, for the report.
        """
        if self._pending:
            self.report.prefill_passes += 1
            self.report.prefill_s += seconds
            return Event("", (), (), None, None)
        draft = self._draft
        started = time.perf_counter()
        run, extra = self._verify(draft, scores)
        seconds += time.perf_counter() - started
        candidates = (*draft.ids[:run], extra)
        kept, text = self._take(candidates)
        accepted = min(run, kept)
        first = not self.report.records
        record = PassRecord(
            width=self._width,
            drafted=len(draft),
            accepted=accepted,
            emitted=kept,
            discarded=len(draft) - kept if kept <= run else 0,
            sources=_outcome_by_source(draft, accepted),
            seconds=seconds,
        )
        self._account(record, seconds, first=first)
        ids = candidates[:kept]
        self._target.rollback(self.id, len(self._request.prompt_ids) + len(self.output) - 1)
        sources = _sources_of(draft, accepted, kept, run)
        return Event(text, ids, sources, record, self.finish)

    def _account(self, record: PassRecord, seconds: float, *, first: bool) -> None:
        self.report.records.append(record)
        if first:
            self.report.prefill_s += seconds
        else:
            self.report.decode_s += seconds
        self._policy.observe(record.drafted - record.discarded, record.accepted)

    def _propose(self) -> Draft:
        limit = min(self._policy.gamma(), self._room() - 1)
        if limit <= 0:
            return Draft()
        draft = self._proposer.propose(self.output, limit).clip(limit)
        # An id that the target does not have ends the draft: it cannot be fed to the embedding.
        for place, token in enumerate(draft.ids):
            if not 0 <= token < self._target.vocab_size:
                return draft.clip(place)
        return draft

    def _room(self) -> int:
        """Return how many more tokens may be emitted."""
        used = len(self._request.prompt_ids) + len(self.output)
        return min(
            self._request.max_new_tokens - len(self.output), self._target.context_limit - used
        )

    def _verify(self, draft: Draft, scores: Scores) -> tuple[int, int]:
        sampling = self._request.sampling
        if sampling.greedy or sampling.noise == "position":
            return verify_picks(draft.ids, lambda a, b: self._pick(scores, draft, a, b))
        return verify_sampled(
            draft.ids,
            draft.probs,
            lambda row: self._distributions(scores, draft, row, row + 1)[0],
            self._uniforms.next,
        )

    def _penalised(self, scores: Scores, draft: Draft, start: int, stop: int) -> torch.Tensor:
        logits = scores.logits(start, stop)
        sampling = self._request.sampling
        if not sampling.has_penalties:
            return logits
        outputs: list[Sequence[int]] = [
            [*self.output, *draft.ids[:row]] for row in range(start, stop)
        ]
        return penalise(logits, sampling, self._request.prompt_ids, outputs)

    def _distributions(self, scores: Scores, draft: Draft, start: int, stop: int) -> torch.Tensor:
        logits = self._penalised(scores, draft, start, stop)
        return probabilities(logits, self._request.sampling).cpu()

    def _pick(self, scores: Scores, draft: Draft, start: int, stop: int) -> list[int]:
        if self._request.sampling.greedy:
            best = self._penalised(scores, draft, start, stop).argmax(dim=-1)
            return [int(i) for i in best]
        probs = self._distributions(scores, draft, start, stop)
        picks = []
        for offset, row in enumerate(probs):
            position = len(self.output) + start + offset
            noise = position_noise(self._noise_seed, position, len(row))
            picks.append(int((row.log() + noise).argmax()))
        return picks

    def _take(self, candidates: Sequence[int]) -> tuple[int, str]:
        """Commit tokens until a stop or a limit; return how many and the text now certain."""
        pieces: list[str] = []
        kept = 0
        for token in candidates:
            self.output.append(token)
            kept += 1
            if token in self._request.eos_ids:
                self.finish = "eos"
                break
            pieces.append(self._stops.push(self._detokenizer.push((token,))))
            if self._stops.found:
                self.finish = "stop"
                break
            if self._room() <= 0:
                self.finish = "length"
                break
        if self.finish in ("eos", "length"):
            pieces.append(self._stops.push(self._detokenizer.flush()))
            if self._stops.found:
                self.finish = "stop"
            pieces.append(self._stops.flush())
        return kept, "".join(pieces)


def _outcome_by_source(draft: Draft, accepted: int) -> tuple[tuple[str, int, int], ...]:
    runs = []
    left = accepted
    for source, count in draft.source_runs():
        taken = min(left, count)
        runs.append((source, count, taken))
        left -= taken
    return tuple(runs)


def _sources_of(draft: Draft, accepted: int, kept: int, run: int) -> tuple[tuple[str, int], ...]:
    runs = list(draft.clip(accepted).source_runs())
    if kept > accepted:
        runs.append(("bonus" if run == len(draft) else "corrected", 1))
    return tuple(runs)
