"""A file that is put together from parts and survives an interruption.

The bytes are in ``NAME.partial``; ``NAME.journal.json`` lists the parts that are known to be whole,
each with size and SHA-256. Whatever lies beyond them (the part that was being written when the
lights went out) is cut off by the next ``resume``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import BinaryIO

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """A part that was written whole.

    Args:
        name: Where it came from; a part of another name is not the same part.
        size: Its bytes.
        sha256: Digest of its bytes.
    """

    name: str
    size: int
    sha256: str


@dataclass(slots=True)
class PartialFile:
    """The file under construction: ``resume`` first, then ``append`` the parts that are missing.

    Args:
        path: Where the finished file would be; the partial data lies beside it.
    """

    path: Path
    parts: list[Part] = field(default_factory=list)
    _whole: hashlib._Hash = field(default_factory=hashlib.sha256)

    @property
    def data_path(self) -> Path:
        """The bytes so far."""
        return self.path.with_name(self.path.name + ".partial")

    @property
    def journal_path(self) -> Path:
        """The list of the parts that are whole."""
        return self.path.with_name(self.path.name + ".journal.json")

    @property
    def size(self) -> int:
        """Bytes of all whole parts."""
        return sum(part.size for part in self.parts)

    @property
    def sha256(self) -> str:
        """Digest of all whole parts together."""
        return self._whole.hexdigest()

    def resume(self, names: Iterable[str]) -> None:
        """Take over the whole parts of an earlier run, in order, up to the first that is not right.

        Args:
            names: Names that the parts must have, in order.
        """
        self.parts = []
        self._whole = hashlib.sha256()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.data_path.open("a+b") as data:
            data.seek(0)
            for part, name in zip(_read_journal(self.journal_path), names, strict=False):
                whole = self._whole.copy()
                if part.name != name or _digest(data, part.size, whole) != part.sha256:
                    break
                self.parts.append(part)
                self._whole = whole
            data.truncate(self.size)
        self._write_journal()

    def append(self, name: str, chunks: Iterable[bytes]) -> Part:
        """Write one more part; it counts only once all its bytes are on disk."""
        whole = self._whole.copy()
        own = hashlib.sha256()
        size = 0
        with self.data_path.open("r+b") as data:
            data.seek(self.size)
            for chunk in chunks:
                data.write(chunk)
                own.update(chunk)
                whole.update(chunk)
                size += len(chunk)
            data.truncate()
            data.flush()
            os.fsync(data.fileno())
        part = Part(name, size, own.hexdigest())
        self.parts.append(part)
        self._whole = whole
        self._write_journal()
        return part

    def finish(self) -> None:
        """Give the file its final name. The caller has compared ``sha256`` before."""
        os.replace(self.data_path, self.path)
        self.journal_path.unlink()

    def discard(self) -> None:
        """Delete everything: the bytes are not what was asked for."""
        self.data_path.unlink(missing_ok=True)
        self.journal_path.unlink(missing_ok=True)
        self.parts = []
        self._whole = hashlib.sha256()

    def _write_journal(self) -> None:
        temporary = self.journal_path.with_name(self.journal_path.name + ".tmp")
        temporary.write_text(json.dumps([asdict(part) for part in self.parts]), encoding="utf-8")
        os.replace(temporary, self.journal_path)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _digest(data: BinaryIO, size: int, also: hashlib._Hash) -> str:
    """Hash the next ``size`` bytes into a digest of their own and into ``also``."""
    own = hashlib.sha256()
    while size > 0:
        chunk = data.read(min(size, CHUNK_BYTES))
        if not chunk:
            break
        own.update(chunk)
        also.update(chunk)
        size -= len(chunk)
    return own.hexdigest()


def _read_journal(path: Path) -> list[Part]:
    """Read the journal; one that is missing or damaged vouches for nothing."""
    try:
        return [Part(**record) for record in json.loads(path.read_text(encoding="utf-8"))]
    except (FileNotFoundError, ValueError, TypeError):
        return []
