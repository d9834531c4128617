import json

import pytest

from apply_edit.direct import apply_file_edit, apply_files, apply_whole, select_file
from apply_edit.direct.spelling import Spelling, respelled
from apply_edit.direct.splice import Indents
from apply_edit.edits import parse
from apply_edit.errors import (
    AmbiguousAnchor,
    AnchorNotFound,
    EditParseError,
    FileExists,
    FileMissing,
    MergeUndetermined,
    OverlappingHunks,
)
from apply_edit.types import EditFormat, FileEdit, FileOp, Hunk, ParsedEdit


def run(original, edit, fmt=None):
    """Apply an edit of one file."""
    parsed = parse(edit, fmt, original=original)
    return apply_file_edit(original, select_file(parsed, None))


def block(old, new):
    """Write a SEARCH/REPLACE block."""
    return f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"


def replaced(old, new, **more):
    """Write a str_replace edit."""
    return json.dumps({"old_str": old, "new_str": new, **more})


def test_only_the_difference_is_written():
    """Unchanged lines keep their trailing spaces and line ends."""
    text = "a  \r\nb\r\nc\t\r\n"
    assert run(text, block("a\nb\nc\n", "a\nB\nc\nd\n")).text == "a  \r\nB\r\nc\t\r\nd\r\n"


def test_a_replaced_line_keeps_its_own_line_end_in_a_mixed_file():
    """Each line of a file with mixed ends keeps the end it had."""
    assert run("a\r\nb\nc\r\n", block("a\nb\n", "A\nB\n")).text == "A\r\nB\nc\r\n"
    assert run("a\r\nb\nc\r\n", replaced("a\nb\n", "A\nB\n")).text == "A\r\nB\nc\r\n"


def test_new_lines_take_the_files_indentation():
    """A block written without its indentation is shifted as a whole."""
    text = "class A:\n    def f(self):\n        return 1\n"
    edit = block("def f(self):\n    return 1\n", "def f(self):\n    x = 1\n    return x\n")
    assert run(text, edit).text == ("class A:\n    def f(self):\n        x = 1\n        return x\n")


def test_spaces_for_tabs_write_tabs():
    """The file's own indentation is written, also on new lines."""
    text = "all:\n\tcc a\n\tcc b\n"
    edit = block("all:\n    cc a\n", "all:\n    cc -O a\n    cc c\n")
    assert run(text, edit).text == "all:\n\tcc -O a\n\tcc c\n\tcc b\n"


def test_indentation_that_cannot_be_told_is_refused():
    """Old lines of one depth at two depths of the file say nothing about a new line."""
    text = "if a:\n        x()\n    y()\n"
    edit = block("if a:\n  x()\n  y()\n", "if a:\n  x()\n  y()\n  z()\n")
    with pytest.raises(AnchorNotFound, match="indentation"):
        run(text, edit)


@pytest.mark.parametrize(
    ("pairs", "indent", "expected"),
    [
        ([("", "")], "  ", "  "),
        ([("", "    ")], "    ", "        "),
        ([("", "\t")], "    ", "\t\t"),
        ([("", "\t")], "   " * 3, None),
        ([("", "\t"), ("  ", "\t\t")], "    ", "\t\t\t"),
        ([("        ", "    ")], "    ", ""),
        ([("    ", "\t")], "  ", None),
        ([(" ", "\t"), ("  ", "\t")], "  ", "  "),
        ([(" ", "a"), (" ", "b")], " ", None),
    ],
)
def test_indentation_is_translated_by_known_pairs(pairs, indent, expected):
    """Deeper and shallower levels follow from the known ones, or are not told."""
    assert Indents(pairs).translate(indent) == expected


def test_a_line_that_only_resembles_the_old_one_keeps_what_the_edit_keeps():
    """Dashes outside the change stay; a quoted string that changes is the edit's."""
    assert (
        respelled("f(1)  # a \u2013 b", "f(1)  # a - b", "f(2)  # a - b", Spelling())
        == "f(2)  # a \u2013 b"
    )
    assert respelled("say “hi”", 'say "hi"', 'say "ho"', Spelling()) == 'say "ho"'
    assert respelled("x  y", "x y z", "x z", Spelling()) == "x z"
    assert respelled("a", "a", "b", Spelling()) == "b"


def test_blank_lines_around_new_text_are_written_where_the_file_lacks_them():
    """The edit shows two blank lines, the file has one: the new text gets both."""
    edit = block("a\n\n\nb\n", "a\n\nnew\n\nb\n")
    assert run("a\n\nb\n", edit).text == "a\n\nnew\n\nb\n"


def test_the_final_newline_is_kept_as_it_is():
    """A last line without its newline stays so, and one that is added gets none either."""
    assert run("a\nb", block("b\n", "c\n")).text == "a\nc"
    assert run("a\nb", block("b\n", "b\nc\n")).text == "a\nb\nc"
    assert run("a\nb\n", block("b\n", "b\nc\n")).text == "a\nb\nc\n"
    assert run("a\nb", block("b\n", "")).text == "a\n"


def test_a_diff_can_add_and_take_the_final_newline():
    r"""The note ``\ No newline`` says what the last line is to be."""
    note = "\\ No newline at end of file\n"
    assert run("a", f"@@ -1 +1 @@\n-a\n{note}+a\n").text == "a\n"
    assert run("a\n", f"@@ -1 +1 @@\n-a\n+a\n{note}").text == "a"
    assert run("a\nb", f"@@ -1,2 +1 @@\n-a\n-b\n{note}+a\n{note}").text == "a"


def test_a_diffs_signs_say_which_of_equal_lines_goes():
    """The first of two equal lines is removed where its sign says so."""
    assert run("same\r\nsame\n", "@@\n-same\n same\n", EditFormat.UDIFF).text == "same\n"


def test_a_byte_order_mark_stays_and_is_not_matched():
    """The first line is found without the mark."""
    assert run("\ufeffa\nb\n", block("a\n", "A\n")).text == "\ufeffA\nb\n"
    assert run("\ufeffa\n", replaced("\ufeffa", "\ufeffb")).text == "\ufeffb\n"
    assert apply_whole("\ufeffa\n", "b\n") == "\ufeffb\n"


def test_not_found_tells_the_near_miss_and_every_hunks_status():
    """The error has hunk, nearest lines, first difference and statuses."""
    edit = block("one\n", "1\n") + block("two\nthrye\n", "2\n3\n")
    with pytest.raises(AnchorNotFound) as error:
        run("one\ntwo\nthree\n", edit)
    fields = error.value.fields
    assert (fields["hunk"], fields["hunks"]) == (1, ["found", "not_found"])
    assert fields["nearest"]["first_difference"] == {
        "line": 3,
        "expected": "thrye",
        "found": "three",
    }
    assert fields["already_applied"] is False


def test_not_found_says_that_the_new_text_is_there():
    """One line may be there by chance, so it is an error with a hint."""
    with pytest.raises(AnchorNotFound) as error:
        run("b\n", block("a\n", "b\n"))
    assert error.value.fields["already_applied"] is True


def test_an_edit_that_is_applied_already_changes_nothing():
    """Text and outcome say so."""
    result = run("a\nb\nc\n", block("a\nc\n", "a\nb\nc\n"))
    assert (result.text, result.outcomes[0].status) == ("a\nb\nc\n", "already_applied")
    assert result.notices[0].code == "already_applied"


def test_a_hunk_that_changes_nothing_is_reported():
    """Equal old and new text is found and left alone."""
    for edit in (block("a\n", "a\n"), replaced("a", "a")):
        result = run("a\n", edit)
        assert (result.text, result.outcomes[0].status) == ("a\n", "no_op")


def test_looser_finds_are_noted():
    """A notice names the step and the line."""
    (notice,) = run("x\n  a\n", block("a\n", "b\n")).notices
    assert (notice.code, notice.lines) == ("looser_match", (2,))


def test_two_hunks_on_one_line_are_refused():
    """Both want the same line, so neither is written."""
    with pytest.raises(OverlappingHunks) as error:
        run("a\nb\nc\n", block("a\nb\n", "a\nX\n") + block("b\nc\n", "Y\nc\n"))
    assert error.value.fields == {"hunks": [0, 1], "lines": [2]}


def test_hunks_may_share_context():
    """Only what both change is in the way."""
    edit = block("a\nb\n", "A\nb\n") + block("b\nc\n", "b\nC\n")
    assert run("a\nb\nc\n", edit).text == "A\nb\nC\n"


def test_hunks_written_against_each_others_result_are_applied_in_turn():
    """What is not in the original is looked for in the result so far."""
    result = run("a\n", block("a\n", "b\n") + block("b\n", "c\n"))
    assert result.text == "c\n"
    assert result.notices[-1].code == "sequential"


def test_the_first_error_is_the_one_that_is_told():
    """Where applying in turn fails too, the error is about the original."""
    with pytest.raises(AnchorNotFound, match="hunk 2 of 2"):
        run("a\n", block("a\n", "b\n") + block("x\n", "c\n"))


def test_text_edits_are_applied_one_after_the_other():
    """Each is looked for in the result of those before it."""
    edits = [{"old_str": "a", "new_str": "b"}, {"old_str": "b", "new_str": "c"}]
    assert run("a", json.dumps(edits)).text == "c"


def test_a_failing_text_edit_names_its_index():
    """Nothing is returned, and the statuses tell how far it went."""
    edits = [{"old_str": o, "new_str": "y"} for o in ("a", "zzz", "b")]
    with pytest.raises(AnchorNotFound) as error:
        run("a b", json.dumps(edits))
    assert error.value.fields["hunk"] == 1
    assert error.value.fields["hunks"] == ["applied", "failed", "not_tried"]


def test_the_reading_that_was_applied_is_told():
    """Checks of the result compare with what was read, not with another reading of the edit."""
    edit = block("A\n=======\nB\n", "c\n")
    assert [(h.old, h.new) for h in run("A\n", edit).hunks] == [("A\n", "B\n=======\nc\n")]
    assert [h.old for h in run("a", replaced("a", "b")).hunks] == ["a"]
    assert [h.old for h in run("  a\n", replaced("a\n", "b\n")).hunks] == ["a\n"]


def test_an_ambiguous_text_edit_names_its_index():
    """The statuses tell how far the edits went, also where the text is looked for by lines."""
    for text in ("a\nb b\n", "a\n  b \n  b \n"):
        edits = [{"old_str": "a", "new_str": "x"}, {"old_str": "b\n", "new_str": "y\n"}]
        if text.count("\n") == 2:
            edits[1] = {"old_str": "b", "new_str": "y"}
        with pytest.raises(AmbiguousAnchor) as error:
            run(text, json.dumps(edits))
        assert error.value.fields["hunk"] == 1
        assert error.value.fields["hunks"] == ["applied", "failed"]


def test_text_may_be_part_of_a_line_and_every_occurrence_may_be_meant():
    """`str_replace` works on characters."""
    assert run("x = old;\n", replaced("old", "new")).text == "x = new;\n"
    assert run("aaaa", replaced("aa", "b", replace_all=True)).text == "bb"


def test_overlapping_occurrences_are_counted():
    """Two overlapping places are two places."""
    with pytest.raises(AmbiguousAnchor) as error:
        run("foo\nfoo\nfoo\n", replaced("foo\nfoo\n", "bar\n"))
    assert error.value.fields["lines"] == [1, 2]


def test_text_is_found_in_the_other_newline_style():
    """The file's line ends are kept and given to new lines."""
    assert run("a\r\nb\r\nc", replaced("a\nb", "a\nX\nb")).text == "a\r\nX\r\nb\r\nc"
    assert run("a\nb\n", replaced("a\r\nb", "a\r\nc")).text == "a\nc\n"
    assert run("x", replaced("x", "y\r\nz")).text == "y\r\nz"


def test_text_that_begins_or_ends_inside_a_line_end_leaves_no_half_of_it():
    """A line feed of a pair takes its carriage return along."""
    assert run("a\r\nb\r\n", replaced("\nb", "\nX\nb")).text == "a\r\nX\r\nb\r\n"
    assert run("a\r\nb\r\n", replaced("a\r", "c\r")).text == "c\r\nb\r\n"


def test_text_is_found_with_other_punctuation():
    """Only the place that the edit names changes."""
    text = "N\u00a0M = 1; // ｱ — x\n"
    assert run(text, replaced("N M = 1;", "N_M = 2;")).text == "N_M = 2; // ｱ — x\n"


def test_text_in_whole_lines_is_looked_for_by_lines():
    """Indentation may be missing, and a new last line may be added."""
    assert run("def f():\n    x = 1\n    y\n", replaced("x = 1\ny", "x = 2\ny")).text == (
        "def f():\n    x = 2\n    y\n"
    )
    assert run("  a \n  b\n", replaced("a\nb\n", "a\n")).text == "  a \n"


def test_added_text_that_stands_there_is_not_added_twice():
    """Old text that the new one begins with is checked for what follows."""
    text = "import os\nimport logging\n"
    assert run(text, replaced("import os", "import os\nimport logging")).text == text


def test_empty_old_text_creates_and_never_overwrites():
    """It means "create" for a missing or empty file and is refused for any other."""
    assert run(None, replaced("", "x")).text == "x"
    assert run("", replaced("", "x")).text == "x"
    with pytest.raises(AnchorNotFound, match="old text is empty"):
        run("a", replaced("", "x"))


def test_an_empty_search_creates_or_appends():
    """Aider's blocks add to the end of a file that exists."""
    assert run(None, block("", "x\n")).text == "x\n"
    assert run("a\n", block("", "x\n")).text == "a\nx\n"


def test_files_are_added_deleted_and_moved():
    """Adding over other text is refused; deleting checks the hunks; moving tells the new path."""
    add = FileEdit("f", FileOp.ADD, (Hunk("", "x\n"),))
    assert apply_file_edit(None, add).text == "x\n"
    assert apply_file_edit("x\n", add).outcomes[0].status == "already_applied"
    with pytest.raises(FileExists, match="exists already"):
        apply_file_edit("other\n", add)
    assert apply_file_edit("a\n", FileEdit("f", FileOp.DELETE)).deleted
    full = FileEdit("f", FileOp.DELETE, (Hunk("a\n", ""),))
    assert apply_file_edit("a\n", full).deleted
    with pytest.raises(AnchorNotFound, match="does not name"):
        apply_file_edit("a\nb\n", full)
    assert apply_file_edit("a\n", FileEdit("f", move_to="g")).moved_to == "g"


def test_a_missing_file_cannot_be_changed():
    """Update and delete need the file."""
    for edit in (FileEdit("f", hunks=(Hunk("a\n", "b\n"),)), FileEdit("f", FileOp.DELETE)):
        with pytest.raises(FileMissing):
            apply_file_edit(None, edit)


def test_an_elision_marker_is_never_written():
    """A marker in new text only would lose code."""
    with pytest.raises(MergeUndetermined) as error:
        run("a\nb\n", block("a\n", "a\n# ... rest of the code unchanged ...\n"))
    assert error.value.fields["reason"] == "omission_marker"


def test_a_marker_that_the_file_has_is_text():
    """What the original or the old text says may be written."""
    text = "# ... existing code ...\na\n"
    assert run(text, block("a\n", "# ... existing code ...\n")).text.count("existing") == 2


def test_a_merge_conflict_can_be_searched_for():
    """Of two separator lines the one that leaves the longer old text is tried first."""
    text = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> topic\nc\n"
    assert run(text, block(text.removesuffix("c\n"), "ab\n")).text == "ab\nc\n"


def test_elided_lines_stay():
    """A marker in both texts stands for the file's lines."""
    text = "a\nb\nc\nd\n"
    edit = block("a\n# ...\nd\n", "A\n# ...\nd\ne\n")
    assert run(text, edit).text == "A\nb\nc\nd\ne\n"


def test_a_whole_file_keeps_line_ends_of_equal_lines():
    """Only lines that differ take the new text, with the file's commonest end."""
    assert apply_whole("a\r\nb\nc\r\n", "a\nb\nX\nY\n") == "a\r\nb\nX\r\nY\r\n"
    assert apply_whole(None, "a\r\n") == "a\r\n"
    assert apply_whole("a\n", "") == ""


def test_a_whole_file_ends_as_the_file_did():
    """Whether the last line has an end is the file's, not the answer's."""
    assert apply_whole("a\nb\n", "a\nc") == "a\nc\n"
    assert apply_whole("a\nb", "a\nc\n") == "a\nc"
    assert apply_whole("a\r\n", "a") == "a\r\n"


def test_several_files_are_all_applied_or_none():
    """The second file's failure leaves nothing of the first."""
    edit = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"
    parsed = parse(edit, EditFormat.UDIFF)
    assert {p: r.text for p, r in apply_files({"x": "a\n", "src/y": "a\n"}, parsed).items()} == {
        "x": "b\n",
        "src/y": "b\n",
    }
    with pytest.raises(AnchorNotFound):
        apply_files({"x": "a\n", "y": "other\n"}, parsed)
    with pytest.raises(EditParseError, match="not one of the files"):
        apply_files({"x": "a\n"}, parsed)


def test_one_file_in_two_sections_is_refused():
    """The second section would be about another text than it was written for."""
    twice = ParsedEdit(EditFormat.V4A, (FileEdit("f"), FileEdit("./f")))
    with pytest.raises(EditParseError, match="two sections"):
        apply_files({"f": "a\n"}, twice)


def test_the_part_for_one_file_is_chosen_by_its_path():
    """A path may be written shorter or longer than the file's."""
    edit = ParsedEdit(EditFormat.V4A, (FileEdit("a/f.py"), FileEdit("b/f.py"), FileEdit(None)))
    assert select_file(edit, "/repo/b/f.py").path == "b/f.py"
    for path in ("f.py", None, "c/f.py"):
        with pytest.raises(EditParseError, match="several files"):
            select_file(edit, path)


def test_a_replaced_file_is_laid_over_the_old_one():
    """REPLACE takes the text as a whole file."""
    edit = FileEdit("f", FileOp.REPLACE, (Hunk("", "a\nc\n"),))
    assert apply_file_edit("a\r\nb\r\n", edit).text == "a\r\nc\r\n"


def test_the_number_of_expected_replacements_is_checked():
    """Another number of places than the edit expects is refused."""
    assert run("a b a\n", replaced("a", "c", expected_replacements=2)).text == "c b c\n"
    with pytest.raises(AmbiguousAnchor):
        run("a b a\n", replaced("a", "c", expected_replacements=3))


def test_quotes_hold_a_string_together_whatever_their_shape():
    """Unchanged typographic quotes stay beside a changed word."""
    assert respelled("f(“x y”, 1)", 'f("x y", 1)', 'f("x y", 2)', Spelling()) == "f(“x y”, 2)"
