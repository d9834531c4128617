"""Run a child process and watch from outside how the folder that it fills grows."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apply_edit.models.space import folder_bytes

_TICK_S = 0.25
_GRACE_S = 10.0


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How a child process ended.

    Args:
        returncode: Its exit status; negative where a signal ended it.
        stderr: What it wrote to standard error.
    """

    returncode: int
    stderr: str

    def last_line(self) -> str:
        """Return its last non-empty line of standard error, or what its exit status says."""
        lines = [line.strip() for line in self.stderr.split("\n") if line.strip()]
        if lines:
            return lines[-1]
        if self.returncode < 0:
            return f"ended by signal {-self.returncode} (out of memory?)"
        return f"exit status {self.returncode}"


def run_child(
    argv: Sequence[str],
    watch: Path,
    on_size: Callable[[int], None],
    env: Mapping[str, str] | None = None,
) -> ChildResult:
    """Run ``argv`` to its end; call ``on_size`` with the size of the folder ``watch`` meanwhile.

    The child is ended when this call is left early (Ctrl-C), so nothing goes on in the background.
    """
    # Standard error goes to a file: a pipe that nobody reads while waiting could fill and block.
    with tempfile.TemporaryFile() as stderr:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, env=env
        )
        try:
            _wait(child, watch, on_size)
        finally:
            _end(child)
        stderr.seek(0)
        text = stderr.read().decode("utf-8", errors="replace")
    return ChildResult(child.returncode, text.replace("\r", "\n"))


def _wait(child: subprocess.Popen[bytes], watch: Path, on_size: Callable[[int], None]) -> None:
    while True:
        try:
            child.wait(timeout=_TICK_S)
        except subprocess.TimeoutExpired:
            on_size(folder_bytes(watch))
        else:
            return


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
