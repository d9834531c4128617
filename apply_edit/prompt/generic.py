"""The dialects for any instruct model: our own words, in the model's own chat template.

Three ways of saying the same, which ``python -m benchmarks.accuracy`` compares (docs/accuracy.md
has the figures): the task before the file, the task behind file and edit, and the latter with a
worked example in front.
"""

from __future__ import annotations

from dataclasses import dataclass

from apply_edit.prompt.base import Prompt, Section, Task, free_number, is_padded, shown

_SYSTEM = (
    "You are a coding assistant that merges code updates into files and makes sure that every "
    "change is fully integrated."
)
_TASKS = {
    "snippet": (
        "Merge all changes from the <{update}> snippet into the <{code}> {where}.\n"
        "- Every line of the <{update}> that is not a placeholder comment must be in the result, "
        "new imports included.\n"
    ),
    "patch": (
        "Apply the patch in <{update}> to the <{code}> {where}. Its line numbers and context may "
        "be off: find the lines that it means.\n"
        "- Every line that the patch adds must be in the result, and no line that it removes.\n"
    ),
    "instruction": (
        "Change the <{code}> {where} as the <instruction> says, and change nothing else.\n"
    ),
}
_PART = "- The <{code}> is a part of a larger file: answer with this part only.\n"
_RULES = (
    "- Keep all other lines of the <{code}>, their order, comments and indentation exactly.\n"
    "- Answer only with the updated code inside <{answer}> and </{answer}>, without placeholders, "
    "ellipses or fences.\n"
)
_NAMES = ("code", "update", "updated-code")


@dataclass(frozen=True, slots=True)
class Generic:
    """Tags around file and edit, and a task in words.

    Args:
        name: What a person types.
        task_first: The task stands before the file; else behind the edit, so that the prompts of
            one file begin alike whatever kind of edit follows.
        example: Show a small merge first.
    """

    name: str
    task_first: bool = True
    example: bool = False

    def render(self, task: Task) -> Prompt:
        """Return the prompt; see ``Dialect.render``."""
        text, edit = shown(task.original), task.edit
        number = free_number(_NAMES, text, edit, task.instruction or "")
        code, update, answer = (f"{name}{number}" for name in _NAMES)
        kind = "snippet" if task.snippet is not None else "patch" if edit else "instruction"
        where = "below" if self.task_first else "above"
        words = (_TASKS[kind] + (_PART if task.is_part else "") + _RULES).format(
            code=code, update=update, answer=answer, where=where
        )
        user = [Section(_EXAMPLE)] if self.example else []
        user += [Section(f"{words}\n<{code}>\n" if self.task_first else f"<{code}>\n")]
        user += [Section(text, data=True), Section(f"</{code}>\n")]
        if task.instruction:
            user += [Section("\n<instruction>\n")]
            user += [Section(task.instruction.strip() + "\n", data=True)]
            user += [Section("</instruction>\n")]
        if edit:
            user += [Section(f"\n<{update}>\n"), Section(edit, data=True)]
            user += [Section(f"</{update}>\n")]
        last = "Give the complete updated code." if self.task_first else words.rstrip()
        user += [Section("\n" + last)]
        padded = is_padded(task.original)
        return Prompt(_SYSTEM, tuple(user), f"<{answer}>\n", f"</{answer}>", padded)


_EXAMPLE = """\
An example. From this file

def area(w, h):
    return w * h

def edge(w, h):
    return 2 * (w + h)

def ratio(w, h):
    return w / h

and this snippet

# ... existing code ...
def edge(w, h):
    if w < 0 or h < 0:
        raise ValueError("negative size")
    return 2 * (w + h)
# ... existing code ...

comes this result

def area(w, h):
    return w * h

def edge(w, h):
    if w < 0 or h < 0:
        raise ValueError("negative size")
    return 2 * (w + h)

def ratio(w, h):
    return w / h

because a placeholder comment stands for all the lines that it leaves out.

Now the real one.

"""
