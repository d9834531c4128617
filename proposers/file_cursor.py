"""A cursor that copies one reference and finds its place again after every change.

While the output follows the reference, the cursor walks along. When the output leaves it (an
insertion, a deletion, a replacement, a moved block) the cursor remembers where it was lost, and
after every token it makes the best guess of where to go on: the place ahead whose preceding tokens
agree longest with the last ones of the output, the nearest of those. One agreeing token is enough
for a guess, because a wrong draft does no harm; but only a guess that has proved itself moves the
place from which "ahead" and "nearest" count. Going back takes a long agreement (a moved block), so
that runs of equal lines never make the cursor oscillate.

The model may split the text in other tokens than the reference does. Given a view of ids as text,
the cursor follows by bytes there, and encodes the text anew from where the output stands.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from proposers.base import NOTHING, Draft
from proposers.ngram_index import NgramIndex
from proposers.reference import NOVEL, WALL, Reference, TextView, labelled, reencoded

# Agreeing tokens after which a guess is taken for the place: near ahead, and anywhere else.
TRUST = 4
TRUST_FAR = 8
# Agreement is counted up to here.
_LONGEST = 32
# How far ahead a place may be and still count as near, in tokens; about a screen of code.
_NEAR = 1024
# Occurrences looked at on each side of the cursor.
_CANDIDATES = 8
# Guesses per call; of a longer stretch that does not agree only the end is looked at.
_ATTEMPTS = 32
# Tokens that are encoded anew where the output splits the text differently.
_REENCODED = 16


@dataclass(frozen=True, slots=True)
class Change:
    """The reference's ``[start, stop)`` became the output's ``[new_start, new_stop)``."""

    start: int
    stop: int
    new_start: int
    new_stop: int


class Cursor:
    """Copy from one reference with re-anchoring.

    Args:
        reference: What to copy from.
        view: Ids as text, or None.
        at_start: The output is expected to begin where the reference begins.

    Attributes:
        agreed: How many tokens before the place to go on agree with the output's last; 0 where
            there is no place.
        changes: What was replaced so far, in the order of the output.
    """

    def __init__(
        self, reference: Reference, view: TextView | None = None, *, at_start: bool = True
    ) -> None:
        self.reference = reference
        self.changes: list[Change] = []
        self._ids = reference.ids
        self._view = view
        self._index = NgramIndex(self._ids, 2)
        self._seen = 0
        self._position: int | None = 0 if at_start and self._ids else None
        self.agreed = TRUST_FAR if at_start and self._ids else 0
        # The first bytes of the text to come, where they are the rest of a token that the output
        # has begun; the whole tokens behind them begin at the position.
        self._lead = b""
        # Where the cursor was lost, in the reference and in the output; a trusted place is not.
        self._lost: tuple[int, int] | None = None if at_start else (0, 0)

    @property
    def home(self) -> int:
        """The last place in the reference that is trusted."""
        if self._lost is not None:
            return self._lost[0]
        return self._position or 0

    @property
    def position(self) -> int | None:
        """Where copying would go on; None where there is no guess."""
        return self._position

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Return the reference from the cursor on; see ``Proposer.propose``."""
        self.follow(output)
        return self.draft(limit)

    def draft(self, limit: int) -> Draft:
        """Return up to ``limit`` ids from the cursor to the next wall or the end."""
        start = self._position
        if start is None or limit <= 0:
            return NOTHING
        if self._lead:
            return self._redrafted(start, limit)
        draft = self.reference.draft(start, start + limit)
        if self._lost is not None and self.agreed < 2 and draft.ids:
            # Hardly a guess: what stands here is not known to be a copy of anything.
            return Draft(draft.ids, draft.source, draft.sources, ((NOVEL, len(draft)),))
        return draft

    def follow(self, output: Sequence[int]) -> None:
        """Take notice of output that was committed since the last call.

        O(1) per token while copying, and at most ``_ATTEMPTS`` guesses per call.
        """
        attempts = _ATTEMPTS
        while self._seen < len(output):
            if self._position is not None:
                self._walk(output, self._position)
                if self._seen == len(output):
                    return
                if self._walk_bytes(output[self._seen]):
                    continue
                self._lose()
            if attempts == 0 or self._seen + attempts < len(output) - _ATTEMPTS:
                self._seen = max(self._seen, len(output) - _ATTEMPTS)
                attempts = max(attempts, _ATTEMPTS)
            attempts -= 1
            self._seen += 1
            self._anchor(output)

    def _walk(self, output: Sequence[int], position: int) -> None:
        """Go on for as long as the tokens are the same."""
        if self._lead:
            return
        size = min(len(self._ids) - position, len(output) - self._seen)
        ours, theirs = self._ids[position : position + size], output[self._seen : self._seen + size]
        if ours != tuple(theirs):
            size = next(i for i, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1])
        self._position = position + size
        self._seen += size
        self._agree(size)

    def _agree(self, count: int) -> None:
        self.agreed += count
        if self._lost is None or self._position is None:
            return
        start, new_start = self._lost
        near = start <= self._position <= start + _NEAR
        if self.agreed >= (TRUST if near else TRUST_FAR):
            self._lost = None
            stop, new_stop = self._position - self.agreed, self._seen - self.agreed
            if start <= stop and new_start <= new_stop:
                self.changes.append(Change(start, stop, new_start, new_stop))

    def _walk_bytes(self, token: int) -> bool:
        """Go on by bytes where the output splits the same text differently."""
        if self._view is None or self._position is None or self._lost is not None:
            return False
        written = self._view.token_bytes(token)
        text, end = self._lead, self._position
        while len(text) < len(written) and end < len(self._ids) and self._ids[end] != WALL:
            text += self._view.token_bytes(self._ids[end])
            end += 1
        if not written or not text.startswith(written):
            return False
        self._lead, self._position = text[len(written) :], end
        self._seen += 1
        self.agreed += 1
        return True

    def _redrafted(self, start: int, limit: int) -> Draft:
        """Return a draft that begins within a token of the reference."""
        assert_view = self._view
        if assert_view is None:
            return NOTHING
        window = self.reference.draft(start, start + _REENCODED)
        ids = reencoded(assert_view, window.ids, self._lead)
        if ids is None:
            return NOTHING
        if not window.ids or ids[-1] != window.ids[-1]:
            # The border is not the reference's own, so what is before it may be split otherwise.
            return labelled(ids[:-1][:limit], self.reference.runs(start, start + len(ids[:-1])))
        runs = self.reference.runs(start - 1, start)
        rest = self.reference.draft(start + len(window), start + len(window) + limit)
        source, region, _ = runs[0]
        tail = self.reference.runs(start + len(window), start + len(window) + len(rest))
        return labelled((*ids, *rest.ids), [(source, region, len(ids)), *tail]).clip(limit)

    def _lose(self) -> None:
        if self._lost is None and self._position is not None:
            self._lost = (self._position, self._seen)
        self._position, self._lead, self.agreed = None, b"", 0

    def _anchor(self, output: Sequence[int]) -> None:
        """Guess where to go on after ``output[:seen]``."""
        end = self._seen
        places = self._index.after(output[end - 2 : end]) if end >= 2 else []
        if not places:
            places = self._index.after(output[end - 1 : end])
        if not places:
            return
        home = self.home
        ahead = bisect_left(places, home)
        best, length = None, 0
        for place in places[ahead : ahead + _CANDIDATES]:
            agreed = self._agreement(output, end, place)
            if agreed > length:
                best, length = place, agreed
        for place in reversed(places[max(0, ahead - _CANDIDATES) : ahead]):
            agreed = self._agreement(output, end, place)
            if agreed > length and agreed >= TRUST_FAR:
                best, length = place, agreed
        if best is not None:
            self._position, self.agreed = best, 0
            self._agree(length)

    def _agreement(self, output: Sequence[int], end: int, place: int) -> int:
        """Count how many tokens before ``output[end]`` and before ``place`` are the same."""
        longest = min(_LONGEST, end, place)
        length = 0
        while length < longest and self._ids[place - 1 - length] == output[end - 1 - length]:
            length += 1
        return length
