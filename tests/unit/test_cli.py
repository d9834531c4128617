import io
import json
import os
import re
import subprocess
import sys
import types

import pytest

from apply_edit import errors
from apply_edit.applier import Applier
from apply_edit.cli import main
from apply_edit.cli.exit_codes import EXIT_CODES, exit_code
from tests.fakes import writing_engine

ORIGINAL = b"a = 1\r\nb = 2\r\nc = 3"
EDIT = '{"old_str": "b = 2", "new_str": "b = 20"}'
MERGED = b"a = 1\r\nb = 20\r\nc = 3"


@pytest.fixture
def file(tmp_path):
    """A CRLF file without a final newline."""
    path = tmp_path / "settings.py"
    path.write_bytes(ORIGINAL)
    return path


@pytest.fixture
def edit(tmp_path):
    """An edit that fits the file."""
    path = tmp_path / "edit.json"
    path.write_text(EDIT)
    return path


@pytest.fixture
def run(monkeypatch, capfdbinary):
    """Run the command line; returns exit code, standard output and standard error."""

    def call(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["apply-edit", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(stdin)))
        code = 0
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code
        out, err = capfdbinary.readouterr()
        return code, out, err.decode()

    return call


def all_errors(kind=errors.ApplyEditError):
    """Return every class of the error tree."""
    return [kind, *(each for child in kind.__subclasses__() for each in all_errors(child))]


def test_every_error_has_an_exit_code():
    """No leaf of the error tree falls through to the general code, and none counts as success."""
    for kind in all_errors():
        if not kind.__subclasses__():
            assert exit_code(kind("x")) in EXIT_CODES.values(), kind
            assert exit_code(kind("x")) not in (0, 1), kind


def test_every_error_has_a_code_of_its_own():
    """Programs tell errors apart by code, so no two classes share one."""
    codes = [kind.code for kind in all_errors()]
    assert len(codes) == len(set(codes))


def test_off_a_terminal_the_bytes_of_the_merged_file_are_printed(run, file, edit):
    """Standard output gets the merged file byte for byte, and the file stays as it is."""
    assert run(file, "--edit", edit)[:2] == (0, MERGED)
    assert file.read_bytes() == ORIGINAL


def test_the_edit_may_come_from_standard_input(run, file):
    """--edit - reads the edit from standard input."""
    assert run(file, "--edit", "-", stdin=EDIT.encode())[:2] == (0, MERGED)


def test_in_place_writes_the_file_and_keeps_its_mode(run, file, edit):
    """--in-place writes atomically, keeps the mode and prints nothing to standard output."""
    os.chmod(file, 0o640)
    assert run(file, "--edit", edit, "--in-place")[:2] == (0, b"")
    assert file.read_bytes() == MERGED
    assert file.stat().st_mode & 0o777 == 0o640


def test_output_writes_another_file(run, file, edit, tmp_path):
    """--output writes there and leaves the file alone."""
    target = tmp_path / "out.py"
    assert run(file, "--edit", edit, "--output", target)[0] == 0
    assert (target.read_bytes(), file.read_bytes()) == (MERGED, ORIGINAL)


def test_diff_prints_a_diff(run, file, edit):
    """--diff shows the changed line with its surroundings."""
    _, out, _ = run(file, "--edit", edit, "--diff")
    assert b"-b = 2" in out
    assert b"+b = 20" in out


@pytest.mark.parametrize(
    "original",
    [
        b"\ta\n\tb = 2\n\tz\n",
        b"a\r\nb = 2\r\n",
        b"x\x1b[31m\x0cy\nb = 2\nlong \t \n",
        b"\xef\xbb\xbfb = 2\n",
        b"caf\xe9\nb = 2\n",
        b"b = 2",
    ],
)
@pytest.mark.parametrize("name", ["plain.txt", "two words.txt"])
def test_a_printed_diff_gives_the_merged_bytes(run, tmp_path, monkeypatch, original, name):
    """`git apply` makes of a printed diff what --in-place writes: tabs, CR, form feeds, marks."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / name
    file.write_bytes(original)
    _, diff, _ = run(name, "--edit", "-", "--diff", stdin=EDIT.encode())
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=diff, check=True)
    by_git = file.read_bytes()
    file.write_bytes(original)
    assert run(name, "--edit", "-", "--in-place", stdin=EDIT.encode())[0] == 0
    assert by_git == file.read_bytes() != original


def test_a_printed_patch_adds_deletes_and_moves(run, tmp_path, monkeypatch):
    """`git apply` adds, deletes and renames files as --in-place would."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.txt").write_text("x\n")
    (tmp_path / "gone.txt").write_text("y\n")
    patch = (
        "*** Begin Patch\n*** Update File: old.txt\n*** Move to: new.txt\n@@\n-x\n+z\n"
        "*** Delete File: gone.txt\n*** Add File: more.txt\n+m\n*** End Patch\n"
    )
    _, diff, _ = run("--root", ".", "--edit", "-", "--diff", stdin=patch.encode())
    subprocess.run(["git", "apply", "-"], input=diff, check=True)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {
        "new.txt": "z\n",
        "more.txt": "m\n",
    }


def test_json_is_one_object(run, file, edit):
    """--json prints text, strategy, warnings and report as one object."""
    code, out, _ = run(file, "--edit", edit, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["text"].encode() == MERGED
    assert answer["strategy"] == "direct"
    assert answer["report"] is None
    assert answer["warnings"] == []


def test_json_reports_errors_as_an_object_too(run, file):
    """With --json a refusal is an object with the code that programs read, and the exit code."""
    code, out, _ = run(file, "--edit", "-", "--json", stdin=EDIT.replace("b = 2", "zzz").encode())
    assert code == 3
    assert json.loads(out)["error"]["code"] == "anchor_not_found"


@pytest.mark.parametrize(
    ("arguments", "option", "words"),
    [
        (["--gamma", "x"], "gamma", "neither auto nor a whole number"),
        (["--frobnicate"], "--frobnicate", "No such option"),
        (["--format", "magic"], "edit_format", "is not one of"),
        (["second.py"], None, "unexpected extra argument"),
        (["--stdout"], "output", "--json"),
    ],
)
def test_json_has_errors_of_the_command_line_too(run, file, edit, arguments, option, words):
    """With --json a wrong command line is an error object, wherever --json stands."""
    for order in (["--json", *arguments], [*arguments, "--json"]):
        code, out, err = run(file, "--edit", edit, *order)
        error = json.loads(out)["error"]
        assert (code, error["code"], error["option"]) == (2, "config_error", option)
        assert words in error["message"]
        assert err.strip()


def test_without_json_an_error_of_the_command_line_prints_no_object(run, file):
    """What only looks like the option, behind --, asks for no object."""
    code, out, _ = run(file, "--bogus", "--", "--json")
    assert (code, out) == (2, b"")


def test_json_has_the_diff_where_both_are_asked_for(run, file, edit):
    """With --diff the object has the diff as a field, beside the text; with -i as well."""
    _, plain, _ = run(file, "--edit", edit, "--diff")
    _, out, _ = run(file, "--edit", edit, "--json")
    assert "diff" not in json.loads(out)
    for more in ([], ["--in-place"]):
        code, out, _ = run(file, "--edit", edit, "--json", "--diff", *more)
        assert code == 0
        assert json.loads(out)["diff"].encode() == plain
    assert file.read_bytes() == MERGED


def test_the_report_of_the_target_is_in_the_json(run, file, monkeypatch):
    """When the target wrote the text, --json has its counts and --stats prints them."""
    merged = MERGED.decode().replace("\r\n", "\n") + "\n"
    monkeypatch.setattr(Applier, "engine", writing_engine(merged))
    code, out, err = run(
        file, "--instruction", "make b 20", "--strategy", "model", "--json", "--stats"
    )
    answer = json.loads(out)
    assert code == 0
    assert answer["text"].encode() == MERGED
    assert answer["strategy"] == "model"
    keys = {"passes", "drafted", "accepted", "emitted", "prompt_tokens", "acceptance_rate"}
    assert keys <= set(answer["report"])
    assert sum(answer["report"]["run_length_histogram"].values()) == answer["report"]["passes"]
    assert "tokens per pass" in err


@pytest.mark.parametrize(
    ("content", "edit_text", "code", "words"),
    [
        (None, EDIT, 10, "no such file|no file"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", EDIT, 11, "not a text file"),
        (ORIGINAL, "", 2, "empty"),
        (ORIGINAL, EDIT.replace("b = 2", "nothing like it at all"), 3, "not in the file|not found"),
        (b"b = 2\nb = 2\n", EDIT, 4, "lines? "),
        (ORIGINAL, "# ... existing code ...\nz = 1\n# ... existing code ...\n", 7, "snippet"),
    ],
)
def test_each_refusal_is_one_message_and_changes_nothing(
    run, tmp_path, content, edit_text, code, words
):
    """Every refusal has its exit code, says what is wrong, prints no traceback, writes nothing."""
    file = tmp_path / "file.py"
    if content is not None:
        file.write_bytes(content)
    got, out, err = run(
        file, "--edit", "-", "--in-place", "--strategy", "direct", stdin=edit_text.encode()
    )
    assert got == code, err
    assert out == b""
    assert re.search(words, err), err
    assert "Traceback" not in err
    assert file.exists() == (content is not None)
    assert content is None or file.read_bytes() == content


@pytest.mark.parametrize(
    "arguments",
    [
        ["FILE"],
        ["--edit", "EDIT"],
        ["FILE", "--edit", "EDIT", "--diff", "--output", "x"],
        ["FILE", "--edit", "EDIT", "--gamma", "-1"],
        ["FILE", "--edit", "EDIT", "--gamma", "x"],
        ["FILE", "--edit", "EDIT", "--format", "magic"],
        ["FILE", "--edit", "EDIT", "--frobnicate"],
        ["FILE", "--edit", "EDIT", "--no-check", "magic"],
        ["FILE", "--edit", "EDIT", "--root", "."],
        ["FILE", "--edit", "EDIT", "--diff", "--stdout"],
        ["FILE", "--edit", "EDIT", "--diff", "--in-place"],
        ["FILE", "--edit", "EDIT", "--in-place", "--output", "x"],
        ["FILE", "--edit", "EDIT", "--strategy", "direct", "--device", "foo"],
    ],
)
def test_impossible_options_are_refused_with_code_2(run, file, edit, arguments):
    """A wrong command line is refused before anything is read or written."""
    names = {"FILE": file, "EDIT": edit}
    code, out, err = run(*(names.get(word, word) for word in arguments))
    assert (code, out) == (2, b"")
    assert err.strip()
    assert "Traceback" not in err


def test_ctrl_c_is_one_message_and_code_130(run, file, edit, monkeypatch):
    """An interrupt while merging leaves the file and ends with the shell's code for it."""

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Applier, "apply", interrupt)
    code, out, err = run(file, "--edit", edit, "--in-place")
    assert (code, out) == (130, b"")
    assert "cancelled" in err
    code, out, _ = run(file, "--edit", edit, "--in-place", "--json")
    assert code == 130
    assert json.loads(out)["error"]["code"] == "cancelled"
    assert file.read_bytes() == ORIGINAL


def test_a_file_that_changed_meanwhile_is_not_written(run, file, edit, monkeypatch):
    """A write by somebody else between reading and writing wins."""
    apply = Applier.apply

    def slow(self, *args, **kwargs):
        result = apply(self, *args, **kwargs)
        file.write_bytes(b"somebody else")
        return result

    monkeypatch.setattr(Applier, "apply", slow)
    code, _, err = run(file, "--edit", edit, "--in-place")
    assert code == 12
    assert "changed" in err
    assert file.read_bytes() == b"somebody else"


PATCH = """--- a/one.txt
+++ b/one.txt
@@ -1 +1 @@
-one
+ONE
--- a/two.txt
+++ b/two.txt
@@ -1 +1 @@
-two
+TWO
"""


def test_a_patch_over_two_files_changes_both(run, tmp_path):
    """--root applies every part of a patch."""
    (tmp_path / "one.txt").write_text("one\n")
    (tmp_path / "two.txt").write_text("two\n")
    assert run("--root", tmp_path, "--edit", "-", "--in-place", stdin=PATCH.encode())[0] == 0
    assert (tmp_path / "one.txt").read_text() == "ONE\n"
    assert (tmp_path / "two.txt").read_text() == "TWO\n"


def test_a_patch_whose_second_file_fails_changes_neither(run, tmp_path):
    """All files of a patch are written, or none."""
    (tmp_path / "one.txt").write_text("one\n")
    (tmp_path / "two.txt").write_text("other\n")
    assert run("--root", tmp_path, "--edit", "-", "--in-place", stdin=PATCH.encode())[0] == 3
    assert (tmp_path / "one.txt").read_text() == "one\n"


def test_a_patch_cannot_leave_its_root(run, tmp_path):
    """A path that leads out of --root is refused."""
    patch = PATCH.replace("a/one.txt", "a/../out.txt").replace("b/one.txt", "b/../out.txt")
    (tmp_path / "out.txt").write_text("one\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "two.txt").write_text("two\n")
    code, _, err = run("--root", root, "--edit", "-", "--in-place", stdin=patch.encode())
    assert code not in (0, 1)
    assert "out" in err
    assert (tmp_path / "out.txt").read_text() == "one\n"
    assert (root / "two.txt").read_text() == "two\n"


def test_a_patch_may_delete_and_move(run, tmp_path):
    """A V4A patch deletes one file and moves another in one go."""
    (tmp_path / "old.txt").write_text("x\n")
    (tmp_path / "gone.txt").write_text("y\n")
    patch = (
        "*** Begin Patch\n*** Update File: old.txt\n*** Move to: new.txt\n@@\n-x\n+z\n"
        "*** Delete File: gone.txt\n*** End Patch\n"
    )
    code, _, err = run("--root", tmp_path, "--edit", "-", "--in-place", stdin=patch.encode())
    assert code == 0, err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new.txt"]
    assert (tmp_path / "new.txt").read_text() == "z\n"


def test_a_patch_may_add_a_file_in_a_new_folder(run, tmp_path):
    """A patch that adds a file makes the folders that it needs."""
    patch = "*** Begin Patch\n*** Add File: new/dir/a.txt\n+hello\n*** End Patch\n"
    code, _, err = run("--root", tmp_path, "--edit", "-", "--in-place", stdin=patch.encode())
    assert code == 0, err
    assert (tmp_path / "new/dir/a.txt").read_text() == "hello\n"


@pytest.mark.parametrize("output", [["--in-place"], ["--output", "none/deeper/o.py"]])
def test_a_file_whose_folder_is_missing_names_the_folder(run, tmp_path, monkeypatch, output):
    """Where there is no folder to write into it is named, and nothing is said of an old file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.py").write_text("")
    name = "here.py" if output[0] == "--output" else "none/deeper/n.py"
    code, _, err = run(name, "--edit", "-", *output, stdin=b"x = 1\n")
    assert code == 13, err
    assert f"there is no folder {tmp_path}/none/deeper" in err
    assert "old file" not in err
    assert not (tmp_path / "none").exists()


def test_a_root_that_is_no_folder_is_named(run, tmp_path):
    """A missing root and a file as root are told apart, before the edit is read."""
    (tmp_path / "file").write_text("")
    for name, words in (("none", "does not exist"), ("file", "is no folder")):
        code, _, err = run("--root", tmp_path / name, "--edit", tmp_path / "no edit")
        assert code == 2
        assert f"{tmp_path / name} {words}" in err


def test_an_error_is_nothing_but_its_message(run, file):
    """Off a terminal no progress, no blank line and no colour surrounds an error."""
    _, _, err = run(file, "--edit", "-", stdin=EDIT.replace("b = 2", "zzz").encode())
    assert err.startswith("error: ")
    assert "\x1b" not in err


def test_the_checks_are_listed(run):
    """`apply-edit checks` names every check with its severity."""
    code, out, _ = run("checks")
    assert code == 0
    assert b"leaked_marker" in out
    assert b"refuse" in out
