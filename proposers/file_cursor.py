"""A cursor that copies one reference and finds its place again after every change.

While the output follows the reference, the cursor walks along. When the output leaves it (an
insertion, a deletion, a replacement, a moved block) the cursor remembers where it was lost, its
*home*, and after every token it makes the best guess of where to go on: a place whose preceding
tokens agree with the last ones of the output, for as long as possible and as near ahead of home as
possible. With no such place it supposes that tokens were replaced one for one. A guess may be weak,
because a wrong draft cannot harm the output; but only a guess that has proved itself moves home,
and going back takes a long agreement (a moved block), so that runs of equal lines never make the
cursor oscillate.

The model may split the text in other tokens than the reference does. Given a view of ids as text,
the cursor follows by bytes there, and encodes the text anew from where the output stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proposers.anchors import Anchor, Anchors
from proposers.base import NOTHING, Draft
from proposers.reference import NOVEL, WALL, Reference, TextView, labelled, reencoded

# Agreeing tokens after which a guess is taken for the place: near ahead, and anywhere else.
TRUST = 6
TRUST_FAR = 8
# How far ahead a place may be and still count as near, in tokens; about a screen of code.
_NEAR = 1024
# Bits against starting from the place that was left before, and against a replacement of tokens
# one for one: so many, and so many more for each token written since.
_LEFT = 2.0
_REPLACED = 3.0
_PER_REPLACED = 2.0
# Guesses per call; of a longer stretch that does not agree only the end is looked at.
_ATTEMPTS = 16
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
        self._anchors = Anchors(self._ids, view)
        self._seen = 0
        self._position: int | None = 0 if at_start and self._ids else None
        self.agreed = TRUST_FAR if at_start and self._ids else 0
        # The first bytes of the text to come, where they are the rest of a token that the output
        # has begun; the whole tokens behind them begin at the position.
        self._lead = b""
        # Where the cursor was lost, in the reference and in the output; a trusted place is not.
        self._lost: tuple[int, int] | None = None if at_start else (0, 0)
        # The place that was left for the one that is home now; after a moved or a copied block the
        # output comes back to it.
        self._left: int | None = None

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

    def alternatives(self, output: Sequence[int], limit: int) -> list[Draft]:
        """Return drafts from other places where copying may go on, the likeliest first.

        Empty while the cursor is copying.

        Args:
            output: What has been followed.
            limit: Longest draft that is of use.
        """
        if self._lost is None or not output or limit <= 0:
            return []
        others = (one.place for one in self._ranked(output, len(output)))
        drafts = (self.reference.draft(place, place + limit) for place in others)
        return [
            Draft(draft.ids, draft.source, draft.sources, ((NOVEL, len(draft)),))
            for draft in drafts
            if draft.ids and draft.ids[0] != self._next
        ]

    @property
    def _next(self) -> int | None:
        """The token that the cursor itself would go on with."""
        place = self._position
        return self._ids[place] if place is not None and place < len(self._ids) else None

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
        ours = self._ids[position : position + size]
        theirs = tuple(output[self._seen : self._seen + size])
        if ours != theirs:
            size = next(i for i in range(size) if ours[i] != theirs[i])
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
            self._lost, self._left = None, start
            stop, new_stop = self._position - self.agreed, self._seen - self.agreed
            if start <= stop and new_start <= new_stop:
                self.changes.append(Change(start, stop, new_start, new_stop))

    def _walk_bytes(self, token: int) -> bool:
        """Go on by bytes where the output splits the same text differently."""
        if self._view is None or self._position is None or self._lost is not None:
            return False
        written = self._view.token_bytes(token)
        if not written.strip(b" \t"):
            # Less of an indentation is another one.
            return False
        text, end = self._lead, self._position
        while len(text) < len(written) and end < len(self._ids) and self._ids[end] != WALL:
            text += self._view.token_bytes(self._ids[end])
            end += 1
        if not text.startswith(written):
            return False
        self._lead, self._position = text[len(written) :], end
        self._seen += 1
        self.agreed += 1
        return True

    def _redrafted(self, start: int, limit: int) -> Draft:
        """Return a draft that begins within a token of the reference."""
        window = self.reference.draft(start, start + _REENCODED)
        ids = None if self._view is None else reencoded(self._view, window.ids, self._lead)
        if ids is None:
            return NOTHING
        source, region, _ = self.reference.runs(start - 1, start)[0]
        runs = [(source, region, len(ids))]
        if window.ids and ids[-1] == window.ids[-1]:
            # Both end on the same border, from which on the reference's own tokens hold.
            begin = start + len(window)
            rest = self.reference.draft(begin, begin + limit)
            ids += rest.ids
            runs += self.reference.runs(begin, begin + len(rest))
        return labelled(ids, runs).clip(limit)

    def _lose(self) -> None:
        if self._lost is None and self._position is not None:
            self._lost = (self._position, self._seen)
        self._position, self._lead, self.agreed = None, b"", 0

    def _anchor(self, output: Sequence[int]) -> None:
        """Guess where to go on after ``output[:seen]``."""
        start, new_start = self._lost or (0, self._seen)
        replaced = self._seen - new_start
        found = self._ranked(output, self._seen)
        if found and found[0].score > -_REPLACED - _PER_REPLACED * replaced:
            self._position, self.agreed = found[0].place, 0
            self._agree(found[0].agreed)
        elif start + replaced < len(self._ids):
            self._position = start + replaced

    def after(self, ids: Sequence[int], trust: int = TRUST) -> int | None:
        """Return where to go on after ``ids``, None where fewer than ``trust`` of them agree."""
        found = self._ranked(ids, len(ids))
        return found[0].place if found and found[0].agreed >= trust else None

    def _ranked(self, output: Sequence[int], end: int) -> list[Anchor]:
        homes = [(self.home, 0.0)]
        if self._left is not None:
            homes.append((self._left, _LEFT))
        return self._anchors.ranked(output, end, homes)
