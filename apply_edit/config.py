"""Settings of one apply, validated at once; modules are handed the values they need, not this."""

from __future__ import annotations

import os
import re
from collections.abc import Set
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from apply_edit.errors import ConfigError
from apply_edit.types import EditFormat
from proposers import NAMES

Strategy = Literal["auto", "direct", "model"]
Scope = Literal["auto", "file", "windows"]
Dtype = Literal["auto", "float32", "bfloat16", "float16"]
DraftDtype = Literal["auto", "int8", "float32", "bfloat16", "float16"]
DEFAULT_TARGET = "qwen2.5-coder-1.5b-instruct"
LONGEST_GAMMA = 4096
# An instruction has no second opinion beside it; chosen by measurement, see docs/accuracy.md.
CONFIRMED = frozenset({EditFormat.INSTRUCTION})
_WORDS: dict[str, tuple[Any, ...]] = {
    "strategy": get_args(Strategy),
    "format": (None, *EditFormat),
    "scope": get_args(Scope),
    "dtype": get_args(Dtype),
    "draft_dtype": get_args(DraftDtype),
    "proposer": NAMES,
    "confirm": (None, True, False),
}
_DEVICE = re.compile(r"auto|cpu|cuda(:[0-9]+)?")


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
    dtype: Dtype = "auto"
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
        for name, words in _WORDS.items():
            if getattr(self, name) not in words:
                known = [str(word) for word in words]
                _refuse(name, getattr(self, name), f"{', '.join(known[:-1])} or {known[-1]}")
        if self.format is not None:
            object.__setattr__(self, "format", EditFormat(self.format))
        self._check_names()
        self._check_numbers()
        if self.draft is not None and self.proposer != "router":
            message = f"a draft model works with the router; proposer is {self.proposer!r}"
            raise ConfigError(message, option="draft")

    def _check_names(self) -> None:
        for name in ("target", "draft"):
            if isinstance(getattr(self, name), os.PathLike):
                object.__setattr__(self, name, os.fspath(getattr(self, name)))
        for name in ("target", "dialect", "draft"):
            value = getattr(self, name)
            if not isinstance(value, str) and (name, value) != ("draft", None):
                _refuse(name, value, "a name")
        if _DEVICE.fullmatch(str(self.device)) is None:
            _refuse("device", self.device, "auto, cpu, cuda or cuda:N")
        checks: Any = self.disabled_checks
        if not isinstance(checks, Set | list | tuple):
            _refuse("disabled_checks", checks, "a set of names of checks")
        object.__setattr__(self, "disabled_checks", frozenset(checks))

    def _check_numbers(self) -> None:
        if self.gamma != "auto" and not _is_whole(self.gamma, 0, LONGEST_GAMMA):
            _refuse("gamma", self.gamma, f"auto or a whole number from 0 to {LONGEST_GAMMA}")
        if self.max_new_tokens is not None and not _is_whole(self.max_new_tokens, 1):
            _refuse("max_new_tokens", self.max_new_tokens, "a whole number from 1")
        least: object = self.min_confidence
        if least is not None and not (isinstance(least, int | float) and 0 <= least <= 1):
            _refuse("min_confidence", least, "a number from 0 to 1")

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


def _is_whole(value: object, least: int, most: int | None = None) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return least <= value and (most is None or value <= most)


def _refuse(option: str, value: object, wanted: str) -> None:
    message = f"{option} is {value!r}; it must be {wanted}"
    raise ConfigError(message, option=option)
