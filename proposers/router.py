"""Choose among several texts to copy from, token by token the one that the output agrees with.

Four cursors follow the output, each in a text of its own: the *prediction* (the deterministic
merge), the *woven* text (the original with the snippet's pieces where they seem to belong), the
snippet's pieces by themselves, and the original. The one that agrees longest with the last tokens
is copied, the first of these where they agree equally. Prediction and woven text run through all
regions, so that one draft goes from the original into an edit and out again, up to what closes the
answer.

Where nothing agrees, the text is novel: a draft model is asked if there is one, else what resembles
the text before (``repeat``). Renames seen so far are applied to what is copied from the original
(``echo``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest

from proposers.base import NOTHING, Closable, Draft, Proposer
from proposers.echo import Echo
from proposers.file_cursor import TRUST_FAR, Cursor
from proposers.prediction import predicted
from proposers.reference import EDIT, Part, Reference, References, labelled, original_of
from proposers.repeat import Repeat
from proposers.snippet import weave

# With fewer agreeing tokens nothing is being copied, for a draft model that could be asked instead.
_COPYING = 2
# With fewer, it is weighed what the text before says to it.
_GUESSING = 4
# Tokens of a further branch of a tree.
_BRANCH = 8


class Router:
    """Draft from whichever text the output is following.

    Args:
        references: The texts.
        novel: Asked where nothing can be copied, for example a draft model; None for ``Repeat``.
        echo: Apply renames; needs a view of ids as text.
    """

    def __init__(
        self, references: References, novel: Proposer | None = None, *, echo: bool = True
    ) -> None:
        view = references.view
        closing = Part(tuple(references.closing), "closing")
        self._original = Cursor(original_of(references), view)
        snippet = Reference([Part(tuple(references.snippet), "snippet", EDIT)])
        self._snippet = Cursor(snippet, at_start=False)
        whole = []
        if references.prediction is not None:
            whole.append(predicted(references.prediction, references.prediction_edits))
        whole.append(weave(references.original, references.snippet, view))
        texts = [Cursor(Reference([*parts, closing]), view) for parts in whole if parts]
        self._cursors = (*texts, self._snippet, self._original)
        self._novel = novel
        self._repeat = Repeat(references.original, view)
        self._echo = Echo(view) if echo and view is not None else None
        self._seen = 0
        self._learnt = 0

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Return a draft from the text being followed; see ``Proposer.propose``."""
        return next((draft for draft in self._drafts(output, limit) if draft.ids), NOTHING)

    def propose_tree(self, output: Sequence[int], limit: int) -> list[Draft]:
        """Return all that may follow, the likeliest first; see ``TreeProposer``.

        While something is being copied for sure, only other texts that agree as long offer
        something else. Otherwise the first draft is followed by all that was found: short ones,
        because each is right one time in ten or less.
        """
        drafts = list(islice((draft for draft in self._drafts(output, limit) if draft.ids), 1))
        if not drafts:
            return drafts
        for draft in self._others(output, min(limit, _BRANCH)):
            if draft.ids and all(known.ids[: len(draft)] != draft.ids for known in drafts):
                drafts.append(draft)
        return drafts

    def _others(self, output: Sequence[int], limit: int) -> Iterator[Draft]:
        """Yield what else may follow: what each text offers, then its other places."""
        for cursor in self._cursors:
            cursor.follow(output)
        ranked = self._ranked()
        drafts = [self._draft(cursor, limit) for cursor in ranked]
        if ranked[0].agreed >= TRUST_FAR:
            sure = zip(ranked, drafts, strict=True)
            yield from (draft for cursor, draft in sure if cursor.agreed >= TRUST_FAR)
            return
        guesses = list(self._repeat.guesses(output, limit, drafts[0], ranked[0].agreed))
        yield from guesses[:2]
        yield from drafts
        offers = [guesses[2:], *(cursor.alternatives(output, limit) for cursor in ranked)]
        for together in zip_longest(*offers, fillvalue=NOTHING):
            yield from together

    def close(self) -> None:
        """Let the draft model give back what it holds; see ``Closable``."""
        if isinstance(self._novel, Closable):
            self._novel.close()

    def _drafts(self, output: Sequence[int], limit: int) -> Iterator[Draft]:
        if limit <= 0:
            return
        # The cursors behind one that is sure are not needed now, and catch up when they are.
        for cursor in self._cursors:
            cursor.follow(output)
            if cursor.agreed >= TRUST_FAR:
                self._listen(output)
                yield self._draft(cursor, limit)
                break
        for cursor in self._cursors:
            cursor.follow(output)
        self._listen(output)
        yield from self._guesses(output, limit)

    def _guesses(self, output: Sequence[int], limit: int) -> Iterator[Draft]:
        """Yield drafts while it is unclear what is being written, the likeliest first."""
        ranked = self._ranked()
        copying = ranked[0].agreed
        if self._novel is not None and copying < _COPYING:
            # A draft model costs something, so its place is where nothing can be copied.
            yield self._novel.propose(output, limit)
        if copying < _GUESSING:
            expected = self._draft(ranked[0], limit)
            yield from self._repeat.guesses(output, limit, expected, copying)
        yield from (self._draft(cursor, limit) for cursor in ranked)

    def _ranked(self) -> list[Cursor]:
        return sorted(self._cursors, key=lambda cursor: -min(cursor.agreed, TRUST_FAR))

    def _draft(self, cursor: Cursor, limit: int) -> Draft:
        draft = cursor.draft(limit)
        if cursor is self._snippet and 0 < len(draft) < limit:
            draft = self._continued(draft, limit)
        return draft if self._echo is None else self._echo.apply(draft, limit)

    def _continued(self, draft: Draft, limit: int) -> Draft:
        """Let the rest of a piece be followed by the original from where it joins it."""
        place = self._original.after(draft.ids)
        if place is None:
            return draft
        reference = self._original.reference
        rest = reference.draft(place, place + limit - len(draft))
        runs = [("snippet", EDIT, len(draft)), *reference.runs(place, place + len(rest))]
        return labelled((*draft.ids, *rest.ids), runs)

    def _listen(self, output: Sequence[int]) -> None:
        """Let ``echo`` know what was written and what was replaced."""
        if self._echo is not None:
            self._echo.observe(output[self._seen :])
            for change in self._original.changes[self._learnt :]:
                self._echo.learn(self._original.reference.ids, output, change)
        self._seen, self._learnt = len(output), len(self._original.changes)
