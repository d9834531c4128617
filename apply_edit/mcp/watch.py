"""What a worker thread tells about an edit under way, and how it is told to stop."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apply_edit.decode.row import Event

_STAGES = {
    "load": "loading the target",
    "service": "the running service is writing",
    "prefill": "reading file and edit",
    "decode": "writing",
}
# The protocol wants a number that grows; a stage counts less than a token.
_STEP = 0.01


class Watch:
    """Observer and download progress of one edit; written by a thread, read by the event loop."""

    def __init__(self) -> None:
        self.value = 0.0
        self.total: float | None = None
        self.text = ""
        self._stop = threading.Event()

    def stop(self) -> None:
        """Have the edit end before its next pass."""
        self._stop.set()

    def stopped(self) -> bool:
        """Say whether nobody waits for the edit any more."""
        return self._stop.is_set()

    def stage(self, name: str) -> None:
        """A stage begins."""
        self._say(_STAGES.get(name, name))

    def decoded(self, event: Event, num_done: int, num_expected: int) -> None:
        """A pass has committed tokens."""
        del event
        self.value = max(self.value + _STEP, float(num_done))
        self.total = max(self.value, float(num_expected))

    def explained(self, lines: Sequence[str]) -> None:
        """Ignore decisions about drafts."""
        del lines

    def start(self, total_bytes: int | None, label: str, done_bytes: int = 0) -> None:
        """A download or conversion begins."""
        del total_bytes, done_bytes
        self._say(label)

    def advance(self, n_bytes: int) -> None:
        """It goes on."""
        self.value += n_bytes / 1e9

    def message(self, text: str) -> None:
        """It has something to say."""
        self._say(text)

    def finish(self) -> None:
        """It has ended."""

    def _say(self, text: str) -> None:
        self.text = text
        self.value += _STEP
