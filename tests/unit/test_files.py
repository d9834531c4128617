from __future__ import annotations

import errno
import os
import random
import signal
import stat
import time
from pathlib import Path

import pytest

from apply_edit import files
from apply_edit.errors import FileBinary, FileChanged, FileError, FileMissing, FileNotWritten
from apply_edit.files import (
    Change,
    absent,
    atomic,
    read_bytes,
    read_source,
    resolve_inside,
    write_all,
    write_atomic,
)

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX modes, links and signals")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A small file with a Windows line end."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"old\r\n")
    return path


def leftovers(folder: Path) -> list[str]:
    """Names of temporary files that stayed behind."""
    return [p.name for p in folder.rglob("*") if p.name.endswith(".apply-edit")]


def refusing(code: int):
    """A rename that the system refuses with this error number."""

    def replace(source, target):
        raise OSError(code, os.strerror(code), str(target))

    return replace


def test_read_source_returns_text_and_stamp(file: Path):
    """A read gives the decoded text and a stamp with digest, mode and real path."""
    source, stamp = read_source(file)
    assert source.text == "old\r\n"
    assert stamp.path == file.resolve()
    assert stamp.sha256 is not None
    assert stamp.num_links == 1


def test_read_source_refuses_what_is_no_text_file(tmp_path: Path, file: Path):
    """A missing file, a folder and a binary file each get their own error."""
    with pytest.raises(FileMissing):
        read_source(tmp_path / "none")
    with pytest.raises(FileError, match="not a regular file"):
        read_source(tmp_path)
    (tmp_path / "b").write_bytes(bytes(range(256)))
    with pytest.raises(FileBinary):
        read_source(tmp_path / "b")
    with pytest.raises(FileError, match="cannot be read"):
        read_source("nul\0byte")


@posix
def test_write_keeps_mode(file: Path):
    """The new file has the permission bits of the old one."""
    file.chmod(0o751)
    write_atomic(file, b"new", read_source(file)[1])
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o751
    assert leftovers(file.parent) == []


@posix
def test_write_follows_a_symbolic_link(tmp_path: Path, file: Path):
    """Through a link the target is written and the link stays a link."""
    link = tmp_path / "link"
    link.symlink_to(file)
    write_atomic(link, b"new", read_source(link)[1])
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


@posix
def test_write_refuses_a_link_that_was_turned(tmp_path: Path, file: Path):
    """A link that points elsewhere since the read is a change of the file."""
    link = tmp_path / "link"
    link.symlink_to(file)
    stamp = read_source(link)[1]
    link.unlink()
    link.symlink_to(tmp_path / "other")
    with pytest.raises(FileChanged):
        write_atomic(link, b"new", stamp)


@posix
def test_write_cuts_a_hard_link(tmp_path: Path, file: Path):
    """The other name of a hard-linked file keeps the old bytes, and the stamp tells."""
    other = tmp_path / "other"
    os.link(file, other)
    stamp = read_source(file)[1]
    assert stamp.num_links == 2
    write_atomic(file, b"new", stamp)
    assert other.read_bytes() == b"old\r\n"


def test_write_refuses_a_changed_file(file: Path):
    """A file that somebody else wrote since the read is left alone."""
    stamp = read_source(file)[1]
    file.write_bytes(b"theirs")
    with pytest.raises(FileChanged):
        write_atomic(file, b"new", stamp)
    assert file.read_bytes() == b"theirs"
    file.unlink()
    with pytest.raises(FileChanged, match="gone"):
        write_atomic(file, b"new", stamp)


def test_write_compares_right_before_the_rename(file: Path, monkeypatch: pytest.MonkeyPatch):
    """A change that happens while the temporary file is written is seen too."""
    stage = atomic.stage

    def slow_stage(*args):
        stage(*args)
        file.write_bytes(b"theirs")

    monkeypatch.setattr(files, "stage", slow_stage)
    with pytest.raises(FileChanged):
        write_atomic(file, b"new", read_source(file)[1])
    assert file.read_bytes() == b"theirs"
    assert leftovers(file.parent) == []


def test_equal_bytes_are_not_written(file: Path):
    """Writing the same bytes leaves inode and time alone."""
    before = file.stat()
    write_atomic(file, b"old\r\n", read_source(file)[1])
    after = file.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_refused_write_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch, code: int):
    """What the system refuses becomes one error, and no temporary file stays."""
    stamp = read_source(file)[1]
    monkeypatch.setattr(os, "replace", refusing(code))
    with pytest.raises(FileNotWritten, match="untouched"):
        write_atomic(file, b"new", stamp)
    assert file.read_bytes() == b"old\r\n"
    assert leftovers(file.parent) == []


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_interrupt_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    """Ctrl-C while writing or renaming leaves the old bytes and no temporary file."""

    def interrupt(*args):
        raise KeyboardInterrupt

    stamp = read_source(file)[1]
    monkeypatch.setattr(os, name, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(file, b"new", stamp)
    assert file.read_bytes() == b"old\r\n"
    assert leftovers(file.parent) == []


@posix
def test_read_only_file_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch):
    """A file marked read-only is not replaced, although its folder would allow it."""
    stamp = read_source(file)[1]
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(FileNotWritten, match="read-only"):
        write_atomic(file, b"new", stamp)


def test_new_file_is_made_once(tmp_path: Path):
    """A file to be added must still be absent when it is written."""
    path = tmp_path / "new.txt"
    stamp = absent(path)
    write_atomic(path, b"x", stamp)
    assert path.read_bytes() == b"x"
    with pytest.raises(FileChanged, match="is there now"):
        write_atomic(path, b"y", stamp)


@posix
def test_kill_at_any_moment_leaves_old_or_new_bytes(file: Path):
    """Of 200 writers killed by SIGKILL none leaves anything but the old or the new bytes."""
    rng = random.Random(11)
    versions = [bytes([65 + n]) * 400_000 for n in range(2)]
    file.write_bytes(versions[0])
    renamed = 0
    for _ in range(200):
        before = file.read_bytes()
        child = os.fork()
        if child == 0:
            try:
                while True:
                    data, stamp = read_bytes(file)
                    write_atomic(file, versions[data == versions[0]], stamp)
            finally:
                os._exit(1)
        time.sleep(rng.uniform(0.001, 0.02))
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL, "the writer ended by itself"
        after = file.read_bytes()
        assert after in versions
        renamed += after != before
        for name in leftovers(file.parent):
            (file.parent / name).unlink()
    assert renamed, "no kill came after a rename, so the test saw nothing"


def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two files for a patch."""
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_bytes(b"1")
    two.write_bytes(b"2")
    return one, two


def test_write_all_updates_adds_moves_and_deletes(tmp_path: Path):
    """Every kind of change happens, folders are made, nothing else is left."""
    one, two = pair(tmp_path)
    three = tmp_path / "three.txt"
    three.write_bytes(b"3")
    added, moved = tmp_path / "x" / "y" / "new.txt", tmp_path / "z" / "moved.txt"
    write_all(
        [
            Change(read_bytes(one)[1], b"1b"),
            Change(read_bytes(two)[1], b"2b", move_to=moved),
            Change(read_bytes(three)[1], None),
            Change(absent(added), b"new"),
        ],
        tmp_path,
    )
    found = {p.name: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert found == {"one.txt": b"1b", "moved.txt": b"2b", "new.txt": b"new"}


def test_second_file_changed_on_disk_changes_neither(tmp_path: Path):
    """A patch whose second file is stale leaves the first as it was."""
    one, two = pair(tmp_path)
    changes = [Change(read_bytes(one)[1], b"1b"), Change(read_bytes(two)[1], b"2b")]
    two.write_bytes(b"theirs")
    with pytest.raises(FileChanged):
        write_all(changes, tmp_path)
    assert (one.read_bytes(), two.read_bytes()) == (b"1", b"theirs")


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "no space"), KeyboardInterrupt()])
@pytest.mark.parametrize("links", [True, False])
def test_failure_between_two_renames_is_rolled_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, links: bool
):
    """When the last rename fails, everything before it is undone, with or without hard links."""
    one, two = pair(tmp_path)
    gone = tmp_path / "gone.txt"
    gone.write_bytes(b"g")
    one.chmod(0o640)
    added, moved = tmp_path / "sub" / "added.txt", tmp_path / "moved.txt"
    changes = [
        Change(read_bytes(one)[1], b"1b"),
        Change(absent(added), b"new"),
        Change(read_bytes(gone)[1], None),
        Change(read_bytes(two)[1], b"2b", move_to=moved),
    ]
    replace = os.replace

    def failing(source, target):
        if Path(target) == moved:
            raise error
        replace(source, target)

    def no_links(source, target):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "replace", failing)
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(FileNotWritten if isinstance(error, OSError) else KeyboardInterrupt):
        write_all(changes, tmp_path)
    found = {p.name: p.read_bytes() for p in tmp_path.rglob("*")}
    assert found == {"one.txt": b"1", "two.txt": b"2", "gone.txt": b"g"}
    assert stat.S_IMODE(one.stat().st_mode) == 0o640


def test_move_onto_an_existing_file_is_refused(tmp_path: Path):
    """A move never overwrites."""
    one, two = pair(tmp_path)
    with pytest.raises(FileChanged, match="is there now"):
        write_all([Change(read_bytes(one)[1], b"1", move_to=two)], tmp_path)
    assert (one.read_bytes(), two.read_bytes()) == (b"1", b"2")


def test_two_changes_of_one_path_are_refused(tmp_path: Path):
    """A path may be wanted once only."""
    one, _ = pair(tmp_path)
    change = Change(read_bytes(one)[1], b"x")
    with pytest.raises(FileNotWritten, match="two changes"):
        write_all([change, change], tmp_path)


@pytest.mark.parametrize(
    "name", ["../x", "a/../../x", "/etc/passwd", "", ".", "a\0b", ".git/config"]
)
def test_paths_out_of_the_root_are_refused(tmp_path: Path, name: str):
    """No name leads out of the root, to the root itself, or into git's data."""
    with pytest.raises(FileError):
        resolve_inside(tmp_path / "root", name)


@posix
def test_links_out_of_the_root_are_refused(tmp_path: Path):
    """A link inside the root that leads out of it is refused, for reading and for writing."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    (root / "in").symlink_to(root)
    with pytest.raises(FileError):
        resolve_inside(root, "out/a.txt")
    assert resolve_inside(root, "in/a.txt") == (root / "a.txt").resolve()
    with pytest.raises(FileError):
        write_all([Change(absent(root / "out" / "a.txt"), b"x")], root)
    assert not (tmp_path / "a.txt").exists()
