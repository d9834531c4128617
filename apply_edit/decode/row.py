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

from apply_edit.decode.choice import Chooser
from apply_edit.decode.detokenize import Decodes, Detokenizer
from apply_edit.decode.policy import GammaPolicy
from apply_edit.decode.prefix_cache import PrefixCache, PromptPrefix
from apply_edit.decode.records import record_of, sources_of
from apply_edit.decode.sampling import Sampling
from apply_edit.decode.stops import StopText
from apply_edit.decode.target import Block, Scores, Target
from apply_edit.decode.tree import Tree, merge
from apply_edit.errors import PromptTooLong
from apply_edit.report import PassRecord, Report
from proposers import NOTHING, Closable, Draft, Proposer, TreeProposer

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
        logprobs: Also give the target's log-probability of every emitted token.
        keep_prefix: First tokens of the prompt that later requests are likely to share.
    """

    prompt_ids: tuple[int, ...]
    max_new_tokens: int
    eos_ids: frozenset[int] = frozenset()
    stop: tuple[str, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    prefill_chunk: int = 1024
    logprobs: bool = False
    keep_prefix: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """What one pass gave.

    Args:
        text: Text that is now certain; pieces joined are the output's text.
        ids: Tokens that were committed.
        sources: ``(source, count)`` runs over ``ids``: a draft source, ``corrected`` or ``bonus``.
        record: Counts of the pass; None for a pass that only read a chunk of the prompt.
        finish: Why the output ended, None while it goes on.
        logprobs: One per token of ``ids`` where the request asks for them, else empty.
        pieces: ``text``, cut up by the tokens that made it certain: one piece per token of ``ids``.
    """

    text: str
    ids: tuple[int, ...]
    sources: tuple[tuple[str, int], ...]
    record: PassRecord | None
    finish: FinishReason | None
    logprobs: tuple[float, ...] = ()
    pieces: tuple[str, ...] = ()


CANCELLED = Event("", (), (), None, "cancelled")


class Row:
    """One request on its way through a target.

    Args:
        target: The target; a row of it is opened here and closed by ``close``.
        tokenizer: Decodes ids.
        request: What to decode.
        proposer: Draft source of this request.
        policy: Gamma of this request.
        prefixes: Where prefixes of prompts are looked up and kept, None for nowhere.

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
        prefixes: PrefixCache | None = None,
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
        self._chooser = Chooser(request.sampling, request.prompt_ids, logprobs=request.logprobs)
        self._tree = Tree()
        self._head = 0
        self._block: Block | None = None
        self._prefix = PromptPrefix(prefixes, request.prompt_ids, request.keep_prefix)
        self.id = target.open_row(self._prefix.find())
        self.output: list[int] = []
        self.report = Report(len(request.prompt_ids), target.length(self.id))
        self.finish: FinishReason | None = None

    def close(self) -> None:
        """Give the row back to the target, and let the proposer give back what it holds."""
        try:
            if isinstance(self._proposer, Closable):
                self._proposer.close()
        finally:
            self._target.close_row(self.id)

    def cancel(self) -> Event:
        """End the output where it is; whatever a pass in flight gives is not committed.

        What was read of a prompt is kept: whoever breaks off often comes back with the same file.
        """
        self._prefix.keep(self._target, self.id)
        self.finish = "cancelled"
        return CANCELLED

    @property
    def is_reading(self) -> bool:
        """Whether the part of the prompt that is worth keeping is not read yet."""
        return self._target.length(self.id) < self._prefix.worth_keeping

    def plan(self) -> Block:
        """Return the next block: a chunk of the prompt, or the newest tokens and drafts.

        The last chunk of the prompt already carries the first draft: one pass less. A block that
        was planned and not scored is planned again as it is; drawing another draft in its place
        because it was, say, too long would not be a fair draw.
        """
        if self._block is None:
            self._block = self._next_block()
        return self._block

    def _next_block(self) -> Block:
        cached = self._target.length(self.id)
        prompt = self._request.prompt_ids
        left = len(prompt) - cached
        if left > self._request.prefill_chunk:
            self._head = 0
            return Block(self.id, prompt[cached : cached + self._request.prefill_chunk], 0)
        head = prompt[cached:] if left > 0 else (self.output[-1],)
        started = time.perf_counter()
        self._tree = tree = merge(self._propose())
        self.report.proposer_s += time.perf_counter() - started
        self._head = len(head)
        # What the target does not have cannot be fed, and is never accepted.
        known = range(self._target.vocab_size)
        ids = (*head, *(token if token in known else 0 for token in tree.ids))
        return Block(self.id, ids, len(tree) + 1, _parents(tree, len(head)))

    def commit(self, scores: Scores, seconds: float) -> Event:
        """Verify the draft of the last ``plan`` and commit what was accepted.

        Args:
            scores: The target's answer to the planned block.
            seconds: Wall time of the pass, for the report.
        """
        block, self._block = self.plan(), None
        if not self.is_reading:
            self._prefix.keep(self._target, self.id)
        if self._head == 0:
            self.report.prefill_passes += 1
            self.report.prefill_s += seconds
            return Event("", (), (), None, None)
        tree = self._tree
        started = time.perf_counter()
        choice = self._chooser.choose(tree, scores, self.output)
        path, extra = choice.path, choice.extra
        seconds += time.perf_counter() - started
        candidates = (*(tree.ids[node] for node in path), extra)
        kept, pieces = self._take(candidates)
        self._keep(block, path[: kept - 1])
        record = record_of(tree, path, kept, len(block.ids), seconds)
        self._account(record, kept)
        ids = candidates[:kept]
        sources = sources_of(tree, path, kept)
        logprobs = choice.logprobs[:kept]
        return Event("".join(pieces), ids, sources, record, self.finish, logprobs, tuple(pieces))

    def _keep(self, block: Block, path: Sequence[int]) -> None:
        """Leave the head and the accepted branch of a scored block in the cache."""
        if block.parents is None:
            length = len(self._request.prompt_ids) + len(self.output) - 1
            self._target.rollback(self.id, length)
            return
        base = self._target.length(self.id) - len(block.ids)
        offsets = [*range(self._head), *(self._head + node for node in path)]
        self._target.keep_branch(self.id, base, offsets)

    def _account(self, record: PassRecord, kept: int) -> None:
        if self.report.records:
            self.report.decode_s += record.seconds
        else:
            self.report.prefill_s += record.seconds
        self.report.records.append(record)
        self._policy.observe(record, self.output[-kept:])

    def _propose(self) -> list[Draft]:
        limit = min(self._policy.limit(), self._room() - 1)
        if limit <= 0:
            return []
        proposer = self._proposer
        if self._policy.is_branching and isinstance(proposer, TreeProposer):
            drafts = proposer.propose_tree(self.output, limit)
        else:
            drafts = [proposer.propose(self.output, limit)]
        used = len(self._request.prompt_ids) + len(self.output)
        room = self._target.context_limit - used - 1
        drafts = self._cut([draft.clip(min(limit, room)) for draft in drafts])
        fitting = []
        for draft in drafts:
            fitting.append(self._known(draft.clip(room)))
            room -= len(fitting[-1])
        return fitting

    def _cut(self, drafts: list[Draft]) -> list[Draft]:
        """Let the policy cut copies. A drawn draft stays whole: a cut could depend on the draw."""
        cached = self._target.length(self.id)
        head = max(1, len(self._request.prompt_ids) - cached)
        first, *others = drafts or [NOTHING]
        gamma = self._policy.choose(first, cached, head)
        branches = self._policy.branch(others) if others else []
        return [first.clip(gamma) if first.probs is None else first, *branches]

    def _known(self, draft: Draft) -> Draft:
        """Cut a draft at the first id that the target does not have.

        That id of a drawn draft stays: it has to be judged, and is rejected.
        """
        for place, token in enumerate(draft.ids):
            if not 0 <= token < self._target.vocab_size:
                return draft.clip(place if draft.probs is None else place + 1)
        return draft

    def _room(self) -> int:
        """Return how many more tokens may be emitted."""
        used = len(self._request.prompt_ids) + len(self.output)
        return min(
            self._request.max_new_tokens - len(self.output), self._target.context_limit - used
        )

    def _take(self, candidates: Sequence[int]) -> tuple[int, list[str]]:
        """Commit tokens until a stop or a limit; return how many and the text of each."""
        pieces: list[str] = []
        kept = 0
        for token in candidates:
            self.output.append(token)
            kept += 1
            if token in self._request.eos_ids:
                pieces.append("")
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
            pieces[-1] += self._stops.push(self._detokenizer.flush())
            if self._stops.found:
                self.finish = "stop"
            pieces[-1] += self._stops.flush()
        return kept, pieces


def _parents(tree: Tree, head: int) -> tuple[int, ...] | None:
    """Return the parents of a block of ``head`` tokens in a row and a tree behind them."""
    if tree.is_linear:
        return None
    return (*range(-1, head - 1), *(head + parent for parent in tree.parents))
