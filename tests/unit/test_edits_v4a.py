import pytest

from apply_edit.edits import v4a
from apply_edit.errors import EditParseError
from apply_edit.types import FileOp


def only(edit):
    """Return the edit of the only file."""
    (file,) = v4a.parse(edit).files
    return file


def patch(body, path="f"):
    """Put an envelope around the section of one file."""
    return f"*** Begin Patch\n*** Update File: {path}\n{body}*** End Patch\n"


def test_hunks_have_context_and_stacked_anchors():
    """`@@` lines above a body are its anchors, bare ones add none."""
    file = only(patch("@@ class A\n@@     def b():\n@@\n x\n-y\n+z\n"))
    (hunk,) = file.hunks
    assert hunk.anchors == ("class A", "    def b():")
    assert (hunk.old, hunk.new) == ("x\ny\n", "x\nz\n")


def test_anchors_may_be_glued_numbered_or_signed():
    """`@@x`, `@@ -1,2 +1,2 @@` and a stray `+@@ x` are understood."""
    assert only(patch("@@x\n-a\n+b\n")).hunks[0].anchors == ("x",)
    numbered = only(patch("@@ -21,6 +21,7 @@\n-a\n+b\n")).hunks[0]
    assert (numbered.anchors, numbered.start_line) == ((), 21)
    assert only(patch("+@@ def m():\n-a\n+b\n")).hunks[0].anchors == ("def m():",)


def test_a_bare_addition_goes_to_the_end():
    """Without context and anchor the end of the file is meant."""
    assert only(patch("@@\n+x\n")).hunks[0].at_end
    assert not only(patch("@@\n a\n+x\n")).hunks[0].at_end


def test_end_of_file_is_a_mark_of_the_hunk():
    """`*** End of File` closes the hunk and pins it to the end."""
    assert only(patch("@@\n-a\n+b\n*** End of File\n")).hunks[0].at_end


def test_files_are_added_deleted_and_moved():
    """One FileEdit per section."""
    edit = (
        "*** Begin Patch\n*** Add File: n\n+a\n+\n*** Delete File: o\n"
        "*** Update File: p\n*** Move to: q\n@@\n-a\n+b\n*** End Patch"
    )
    new, gone, moved = v4a.parse(edit).files
    assert (new.op, new.hunks[0].new) == (FileOp.ADD, "a\n\n")
    assert (gone.op, gone.path) == (FileOp.DELETE, "o")
    assert moved.move_to == "q"


@pytest.mark.parametrize(
    "edit",
    [
        "apply_patch <<'EOF'\n" + patch("@@\n-a\n+b\n") + "EOF\n",
        "  *** Begin Patch \n *** Update File: f\n@@\n-a\n+b\n *** End Patch \n",
        "*** Update File: f\n@@\n-a\n+b",
        "Sure:\n\n```\n*** Update File: f\n@@\n-a\n+b\n```\n\nDone.\n",
        patch("@@\n-a\n+b\n\n"),
        patch("@@\n-a\n+b\n").replace("\n", "\r\n"),
    ],
)
def test_the_envelope_may_be_wrapped_padded_or_missing(edit):
    """What stands around the patch does not get into it."""
    (hunk,) = only(edit).hunks
    assert (hunk.old.strip(), hunk.new.strip()) == ("a", "b")


def test_a_missing_end_line_is_overlooked_for_an_update_only():
    """An update whose end is missing is read; a new file may have been cut off."""
    parsed = v4a.parse("*** Begin Patch\n*** Update File: f\n@@\n-a\n+b")
    assert parsed.notices[0].code == "missing_end_marker"
    with pytest.raises(EditParseError, match="cut off"):
        v4a.parse("*** Begin Patch\n*** Add File: f\n+a")


@pytest.mark.parametrize(
    "edit",
    [
        "*** Begin Patch\n*** End Patch\n",
        "*** Begin Patch\n*** Frobnicate File: f\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: f\n*** End Patch\n",
        "*** Begin Patch\nstray\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\n",
        "*** Begin Patch\n*** Add File: f\nno plus\n*** End Patch\n",
        "*** Begin Patch\n*** Delete File: f\nstray\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: f\n@@\n-a\n*** Weird Thing\n*** End Patch\n",
        "no patch\n",
    ],
)
def test_patches_that_say_something_unknown_are_refused(edit):
    """Nothing is skipped silently."""
    with pytest.raises(EditParseError):
        v4a.parse(edit)


def test_stars_in_added_lines_are_content():
    """Only lines without a sign are headers."""
    assert only("*** Add File: f\n+*** Update File: g\n").hunks[0].new == "*** Update File: g\n"


def test_several_patches_in_one_text_are_all_read():
    """A second envelope is not dropped silently; sections of one file are joined."""
    second = patch("@@\n-c\n+d\n") + patch("@@\n-e\n+f\n", path="g")
    files = v4a.parse(patch("@@\n-a\n+b\n") + second).files
    assert [(f.path, [h.old for h in f.hunks]) for f in files] == [
        ("f", ["a\n", "c\n"]),
        ("g", ["e\n"]),
    ]
