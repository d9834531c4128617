"""Draft sources: token ids in, token ids out. Knows nothing of text, models or files.

``NAMES`` lists what can be asked for by name; ``create`` builds one for a request. ``DraftModel``
is not among them, because it needs a model.
"""

from __future__ import annotations

from collections.abc import Sequence

from proposers.base import NOTHING, Closable, Draft, Proposer, TreeProposer
from proposers.draft_model import DraftModel, Guess, SmallModel
from proposers.file_cursor import Cursor
from proposers.lookup import Lookup
from proposers.reference import WALL, Part, Reference, References, TextView, original_of
from proposers.router import Router

NAMES = ("router", "cursor", "lookup", "none")


class Nothing:
    """Propose nothing: plain decoding through the same code."""

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Return an empty draft; see ``Proposer.propose``."""
        del output, limit
        return NOTHING


def create(name: str, references: References, novel: Proposer | None = None) -> Proposer:
    """Build the proposer of one request.

    Args:
        name: One of ``NAMES``.
        references: What drafts can be copied from.
        novel: Asked by the router where nothing can be copied; None for nobody.

    Raises:
        ValueError: The name is unknown.
    """
    if name == "router":
        return Router(references, novel)
    if name == "cursor":
        return Cursor(original_of(references), references.view)
    if name == "lookup":
        return Lookup(references.original)
    if name == "none":
        return Nothing()
    message = f"unknown proposer {name!r}; known are {', '.join(NAMES)}"
    raise ValueError(message)


__all__ = [
    "NAMES",
    "NOTHING",
    "WALL",
    "Closable",
    "Cursor",
    "Draft",
    "DraftModel",
    "Guess",
    "Lookup",
    "Nothing",
    "Part",
    "Proposer",
    "Reference",
    "References",
    "Router",
    "SmallModel",
    "TextView",
    "TreeProposer",
    "create",
]
