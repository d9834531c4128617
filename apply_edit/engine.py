"""Have the target write the merged file: prompt, drafts, decoding.

Knows nothing of guards, formats on disk or argv. Built once per model and used for many files.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import proposers
from apply_edit.encoding import render_chat, shown_text, snippet_pieces, token_spans
from apply_edit.errors import ConfigError, ModelLoadError, PromptTooLong
from apply_edit.models.layout import default_home
from apply_edit.models.locate import published_id
from apply_edit.prompt import Prompt, Section, choose, parse
from apply_edit.rewriting import DecodeSettings, Observer, Rewrite, SilentObserver
from proposers import WALL, Proposer, References

if TYPE_CHECKING:
    from apply_edit.decode.acceptance import Acceptance
    from apply_edit.decode.branches import Branches
    from apply_edit.decode.confidence import LineScore
    from apply_edit.decode.cost import PassCost
    from apply_edit.decode.draft_target import DraftTarget
    from apply_edit.decode.loop import Output
    from apply_edit.decode.novel_drafts import NovelDrafts
    from apply_edit.decode.policy import GammaPolicy
    from apply_edit.decode.row import Event, Request
    from apply_edit.decode.runner import Prefilled, Runner
    from apply_edit.decode.target import Target
    from apply_edit.decode.tokens import TextTokenizer

_PLACEHOLDER = "\u0001CONTENT\u0001"


class Engine:
    """A loaded target with its tokenizer.

    Args:
        target: The model.
        tokenizer: Its tokenizer.
        cost: What a pass costs by its width, for ``gamma="auto"``; None for the usual shape.
        load_s: Seconds that loading took.
        runner: Carries requests through the target; None for one at a time, in the caller's thread.
        draft: A draft model for novel text, None for no such thing.
    """

    def __init__(
        self,
        target: Target,
        tokenizer: TextTokenizer,
        cost: PassCost | None = None,
        load_s: float = 0.0,
        runner: Runner | None = None,
        draft: DraftTarget | None = None,
    ) -> None:
        self.target = target
        self.tokenizer = tokenizer
        self.load_s = load_s
        self.published_as: str | None = None
        self._runner = runner
        self._draft = draft
        self._cost = cost
        self._acceptance: Acceptance | None = None
        self._branches: Branches | None = None

    @classmethod
    def load(
        cls,
        folder: Path,
        device: str = "auto",
        dtype: str = "auto",
        draft: Path | None = None,
        draft_dtype: str = "auto",
    ) -> Engine:
        """Load a model folder, and that of a draft model.

        See ``transformers_target.load`` and ``draft_target.load_draft`` for the errors.
        """
        started = time.perf_counter()
        from apply_edit.decode.calibrate import cost_of
        from apply_edit.decode.tokens import TextTokenizer
        from apply_edit.decode.transformers_target import load

        tokenizer = TextTokenizer.load(folder)
        kept = default_home() / "calibration"
        small = None
        if draft is not None:
            from apply_edit.decode.draft_target import load_draft

            # First, because a draft model that does not fit is found out in a second.
            small = load_draft(draft, tokenizer, device, draft_dtype, kept)
        target = load(folder, tokenizer.vocab_size, device, dtype)
        cost = cost_of(target, folder, kept)
        engine = cls(target, tokenizer, cost, time.perf_counter() - started, draft=small)
        engine.published_as = published_id(folder)
        return engine

    def use(self, runner: Runner) -> None:
        """Carry requests through ``runner`` from now on; it has this engine's target."""
        self._runner = runner

    def rewrite(
        self,
        job: Rewrite,
        settings: DecodeSettings,
        observer: Observer | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> tuple[str, Output]:
        """Let the target write the merged file.

        Args:
            job: File and edit.
            settings: How to decode.
            observer: Told about progress.
            cancelled: Asked before every pass.

        Returns:
            The text that the answer holds (LF line ends), and the decoder's output.

        Raises:
            PromptTooLong: File, edit and result do not fit the context.
        """
        from apply_edit.decode.gamma import CostGamma, explain_line
        from apply_edit.decode.row import Request
        from apply_edit.decode.runner import Alone

        watcher = observer or SilentObserver()
        dialect = choose(settings.dialect, self.published_as)
        prompt = dialect.render(job.task)
        prompt_ids, num_shared = self._encode(prompt)
        expected = self._expected_tokens(job)
        limit = settings.max_new_tokens or expected * 5 // 4 + 256
        self._require_room(len(prompt_ids), expected)
        request = Request(
            tuple(prompt_ids),
            limit,
            eos_ids=self.tokenizer.eos_ids,
            stop=(prompt.stop,),
            logprobs=True,
            keep_prefix=num_shared,
        )
        policy = self._policy(settings.gamma, expected)
        references = self.references(job, prompt.stop)
        novel = self._novel(request, policy, references)
        proposer = self.proposer(settings.proposer, references, novel)
        runner = self._runner or Alone(self.target, self.tokenizer)
        watcher.stage("prefill")
        done = 0

        def watch(event: Event) -> None:
            nonlocal done
            if event.record is not None and done == 0:
                watcher.stage("decode")
            done += len(event.ids)
            watcher.decoded(event, done, expected)

        output = runner.run(request, proposer, policy, watch, cancelled)
        if isinstance(policy, CostGamma):
            self._acceptance = policy.acceptance.carried()
            self._branches = policy.branches.carried()
            watcher.explained([explain_line(decision) for decision in policy.decisions])
        output.report.load_s, self.load_s = self.load_s, 0.0
        output.report.draft_s = 0.0 if novel is None else novel.seconds
        return parse(prompt, output.text), replace(
            output, lines=self._line_scores(output), dialect=dialect.name
        )

    def prewarm(
        self,
        job: Rewrite,
        settings: DecodeSettings,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Prefilled:
        """Read a file while its edit is still being written; a rewrite then starts behind it.

        Args:
            job: The file, and an edit of the kind that is to come. What the edit says does not
                matter and may be empty: only what the prompt has before it is read.
            settings: As for the rewrite.
            cancelled: Asked before every pass.

        Raises:
            ConfigError: The engine keeps nothing from one rewrite to the next.
            PromptTooLong: The file does not fit the context.
            Cancelled: It was cancelled.
        """
        from apply_edit.decode.runner import Alone

        prompt = choose(settings.dialect, self.published_as).render(job.task)
        ids, num_shared = self._encode(prompt)
        runner = self._runner or Alone(self.target, self.tokenizer)
        return runner.prefill(ids[:num_shared], cancelled)

    def _line_scores(self, output: Output) -> tuple[LineScore, ...]:
        from apply_edit.decode.confidence import line_scores

        if not self.tokenizer.is_byte_level:
            return ()
        return line_scores(map(self.tokenizer.token_bytes, output.ids), output.logprobs)

    def _policy(self, gamma: int | Literal["auto"], expected_tokens: int) -> GammaPolicy:
        from apply_edit.decode.cost import PassCost
        from apply_edit.decode.gamma import CostGamma
        from apply_edit.decode.policy import FixedGamma

        if gamma != "auto":
            return FixedGamma(gamma)
        self._cost = self._cost or PassCost.usual("cpu")
        return CostGamma(
            self._cost,
            self._acceptance,
            self._branches,
            expected_tokens=expected_tokens,
            learns_cost=self._runner is None or not self._runner.shares_passes,
        )

    def encode(self, prompt: Prompt) -> list[int]:
        """Turn a prompt into ids: chat template and tags as control, content as data."""
        return self._encode(prompt)[0]

    def _encode(self, prompt: Prompt) -> tuple[list[int], int]:
        """Return a prompt's ids, and how many of them go up to the end of the original.

        Those are what the prompts of further edits of the same file begin with.
        """
        before, after = self._chat(prompt.system)
        control = self.tokenizer.encode_control
        ids = control(before)
        num_shared = 0
        for section in prompt.user:
            ids += self._section(section)
            if section.data and not num_shared:
                num_shared = len(ids)
        return ids + control(after) + control(prompt.prime), num_shared

    def _novel(
        self, request: Request, policy: GammaPolicy, references: References
    ) -> NovelDrafts | None:
        if self._draft is None:
            return None
        from apply_edit.decode.novel_drafts import NovelDrafts

        return NovelDrafts(self._draft, request, policy, references, self.target.vocab_size)

    def proposer(
        self, name: str, references: References, novel: Proposer | None = None
    ) -> Proposer:
        """Build the draft source for a job.

        Raises:
            ConfigError: There is no proposer by that name.
        """
        try:
            return proposers.create(name, references, novel)
        except ValueError as error:
            raise ConfigError(str(error), option="proposer") from None

    def references(self, job: Rewrite, stop: str) -> References:
        """Encode the texts that drafts are copied from."""
        data = self.tokenizer.encode_data
        snippet: list[int] = []
        for piece in snippet_pieces(job.snippet or ""):
            snippet += [*data(piece), WALL]
        prediction: tuple[int, ...] | None = None
        edits: list[tuple[int, int]] = []
        # Where tokens are no runs of bytes there is no telling which of them are whose.
        view = self.tokenizer if self.tokenizer.is_byte_level else None
        if job.prediction is not None:
            shown = shown_text(job.prediction)
            prediction = tuple(data(shown))
            if view is not None:
                edits = token_spans(map(view.token_bytes, prediction), shown, job.prediction_spans)
        return References(
            tuple(data(shown_text(job.original))),
            tuple(snippet),
            prediction,
            tuple(edits),
            tuple(self.tokenizer.encode_control(stop)),
            view,
        )

    def _section(self, section: Section) -> list[int]:
        if section.data:
            return self.tokenizer.encode_data(section.text)
        return self.tokenizer.encode_control(section.text)

    def _chat(self, system: str) -> tuple[str, str]:
        """Return what the chat template puts before and behind the user message."""
        template = self.tokenizer.chat_template
        if template is None:
            return f"{system}\n\n", "\n\n"
        rendered = render_chat(template, system, _PLACEHOLDER)
        before, found, after = rendered.partition(_PLACEHOLDER)
        if not found:
            message = "the model's chat template drops the user message"
            raise ModelLoadError(message)
        return before, after

    def _expected_tokens(self, job: Rewrite) -> int:
        encode = self.tokenizer.encode_data
        if job.prediction is not None:
            return len(encode(job.prediction)) + 8
        return len(encode(job.original)) + len(encode(job.snippet or job.patch or "")) + 8

    def _require_room(self, num_prompt: int, num_expected: int) -> None:
        limit = self.target.context_limit
        if num_prompt + num_expected > limit:
            message = (
                f"file and edit take {num_prompt} tokens and the result about {num_expected} more; "
                f"the model's context is {limit}; use --strategy direct, edit a smaller part of "
                "the file, or use a model with a longer context"
            )
            raise PromptTooLong(message, limit=limit, actual=num_prompt + num_expected)
