"""The seam through which a request gets its passes: alone in the caller's thread, or in a batch.

The service puts a batch behind it that all requests share; everything above the seam (prompts,
drafts, guards) stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from apply_edit.decode.detokenize import Decodes
from apply_edit.decode.loop import Decoding, Output
from apply_edit.decode.policy import GammaPolicy
from apply_edit.decode.row import Event, Request
from apply_edit.decode.target import Target
from apply_edit.errors import ConfigError
from proposers import Proposer


@dataclass(frozen=True, slots=True)
class Prefilled:
    """What reading a prefix ahead of its request has done.

    Args:
        num_tokens: Tokens of the prefix.
        num_cached: Those of them that an earlier request had left behind.
    """

    num_tokens: int
    num_cached: int


class Runner(Protocol):
    """Carries requests through a target."""

    @property
    def shares_passes(self) -> bool:
        """Whether one pass serves several requests, so that its time is not that of one."""
        ...

    def run(
        self,
        request: Request,
        proposer: Proposer,
        policy: GammaPolicy,
        watch: Callable[[Event], None],
        cancelled: Callable[[], bool],
    ) -> Output:
        """Decode a request to its end and return the output.

        Args:
            request: What to decode.
            proposer: Its draft source.
            policy: Its gamma.
            watch: Told about every pass, in order.
            cancelled: Asked before every pass, maybe in another thread; once true, the output ends
                as ``cancelled``.
        """
        ...

    def prefill(self, ids: Sequence[int], cancelled: Callable[[], bool]) -> Prefilled:
        """Read the first tokens of prompts to come, and keep what is cached of them.

        Args:
            ids: The tokens, at least one.
            cancelled: As for ``run``.

        Raises:
            ConfigError: Nothing is kept from one request to the next here.
            Cancelled: It was cancelled; what had been read by then is kept.
        """
        ...


class Alone:
    """One request at a time, in the caller's thread.

    Args:
        target: The model.
        tokenizer: Decodes ids.
    """

    shares_passes = False

    def __init__(self, target: Target, tokenizer: Decodes) -> None:
        self._target = target
        self._tokenizer = tokenizer

    def run(
        self,
        request: Request,
        proposer: Proposer,
        policy: GammaPolicy,
        watch: Callable[[Event], None],
        cancelled: Callable[[], bool],
    ) -> Output:
        """Decode a request; see ``Runner.run``."""
        decoding = Decoding(self._target, self._tokenizer, request, proposer, policy, cancelled)
        for event in decoding:
            watch(event)
        return decoding.output

    def prefill(self, ids: Sequence[int], cancelled: Callable[[], bool]) -> Prefilled:
        """Refuse: every request starts from nothing here; see ``Runner.prefill``.

        Raises:
            ConfigError: Always.
        """
        del ids, cancelled
        message = "a file can only be read ahead by the service; a single apply keeps nothing"
        raise ConfigError(message)
