"""The dialect of the aiXapply models.

``<source_file>`` and ``<update_snippet>`` go in, ``<update_file>`` comes out.

The tags and their order are the model's interface; the words around them are ours, because the text
that the model was trained with is longer than what it says. Nobody here has run that model; the
dialect was measured with a general model only (docs/accuracy.md).

Source: https://github.com/aixcoder-plugin/aiXapply-4B
"""

from __future__ import annotations

from dataclasses import dataclass

from apply_edit.prompt.base import Prompt, Section, Task, free_number, is_padded, shown

_SYSTEM = (
    "You apply an update snippet to a source file and write the whole updated file.\n"
    "- Find the one place that the lines around each change in the snippet name, and put the "
    "change there.\n"
    "- A comment such as `... existing code ...` in the snippet stands for lines of the source "
    "file: write these lines, never the comment.\n"
    "- Copy everything else exactly: every line, comment, space and tab.\n"
    "- If the place is unclear, write nothing between the tags.\n"
    "Answer with <{answer}>, the updated file, and </{answer}>."
)
_NAMES = ("source_file", "update_snippet", "update_file")


@dataclass(frozen=True, slots=True)
class AiXApply:
    """The prompt of the aiXapply models."""

    name: str = "aixapply"

    def render(self, task: Task) -> Prompt:
        """Return the prompt; see ``Dialect.render``."""
        text, edit = shown(task.original), task.edit
        if task.instruction:
            edit = f"{task.instruction.strip()}\n{edit}"
        number = free_number(_NAMES, text, edit)
        source, update, answer = (f"{name}{number}" for name in _NAMES)
        language = f"<language>{task.language or 'text'}</language>\n\n<{source}>\n"
        user = (
            Section(language),
            Section(text, data=True),
            Section(f"</{source}>\n\n<{update}>\n"),
            Section(edit, data=True),
            Section(f"</{update}>\n\nWrite the full updated file."),
        )
        system = _SYSTEM.format(answer=answer)
        return Prompt(system, user, f"<{answer}>\n", f"</{answer}>", is_padded(task.original))
