"""What every prompt dialect shares: the records, the sections, tags that the content does not have.

The file comes before the edit, so that a prefix that was already processed can be used again. Every
section border is a token border: sections are encoded one by one, because ``>`` and the first
character of a file share a token otherwise and the model then splits the file's first line. The
model sees LF line ends only.

File content is *data*: the encoder recognises no special token in it. The tags around it are plain
words; where file or edit contain them, the tags get a number that they do not contain.

Does not know: tokenizers, models, windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from apply_edit.text import with_newlines


@dataclass(frozen=True, slots=True)
class Section:
    """A piece of the prompt.

    Args:
        text: The text.
        data: True for content of the file or the edit, False for our own words.
    """

    text: str
    data: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered prompt.

    Args:
        system: System message.
        user: The user message in sections, each encoded by itself.
        prime: How the answer begins; the model goes on from there.
        stop: String that ends the answer.
        padded: A newline was added at the end of the shown file, so the answer ends in one too.
    """

    system: str
    user: tuple[Section, ...]
    prime: str
    stop: str
    padded: bool


@dataclass(frozen=True, slots=True)
class Task:
    """One merge that the target is asked for.

    Args:
        original: The file, or a part of it; any line ends.
        snippet: A lazy snippet or a whole file, or None.
        patch: A structured edit in its own notation, or None.
        instruction: A sentence, alone or with one of the two.
        is_part: ``original`` is a stretch of lines of a larger file, and so is the answer.
        language: Name of the language, None where unknown.
    """

    original: str
    snippet: str | None = None
    patch: str | None = None
    instruction: str | None = None
    is_part: bool = False
    language: str | None = None

    @property
    def edit(self) -> str:
        """The snippet or the patch, as the model is shown it; empty where there is neither."""
        return shown(self.snippet if self.snippet is not None else self.patch or "")


class Dialect(Protocol):
    """A way of asking: renders a task, and reads the answer back. Pure."""

    @property
    def name(self) -> str:
        """What a person types."""
        ...

    def render(self, task: Task) -> Prompt:
        """Return the prompt for a task; pass the model's answer to ``parse``."""
        ...


def parse(prompt: Prompt, answer: str) -> str:
    """Return the text that an answer holds (LF line ends).

    Args:
        prompt: The prompt that was answered.
        answer: What the model wrote behind ``prime``, up to the stop string.
    """
    text = answer
    if not prompt.prime.endswith("\n"):
        # Tags that touch the text: whether a line end stands between them is the model's habit.
        text = answer.removeprefix("\n")
        text += "" if text.endswith("\n") or not text else "\n"
    if prompt.padded and text.endswith("\n"):
        text = text[:-1]
    return text


def shown(text: str) -> str:
    r"""Return a text as prompts show it: LF, with a final newline unless it is empty.

    >>> shown("a\r\nb")
    'a\nb\n'
    """
    lf = with_newlines(text, "\n")
    return lf + "\n" if lf and not lf.endswith("\n") else lf


def is_padded(original: str) -> bool:
    """Tell whether the shown text has a final newline that the original has not."""
    return not original.endswith(("\n", "\r"))


def free_number(names: Sequence[str], *texts: str) -> str:
    """Return a suffix for tags: empty, or the first number with which no text contains any.

    >>> free_number(["code"], "a <code> b"), free_number(["code"], "a")
    ('-1', '')
    """
    joined = "\n".join(texts)
    number = 0
    while True:
        suffix = f"-{number}" if number else ""
        if not any(f"{bracket}{name}{suffix}>" in joined for name in names for bracket in _OPEN):
            return suffix
        number += 1


_OPEN = ("<", "</")
