"""Settings of one apply, validated at once; modules are handed the values they need, not this."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from apply_edit.errors import ConfigError
from apply_edit.types import EditFormat

Strategy = Literal["auto", "direct", "model"]
Scope = Literal["auto", "file", "windows"]
DraftDtype = Literal["auto", "int8", "float32", "bfloat16", "float16"]
DEFAULT_TARGET = "qwen2.5-coder-1.5b-instruct"
LONGEST_GAMMA = 4096
# An instruction has no second opinion beside it; chosen by measurement, see docs/accuracy.md.
CONFIRMED = frozenset({EditFormat.INSTRUCTION})


@dataclass(frozen=True, slots=True)
class Config:
    """How to apply an edit.

    Args:
        strategy: ``direct`` never runs a model, ``model`` always does, ``auto`` runs one only where
            the edit does not determine the result by itself.
        format: Format of the edit; None detects it.
        target: Name, local folder, local GGUF file or hub id of the target model.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        dtype: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        scope: ``auto`` shows the target windows around the edit where its place is clear and the
            file not small, ``windows`` in small files too, ``file`` always the whole file.
        gamma: Longest draft per pass, 0 for plain greedy decoding; ``auto`` chooses it for each
            pass from the cost of passes and what was accepted so far.
        max_new_tokens: Limit of the output; None derives it from the size of file and edit.
        dialect: Prompt dialect, see ``prompt.DIALECTS``; ``auto`` is the one of the model.
        min_confidence: Refuse a text of the target in which any word had a smaller probability;
            None for no such threshold.
        confirm: Ask the target again in other words, and refuse where it writes something else;
            None for what was measured to be wise for the kind of edit.
        proposer: Name of the draft source, see ``proposers.NAMES``.
        draft: The draft model, which guesses novel text for the router: named like the target, and
            of its tokenizer; None for no draft model.
        draft_dtype: ``auto`` (int8 on a CPU), ``int8``, ``float32``, ``bfloat16`` or ``float16``.
        disabled_checks: Names of guard checks that are switched off.
    """

    strategy: Strategy = "auto"
    format: EditFormat | None = None
    target: str = DEFAULT_TARGET
    device: str = "auto"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    scope: Scope = "auto"
    gamma: int | Literal["auto"] = "auto"
    max_new_tokens: int | None = None
    proposer: str = "router"
    draft: str | None = None
    draft_dtype: DraftDtype = "auto"
    dialect: str = "auto"
    min_confidence: float | None = None
    confirm: bool | None = None
    disabled_checks: frozenset[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        if self.strategy not in get_args(Strategy):
            _refuse("strategy", self.strategy, "auto, direct or model")
        if self.scope not in get_args(Scope):
            _refuse("scope", self.scope, "auto, file or windows")
        if self.gamma != "auto" and not 0 <= self.gamma <= LONGEST_GAMMA:
            _refuse("gamma", self.gamma, f"auto or a whole number from 0 to {LONGEST_GAMMA}")
        if self.max_new_tokens is not None and self.max_new_tokens < 1:
            _refuse("max_new_tokens", self.max_new_tokens, "a whole number from 1")
        if self.min_confidence is not None and not 0 <= self.min_confidence <= 1:
            _refuse("min_confidence", self.min_confidence, "a number from 0 to 1")
        if self.dtype not in ("auto", "float32", "bfloat16", "float16"):
            _refuse("dtype", self.dtype, "auto, float32, bfloat16 or float16")
        if self.draft_dtype not in get_args(DraftDtype):
            _refuse("draft_dtype", self.draft_dtype, "auto, int8, float32, bfloat16 or float16")
        if self.draft is not None and self.proposer != "router":
            message = f"a draft model works with the router; proposer is {self.proposer!r}"
            raise ConfigError(message, option="draft")

    def confirms(self, edit_format: EditFormat) -> bool:
        """Tell whether the target is asked twice."""
        if self.confirm is not None:
            return self.confirm
        return edit_format in CONFIRMED

    @classmethod
    def from_mapping(cls, values: dict[str, Any]) -> Config:
        """Build from names and values; an unknown name is an error.

        Raises:
            ConfigError: A name is unknown or a value impossible.
        """
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            message = f"unknown option {unknown[0]!r}; known are {', '.join(sorted(known))}"
            raise ConfigError(message, option=unknown[0])
        return cls(**values)


def _refuse(option: str, value: object, wanted: str) -> None:
    message = f"{option} is {value!r}; it must be {wanted}"
    raise ConfigError(message, option=option)
