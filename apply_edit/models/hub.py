"""The model hub: single files and whole repositories, resumed by the hub's own client.

Only data formats are ever asked for; a pickle checkpoint is never downloaded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from apply_edit.errors import DownloadFailed, ModelLoadError, ModelNotFound
from apply_edit.models.progress import Meter, Progress
from apply_edit.models.registry import HubFile
from apply_edit.models.space import folder_bytes, full_disk_guard, require_space

_PROBE_TIMEOUT_S = 5.0
_TICK_S = 0.25
_DATA_FILES = ["*.json", "*.safetensors", "*.txt", "*.jinja"]


class SourceError(Exception):
    """A source of a model cannot deliver; one line says why. The next source is tried."""


def download_file(source: HubFile, folder: Path, begin: Callable[[int], Meter]) -> Path:
    """Download one file of a repository into ``folder``; an interrupted download goes on.

    Args:
        source: Which file.
        folder: Where to; partial data of an earlier run lies there.
        begin: Called with the bytes that are here already, once the hub has answered.

    Raises:
        SourceError: The hub is out of reach, or it refused.
        DiskFull: The disk is full.
    """
    from huggingface_hub import hf_hub_download

    require_reachable()
    folder.mkdir(parents=True, exist_ok=True)
    meter = begin(folder_bytes(folder))
    with (
        _failures(str(source)),
        full_disk_guard(folder, 1, f"download {source}"),
        _watched(folder, meter.to),
        _without_bars(),
    ):
        path = Path(hf_hub_download(source.repo, source.file, local_dir=folder))
    meter.to(path.stat().st_size)
    return path


def download_repository(repo: str, cache: Path, progress: Progress, *, offline: bool) -> Path:
    """Bring a repository's data files into the hub's own cache layout below ``cache``.

    Args:
        repo: ``org/name``.
        cache: Folder of that cache.
        progress: Told the bytes as they come.
        offline: Use what is there; ask nobody.

    Raises:
        ModelNotFound: The hub has no such repository, or ``offline`` and it is not in the cache.
        ModelLoadError: The repository has no safetensors.
        DownloadFailed: The hub is out of reach and the repository is not in the cache.
        DiskFull: There is not enough space.
    """
    from huggingface_hub.errors import LocalEntryNotFoundError, RepositoryNotFoundError

    try:
        return _snapshot(repo, cache, local_files_only=True)
    except LocalEntryNotFoundError as error:
        if offline:
            message = f"{repo} is not in the cache {cache}, and downloads are switched off"
            raise ModelNotFound(message, name=repo) from error
    try:
        require_reachable()
        with _failures(repo):
            return _download_snapshot(repo, cache, progress)
    except SourceError as error:
        if isinstance(error.__cause__, RepositoryNotFoundError):
            message = f"the model hub has no repository {repo!r} that you may read"
            raise ModelNotFound(message, name=repo) from error
        message = f"cannot download {repo}: {error}"
        raise DownloadFailed(message, name=repo, attempts=[str(error)]) from error


def require_reachable() -> None:
    """Ask the hub for a sign of life first: its client would try for half a minute without one.

    Raises:
        SourceError: There was none within seconds, or the hub is switched off by its own variable.
    """
    import httpx
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        message = "the model hub is switched off by HF_HUB_OFFLINE"
        raise SourceError(message)
    try:
        httpx.head(constants.ENDPOINT, timeout=_PROBE_TIMEOUT_S)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        message = f"the model hub cannot be reached ({_one_line(error)})"
        raise SourceError(message) from error


def _download_snapshot(repo: str, cache: Path, progress: Progress) -> Path:
    from huggingface_hub import model_info

    # Asked first, so that an unknown repository or one without usable weights is refused at once.
    files = model_info(repo, files_metadata=True).siblings or []
    names = [file.rfilename for file in files]
    if not any(name.endswith(".safetensors") for name in names):
        message = (
            f"the repository {repo} has no *.safetensors weights; other checkpoints are not loaded "
            "(a pickle can run any code; a GGUF file can be downloaded and named by its path)"
        )
        raise ModelLoadError(message, name=repo)
    wanted = (file for file in files if any(fnmatch(file.rfilename, p) for p in _DATA_FILES))
    needed = sum(file.size or 0 for file in wanted)
    require_space(cache, needed, f"download {repo}")
    before = folder_bytes(cache)
    progress.start(needed, f"download {repo}")
    meter = Meter(progress)
    try:
        with (
            full_disk_guard(cache, needed, f"download {repo}"),
            _watched(cache, lambda size: meter.to(min(size - before, needed))),
        ):
            return _snapshot(repo, cache, local_files_only=False)
    finally:
        progress.finish()


def _snapshot(repo: str, cache: Path, *, local_files_only: bool) -> Path:
    from huggingface_hub import snapshot_download

    with _without_bars():
        path = snapshot_download(
            repo,
            cache_dir=cache,
            allow_patterns=_DATA_FILES,
            local_files_only=local_files_only,
        )
    return Path(path)


@contextmanager
def _failures(what: str) -> Iterator[None]:
    """Turn the many errors of the hub's client into ``SourceError`` with one line."""
    import httpx
    from huggingface_hub import errors

    try:
        yield
    except (
        httpx.HTTPError,
        OSError,  # HfHubHTTPError, LocalEntryNotFoundError, FileMetadataError, offline mode
        ValueError,  # HFValidationError
        RuntimeError,  # the transfer library
        errors.EntryNotFoundError,
        errors.RevisionResolutionError,
        errors.XetDownloadError,
    ) as error:
        message = f"{what}: {_one_line(error)}"
        raise SourceError(message) from error


@contextmanager
def _watched(folder: Path, on_size: Callable[[int], None]) -> Iterator[None]:
    """Call ``on_size`` with the size of ``folder`` from a thread while the body runs."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_TICK_S):
            on_size(folder_bytes(folder))

    thread = threading.Thread(target=watch, name="download-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def _without_bars() -> Iterator[None]:
    """Keep the client's own progress bars off the terminal: the caller's progress is shown."""
    from huggingface_hub.utils.tqdm import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


def _one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    return lines[0] if lines else type(error).__name__
