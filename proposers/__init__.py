"""Draft sources: token ids in, token ids out. Knows nothing of text, models or files.

``NAMES`` lists what can be asked for by name; ``create`` builds one for a request. ``DraftModel``
is not among them, because it needs a model.
"""

from __future__ import annotations

from collections.abc import Sequence

from proposers.base import NOTHING, Draft, Proposer, TreeProposer
from proposers.cursor import Cursor
from proposers.draft_model import DraftModel, Guess, SmallModel
from proposers.lookup import Lookup
from proposers.router import Router

NAMES = ("router", "cursor", "lookup", "none")


class Nothing:
    """Propose nothing: plain decoding through the same code."""

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Return an empty draft; see ``Proposer.propose``."""
        del output, limit
        return NOTHING


def create(
    name: str,
    original: Sequence[int],
    snippet: Sequence[int] = (),
    prediction: Sequence[int] | None = None,
    closing: Sequence[int] = (),
) -> Proposer:
    """Build the proposer of one request.

    Args:
        name: One of ``NAMES``.
        original: Ids of the text that is rewritten.
        snippet: Ids of the edit's new lines; negative ids are walls between pieces.
        prediction: Ids of a computed guess of the whole output, or None.
        closing: Ids that end the output once the text is complete.

    Raises:
        ValueError: The name is unknown.
    """
    if name == "router":
        return Router(original, snippet, prediction, closing)
    if name == "cursor":
        return Cursor(original, "original")
    if name == "lookup":
        return Lookup(original)
    if name == "none":
        return Nothing()
    message = f"unknown proposer {name!r}; known are {', '.join(NAMES)}"
    raise ValueError(message)


__all__ = [
    "NAMES",
    "NOTHING",
    "Cursor",
    "Draft",
    "DraftModel",
    "Guess",
    "Lookup",
    "Nothing",
    "Proposer",
    "Router",
    "SmallModel",
    "TreeProposer",
    "create",
]
