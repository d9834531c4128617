"""Start the converter as a child process and put its result in place in one step."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

from apply_edit.errors import DiskFull, ModelLoadError
from apply_edit.models.children import ChildResult, run_child
from apply_edit.models.convert import KNOWN_ERROR
from apply_edit.models.layout import Layout, is_whole, sync_folder, write_manifest
from apply_edit.models.progress import Meter, Progress
from apply_edit.models.space import full_disk_guard

Convert = Callable[[Path, Path, Meter], None]


def convert_in_child(source: Path, folder: Path, meter: Meter) -> None:
    """Convert ``source`` into the existing, empty ``folder`` in a process of its own.

    Raises:
        ModelLoadError: The file cannot be converted; the message says why.
        DiskFull: There is not enough space.
    """
    argv = [sys.executable, "-P", "-m", "apply_edit.models.convert", str(source), str(folder)]
    # The child must find the same apply_edit, also where that is a checkout and not installed.
    # -P keeps the folder that the person stands in out of the way.
    here = str(Path(__file__).parents[2])
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    result = run_child(argv, folder, meter.to, env=env)
    if result.returncode != 0:
        raise _error(source, result)


def _error(source: Path, result: ChildResult) -> ModelLoadError | DiskFull:
    if result.returncode == KNOWN_ERROR:
        record = json.loads(result.last_line())
        fields = {k: v for k, v in record.items() if k not in ("code", "message", "retryable")}
        if record["code"] == DiskFull.code:
            return DiskFull(record["message"], **fields)
        return ModelLoadError(f"cannot convert {source}: {record['message']}", **fields)
    reason = result.last_line()
    message = f"cannot convert {source}: the file is damaged or not supported ({reason})"
    return ModelLoadError(message, path=str(source))


def install(
    source: Path, name: str, sha256: str, layout: Layout, progress: Progress, convert: Convert
) -> Path:
    """Convert ``source`` and put the folder in its place; a reader sees all of it or none.

    Args:
        source: The GGUF file; its digest has been checked.
        name: Name of the folder.
        sha256: Digest of ``source``, for the manifest.
        layout: Where things lie.
        progress: ``start`` has been called; told the bytes as they appear.
        convert: Does the work; see ``convert_in_child``.

    Raises:
        ModelLoadError: The file cannot be converted.
        DiskFull: The disk is full.
    """
    temporary = layout.converting(name)
    final = layout.model(name)
    rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        with full_disk_guard(temporary, 1, f"convert {name}"):
            convert(source, temporary, Meter(progress))
            write_manifest(temporary, name, sha256)
            sync_folder(temporary)
        if not is_whole(temporary, sha256):
            message = f"the conversion of {source} left an incomplete folder; try again"
            raise ModelLoadError(message, path=str(source))
        # An older or broken folder goes first: a rename cannot replace a folder that is not empty.
        # A process that has its weights mapped keeps them.
        rmtree(final, ignore_errors=True)
        os.replace(temporary, final)
    finally:
        rmtree(temporary, ignore_errors=True)
    return final
