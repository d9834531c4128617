"""apply-edit: merge an edit into a file, exactly, fast, locally, without wrecking the file.

>>> import apply_edit
>>> apply_edit.apply("a = 1\n", '{"old_str": "1", "new_str": "2"}').text
'a = 2\n'

Importing this package imports no torch; the model libraries are loaded when a model is first needed.
"""

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
