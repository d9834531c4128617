import stat
import subprocess
import sys
from pathlib import Path

import pytest

from apply_edit.applier import Applier
from apply_edit.config import Config
from apply_edit.errors import AnchorNotFound, FileExists, FileMissing
from apply_edit.workspace import diff, merge_file, merge_patch, write

APPLIER = Applier(Config(strategy="direct"))


def merged(root, patch):
    """Merge a patch into the files of a folder."""
    return merge_patch(root, patch, None, APPLIER)


def executable(path):
    """Say who may run a file."""
    return stat.S_IMODE(path.stat().st_mode) & 0o111


MODE = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
NEW = (
    "diff --git a/new.sh b/new.sh\nnew file mode 100755\n--- /dev/null\n+++ b/new.sh\n"
    "@@ -0,0 +1 @@\n+#!/bin/sh\n"
)
HUNK = "--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-true\n+false\n"
MOVE = (
    "diff --git a/run.sh b/go.sh\nold mode 100644\nnew mode 100755\nrename from run.sh\n"
    "rename to go.sh\n"
)
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permission")


@pytest.fixture
def root(tmp_path):
    """A folder with a file that is no program."""
    (tmp_path / "run.sh").write_text("true\n")
    (tmp_path / "run.sh").chmod(0o640)
    return tmp_path


@posix
def test_a_file_becomes_a_program_and_ceases_to_be_one(root):
    """Who may read the file may run it then; nothing else about its mode changes."""
    write(merged(root, MODE), root)
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o750
    back = MODE.replace("old mode 100644", "old mode 100755").replace(
        "w mode 100755", "w mode 100644"
    )
    write(merged(root, back), root)
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o640


@posix
@pytest.mark.parametrize(
    ("patch", "name", "text"),
    [
        (MODE + HUNK, "run.sh", "false\n"),
        (NEW, "new.sh", "#!/bin/sh\n"),
        (MOVE, "go.sh", "true\n"),
    ],
    ids=["changed", "new", "moved"],
)
def test_a_mode_comes_with_any_other_change(root, patch, name, text):
    """Changed, new and moved files become programs, and the result says so."""
    files = merged(root, patch)
    assert [n.code for n in files[0].result.warnings] == ["mode_changed"]
    assert not files[0].is_unchanged
    write(files, root)
    assert (root / name).read_text() == text
    assert executable(root / name)


@posix
def test_a_mode_that_the_file_has_already_is_no_change(root):
    """Nothing is written where the file is a program already."""
    (root / "run.sh").chmod(0o755)
    assert merged(root, MODE)[0].is_unchanged


@posix
def test_a_single_file_becomes_a_program(root):
    """Without a root the mode is changed as well."""
    path = root / "run.sh"
    write([merge_file(path, MODE, APPLIER)], None)
    assert executable(path)


@posix
@pytest.mark.parametrize("patch", [MODE, MODE + HUNK, NEW, MOVE])
def test_git_applies_a_diff_with_a_mode(root, patch):
    """The difference that is shown has git's mode lines in git's order."""
    text = "".join(diff(each) for each in merged(root, patch))
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
    subprocess.run(["git", "apply", "-"], cwd=root, input=text.encode(), check=True)
    assert any(executable(path) for path in root.glob("*.sh"))


def test_a_refusal_over_several_files_names_its_file(root):
    """Message and fields say which file it was."""
    (root / "b.txt").write_text("hello\n")
    patch = HUNK + "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-hullo\n+hi\n"
    with pytest.raises(AnchorNotFound) as error:
        merged(root, patch)
    assert error.value.message.startswith("b.txt: the old text is not in the file: 'hullo'")
    assert error.value.fields["path"] == "b.txt"


def test_a_file_is_not_moved_onto_another_one(root):
    """The refusal says that the name is taken, already when the patch is only tried."""
    (root / "go.sh").write_text("other\n")
    with pytest.raises(FileExists, match=r"run\.sh to go\.sh, and there is a file of that name"):
        merged(root, MOVE)
    single = merge_file(root / "run.sh", MOVE, APPLIER)
    with pytest.raises(FileExists):
        write([single], None)
    assert (root / "go.sh").read_text() == "other\n"


def test_a_file_that_is_moved_to_its_own_name_stays(root):
    """A move that is none is no fault."""
    patch = "*** Begin Patch\n*** Update File: run.sh\n*** Move to: run.sh\n@@\n-true\n+false\n"
    write(merged(root, patch + "*** End Patch\n"), root)
    assert (root / "run.sh").read_text() == "false\n"


def test_a_new_file_does_not_take_the_place_of_another(root):
    """Adding a file that is there is refused; with the same text it is told and nothing happens."""
    add = "*** Begin Patch\n*** Add File: run.sh\n+{}\n*** End Patch\n"
    with pytest.raises(FileExists):
        merged(root, add.format("other"))
    (same,) = merged(root, add.format("true"))
    assert same.is_unchanged
    assert [n.code for n in same.result.warnings] == ["already_applied"]


def test_what_a_patch_does_to_a_missing_file_is_said(root):
    """A missing file is not changed or not deleted."""
    for op, verb in (("Update", "changes"), ("Delete", "deletes")):
        body = "@@\n-a\n+b\n" if op == "Update" else ""
        patch = f"*** Begin Patch\n*** {op} File: no.txt\n{body}*** End Patch\n"
        with pytest.raises(FileMissing, match=rf"{verb} no\.txt"):
            merged(root, patch)


def test_another_name_than_the_file_has_is_told(root):
    """A patch for one file that is applied to another says so; folders do not matter."""
    for name, codes in (("zzz.sh", ["other_name"]), ("src/run.sh", [])):
        patch = HUNK.replace("run.sh", name)
        result = merge_file(Path(root / "run.sh"), patch, APPLIER).result
        assert [n.code for n in result.warnings] == codes
