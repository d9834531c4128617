"""Stop strings in a stream of text pieces.

A stop string may lie across pieces and across tokens. Text that could be the beginning of one is
held back until it is certain that it is not.
"""

from __future__ import annotations

from collections.abc import Sequence


class StopText:
    """Passes text on until a stop string appears.

    >>> stops = StopText(["</code>"])
    >>> stops.push("a <"), stops.push("b </co"), stops.push("de> c"), stops.found
    ('a ', '<b ', '', True)
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""
        self.found = False

    def push(self, piece: str) -> str:
        """Take a piece and return what is certain not to be part of a stop string."""
        if self.found:
            return ""
        if not self._stops:
            return piece
        text = self._held + piece
        places = [place for stop in self._stops if (place := text.find(stop)) >= 0]
        if places:
            self.found = True
            self._held = ""
            return text[: min(places)]
        hold = max(_overlap(text, stop) for stop in self._stops)
        self._held = text[len(text) - hold :]
        return text[: len(text) - hold]

    def flush(self) -> str:
        """Return what was held back; the text has ended."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Return the length of the longest end of ``text`` that begins ``stop``."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
