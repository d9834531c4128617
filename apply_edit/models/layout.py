"""Where everything lies below one folder, and the manifest that says a converted folder is whole.

::

    HOME/
      models/NAME/                 converted: config, tokenizer, safetensors, apply-edit.json
      models/.NAME.converting/     a conversion under way or interrupted; begun anew by the next
      downloads/NAME/              the GGUF file, or the parts of it that are here already
      gguf/KEY.json                SHA-256 of a local GGUF file seen before, by path, size and time
      hub/                         cache of the hub's own client, for `org/name` targets
      locks/NAME.lock
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

MANIFEST = "apply-edit.json"

CONVERTER_VERSION = 1
"""Raised when the conversion changes its result; folders of an older version are made anew."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths below the store's folder.

    Args:
        home: That folder.
    """

    home: Path

    def model(self, name: str) -> Path:
        """Folder of the converted model."""
        return self.home / "models" / name

    def converting(self, name: str) -> Path:
        """Folder that a conversion fills before it gets its final name (same disk: one rename)."""
        return self.home / "models" / f".{name}.converting"

    def download(self, name: str) -> Path:
        """Folder of the GGUF file and of partial downloads."""
        return self.home / "downloads" / name

    def lock(self, name: str) -> Path:
        """Lock file of a model."""
        return self.home / "locks" / f"{name}.lock"

    @property
    def gguf_keys(self) -> Path:
        """Folder of the digests of local files."""
        return self.home / "gguf"

    @property
    def hub(self) -> Path:
        """Cache of the hub's client."""
        return self.home / "hub"


def default_home() -> Path:
    """Return the folder that ``APPLY_EDIT_HOME`` names, else the user's cache folder."""
    chosen = os.environ.get("APPLY_EDIT_HOME")
    return Path(chosen).expanduser() if chosen else Path(platformdirs.user_cache_dir("apply-edit"))


def write_manifest(folder: Path, name: str, sha256: str) -> None:
    """Record what the folder was made from and the size of every file in it."""
    files = {path.name: path.stat().st_size for path in sorted(folder.iterdir()) if path.is_file()}
    manifest = {
        "name": name,
        "source_sha256": sha256,
        "converter_version": CONVERTER_VERSION,
        "dtype": "float32",
        "files": files,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def is_whole(folder: Path, sha256: str) -> bool:
    """Tell whether ``folder`` is a complete conversion, by this converter, of that source file."""
    manifest = _read(folder / MANIFEST)
    if manifest.get("source_sha256") != sha256:
        return False
    if manifest.get("converter_version") != CONVERTER_VERSION:
        return False
    files = manifest.get("files")
    return isinstance(files, dict) and all(
        (folder / name).is_file() and (folder / name).stat().st_size == size
        for name, size in files.items()
    )


def _read(path: Path) -> dict[str, Any]:
    """Read a manifest; one that is missing or damaged says nothing."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def sync_folder(folder: Path) -> None:
    """Make every file of the folder, and the folder itself, safe on disk."""
    for path in folder.iterdir():
        _sync(path)
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
