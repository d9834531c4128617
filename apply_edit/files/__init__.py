"""Read and write files so that a file is always wholly the old one or wholly the new one.

New bytes go to a temporary file in the same folder, are forced to the disk, and take the place of
the old file by one rename. Just before the rename the file on disk is compared with what was read;
if somebody else wrote it meanwhile, nothing happens. Mode and owner (where permitted) are kept, and
of a symbolic link the file that it points to is written, not the link.

A rename gives the name a new inode, so a *hard link* to the file is cut: the other name keeps the
old bytes. Writing in place would keep the link and lose the guarantee above, which is worth more;
``Stamp.num_links`` lets the caller say so. Extended attributes are not carried over.

A process that is killed outright can leave a ``.NAME.….apply-edit`` file behind, never a damaged
file. For several files (:func:`write_all`) every failure is rolled back, a kill between two renames
cannot be: each file is then whole, and those already renamed are new.

Does not know: edits, models, what the bytes mean.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from apply_edit.errors import FileChanged, FileError, FileMissing, FileNotWritten
from apply_edit.files.atomic import (
    Stamp,
    check_unchanged,
    keep,
    reason,
    refusals,
    stage,
    sync_folder,
    temporary_name,
)
from apply_edit.text import SourceText

__all__ = [
    "Change",
    "Stamp",
    "absent",
    "read_bytes",
    "read_source",
    "resolve_inside",
    "write_all",
    "write_atomic",
]


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of one file.

    Args:
        stamp: The file as it was read; one without digest for a file that is to be added.
        data: New bytes; None deletes the file.
        move_to: New path of the file, which must not exist; None leaves it where it is.
        executable: Whether it shall be a program; None leaves that as it is.
    """

    stamp: Stamp
    data: bytes | None
    move_to: Path | None = None
    executable: bool | None = None


def read_source(path: str | Path) -> tuple[SourceText, Stamp]:
    """Read a text file and remember what it was.

    Raises:
        FileMissing: There is no such file.
        FileBinary: It is not text.
        FileError: It is a folder or a device, or may not be read.
    """
    data, stamp = read_bytes(path)
    return SourceText.from_bytes(data, str(path)), stamp


def read_bytes(path: str | Path) -> tuple[bytes, Stamp]:
    """Read a file and remember what it was; raises as :func:`read_source` does."""
    try:
        real = Path(os.path.realpath(path))
        status = os.stat(real)
        if not stat.S_ISREG(status.st_mode):
            message = f"{path} is not a regular file; apply-edit edits text files only"
            raise FileError(message, path=str(path))
        data = real.read_bytes()
    except FileNotFoundError:
        message = f"there is no file {path}; to make a new one, use a patch that adds it"
        raise FileMissing(message, path=str(path)) from None
    except (OSError, ValueError) as error:
        message = f"{path} cannot be read: {reason(error)}"
        raise FileError(message, path=str(path)) from error
    return data, Stamp(
        real,
        hashlib.sha256(data).hexdigest(),
        stat.S_IMODE(status.st_mode),
        (status.st_uid, status.st_gid),
        status.st_nlink,
    )


def absent(path: str | Path) -> Stamp:
    """Return the stamp of a file that is to be added."""
    return Stamp(Path(os.path.realpath(path)), None)


def write_atomic(path: str | Path, data: bytes, stamp: Stamp) -> None:
    """Replace the bytes of a file, or make the file; nothing is written where they are the same.

    Args:
        path: The path that was read, perhaps a symbolic link.
        data: The new bytes.
        stamp: What :func:`read_source` (or :func:`absent`) returned for it.

    Raises:
        FileChanged: The file on disk is not the one that was read.
        FileNotWritten: The operating system refuses the write.
    """
    if Path(os.path.realpath(path)) != stamp.path:
        message = f"{path} now leads to another file than when it was read; nothing was written"
        raise FileChanged(message, path=str(path))
    check_unchanged(stamp)
    if hashlib.sha256(data).hexdigest() == stamp.sha256:
        return
    _require_folder(stamp.path)
    temporary = temporary_name(stamp.path)
    with refusals(stamp.path):
        try:
            stage(temporary, data, stamp)
            check_unchanged(stamp)
            os.replace(temporary, stamp.path)
        finally:
            temporary.unlink(missing_ok=True)  # there only if it was not renamed
        sync_folder(stamp.path.parent)


def resolve_inside(root: str | Path, name: str) -> Path:
    """Return the real path of a name that an edit gives, or refuse it.

    Args:
        root: Folder that the edit may touch.
        name: Path as the edit writes it, relative to the root or absolute.

    Raises:
        FileError: It leads out of the root (also by a link), is the root, or is git's own data.
    """
    base = Path(os.path.realpath(root))
    fault = ""
    try:
        path = Path(os.path.realpath(base / name))
    except ValueError as error:
        message = f"{name!r} is not a path: {error}"
        raise FileError(message, path=name) from None
    if not name.strip() or path == base:
        fault = "names no file"
    elif not path.is_relative_to(base):
        fault = f"leads out of {base}"
    elif any(part.lower() == ".git" for part in path.relative_to(base).parts):
        fault = "is git's own data, which an edit must not touch"
    if fault:
        message = f"the edit's path {name!r} {fault}; nothing was written"
        raise FileError(message, path=name)
    return path


def write_all(changes: Sequence[Change], root: str | Path) -> None:
    """Carry out all changes, or none.

    New bytes of all files are staged first. Then the files are renamed into place one by one, with
    the old ones kept aside; whatever goes wrong, an interrupt too, puts the old ones back.

    Args:
        changes: At most one per path.
        root: Folder that all paths must be in.

    Raises:
        FileChanged: A file on disk is not the one that was read.
        FileNotWritten: The operating system refuses a write, or two changes want one path.
        FileError: A path leads out of the root.
    """
    _check_paths(changes, root)
    for change in changes:
        check_unchanged(change.stamp)
    with contextlib.ExitStack() as cleanup:
        staged: list[Path | None] = []
        for change in changes:
            target = change.move_to or change.stamp.path
            staged.append(_stage_for(target, change, cleanup))
        with contextlib.ExitStack() as rollback:
            for change, temporary in zip(changes, staged, strict=True):
                _commit(change, temporary, rollback, cleanup)
            rollback.pop_all()
    for folder in {(c.move_to or c.stamp.path).parent for c in changes}:
        sync_folder(folder)


def _require_folder(path: Path) -> None:
    """Refuse to write where there is no folder for the file.

    Raises:
        FileNotWritten: There is none.
    """
    if not path.parent.is_dir():
        message = f"there is no folder {path.parent} for {path.name}; make it first"
        raise FileNotWritten(message, path=str(path))


def _check_paths(changes: Sequence[Change], root: str | Path) -> None:
    seen: set[Path] = set()
    for change in changes:
        for path in (change.stamp.path, change.move_to):
            if path is None:
                continue
            real = resolve_inside(root, str(path))
            if real in seen:
                message = f"two changes want {path}; nothing was written"
                raise FileNotWritten(message, path=str(path))
            seen.add(real)


def _stage_for(target: Path, change: Change, cleanup: contextlib.ExitStack) -> Path | None:
    """Write the new bytes beside their target; they go away again unless they are renamed."""
    if change.data is None:
        return None
    temporary = temporary_name(target)
    with refusals(target):
        for folder in _missing_folders(target.parent):
            # Removed only while empty: it stays where a file came to live in it.
            cleanup.callback(_remove_folder, folder)
            folder.mkdir()
        cleanup.callback(temporary.unlink, missing_ok=True)
        stage(temporary, change.data, change.stamp, executable=change.executable)
    return temporary


def _commit(
    change: Change,
    temporary: Path | None,
    rollback: contextlib.ExitStack,
    cleanup: contextlib.ExitStack,
) -> None:
    """Bring one staged change into effect; ``rollback`` learns how to undo it first."""
    source = change.stamp.path
    target = change.move_to or source
    with refusals(target):
        check_unchanged(change.stamp)
        if change.move_to is not None:
            check_unchanged(Stamp(target, None))
        if change.stamp.sha256 is not None:
            kept = temporary_name(source)
            # Registered first, so that an interrupt between the two lines finds it: undoing what
            # was not done is then the same as doing nothing.
            rollback.callback(_put_back, kept, source)
            cleanup.callback(kept.unlink, missing_ok=True)
            keep(source, kept)
        if temporary is not None:
            if target != source or change.stamp.sha256 is None:
                rollback.callback(_take_away, target, temporary)
            os.replace(temporary, target)
        if temporary is None or target != source:
            source.unlink()


def _put_back(kept: Path, source: Path) -> None:
    if kept.exists():
        os.replace(kept, source)


def _take_away(target: Path, temporary: Path) -> None:
    if not temporary.exists():  # it was renamed to the target
        target.unlink(missing_ok=True)


def _remove_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _missing_folders(folder: Path) -> list[Path]:
    """Return the folders to be made, outermost first."""
    missing: list[Path] = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    return missing[::-1]
