r"""apply-edit: merge an edit into a file, exactly, fast, locally, without wrecking the file.

>>> import apply_edit
>>> apply_edit.apply("a = 1\n", '{"old_str": "1", "new_str": "2"}').text
'a = 2\n'

Importing this package loads next to nothing: each public name is fetched when it is first used, and
the model libraries when a model is first needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apply_edit.applier import Applier, apply
    from apply_edit.config import Config
    from apply_edit.errors import ApplyEditError
    from apply_edit.text import SourceText
    from apply_edit.types import EditFormat, EditResult, Notice

__version__ = "0.1.0"

__all__ = [
    "Applier",
    "ApplyEditError",
    "Config",
    "EditFormat",
    "EditResult",
    "Notice",
    "SourceText",
    "__version__",
    "apply",
]

_HOMES = {
    "Applier": "applier",
    "ApplyEditError": "errors",
    "Config": "config",
    "EditFormat": "types",
    "EditResult": "types",
    "Notice": "types",
    "SourceText": "text",
    "apply": "applier",
}


def __getattr__(name: str) -> object:
    """Fetch a public name from the module that defines it."""
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
