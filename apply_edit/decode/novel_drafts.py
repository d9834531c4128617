"""Drafts for novel text by a draft model, where they pay for the time that they take.

Stands between the router, which calls it where nothing can be copied, and ``DraftModel``. Asks the
policy before every draft, and opens a row of the draft model when a draft is first paid for. What
the draft model reads is short: the end of the prompt, which holds the edit, and the end of the
output. To read the whole file takes it longer than most novel text is worth.

Whether and how much is drafted depends on times and on committed tokens, never on a token of the
draft itself, so drawn drafts stay fair draws.
"""

from __future__ import annotations

from collections.abc import Sequence

from apply_edit.decode.draft_target import DraftTarget
from apply_edit.decode.drawn import Price
from apply_edit.decode.policy import GammaPolicy
from apply_edit.decode.row import Request
from apply_edit.decode.small_model import TargetSmallModel
from apply_edit.errors import DeviceError
from proposers import NOTHING, Cursor, Draft, DraftModel, References
from proposers.reference import original_of

# With a smaller chance a token costs more than it saves, by the costs of docs/gamma.md. Greedy
# confidence and acceptance are about the same number.
FLOOR = 0.4
# Ids at the end of the prompt and of the output that the draft model reads.
_PROMPT_END = 256
_OUTPUT_END = 128
# What is read beyond this empties the purse that waiting has filled.
_MUCH = 16
# Passes per token are counted from here on, because passes end at an unsure token, too.
_PRIOR_PASSES = 8


class NovelDrafts:
    """A proposer for novel text; one per request.

    Args:
        draft: The draft model.
        request: The target's request.
        policy: Its gamma.
        references: Its texts; copying may resume in the original.
        vocab_size: Ids of the target.

    Attributes:
        seconds: Seconds spent in the draft model.
    """

    def __init__(
        self,
        draft: DraftTarget,
        request: Request,
        policy: GammaPolicy,
        references: References,
        vocab_size: int,
    ) -> None:
        self._draft = draft
        self._request = request
        self._policy = policy
        self._references = references
        self._prompt = request.prompt_ids[-_PROMPT_END:]
        self._small = TargetSmallModel(
            draft.target, request.sampling, len(self._prompt), vocab_size, draft.cost
        )
        self._model: DraftModel | None = None
        self._is_off = False
        self._waited = 0
        self._passes = 0
        self._drafted = 0

    @property
    def seconds(self) -> float:
        """Seconds spent in the draft model."""
        return self._small.seconds

    def close(self) -> None:
        """Give the row back; see ``Closable``."""
        self._is_off = True
        self._small.close()

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Return a draft where one pays; see ``Proposer.propose``."""
        if self._is_off or limit <= 0:
            return NOTHING
        unread = self._unread(output)
        count = min(self._policy.drawn_limit(self._price(unread)), limit)
        if count == 0:
            self._waited += 1
            return NOTHING
        try:
            return self._ask(output, unread, count, limit)
        except DeviceError:
            # Drafts are a matter of speed; the target goes on without.
            self.close()
            return NOTHING

    def _ask(self, output: Sequence[int], unread: int, count: int, limit: int) -> Draft:
        if self._model is None:
            self._model = self._opened()
        if unread > _MUCH:
            self._waited = 0
        before = self._small.passes
        draft = self._model.propose(output, count)
        self._passes += self._small.passes - before
        self._drafted += len(draft)
        return self._model.continued(output, draft, limit)

    def _opened(self) -> DraftModel:
        resume = Cursor(original_of(self._references), self._references.view)
        ends = self._request.eos_ids
        return DraftModel(self._small, self._prompt, FLOOR, ends, resume, _OUTPUT_END)

    def _unread(self, output: Sequence[int]) -> int:
        if self._model is None:
            return len(self._prompt) + min(len(output), _OUTPUT_END)
        return self._model.unread(output)

    def _price(self, unread: int) -> Price:
        prefix = len(self._prompt) + _OUTPUT_END
        step = self._draft.cost.seconds(1, prefix)
        share = (_PRIOR_PASSES + self._passes) / (_PRIOR_PASSES + self._drafted)
        reading = self._draft.cost.seconds(unread, prefix) - step
        return Price(step * max(1.0, share), reading, self._waited)
