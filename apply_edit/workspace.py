"""One edit and the files that it is about: read them, merge, show the difference, write.

The command line and the tool server both stand on this. Does not know argv, terminals or protocols,
and not who merges: an ``Applier``, or something that asks a running service.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from apply_edit.align import unified_diff
from apply_edit.applier import Applier
from apply_edit.edits import parse
from apply_edit.errors import ApplyEditError, ConfigError, FileChanged, FileExists, FileMissing
from apply_edit.files import (
    Change,
    Stamp,
    absent,
    read_source,
    resolve_inside,
    write_all,
    write_atomic,
)
from apply_edit.text import SourceText
from apply_edit.types import EditFormat, EditResult, FileOp


class Applies(Protocol):
    """Merges an edit into a text; see ``Applier.apply``."""

    def apply(
        self,
        original: str | None,
        edit: str | None,
        *,
        path: str | None = None,
        instruction: str | None = None,
    ) -> EditResult:
        """Return the merged text."""
        ...


@dataclass(frozen=True, slots=True)
class Merged:
    """One file before and after.

    Args:
        path: As the user or the patch names it.
        source: The file as read; an empty text for a new file.
        stamp: What the file was on disk.
        result: What became of it.
    """

    path: Path
    source: SourceText
    stamp: Stamp
    result: EditResult

    @property
    def data(self) -> bytes | None:
        """The new bytes, None where the file is deleted."""
        return None if self.result.deleted else self.source.to_bytes(self.result.text)

    @property
    def is_new(self) -> bool:
        """Whether there was no such file."""
        return self.stamp.sha256 is None

    @property
    def executable(self) -> bool | None:
        """Whether the file becomes a program or ceases to be one; None where that stays."""
        wanted = self.result.executable
        return None if wanted is bool((self.stamp.mode or 0) & 0o100) else wanted

    @property
    def is_unchanged(self) -> bool:
        """Whether the file is there and stays as it is, name and all."""
        result = self.result
        same = result.text == self.source.text and result.moved_to is None
        return same and not result.deleted and not self.is_new and self.executable is None


def merge_file(
    path: Path, edit: str | None, applier: Applies, *, instruction: str | None = None
) -> Merged:
    """Merge an edit into one file, wherever it lies.

    Args:
        path: The file; it need not exist where the edit makes it.
        edit: The edit in any format; None for an instruction alone.
        applier: Does the merging.
        instruction: What the edit is meant to do.

    Raises:
        ApplyEditError: One of its kinds.
    """
    source, stamp = _read(path)
    original = None if stamp.sha256 is None else source.text
    result = applier.apply(original, edit, path=str(path), instruction=instruction)
    return Merged(path, source, stamp, result)


def merge_inside(
    root: Path, name: str, edit: str, applier: Applies, *, instruction: str | None = None
) -> Merged:
    """Merge an edit into one file of a folder; as ``merge_file``, and nothing outside is touched.

    Args:
        root: The folder.
        name: Path of the file, relative to the folder or absolute.
        edit: The edit in any format.
        applier: Does the merging.
        instruction: What the edit is meant to do.

    Raises:
        FileError: The path leads out of the folder.
        ApplyEditError: Any other kind.
    """
    real = resolve_inside(root, name)
    merged = merge_file(real, edit, applier, instruction=instruction)
    _require_same_place(merged.stamp, real, name)
    return replace(merged, path=real.relative_to(resolved(root)))


def merge_patch(
    root: Path, edit: str, edit_format: EditFormat | None, applier: Applier
) -> list[Merged]:
    """Merge a patch into the files below a folder that it names.

    Args:
        root: The folder.
        edit: A unified diff or V4A patch whose parts name their files.
        edit_format: Format of the edit; None detects it.
        applier: Does the merging.

    Raises:
        ConfigError: A part names no file.
        FileMissing: A part changes a file that is not there.
        FileError: A path leads out of the folder.
        ApplyEditError: Any other kind.
    """
    parsed = parse(edit, edit_format)
    named = [part.path for part in parsed.files]
    if not named or None in named:
        message = "every part of a patch must name its file (those of a diff or V4A patch do)"
        raise ConfigError(message, option="edit")
    merged = []
    for part in parsed.files:
        name = str(part.path)
        path = resolve_inside(root, name)
        source, stamp = _read(path)
        _require_same_place(stamp, path, name)
        original = None if stamp.sha256 is None else source.text
        if original is None and part.op is not FileOp.ADD:
            does = "deletes" if part.op is FileOp.DELETE else "changes"
            message = f"the edit {does} {name}, and there is no such file in {root}"
            raise FileMissing(message, path=name)
        single = replace(parsed, files=(part,))
        try:
            result = applier.apply_parsed(original, single, path=str(path))
        except ApplyEditError as error:
            raise _named(error, name) from None
        merged.append(Merged(Path(name), source, stamp, result))
        _moved(merged[-1], root)
    return merged


def _named(error: ApplyEditError, name: str) -> ApplyEditError:
    """Return an error of one of several files that says which file it is about."""
    message = error.message if name in error.message else f"{name}: {error.message}"
    return type(error)(message, **{**error.fields, "path": name})


def write(merged: list[Merged], root: Path | None) -> None:
    """Write all files, or none.

    Args:
        merged: What became of each.
        root: Folder that all of them must be in; None for one file that may be anywhere.

    Raises:
        FileError: Also of the kinds that ``files.write_all`` names.
    """
    changes = [
        Change(each.stamp, each.data, _moved(each, root), each.executable) for each in merged
    ]
    only = changes[0]
    in_place = only.move_to is None and only.executable is None
    if root is None and in_place and only.data is not None:
        write_atomic(merged[0].path, only.data, only.stamp)
    else:
        write_all(changes, root or merged[0].stamp.path.parent)


def diff(each: Merged) -> str:
    """Return the difference as a diff that ``git apply`` accepts, also for new and moved files."""
    # The byte order mark is part of the first line of the file that `patch` reads.
    mark = "\ufeff" if each.source.bom == codecs.BOM_UTF8 else ""
    old, new = each.source.text, each.result.text
    name, target = each.path.as_posix(), each.result.moved_to
    text = unified_diff(old and mark + old, new and mark + new, name)
    header, found, hunks = text.partition("\n@@")
    if each.is_new:
        header = re.sub(r"\A--- .*", "--- /dev/null", header)
    modes = _mode_lines(each)
    if each.result.deleted:
        header = re.sub(r"^\+\+\+ .*", "+++ /dev/null", header, flags=re.MULTILINE)
    if target is not None:
        header = re.sub(r"^\+\+\+ .*", lambda _: f"+++ b/{target}", header, flags=re.MULTILINE)
        modes += f"rename from {name}\nrename to {target}\n"
    if modes:
        header = f"diff --git a/{name} b/{target or name}\n{modes}{header}"
    return header + found + hunks


def _mode_lines(each: Merged) -> str:
    """Return git's lines for a file that becomes a program, or ceases to be one."""
    if each.executable is None or each.result.deleted:
        return ""
    old, new = ("100644", "100755") if each.executable else ("100755", "100644")
    return f"new file mode {new}\n" if each.is_new else f"old mode {old}\nnew mode {new}\n"


def changed_lines(text: str) -> tuple[int, int]:
    r"""Return how many lines a diff adds and removes.

    >>> changed_lines("--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n-x\n+y\n+z\n")
    (2, 1)
    """
    _, _, hunks = text.partition("\n@@")
    lines = hunks.split("\n")
    return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)


def resolved(root: Path) -> Path:
    """Return a folder's path without links, as ``files.resolve_inside`` takes it."""
    return Path(root).resolve()


def _read(path: Path) -> tuple[SourceText, Stamp]:
    try:
        return read_source(path)
    except FileMissing:
        return SourceText(""), absent(path)


def _require_same_place(stamp: Stamp, path: Path, name: str) -> None:
    """Refuse a file whose path came to lead elsewhere between the check and the reading."""
    if stamp.path != path:
        message = f"{name} led to another file while it was read; nothing was written"
        raise FileChanged(message, path=name)


def _moved(each: Merged, root: Path | None) -> Path | None:
    """Return where a file is moved to, None where it stays.

    Raises:
        FileExists: There is a file by that name.
        ConfigError: Nothing says where the folders of the new name begin.
    """
    name = each.result.moved_to
    if name is None:
        return None
    if root is None and "/" in name.replace("\\", "/"):
        message = (
            f"the edit moves {each.path} to {name}; say with --root which folder that path starts "
            "from"
        )
        raise ConfigError(message, option="root")
    target = resolve_inside(root or each.stamp.path.parent, name)
    if target == each.stamp.path:
        return None
    if target.exists():
        message = (
            f"the edit moves {each.path} to {name}, and there is a file of that name; delete it "
            "first, or choose another name"
        )
        raise FileExists(message, path=name)
    return target
