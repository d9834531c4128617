"""Standard streams that are closed: what is said to them is an error, or nobody's business.

A program may be started without them (``>&-``). Python has None for such a stream then, and the
system gives its number to the next file that is opened, into which a library could write messages.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO, cast

from apply_edit.errors import ConfigError, FileNotWritten


def hold_closed() -> None:
    """Put something in the place of each standard stream that is closed.

    Reading the input and writing the output are errors then, and messages go nowhere.
    """
    # In this order, so that each stream gets its own number.
    if sys.stdin is None:
        sys.stdin = _opened(os.O_WRONLY, "r")
    if sys.stdout is None:
        sys.stdout = _opened(os.O_RDONLY, "w")
    if sys.stderr is None:
        sys.stderr = _opened(os.O_WRONLY, "w")


def require_output() -> None:
    """Refuse where nothing can be printed, before anything is done.

    Raises:
        FileNotWritten: Standard output was closed at the start.
    """
    if sys.__stdout__ is None:
        message = "standard output is closed, so that nothing can be printed; see --in-place"
        raise FileNotWritten(message, path="-")


def require_both() -> None:
    """Refuse where nobody can be talked with.

    Raises:
        ConfigError: Standard input or standard output was closed at the start.
    """
    if sys.__stdin__ is None or sys.__stdout__ is None:
        name = "input" if sys.__stdin__ is None else "output"
        message = f"standard {name} is closed, and the client is talked with there; see --http"
        raise ConfigError(message, option="http")


def drop_output() -> None:
    """Let the interpreter close standard output without a complaint of its own."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def flush() -> None:
    """Write what is still to be written to the streams, where that is possible."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()


def _opened(flags: int, mode: str) -> TextIO:
    """Open what nothing comes from and nothing stays in, at the first number that is free."""
    return cast("TextIO", open(os.open(os.devnull, flags), mode, encoding="utf-8"))
