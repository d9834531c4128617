"""Checks what a caller hands to an apply, before anything is done with it.

Whoever programs in Python can hand over anything; a wrong kind is an error that says which argument
is meant, and not one from somewhere inside.
"""

from __future__ import annotations

import os

from apply_edit.config import Config
from apply_edit.errors import ConfigError


def require_texts(**arguments: object) -> None:
    """Refuse arguments that are neither text nor None.

    Raises:
        ConfigError: One is something else.
    """
    for name, value in arguments.items():
        if value is None or isinstance(value, str):
            continue
        hint = "text (str)"
        if isinstance(value, bytes | bytearray | memoryview):
            hint += "; apply_edit.SourceText.from_bytes(data, name) reads bytes"
        message = f"{name} is of type {type(value).__name__}; it must be {hint}"
        raise ConfigError(message, option=name)


def path_text(path: object) -> str | None:
    """Return a path as text.

    Raises:
        ConfigError: It is none.
    """
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    require_texts(path=text)
    return None if text is None else str(text)


def require_config(config: object) -> None:
    """Refuse settings that are none.

    Raises:
        ConfigError: It is something else than a ``Config`` or None.
    """
    if config is not None and not isinstance(config, Config):
        message = (
            f"config is of type {type(config).__name__}; it must be an apply_edit.Config, such as "
            'Config(strategy="direct")'
        )
        raise ConfigError(message, option="config")
