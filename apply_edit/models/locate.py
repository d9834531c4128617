"""From what a person names as a model to a folder that can be loaded."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from apply_edit.errors import ModelLoadError, ModelNotFound
from apply_edit.models import registry
from apply_edit.models.conversion import install
from apply_edit.models.hub import download_repository
from apply_edit.models.layout import Layout, is_whole
from apply_edit.models.partial import sha256_of
from apply_edit.models.progress import Progress, SilentProgress
from apply_edit.models.store import State, Store

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


class Origin(StrEnum):
    """Where a model came from."""

    BUILT_IN = "built-in"
    FOLDER = "folder"
    GGUF = "gguf"
    HUB = "hub"


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with config.json, tokenizer.json and safetensors, ready to load.

    Args:
        path: The folder.
        name: Short name for reports.
        origin: Where it came from.
        sha256: Digest of the GGUF file it was made from; None where there was none.
    """

    path: Path
    name: str
    origin: Origin
    sha256: str | None


def locate(
    target: str,
    *,
    progress: Progress | None = None,
    offline: bool = False,
    store: Store | None = None,
) -> ModelFolder:
    """Find the model that ``target`` names; download or convert it first where that is needed.

    Args:
        target: A built-in name, a local folder, a local ``.gguf`` file, or a hub id ``org/name``,
            in this order: a local path that exists wins over a hub id of the same spelling.
        progress: Told about downloads and conversions; None is silence.
        offline: Download nothing.
        store: The model store; None is the default one.

    Raises:
        ModelNotFound: There is no such model (the message says what is accepted), or it is not here
            and ``offline`` forbids to fetch it.
        ModelLoadError: The folder or file is there and cannot be used; the message says why.
        DownloadFailed: It could not be downloaded.
        DigestMismatch: What was downloaded is not the right file.
        DiskFull: There is not enough space.
        Busy: Another process works on the same model.
    """
    progress = SilentProgress() if progress is None else progress
    store = Store() if store is None else store
    if registry.find(target, store.entries) is not None:
        return _built_in(target, progress, store, offline=offline)
    path = Path(target).expanduser()
    if path.is_dir():
        return ModelFolder(check_folder(path), path.resolve().name, Origin.FOLDER, None)
    if path.is_file():
        return _local_file(path, progress, store)
    if _looks_like_a_path(target):
        message = f"there is no model folder or file {target}"
        raise ModelNotFound(message, name=target)
    if _HUB_ID.fullmatch(target):
        folder = download_repository(target, store.layout.hub, progress, offline=offline)
        return ModelFolder(check_folder(folder), target, Origin.HUB, None)
    raise registry.not_found(target, store.entries)


def check_folder(folder: Path) -> Path:
    """Return ``folder`` if it has all that loading needs.

    Raises:
        ModelLoadError: Something is missing; the message says what.
    """
    missing = [name for name in ("config.json", "tokenizer.json") if not (folder / name).is_file()]
    weights = {path.name for path in folder.glob("*.safetensors")}
    missing += sorted(_indexed(folder) - weights)
    if not weights:
        missing.append("*.safetensors")
    if not missing:
        return folder
    message = f"the model folder {folder} cannot be loaded: {', '.join(missing)} is missing"
    pickles = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
    if pickles and not weights:
        message += (
            f"; {pickles[0]} is not used, since loading a pickle checkpoint can run any code in "
            "it: convert it to safetensors first"
        )
    raise ModelLoadError(message, path=str(folder), missing=missing)


def published_id(folder: Path) -> str | None:
    """Return the hub id ``org/name`` that a model folder says it was published under, or None.

    The cache of the hub has it in its path, and a saved model in its configuration.
    """
    for part in folder.parts:
        if part.startswith("models--") and part.count("--") == 2:
            return part.removeprefix("models--").replace("--", "/")
    config = _read_json(folder / "config.json")
    names = (config.get(key) for key in ("_name_or_path", "_model_name_or_path"))
    return next((name for name in names if isinstance(name, str) and _HUB_ID.fullmatch(name)), None)


def _indexed(folder: Path) -> set[str]:
    """Return the shards that the index of the weights names; none where there is no index."""
    index = _read_json(folder / "model.safetensors.index.json")
    weight_map = index.get("weight_map", {})
    return set(weight_map.values()) if isinstance(weight_map, dict) else set()


def _built_in(target: str, progress: Progress, store: Store, *, offline: bool) -> ModelFolder:
    status = store.status(target)
    entry = status.entry
    if offline and status.state is not State.READY:
        message = (
            f"{entry.name} is not here yet, and downloads are switched off; "
            f"run `apply-edit models pull {entry.name}` once"
        )
        raise ModelNotFound(message, name=entry.name)
    return ModelFolder(store.pull(entry.name, progress), entry.name, Origin.BUILT_IN, entry.sha256)


def _local_file(path: Path, progress: Progress, store: Store) -> ModelFolder:
    if path.suffix.lower() != ".gguf":
        message = (
            f"{path} is not a model: a file must be a .gguf file (a pickle checkpoint is never "
            "loaded, since it can run any code); name the folder for safetensors"
        )
        raise ModelLoadError(message, path=str(path))
    path = path.resolve()
    sha256 = _known_sha256(path, store.layout, progress)
    name = f"gguf-{sha256[:16]}"
    folder = store.layout.model(name)
    if not is_whole(folder, sha256):
        with store.locked(name, progress):
            if not is_whole(folder, sha256):
                progress.start(None, f"convert {path.name}")
                try:
                    install(path, name, sha256, store.layout, progress, store.convert)
                finally:
                    progress.finish()
    return ModelFolder(folder, path.stem, Origin.GGUF, sha256)


def _known_sha256(path: Path, layout: Layout, progress: Progress) -> str:
    """Return the SHA-256 of a file; read it only if its size or time changed since then."""
    stat = path.stat()
    key = {"path": str(path), "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    record_path = layout.gguf_keys / f"{hashlib.sha256(str(path).encode()).hexdigest()[:32]}.json"
    record = _read_json(record_path)
    known = record.pop("sha256", None)
    if isinstance(known, str) and record == key:
        return known
    progress.message(f"reading {path.name}")
    digest = sha256_of(path)
    record_path.parent.mkdir(parents=True, exist_ok=True)
    temporary = record_path.with_name(f"{record_path.name}.{os.getpid()}")
    temporary.write_text(json.dumps({**key, "sha256": digest}), encoding="utf-8")
    os.replace(temporary, record_path)
    return digest


def _read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; an absent or damaged one is empty."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _looks_like_a_path(target: str) -> bool:
    return target.startswith((".", "~", "/")) or target.lower().endswith(".gguf") or "\\" in target
