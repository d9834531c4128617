"""Choose among several references: the prediction, the edit's snippet, the original.

Every reference has a cursor of its own that follows the output. The prediction (the deterministic
merge) is a guess of the whole output, so while the output follows it, it is copied and nothing else
is asked. Where it is lost or absent, the snippet is copied where it agrees with what was just
written for long enough, because it is the newer text; otherwise the original.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proposers.base import NOTHING, Draft
from proposers.cursor import Cursor

# The snippet repeats context lines of the original. Fewer agreeing tokens than this do not tell
# which of the two is being copied, unless the original is lost altogether.
_SNIPPET_MATCH = 4


class Router:
    """Draft from whichever reference the output is following.

    Args:
        original: Ids of the original text (or of the window that is rewritten).
        snippet: Ids of the edit's new lines; negative ids are walls between pieces.
        prediction: Ids of a computed guess of the whole output, or None.
        closing: Ids that end the output; drafted where the reference being followed ends, so that
            the end of the text and what closes it take one pass.
    """

    def __init__(
        self,
        original: Sequence[int],
        snippet: Sequence[int] = (),
        prediction: Sequence[int] | None = None,
        closing: Sequence[int] = (),
    ) -> None:
        self._original = Cursor(original, "original")
        self._snippet = Cursor(snippet, "snippet", at_start=False)
        self._prediction = Cursor(prediction or (), "prediction")
        self._closing = tuple(closing)

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Return a draft from the reference being followed; see ``Proposer.propose``."""
        return next(iter(self._drafts(output, limit)), NOTHING)

    def propose_tree(self, output: Sequence[int], limit: int) -> list[Draft]:
        """Return a draft from every reference that has one; see ``TreeProposer``."""
        return list(self._drafts(output, limit))

    def _drafts(self, output: Sequence[int], limit: int) -> Iterator[Draft]:
        for cursor in (self._prediction, self._snippet, self._original):
            cursor.follow(output)
        for cursor, source in self._ranked():
            ids = cursor.upcoming(limit)
            if source != "snippet" and cursor.ends_with(len(ids)):
                yield self._closed(ids, source, limit)
            elif ids:
                yield Draft(ids, source)

    def _closed(self, ids: tuple[int, ...], source: str, limit: int) -> Draft:
        closing = self._closing[: limit - len(ids)]
        runs = tuple(run for run in ((source, len(ids)), ("closing", len(closing))) if run[1])
        return Draft(ids + closing, source, runs)

    def _ranked(self) -> list[tuple[Cursor, str]]:
        original, snippet = (self._original, "original"), (self._snippet, "snippet")
        lost = self._original.position is None
        trusted = self._snippet.matched >= _SNIPPET_MATCH
        pair = [snippet, original] if lost or trusted else [original, snippet]
        if self._prediction.position is not None:
            return [(self._prediction, "prediction"), *pair]
        return pair
