"""A small model store for tests: wheels made on the spot, a converter that copies, no network."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from apply_edit.models.hub import SourceError
from apply_edit.models.layout import Layout
from apply_edit.models.progress import Meter
from apply_edit.models.registry import HubFile, ModelEntry, Source, WheelParts
from apply_edit.models.sources import Fetchers
from apply_edit.models.store import Store

PARTS = (b"alpha" * 400, b"beta" * 300, b"gamma" * 200)
WHOLE = b"".join(PARTS)
HUB = HubFile("org/name", "tiny.gguf")
WHEELS = WheelParts("tiny-part", len(PARTS), "1.0")


def entry(*sources: Source, sha256: str | None = None) -> ModelEntry:
    """Return an entry ``tiny`` whose file is ``WHOLE``, unless another digest is given."""
    return ModelEntry(
        name="tiny",
        role="test",
        file="tiny.gguf",
        size_bytes=len(WHOLE),
        sha256=hashlib.sha256(WHOLE).hexdigest() if sha256 is None else sha256,
        converted_bytes=len(WHOLE),
        sources=sources or (WHEELS,),
    )


def write_wheel(path: Path, members: dict[str, bytes]) -> Path:
    """Write a zip archive with these members."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


class RecordingProgress:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.starts: list[tuple[int | None, str, int]] = []
        self.advanced: list[int] = []
        self.finished = 0

    def start(self, total_bytes: int | None, label: str, done_bytes: int = 0) -> None:
        """Note the start."""
        self.starts.append((total_bytes, label, done_bytes))
        self.advanced.append(0)

    def advance(self, n_bytes: int) -> None:
        """Add to the current stretch."""
        self.advanced[-1] += n_bytes

    def message(self, text: str) -> None:
        """Note the text."""
        self.messages.append(text)

    def finish(self) -> None:
        """Count it."""
        self.finished += 1


@dataclass
class FakeIndex:
    """A package index: hands out wheels, counts requests, and fails where it is told to.

    Args:
        parts: Bytes of part 1, 2, …
        fail_at: What to raise instead of part N (1-based).
        members: Further members of every wheel.
    """

    parts: tuple[bytes, ...] = PARTS
    fail_at: dict[int, BaseException] = field(default_factory=dict)
    members: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    def __call__(self, requirement: str, folder: Path, on_size: Callable[[int], None]) -> Path:
        """Write the wheel into the folder."""
        self.requests.append(requirement)
        number = int(requirement.removeprefix("tiny-part").removesuffix("==1.0"))
        if number in self.fail_at:
            raise self.fail_at[number]
        members = {f"tiny_part{number}/data/part.bin": self.parts[number - 1], **self.members}
        wheel = write_wheel(folder / f"tiny_part{number}-1.0-py3-none-any.whl", members)
        on_size(wheel.stat().st_size)
        return wheel


@dataclass
class FakeHub:
    """A model hub with one file, or None where it is out of reach."""

    data: bytes | None = None
    requests: int = 0

    def __call__(self, source: HubFile, folder: Path, begin: Callable[[int], Meter]) -> Path:
        """Write the file into the folder."""
        self.requests += 1
        if self.data is None:
            message = "the model hub cannot be reached (no route)"
            raise SourceError(message)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / source.file
        path.write_bytes(self.data)
        begin(0).to(len(self.data))
        return path


def fake_convert(source: Path, folder: Path, meter: Meter) -> None:
    """Stand in for the converter: a folder with the three kinds of files that loading needs."""
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    shutil.copy(source, folder / "model.safetensors")
    meter.to(source.stat().st_size)


def make_store(
    home: Path,
    *,
    index: FakeIndex | None = None,
    hub: FakeHub | None = None,
    model: ModelEntry | None = None,
    **options: object,
) -> Store:
    """Build a store below ``home`` with one model, ``tiny``."""
    fetchers = Fetchers(
        wheel=FakeIndex() if index is None else index, hub_file=FakeHub() if hub is None else hub
    )
    return Store(
        layout=Layout(home),
        entries=(entry() if model is None else model,),
        fetchers=fetchers,
        **{"convert": fake_convert, "free": lambda _path: 10**12, **options},  # type: ignore[arg-type]
    )
