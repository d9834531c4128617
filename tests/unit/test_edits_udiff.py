import pytest

from apply_edit.edits import detect, parse, udiff
from apply_edit.errors import EditParseError
from apply_edit.types import EditFormat, FileOp


def hunks(edit):
    """Return the hunks of the only file."""
    (file,) = udiff.parse(edit).files
    return file.hunks


def test_a_well_formed_diff_gives_old_and_new_text():
    """Context belongs to both texts, signs to one of them."""
    (hunk,) = hunks("--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@ def x\n a\n-b\n+c\n")
    assert (hunk.old, hunk.new, hunk.start_line) == ("a\nb\n", "a\nc\n", 1)
    assert hunk.kinds == " -+"


def test_counts_that_do_not_fit_are_overlooked_and_said():
    """The body decides, a notice tells."""
    parsed = udiff.parse("--- a/t\n+++ b/t\n@@ -2 +2 @@\n l2\n-l3\n+l3x\n l4\n")
    assert parsed.files[0].hunks[0].old == "l2\nl3\nl4\n"
    assert [n.code for n in parsed.notices] == ["wrong_counts"]


def test_a_removed_line_that_looks_like_a_header_stays_a_line():
    """`--- x` inside a hunk is the removal of `-- x`."""
    (hunk,) = hunks("--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,2 @@\n a\n--- old note\n b\n")
    assert hunk.old == "a\n-- old note\nb\n"
    (hunk,) = hunks("--- a/q\n+++ b/q\n@@\n a\n--- x\n+++ y\n b\n")
    assert (hunk.old, hunk.new) == ("a\n-- x\nb\n", "a\n++ y\nb\n")


def test_the_note_on_a_missing_newline_takes_the_line_end_off():
    """Only the side that the note follows lacks its newline."""
    (hunk,) = hunks("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n")
    assert (hunk.old, hunk.new) == ("a", "a\n")


def test_blank_context_lines_may_lack_their_space():
    """An empty line inside a hunk is a blank context line."""
    (hunk,) = hunks("@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n")
    assert hunk.old == "a\n\nb\n"


def test_context_without_its_space_has_two_readings():
    """The formal reading comes first, the one that takes lines as they stand follows."""
    (hunk,) = hunks("@@\n  a\nb\n-c\n+d\n")
    assert hunk.old == " a\nb\nc\n"
    assert ("  a\nb\nc\n", "  a\nb\nd\n") in hunk.readings


def test_signs_with_a_space_have_a_reading_without_it():
    """`- x` may mean the line `x`."""
    (hunk,) = hunks("- x\n+ y\n  z\n")
    assert ("x\nz\n", "y\nz\n") in hunk.readings


def test_a_mail_signature_is_not_a_removal():
    """`-- ` and a version number behind a patch are not part of it."""
    (hunk,) = hunks("--- f\n+++ f\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n-- \n2.40.0\n")
    assert hunk.old == "a\nc\n"
    (bare,) = hunks("--- f\n+++ f\n@@\n-a\n+b\n c\n-- \n2.40.0\n")
    assert bare.old == "a\nc\n"


def test_files_are_created_deleted_and_renamed():
    """/dev/null and git's extended headers say what happens to a file."""
    edit = (
        "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"
        "diff --git a/o b/o\ndeleted file mode 100644\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "diff --git a/p b/q\nsimilarity index 100%\nrename from p\nrename to q\n"
    )
    new, gone, moved = udiff.parse(edit).files
    assert (new.op, new.path, new.hunks[0].new) == (FileOp.ADD, "n", "x\n")
    assert (gone.op, gone.path) == (FileOp.DELETE, "o")
    assert (moved.op, moved.move_to) == (FileOp.UPDATE, "q")


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ('--- "a/foo\\tbar"\n+++ "b/foo\\tbar"\n', "foo\tbar"),
        ('--- /dev/null\n+++ "\\303\\244.txt"\n', "ä.txt"),
        ("--- test\t2013-01-05 16:56:19 -0600\n+++ test\t2013\n", "test"),
        ("+++ file.txt\n", "file.txt"),
        ("--- file.txt\n", "file.txt"),
        ("diff --git a/foo b/baz.txt b/foo b/baz.txt\n", "foo b/baz.txt"),
        ('diff --git "a/x y" "b/x y"\n', "x y"),
    ],
)
def test_paths_are_read_off_every_kind_of_header(header, path):
    """Quotes, time stamps, prefixes and half headers do not matter."""
    (file,) = udiff.parse(header + "@@ -1 +1 @@\n-a\n+b\n").files
    assert file.path == path


def test_several_files_are_several_sections():
    """Each header pair begins a file, with and without git lines."""
    edit = "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n--- b\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"
    assert [f.path for f in udiff.parse(edit).files] == ["a", "b"]


def test_zero_context_insertions_keep_their_line_number():
    """`-2,0` places added lines behind line 2."""
    (hunk,) = hunks("--- t\n+++ t\n@@ -2,0 +3 @@\n+x\n")
    assert (hunk.old, hunk.insert_after) == ("", 2)


def test_a_diff_without_headers_is_one_hunk():
    """Lines with signs are enough."""
    parsed = udiff.parse("\na\n-b\n+c\n")
    assert parsed.files[0].hunks[0].old == "a\nb\n"
    assert parsed.notices[0].code == "missing_header"


def test_text_without_signs_is_no_diff():
    """Prose is refused with the reason."""
    with pytest.raises(EditParseError, match="no hunk"):
        udiff.parse("nothing here\n")


def test_fenced_diffs_are_taken_out_of_prose():
    """Prose before and behind the fence is not context."""
    (hunk,) = hunks("Some text\n\n```diff\n--- f\n+++ f\n@@ ... @@\n-a\n+b\n```\nThanks!\n")
    assert (hunk.old, hunk.new) == ("a\n", "b\n")


def test_copies_and_binary_changes_are_refused():
    """A diff that cannot be carried out in text is not half applied."""
    for line in ("copy to q", "GIT binary patch", "Binary files a/p and b/p differ"):
        with pytest.raises(EditParseError, match="binary"):
            udiff.parse(f"diff --git a/p b/p\n{line}\n")


def test_git_names_that_differ_give_no_path():
    """Only a name that stands twice in the git line is known."""
    (file,) = udiff.parse("diff --git a/p b/q\n@@ -1 +1 @@\n-a\n+b\n").files
    assert file.path is None


def test_headers_of_the_next_file_end_a_body_whose_count_is_too_large():
    """Two names of one file are headers, even where a count wants more lines."""
    one = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+b\n"
    files = udiff.parse(one + "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-c\n+d\n").files
    assert [(f.path, f.hunks[0].old) for f in files] == [("f", "a\n"), ("g", "c\n")]


def test_two_sections_of_one_file_are_joined():
    """A file that a diff names twice gets the hunks of both, in any order."""
    one = "--- a/f\n+++ b/f\n@@ -9 +9 @@\n-a\n+b\n"
    (file,) = udiff.parse(one + one.replace("-a", "-c")).files
    assert [h.old for h in file.hunks] == ["a\n", "c\n"]
    assert not file.ordered


def test_a_diff_that_is_indented_as_a_whole_is_read():
    """A diff in an item of a list loses its common indentation."""
    edit = "    --- a/f\n    +++ b/f\n    @@ -1,2 +1,2 @@\n     a\n    -b\n    +c\n"
    assert udiff.looks_like(edit)
    assert [(h.old, h.new) for h in hunks(edit)] == [("a\nb\n", "a\nc\n")]


def test_a_context_diff_is_refused():
    """The older format is not read as a unified one."""
    edit = "*** f\n--- f\n***************\n*** 1,2 ****\n  a\n! b\n--- 1,2 ----\n  a\n! c\n"
    with pytest.raises(EditParseError, match="context diff"):
        udiff.parse(edit)


def test_the_heading_behind_the_numbers_is_kept():
    """What stands behind the second `@@` is a hint for the place."""
    (hunk,) = hunks("@@ -1 +1 @@ def f():\n-a\n+b\n")
    assert hunk.heading == "def f():"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "*** a.py\n--- a.py\n***************\n*** 1 ****\n! x = 1\n--- 1 ----\n! x = 2\n",
            "a context diff",
        ),
        ("*** 1,2 ****\n***************\n  x\n- y\n--- 1 ----\n", "a context diff"),
        ("1c1\n< x = 1\n---\n> x = 2\n", "a diff without context"),
        ("Index: a\n3,4d2\n< x\n< y\n", "a diff without context"),
        ("2a3\n> x\n", "a diff without context"),
    ],
)
def test_other_kinds_of_diffs_are_recognised_and_refused(text, name):
    """The refusal says what it is and what to send instead."""
    assert detect(text, original="x = 1\n") is EditFormat.UDIFF
    with pytest.raises(EditParseError, match=f"{name}; send a unified diff"):
        parse(text, original="x = 1\n")


def test_the_mode_of_a_program_is_read():
    """Of a mode only counts whether the file is a program."""
    head = "diff --git a/f b/f\n"
    body = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"
    for lines, expected in (
        ("old mode 100644\nnew mode 100755\n", True),
        ("old mode 100755\nnew mode 100644\n", False),
        ("index 1234567..89abcde 100755\n", None),
    ):
        assert parse(head + lines + body).files[0].executable is expected
    new = "new file mode 100755\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n"
    assert parse(head + new).files[0].executable is True
    assert parse(head + new.replace("755", "644")).files[0].executable is False


@pytest.mark.parametrize(
    "lines",
    [
        "new file mode 120000\nindex 0000000..1234567\n",
        "deleted file mode 120000\n",
        "index 1234567..89abcde 160000\n",
    ],
)
def test_links_and_submodules_are_refused(lines):
    """What is no file with text must not be read or written as one."""
    with pytest.raises(EditParseError, match="symbolic link or a submodule"):
        parse(f"diff --git a/f b/f\n{lines}--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n")
