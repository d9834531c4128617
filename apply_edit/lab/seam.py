"""What experiment 5 needs of real models; a fake of it fits on one page of a test.

The experiment knows token ids, seconds and nothing else. Whoever builds a :class:`Bench` brings the
models, the tokenizer and the library to compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request.

    Args:
        ids: The prompt, at least one id.
        reference: What prompt lookup copies from: for an edit the original file. Empty where
            nothing is to be copied.
    """

    ids: tuple[int, ...]
    reference: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests of one kind, for example code edits.

    Args:
        name: Name for the table.
        prompts: At least one.
    """

    name: str
    prompts: tuple[Prompt, ...]


@dataclass(frozen=True, slots=True)
class DecodeRun:
    """What one decoding did.

    Args:
        ids: The new ids, EOS included.
        seconds: Wall time of the whole call, prefill included, devices synchronised.
        passes: Target passes; the pass over the prompt counts when it verifies or emits a token.
        drafted: Proposed ids.
        accepted: Accepted ones among them.
    """

    ids: tuple[int, ...]
    seconds: float
    passes: int = 0
    drafted: int = 0
    accepted: int = 0


class TimedModel(Protocol):
    """A model whose rows can be read and whose passes can be timed."""

    def logits(self, ids: Sequence[int]) -> NDArray[Any]:
        """Teacher-force ``ids``.

        Returns:
            ``[len(ids), vocab]`` float32; row i speaks of the id after ``ids[i]``.
        """

    def pass_seconds(self, prefix: Sequence[int], width: int, repeats: int) -> Sequence[float]:
        """Time cached passes of ``width`` ids behind ``prefix``.

        The prefix is cached first (untimed); after each pass the cache is rolled back to it. With
        an empty prefix each pass is a prefill of ``width`` ids. Which ids are fed does not matter.

        Returns:
            ``repeats`` wall times in seconds, devices synchronised around each.
        """


# Decode one prompt at a temperature (0 is greedy).
Decode: TypeAlias = Callable[[Prompt, float], DecodeRun]


@dataclass(frozen=True, slots=True)
class Drafter:
    """One way of drafting, to be predicted and measured.

    Args:
        name: Name for the table.
        gamma: Longest draft per pass.
        decode: Our own decoding with it; must draft exactly as described here.
        library: The model library's counterpart, where there is one.
        ngram: For prompt lookup, how many ids have to match; ``None`` means the draft model.
    """

    name: str
    gamma: int
    decode: Decode
    library: Decode | None = None
    ngram: int | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """A target, its draft model, and the decodings to compare.

    Args:
        target: The model that decides.
        draft: The model that proposes; same tokenizer. Its rows may be padded to another width.
        plain: The target alone, through the same code as the drafters' ``decode``.
        drafters: What to compare.
    """

    target: TimedModel
    draft: TimedModel
    plain: Decode
    drafters: tuple[Drafter, ...]
