"""Load the fixtures: real-looking files with an edit and the only right result.

A fixture is a folder ``fixtures/<language>/<case>`` with ``original.EXT``, ``expected.EXT``, a
``case.toml``, and one of ``edit.md``, ``edit.diff``, ``edit.txt`` and ``edit.json``. Recordings of
models (``*.json``) may lie beside them. Original and expected are bytes, because line ends, byte
order marks and missing final newlines are what several fixtures are about.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apply_edit.types import EditFormat

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
KEYS = frozenset({"format", "description", "path", "tags"})
EDIT_SUFFIXES = {
    EditFormat.LAZY: ".md",
    EditFormat.WHOLE: ".md",
    EditFormat.UDIFF: ".diff",
    EditFormat.SEARCH_REPLACE: ".txt",
    EditFormat.V4A: ".txt",
    EditFormat.INSTRUCTION: ".txt",
    EditFormat.STR_REPLACE: ".json",
}


@dataclass(frozen=True, slots=True)
class FixtureCase:
    """One fixture.

    Args:
        name: ``language/case``, for test ids.
        language: Name of the folder above the case.
        original: The file before the edit.
        edit: The edit as a client would send it.
        expected: The file after the edit, byte for byte.
        format: Format of the edit.
        options: Everything in ``case.toml``.
        folder: Where the fixture and its recordings lie.
    """

    name: str
    language: str
    original: bytes
    edit: str
    expected: bytes
    format: EditFormat
    options: dict[str, Any]
    folder: Path

    @property
    def path(self) -> str:
        """The name that the file has where the edit was made."""
        return str(self.options["path"])

    @property
    def tags(self) -> frozenset[str]:
        """What the fixture is about, for choosing among them."""
        return frozenset(self.options["tags"])


def load_case(folder: Path) -> FixtureCase:
    """Read one fixture.

    Raises:
        ValueError: A part or a key of ``case.toml`` is missing, a part is there twice, or a key
            is unknown.
    """
    options = tomllib.loads(_only(folder, "case.toml").read_text(encoding="utf-8"))
    if set(options) != KEYS:
        message = f"{folder}/case.toml has keys {sorted(options)}; it must have {sorted(KEYS)}"
        raise ValueError(message)
    return FixtureCase(
        name=f"{folder.parent.name}/{folder.name}",
        language=folder.parent.name,
        original=_only(folder, "original.*").read_bytes(),
        edit=_only(folder, "edit.*").read_bytes().decode("utf-8"),
        expected=_only(folder, "expected.*").read_bytes(),
        format=EditFormat(options["format"]),
        options=options,
        folder=folder,
    )


def load_all(*formats: EditFormat) -> list[FixtureCase]:
    """Return all fixtures (of the given formats) in the order of their names."""
    cases = [load_case(path.parent) for path in sorted(FIXTURES.glob("*/*/case.toml"))]
    return [case for case in cases if not formats or case.format in formats]


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        message = f"{folder} has {len(found)} files {pattern}; it must have exactly one"
        raise ValueError(message)
    return found[0]
