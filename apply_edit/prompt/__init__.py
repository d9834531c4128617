"""What the target is shown, and how its answer is read back: pure text in, text out.

A *dialect* is one way of asking. Models that were trained on a prompt of their own get that one;
any other instruct model is asked in its chat template with our own words (``generic``).
"""

from __future__ import annotations

from apply_edit.errors import ConfigError
from apply_edit.prompt.aixapply import AiXApply
from apply_edit.prompt.base import Dialect, Prompt, Section, Task, parse, shown
from apply_edit.prompt.fastapply import FastApply
from apply_edit.prompt.generic import Generic

__all__ = [
    "DEFAULT",
    "DIALECTS",
    "Dialect",
    "Prompt",
    "Section",
    "Task",
    "choose",
    "confirming",
    "parse",
    "shown",
]

DEFAULT = "generic"
DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Generic("generic"),
        Generic("generic-late", task_first=False),
        Generic("generic-example", example=True),
        FastApply(),
        AiXApply(),
    )
}
# Models with a prompt of their own, by the id that they are published under.
_TRAINED = {
    "kortix/fastapply-1.5b-v1.0": "fastapply",
    "kortix/fastapply-7b-v1.0": "fastapply",
    "aixcoder/aixapply-4b": "aixapply",
    "aixcoder/aixapply-4b-rl": "aixapply",
}


def choose(name: str, published_as: str | None = None) -> Dialect:
    """Return the dialect of that name; ``auto`` is the one that a model was trained on.

    Args:
        name: A name in ``DIALECTS``, or ``auto``.
        published_as: The id that the model says it was published under, None where it says none.

    Raises:
        ConfigError: There is no dialect by that name.
    """
    if name == "auto":
        name = _TRAINED.get((published_as or "").lower(), DEFAULT)
    if name not in DIALECTS:
        message = f"there is no prompt dialect {name!r}; known are auto, {', '.join(DIALECTS)}"
        raise ConfigError(message, option="dialect")
    return DIALECTS[name]


def confirming(name: str) -> tuple[str, ...]:
    """Return the dialects that ask the same in other words, none where there is no such thing.

    Models that were trained on a prompt understand no other one.
    """
    generic = ("generic", "generic-late", "generic-example")
    return tuple(other for other in generic if other != name) if name in generic else ()
