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
    "You are a coding assistant that merges code updates into files and makes sure that every "
    "change is fully integrated."
)
# The wording was chosen by scoring expected files under several prompts, see docs/prompt.md.
_TASKS = {
    "snippet": (
        "Merge all changes from the <{update}> snippet into the <{code}> below.\n"
        "- Every line of the <{update}> that is not a placeholder comment must be in the result, "
        "new imports included.\n"
    ),
    "patch": (
        "Apply the patch in <{update}> to the <{code}> below. Its line numbers and context may be "
        "off: find the lines that it means.\n"
        "- Every line that the patch adds must be in the result, and no line that it removes.\n"
    ),
    "instruction": (
        "Change the <{code}> below as the <instruction> says, and change nothing else.\n"
    ),
}
_RULES = (
    "- Keep all other lines of the <{code}>, their order, comments and indentation exactly.\n"
    "- Answer only with the updated code inside <{answer}> and </{answer}>, without placeholders, "
    "ellipses or fences.\n\n<{code}>\n"
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
        padded: A newline was added at the end of the shown file, so the answer ends in one too.
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
    names = {"code": f"code{number}", "update": f"update{number}"}
    names["answer"] = f"updated-code{number}"
    code, update, answer = names.values()
    kind = "snippet" if snippet is not None else "patch" if edit else "instruction"
    task = (_TASKS[kind] + _RULES).format(**names)
    user = [Section(task), Section(shown, data=True), Section(f"</{code}>\n")]
    if instruction:
        user += [Section("\n<instruction>\n"), Section(instruction.strip() + "\n", data=True)]
        user += [Section("</instruction>\n")]
    if edit:
        user += [Section(f"\n<{update}>\n"), Section(edit, data=True), Section(f"</{update}>\n")]
    user += [Section("\nGive the complete updated code.")]
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
