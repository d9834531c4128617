"""Guess new text from what was written before: in the original, and in the output itself.

Text that nobody has written resembles the text around it. For the next token several contexts are
asked what followed them the last few times: the last one, two and four tokens, the two before the
last, and two that know lines: the line's first token, and how the line before was indented. Their
answers are weighed, together with what a cursor expects. Tokens behind the first are guessed in the
same way.

The guesses are weak. Where something can be copied, ``file_cursor`` is right far more often.

Source: arXiv:2304.04487 (prompt lookup), with the output as part of what is looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proposers.base import NOTHING, Draft
from proposers.reference import NOVEL, TextView

# In novel text hardly any run is longer.
_LENGTH = 16
# Places remembered of each context, the latest.
_KEPT = 4
# Guesses per call.
_GUESSES = 6
# Output tokens that are entered per call.
_CAUGHT_UP = 128
# What an answer weighs that a context always gave, found by comparing answers on real edits. A
# longer context repeats what the shorter ones say, and adds to it.
_ONE, _TWO, _FOUR, _SKIP, _FIRST, _INDENTED = 1.0, 1.5, 1.8, 1.2, 2.5, 3.0
# What a cursor's guess weighs, by the number of its agreeing tokens.
_EXPECTED = (0.1, 1.2, 1.3, 1.4, 1.6)
# A context that was seen once is not sure.
_DOUBT = 0.5


@dataclass(frozen=True, slots=True)
class _Line:
    """Where in a line a text stands: indentation and first token of this line and of the last."""

    first: int | None = None
    indent: int | None = None
    before: int | None = None


class Repeat:
    """Guess from the text before.

    Args:
        original: Ids that count as written before the output.
        view: Ids as text; without it nothing is known of lines.
    """

    def __init__(self, original: Sequence[int], view: TextView | None = None) -> None:
        self._view = view
        self._text: list[int] = []
        self._line = _Line()
        # Per context what followed it, the latest last.
        self._followed: dict[tuple[object, ...], tuple[int, ...]] = {}
        self._kinds: dict[int, tuple[bool, bool]] = {}
        self._seen = 0
        self._add(original)
        # The output begins another text.
        self._line = _Line()

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        """Return the likeliest continuation; see ``Proposer.propose``."""
        return next(self.guesses(output, limit), NOTHING)

    def guesses(
        self, output: Sequence[int], limit: int, expected: Draft = NOTHING, agreed: int = 0
    ) -> Iterator[Draft]:
        """Yield what may follow, the likeliest first, each with another first token.

        Args:
            output: Committed output ids.
            limit: Longest draft that is of use.
            expected: What a cursor offers; it stands among the guesses as it is.
            agreed: How many tokens agree before it.
        """
        self._catch_up(output)
        if limit <= 0:
            return
        votes = self._votes(self._text, self._line)
        first = expected.ids[0] if expected.ids else None
        if first is not None:
            weight = _EXPECTED[min(agreed, len(_EXPECTED) - 1)]
            votes[first] = votes.get(first, 0.0) + weight
        ranked = sorted(votes, key=lambda token: (-votes[token], token))[:_GUESSES]
        for token in ranked:
            yield expected if token == first else self._continued(token, min(limit, _LENGTH))

    def _catch_up(self, output: Sequence[int]) -> None:
        if self._seen == 0 and output:
            # No context reaches from the output back into the original.
            self._text = []
        # What was copied in between stands in the original already.
        self._add(output[max(self._seen, len(output) - _CAUGHT_UP) :])
        self._seen = len(output)

    def _add(self, ids: Sequence[int]) -> None:
        """Append ids to the text, and to what followed each context."""
        for token in ids:
            for context, _ in self._contexts(self._text, self._line):
                known = self._followed.get(context, ())
                self._followed[context] = (*known[1 - _KEPT :], token)
            self._text.append(token)
            self._line = self._moved(self._line, token)

    def _continued(self, token: int, limit: int) -> Draft:
        """Return the token and the likeliest ones behind it."""
        text, line = self._text[-4:], self._line
        ids: list[int] = []
        while True:
            ids.append(token)
            if len(ids) == limit:
                break
            text.append(token)
            line = self._moved(line, token)
            votes = self._votes(text, line)
            if not votes:
                break
            token = max(votes, key=lambda one: (votes[one], -one))
        return Draft(tuple(ids), "repeat", (), ((NOVEL, len(ids)),))

    def _votes(self, text: list[int], line: _Line) -> dict[int, float]:
        votes: dict[int, float] = {}
        for context, weight in self._contexts(text, line):
            followed = self._followed.get(context, ())
            share = weight / (len(followed) + _DOUBT)
            for token in followed:
                votes[token] = votes.get(token, 0.0) + share
        return votes

    def _contexts(self, text: list[int], line: _Line) -> Iterator[tuple[tuple[object, ...], float]]:
        """Yield what the next token may depend on, and what it weighs."""
        if not text:
            return
        last = text[-1]
        yield (last,), _ONE
        if len(text) > 1:
            yield (text[-2], last), _TWO
        if len(text) > 2:
            yield ("skip", text[-3], text[-2]), _SKIP
        if len(text) > 3:
            yield tuple(text[-4:]), _FOUR
        if self._view is None:
            return
        if line.first is None:
            yield ("indented", line.before, line.indent, last), _INDENTED
        else:
            yield ("first", line.first, last), _FIRST

    def _moved(self, line: _Line, token: int) -> _Line:
        """Return where a text stands after one more token."""
        if self._view is None:
            return line
        kind = self._kinds.get(token)
        if kind is None:
            written = self._view.token_bytes(token)
            kind = self._kinds[token] = (written.endswith(b"\n"), not written.strip())
        ends_line, is_blank = kind
        if ends_line:
            return _Line(None, None, line.before if line.first is None else line.indent)
        if line.first is not None:
            return line
        first, indent = (None, token) if is_blank else (token, line.indent)
        return _Line(first, indent, line.before)
