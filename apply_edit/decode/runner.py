"""The seam through which a request gets its passes: alone in the caller's thread, or in a batch.

The service puts a batch behind it that all requests share; everything above the seam (prompts,
drafts, guards) stays the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from apply_edit.decode.detokenize import Decodes
from apply_edit.decode.gamma import GammaPolicy
from apply_edit.decode.loop import Decoding, Output
from apply_edit.decode.row import Event, Request
from apply_edit.decode.target import Target
from proposers import Proposer


class Runner(Protocol):
    """Carries requests through a target."""

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
            cancelled: Asked before every pass; once true, the output ends as ``cancelled``.
        """
        ...


class Alone:
    """One request at a time, in the caller's thread.

    Args:
        target: The model.
        tokenizer: Decodes ids.
    """

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
