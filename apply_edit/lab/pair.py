"""A real target and its draft model as experiment 5 wants them.

The library that ours is compared with is transformers' assisted generation, on the same weights
with the model's own attention. It is told to draw from the same distribution: what a model's folder
says about penalties and cuts is switched off for both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import GenerationConfig
from transformers.utils import logging as transformers_logging

from apply_edit.decode.loop import Decoding
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from apply_edit.decode.sampling import Sampling
from apply_edit.decode.small_model import TargetSmallModel
from apply_edit.decode.tokens import TextTokenizer, require_same_tokenizer
from apply_edit.decode.transformers_target import TransformersTarget, load, own_attention
from apply_edit.encoding import render_chat
from apply_edit.lab.seam import Bench, Decode, DecodeRun, Drafter, Prompt, Workload
from apply_edit.lab.target_model import TargetModel
from apply_edit.models import locate
from apply_edit.reference.adapter import synchronise
from apply_edit.reference.lists import lookup_proposer
from proposers import Draft, DraftModel, Nothing, Proposer

_SYSTEM = "You are a helpful assistant."
# (what is wanted, the code)
_EDITS = (
    (
        "Rename x to value",
        "def scale(x, factor):\n    if x is None:\n        return 0\n    return x * factor\n",
    ),
    (
        "Change the port to 9090",
        "server:\n  host: localhost\n  port: 8080\n  workers: 4\n  timeout: 30\n",
    ),
    (
        "Make the greeting end with an exclamation mark",
        'function greet(name) {\n  const text = "Hello, " + name;\n  return text;\n}\n',
    ),
)
_QUESTIONS = (
    "Why is the sky blue?",
    "Name three uses of a hash table.",
    "What is the difference between a process and a thread?",
)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much the experiment does; the defaults suit two CPU cores.

    Args:
        prompts: Prompts in all; more than half of them are code edits.
        tokens: Longest output.
        draft_gamma: Longest draft of the draft model.
        lookup_gamma: Longest draft of prompt lookup.
        ngram: Ids that prompt lookup matches.
    """

    prompts: int = 5
    tokens: int = 12
    draft_gamma: int = 4
    lookup_gamma: int = 8
    ngram: int = 2


@dataclass(frozen=True, slots=True)
class Pair:
    """A loaded target, its draft model and their tokenizer."""

    target: TransformersTarget
    draft: TransformersTarget
    tokenizer: TextTokenizer


def load_pair(target: str, draft: str, device: str) -> Pair:
    """Load both models; one model that plays both parts is loaded once.

    Raises:
        ModelLoadError: A model cannot be used, or their tokenizers differ.
    """
    folders = [locate(name).path for name in (target, draft)]
    tokenizers = [TextTokenizer.load(folder) for folder in folders]
    require_same_tokenizer(*tokenizers)
    vocab = tokenizers[0].vocab_size
    big = load(folders[0], vocab, device)
    small = big if folders[0] == folders[1] else load(folders[1], vocab, device)
    return Pair(big, small, tokenizers[0])


def workloads(tokenizer: TextTokenizer, sizes: Sizes) -> tuple[Workload, ...]:
    """Return code edits and open chat."""
    chat = sizes.prompts // 2
    edits = [
        _prompt(tokenizer, f"{wish}. Answer with the code only.\n\n{code}", code)
        for wish, code in _cycle(_EDITS, sizes.prompts - chat)
    ]
    questions = [_prompt(tokenizer, text, "") for text in _cycle(_QUESTIONS, chat)]
    both = (Workload("code edits", tuple(edits)), Workload("open chat", tuple(questions)))
    return tuple(workload for workload in both if workload.prompts)


def bench(pair: Pair, sizes: Sizes, seed: int) -> Bench:
    """Return the decodings to compare."""
    ours, library = _Ours(pair, sizes, seed), _Library(pair, sizes, seed)
    assisted: dict[str, Any] = {"assistant_model": pair.draft}
    lookup: dict[str, Any] = {
        "prompt_lookup_num_tokens": sizes.lookup_gamma,
        "max_matching_ngram_size": sizes.ngram,
    }
    return Bench(
        target=TargetModel(pair.target),
        draft=TargetModel(pair.draft),
        plain=ours.plain,
        drafters=(
            Drafter("draft model", sizes.draft_gamma, ours.drafted, library.decode(assisted)),
            Drafter(
                "prompt lookup",
                sizes.lookup_gamma,
                ours.looked_up,
                library.decode(lookup),
                sizes.ngram,
            ),
        ),
    )


def _cycle(items: Sequence[Any], number: int) -> list[Any]:
    return [items[place % len(items)] for place in range(number)]


def _prompt(tokenizer: TextTokenizer, text: str, reference: str) -> Prompt:
    template = tokenizer.chat_template
    shown = f"{text}\n" if template is None else render_chat(template, _SYSTEM, text)
    ids = tokenizer.encode_control(shown)
    return Prompt(tuple(ids), tuple(tokenizer.encode_data(reference)))


class _Lookup:
    """The reference's prompt lookup as a proposer, so that prediction and decoding are one."""

    def __init__(self, prompt: Prompt, ngram: int) -> None:
        self._propose = lookup_proposer(prompt.reference, ngram)
        self._prompt = prompt.ids

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Return a copy; see ``Proposer.propose``."""
        return Draft(tuple(self._propose([*self._prompt, *output], limit)), "lookup")


class _Ours:
    """Our own decoding."""

    def __init__(self, pair: Pair, sizes: Sizes, seed: int) -> None:
        self._pair = pair
        self._sizes = sizes
        self._seed = seed

    def plain(self, prompt: Prompt, temperature: float) -> DecodeRun:
        """Decode without drafts."""
        return self._decode(prompt, self._sampling(temperature), Nothing(), 0)

    def looked_up(self, prompt: Prompt, temperature: float) -> DecodeRun:
        """Decode with prompt lookup."""
        proposer = _Lookup(prompt, self._sizes.ngram)
        return self._decode(prompt, self._sampling(temperature), proposer, self._sizes.lookup_gamma)

    def drafted(self, prompt: Prompt, temperature: float) -> DecodeRun:
        """Decode with the draft model."""
        sampling = self._sampling(temperature)
        small = TargetSmallModel(
            self._pair.draft, sampling, len(prompt.ids), self._pair.target.vocab_size
        )
        try:
            proposer = DraftModel(small, prompt.ids)
            return self._decode(prompt, sampling, proposer, self._sizes.draft_gamma)
        finally:
            small.close()

    def _sampling(self, temperature: float) -> Sampling:
        return Sampling(temperature=temperature, seed=self._seed)

    def _decode(
        self, prompt: Prompt, sampling: Sampling, proposer: Proposer, gamma: int
    ) -> DecodeRun:
        request = Request(
            prompt.ids, self._sizes.tokens, self._pair.tokenizer.eos_ids, sampling=sampling
        )
        target = self._pair.target
        decoding = Decoding(target, self._pair.tokenizer, request, proposer, FixedGamma(gamma))
        output, seconds = _timed(target, decoding.run)
        report = output.report
        return DecodeRun(output.ids, seconds, report.passes, report.drafted, report.accepted)


class _Library:
    """The library's decoding."""

    def __init__(self, pair: Pair, sizes: Sizes, seed: int) -> None:
        self._pair = pair
        self._sizes = sizes
        self._seed = seed

    def decode(self, how: dict[str, Any]) -> Decode:
        """Return a decoding with ``how`` among the arguments of ``generate``."""

        def run(prompt: Prompt, temperature: float) -> DecodeRun:
            target = self._pair.target
            ids = torch.tensor([prompt.ids], device=target.device)
            config = self._config(temperature)
            torch.manual_seed(self._seed)
            with own_attention(target) as model, self._assistant(how) as extra, _quiet():
                options = {"generation_config": config, **extra}
                mask = torch.ones_like(ids)
                out, seconds = _timed(
                    target, lambda: model.generate(ids, attention_mask=mask, **options)
                )
            return DecodeRun(tuple(out[0, ids.shape[1] :].tolist()), seconds)

        return run

    @contextmanager
    def _assistant(self, how: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if how.get("assistant_model") is None:
            yield how
            return
        with own_attention(self._pair.draft) as model:
            settings = model.generation_config
            settings.num_assistant_tokens = self._sizes.draft_gamma
            settings.num_assistant_tokens_schedule = "constant"
            settings.assistant_confidence_threshold = 0.0
            yield {**how, "assistant_model": model}

    def _config(self, temperature: float) -> GenerationConfig:
        ends = sorted(self._pair.tokenizer.eos_ids)
        sampled = {"temperature": temperature, "top_k": 0, "top_p": 1.0} if temperature else {}
        return GenerationConfig(  # type: ignore[no-untyped-call] # transformers
            max_new_tokens=self._sizes.tokens,
            do_sample=temperature > 0,
            repetition_penalty=1.0,
            eos_token_id=ends,
            pad_token_id=ends[0],
            **sampled,
        )


def _timed(target: TransformersTarget, work: Callable[[], Any]) -> tuple[Any, float]:
    synchronise(target.model)
    started = time.perf_counter()
    result = work()
    synchronise(target.model)
    return result, time.perf_counter() - started


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the library's remarks on its settings out of the table."""
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call] # transformers
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
