"""What the target is shown, and how its answer is read back: pure text in, text out.

The file comes first and the edit last, so that a prefix that was already processed can be used
again. Every section border is a token border: sections are encoded one by one and never begin on
the line of a tag, because ``>`` and the first character of a file share a token otherwise and the
model then splits the file's first line. The model sees LF line ends only.

File content is *data*: the encoder recognises no special token in it. The tags around it are plain
words; where file or edit contain them, the tags get a number that they do not contain.
"""

from __future__ import annotations

from dataclasses import dataclass

from apply_edit.text import with_newlines

_SYSTEM = (
    "You are a careful tool that merges an edit into a file. You answer with the complete file "
    "after the edit and nothing else."
)
_SNIPPET_TASK = (
    'Merge the edit below into the file. A comment such as "... existing code ..." in the edit '
    "stands for lines of the file that stay as they are; never copy such a comment. Keep every "
    "line that the edit does not change exactly as it is, with its order, comments, blank lines "
    "and indentation. Write the complete file after the edit."
)
_DIFF_TASK = (
    "Apply the patch below to the file. Its line numbers and context may be off: find the lines "
    "that it means. Keep every line that the patch does not change exactly as it is. Write the "
    "complete file after the patch."
)
_INSTRUCTION_TASK = (
    "Change the file below as the instruction says, and change nothing else. Keep every other line "
    "exactly as it is, with its order, comments, blank lines and indentation. Write the complete "
    "file after the change."
)


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
        padded: A newline was added at the end of the shown file, so that the answer ends in one too.
    """

    system: str
    user: tuple[Section, ...]
    prime: str
    stop: str
    padded: bool


def render(
    original: str, *, snippet: str | None = None, patch: str | None = None, instruction: str | None
) -> Prompt:
    """Render the prompt for one merge.

    Args:
        original: The file, any line ends.
        snippet: A lazy snippet or a whole file, or None.
        patch: A structured edit in its own notation, or None.
        instruction: A sentence, alone or with one of the two.

    Returns:
        The prompt; pass the model's answer to ``parse``.
    """
    shown = with_newlines(original, "\n")
    padded = not shown.endswith("\n")
    shown += "\n" if padded else ""
    edit = with_newlines(snippet if snippet is not None else patch or "", "\n")
    if edit and not edit.endswith("\n"):
        edit += "\n"
    number = _free_number(shown, edit, instruction or "")
    task = _SNIPPET_TASK if snippet is not None else _DIFF_TASK if edit else _INSTRUCTION_TASK
    code, update, answer = f"code{number}", f"update{number}", f"updated-code{number}"
    user = [Section(f"{task}\n\n<{code}>\n"), Section(shown, data=True), Section(f"</{code}>\n")]
    if instruction:
        user += [Section("\n<instruction>\n"), Section(instruction.strip() + "\n", data=True)]
        user += [Section("</instruction>\n")]
    if edit:
        user += [Section(f"\n<{update}>\n"), Section(edit, data=True), Section(f"</{update}>\n")]
    user += [Section(f"\nAnswer with the complete file between <{answer}> and </{answer}>.")]
    return Prompt(_SYSTEM, tuple(user), f"<{answer}>\n", f"</{answer}>", padded)


def parse(prompt: Prompt, answer: str) -> str:
    """Return the file that an answer holds (LF line ends).

    Args:
        prompt: The prompt that was answered.
        answer: What the model wrote behind ``prime``, up to the stop string.
    """
    text = answer
    if prompt.padded and text.endswith("\n"):
        text = text[:-1]
    return text


def _free_number(*texts: str) -> str:
    """Return the suffix of the tags: empty, or the first number that no text contains."""
    joined = "\n".join(texts)
    number = 0
    while True:
        suffix = f"-{number}" if number else ""
        names = (f"code{suffix}>", f"update{suffix}>", f"updated-code{suffix}>")
        if not any(f"<{name}" in joined or f"</{name}" in joined for name in names):
            return suffix
        number += 1
