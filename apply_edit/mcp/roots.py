"""The folders that the tools may touch, and which of them a path belongs to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from apply_edit.errors import ConfigError, FileError
from apply_edit.files import resolve_inside

_SAY_ROOT = "start the server with --root DIR"


@dataclass(frozen=True, slots=True)
class Roots:
    """Folders whose files may be read and written.

    Args:
        folders: At least one.
    """

    folders: tuple[Path, ...]

    def place(self, name: str) -> tuple[Path, Path]:
        """Return the root that a path belongs to, and the path's real place.

        A relative path means the file in the one root that has it, else a new file in the first.

        Raises:
            FileError: It leads out of all roots, or several have such a file.
        """
        inside: list[tuple[Path, Path]] = []
        faults: list[FileError] = []
        for folder in self.folders:
            try:
                inside.append((folder, resolve_inside(folder, name)))
            except FileError as error:
                faults.append(error)
        if not inside:
            raise self._outside(name, faults)
        existing = [(folder, path) for folder, path in inside if path.exists()]
        if len({path for _, path in existing}) > 1:
            places = ", ".join(str(path) for _, path in existing)
            message = f"{name} is in several roots ({places}); give the absolute path"
            raise FileError(message, path=name)
        return (existing or inside)[0]

    def _outside(self, name: str, faults: list[FileError]) -> FileError:
        if len(faults) == 1:
            return faults[0]
        roots = ", ".join(map(str, self.folders))
        message = f"the edit's path {name!r} is not in any of the roots ({roots}); nothing written"
        return FileError(message, path=name)


def given(folders: tuple[Path, ...]) -> Roots:
    """Return the roots that a person named.

    Raises:
        ConfigError: One is no folder.
    """
    for folder in folders:
        if not folder.is_dir():
            message = f"--root {folder} is no folder"
            raise ConfigError(message, option="root")
    return Roots(tuple(folder.resolve() for folder in folders))


def working_directory() -> Roots:
    """Return the working directory as the only root.

    Raises:
        ConfigError: It is the whole disk or the home folder, which nobody meant to open.
    """
    here = Path.cwd().resolve()
    if here == here.parent or here == Path.home().resolve():
        message = f"the working directory is {here}, which is too much to open; {_SAY_ROOT}"
        raise ConfigError(message, option="root")
    return Roots((here,))


def of_client(uris: list[str]) -> Roots:
    """Return the roots that a client named.

    Raises:
        ConfigError: None of them is a folder on this machine.
    """
    folders = [path for path in map(_folder, uris) if path is not None]
    if not folders:
        message = f"the client's roots name no folder on this machine; {_SAY_ROOT}"
        raise ConfigError(message, option="root")
    return Roots(tuple(dict.fromkeys(folders)))


def _folder(uri: str) -> Path | None:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = Path(os.path.realpath(url2pathname(parts.path)))
    return path if path.is_dir() else None
