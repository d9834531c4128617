"""Models: the known ones, their download and conversion, and finding the one that is meant.

Importing this package imports neither torch nor transformers.
"""

from apply_edit.models.locate import ModelFolder, Origin, check_folder, locate
from apply_edit.models.progress import Meter, Progress, SilentProgress
from apply_edit.models.registry import ENTRIES, ModelEntry
from apply_edit.models.store import State, Status, Store

__all__ = [
    "ENTRIES",
    "Meter",
    "ModelEntry",
    "ModelFolder",
    "Origin",
    "Progress",
    "SilentProgress",
    "State",
    "Status",
    "Store",
    "check_folder",
    "locate",
]
