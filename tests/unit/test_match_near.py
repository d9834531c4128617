import json

import pytest

from apply_edit.direct import apply_file_edit, select_file
from apply_edit.edits import parse
from apply_edit.errors import AnchorNotFound


def refusal(original, edit):
    """Return the error of an edit that is not applied."""
    with pytest.raises(AnchorNotFound) as error:
        apply_file_edit(original, select_file(parse(edit, original=original), None))
    return error.value


def block(old, new):
    """Write a SEARCH/REPLACE block."""
    return f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"


FILE = "def f():\n    one()\n    return 1\n"


def test_a_hunk_of_several_is_named_with_a_line_that_tells_it():
    """Number and text say which hunk it is; a line that the file has says little."""
    edit = block("def f():\n", "def g():\n") + block("def f():\n    other(x)\n", "pass\n")
    assert refusal(FILE, edit).message.startswith("hunk 2 of 2 is not in the file: 'other(x)'")


def test_an_edit_of_a_list_is_named_too():
    """Edits that are applied one after the other are numbered, also where they fit twice."""
    edits = [{"old_str": "one()", "new_str": "two()"}, {"old_str": "zzz(1)", "new_str": "q"}]
    error = refusal(FILE, json.dumps(edits))
    assert error.message.startswith("hunk 2 of 2 is not in the file: 'zzz(1)'")
    assert error.fields["hunks"] == ["applied", "failed"]
    single = refusal(FILE, json.dumps(edits[1]))
    assert single.message.startswith("the old text is not in the file: 'zzz(1)'")


def test_a_long_line_is_clipped():
    """A message shows at most 60 characters of a line, of the edit's and of the file's."""
    error = refusal("y" * 5000 + "\n", block("y" * 4000 + "x" * 3000 + "\n", "b\n"))
    assert len(error.message) < 250
    assert "\u2026" in error.message


def test_one_line_is_not_called_lines():
    """The near miss of a single line is told in the singular."""
    error = refusal("hello\n", block("hullo\n", "x\n"))
    assert error.message == (
        "the old text is not in the file: 'hullo'; most like it is line 1, which is 'hello'"
    )
    error = refusal(FILE, block("def f():\n    ona()\n", "pass\n"))
    assert "most like it are lines 1 to 2, where line 2 is" in error.message


@pytest.mark.parametrize(("text", "size"), [("x = 1\n", "1 line"), ("x\ny\n", "2 lines")])
def test_an_insertion_behind_the_end_tells_the_valid_numbers(text, size):
    """A line number out of range is refused with the range."""
    edit = {"command": "insert", "path": "a", "insert_line": 9, "insert_text": "y = 1"}
    last = size.split()[0]
    assert refusal(text, json.dumps(edit)).message == (
        f"the edit inserts after line 9, and the file has {size}; give a number from 0 to {last}"
    )


def test_an_anchor_that_is_missing_is_shown():
    """A V4A patch without old text whose anchor is nowhere says so."""
    patch = "*** Begin Patch\n*** Update File: a\n@@ def nope():\n+x\n*** End Patch\n"
    assert "the anchor 'def nope():' is not there" in refusal(FILE, patch).message
