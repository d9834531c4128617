from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from apply_edit import line_ops as algorithm
from apply_edit.align import Op, keep_original_bytes, line_ops, plain_line, unified_diff

CAFE_NFD = "cafe\u0301"
CAFE_NFC = "caf\u00e9"


def spans(ops: list[Op]) -> list[tuple[str, int, int, int, int]]:
    """Ops as tuples, for comparison."""
    return [(o.kind, o.old_start, o.old_end, o.new_start, o.new_end) for o in ops]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("", "a", [("insert", 0, 0, 0, 1)]),
        ("a", "", [("delete", 0, 1, 0, 0)]),
        ("ab", "ab", [("equal", 0, 2, 0, 2)]),
        ("abc", "ac", [("equal", 0, 1, 0, 1), ("delete", 1, 2, 1, 1), ("equal", 2, 3, 1, 2)]),
        ("ac", "abc", [("equal", 0, 1, 0, 1), ("insert", 1, 1, 1, 2), ("equal", 1, 2, 2, 3)]),
        ("axc", "ayzc", [("equal", 0, 1, 0, 1), ("replace", 1, 2, 1, 3), ("equal", 2, 3, 3, 4)]),
        ("aaa", "aaaa", [("equal", 0, 3, 0, 3), ("insert", 3, 3, 3, 4)]),
    ],
)
def test_line_ops_small(old: str, new: str, expected: list[tuple[str, int, int, int, int]]):
    """Ops cover both sides in order, with half-open spans."""
    assert spans(line_ops(old, new)) == expected


@pytest.mark.parametrize("width", [7, 100_000])
def test_line_ops_of_long_texts_stay_small(width: int, monkeypatch: pytest.MonkeyPatch):
    """Beyond the exact algorithm's table a few edits still give a few ops."""
    monkeypatch.setattr(algorithm, "_EXACT_CELLS", 100_000)
    old = [f"line {n % width}" for n in range(30_000)]
    new = list(old)
    new[100] = "changed"
    del new[12_000:12_010]
    new[25_000:25_000] = ["inserted"] * 5
    ops = line_ops(old, new)
    assert sum(op.old_end - op.old_start for op in ops if op.kind == "equal") >= 29_980
    for op in ops:
        if op.kind == "equal":
            assert old[op.old_start : op.old_end] == new[op.new_start : op.new_end]


@pytest.mark.parametrize(
    ("original", "text", "expected"),
    [
        ("a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n"),
        ("a\r\nb\nc\r", "a\nb\nc\n", "a\r\nb\nc\r"),
        ("a\r\nb\r\n", "a\nX\nb\n", "a\r\nX\r\nb\r\n"),
        ("a\nb\r\nc\r\n", "a\nX\nb\nc\n", "a\nX\nb\r\nc\r\n"),
        ("a\nb\r\n", "a\nB\n", "a\nB\r\n"),
        ("a\r\nb\r\n", "X\na\nb\n", "X\r\na\r\nb\r\n"),
        ("keep  \nx\n", "keep\ny\n", "keep  \ny\n"),
        (f"{CAFE_NFD}\nx\n", f"{CAFE_NFC}\ny\n", f"{CAFE_NFD}\ny\n"),
        ("a\u00a0b\nx\n", "a b\ny\n", "a\u00a0b\ny\n"),
        ("a\u200bb\nx\n", "ab\ny\n", "a\u200bb\ny\n"),
        ("a\x0c\nb\u2028c\nx\n", "a\nb\u2028c\ny\n", "a\x0c\nb\u2028c\ny\n"),
        ("a\rb\n", "a\n\nb\n", "a\r\rb\n"),
        ("  a\nx\n", "\ta\nx\n", "\ta\nx\n"),
    ],
)
def test_lines_keep_the_originals_bytes(original: str, text: str, expected: str):
    """A line that says the same has the original's bytes; a new one takes its neighbour's end."""
    assert keep_original_bytes(original, text) == expected


@pytest.mark.parametrize(
    ("original", "text", "wish", "expected"),
    [
        ("a\nb", "a\nb\n", None, "a\nb"),
        ("a\nb\n", "a\nb", None, "a\nb\n"),
        ("a\r\nb", "a\nb\nc\n", None, "a\r\nb\r\nc"),
        ("a\r\nb\r\n", "a", None, "a\r\n"),
        ("", "a\n", None, "a\n"),
        ("", "a", None, "a"),
        ("a\n", "", None, ""),
        ("a\nb", "a\nb\n", True, "a\nb\n"),
        ("a\nb\n", "a\nb\n", False, "a\nb"),
    ],
)
def test_final_newline_follows_the_original(
    original: str, text: str, wish: bool | None, expected: str
):
    """The state of the final newline is the original's, unless the caller says otherwise."""
    assert keep_original_bytes(original, text, final_newline=wish) == expected


def test_allowed_lines_keep_their_own_spelling():
    """A white space change that the edit asked for is kept, with the original's line end."""
    original = "one\r\ntwo  \r\n"
    kept = keep_original_bytes(original, "one  \ntwo\n", allowed=["one  \n", "two"])
    assert kept == "one  \r\ntwo\r\n"
    assert keep_original_bytes(original, "one  \ntwo\n") == original


def test_plain_line_keeps_indentation():
    """Leading white space is content."""
    assert plain_line("\t x \t\r\n") == "\t x"


DIFFS = [
    ("a\nb\nc\n", "a\nB\nc\n"),
    ("a\r\nb\r\nc\n", "a\r\nB\r\nc\n"),
    ("a\r\nb\n", "a\nb\n"),
    ("a\nb", "a\nb\n"),
    ("a\nb\n", "a\nb"),
    ("a", "b"),
    ("", "a\nb\n"),
    ("", "a"),
    ("a\n", ""),
    ("a\rb\rc\n", "a\rB\rc\n"),
    ("".join(f"{n}\n" for n in range(60)), "".join(f"{n * (n % 20 > 0)}\n" for n in range(60))),
    ("".join(f"{n}\n" for n in range(40)), "x\n" + "".join(f"{n}\n" for n in range(1, 39))),
    ("a\x0cb\u2028c\nd\n", "a\x0cb\u2028c\ne\n"),
]


@pytest.mark.parametrize("context", [0, 1, 3])
@pytest.mark.parametrize(("original", "text"), DIFFS)
@pytest.mark.parametrize("tool", ["git", "patch"])
def test_unified_diff_is_accepted(
    tmp_path: Path, tool: str, original: str, text: str, context: int
):
    """Both tools turn the original into the text with the diff, byte for byte."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    path = tmp_path / "dir" / "file.txt"
    path.parent.mkdir()
    path.write_bytes(original.encode())
    diff = unified_diff(original, text, "dir/file.txt", context)
    unidiff = ["--unidiff-zero"] if context == 0 else []
    command = {
        "git": ["git", "apply", *unidiff, "-"],
        "patch": ["patch", "-p1", "--binary", "--no-backup-if-mismatch", "-s"],
    }[tool]
    done = subprocess.run(command, cwd=tmp_path, input=diff.encode(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode() + diff
    assert (path.read_bytes() if path.exists() else b"") == text.encode()


@pytest.mark.parametrize("name", ["with space.txt", 'quo"te.txt', "tab\there", "caf\u00e9.txt"])
def test_unified_diff_spells_paths(tmp_path: Path, name: str):
    """A path with spaces, quotes, tabs or accents is found by git."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    (tmp_path / name).write_text("a\n")
    diff = unified_diff("a\n", "b\n", name)
    done = subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=diff.encode(), check=False)
    assert done.returncode == 0
    assert (tmp_path / name).read_text() == "b\n"


def test_unified_diff_of_equal_texts_is_empty():
    """No difference, no headers."""
    assert unified_diff("a\n", "a\n", "x") == ""


def test_unified_diff_text():
    """Headers, counts and the note about the last line are those of diff."""
    assert unified_diff("a\nb\nc", "a\nB\nc", "x.py", 1) == (
        "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n\\ No newline at end of file\n"
    )
