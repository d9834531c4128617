"""The dialect of the FastApply models (Kortix, Qwen2.5-Coder fine-tuned for merging snippets).

These models know one prompt, the one that they were trained on, so its words are part of the
model's interface and stand here as the model cards give them (Apache-2.0). What the prompt has no
place for is said in the same words as elsewhere: an instruction in front of the snippet, a patch in
the snippet's place.

Source: https://github.com/kortix-ai/fast-apply
"""

from __future__ import annotations

from dataclasses import dataclass

from apply_edit.prompt.base import Prompt, Section, Task, free_number, is_padded, shown

_SYSTEM = (
    "You are a coding assistant that helps merge code updates, ensuring every modification is "
    "fully integrated."
)
_TASK = (
    "Merge all changes from the <{update}> snippet into the <{code}> below.\n"
    "- Preserve the code's structure, order, comments, and indentation exactly.\n"
    "- Output only the updated code, enclosed within <{answer}> and </{answer}> tags.\n"
    "- Do not include any additional text, explanations, placeholders, ellipses, or code "
    "fences.\n\n<{code}>"
)
_NAMES = ("code", "update", "updated-code")


@dataclass(frozen=True, slots=True)
class FastApply:
    """The prompt of the FastApply models."""

    name: str = "fastapply"

    def render(self, task: Task) -> Prompt:
        """Return the prompt; see ``Dialect.render``."""
        text = shown(task.original)
        edit = task.edit
        if task.instruction:
            edit = f"{task.instruction.strip()}\n{edit}"
        number = free_number(_NAMES, text, edit)
        code, update, answer = (f"{name}{number}" for name in _NAMES)
        user = (
            Section(_TASK.format(code=code, update=update, answer=answer)),
            Section(text.removesuffix("\n"), data=True),
            Section(f"</{code}>\n\n<{update}>"),
            Section(edit.removesuffix("\n"), data=True),
            Section(f"</{update}>\n\nProvide the complete updated code."),
        )
        return Prompt(_SYSTEM, user, f"<{answer}>", f"</{answer}>", is_padded(task.original))
