import json

import pytest

from apply_edit.direct import apply_file_edit, select_file
from apply_edit.direct.there import text_there
from apply_edit.edits import parse
from apply_edit.errors import AnchorNotFound
from apply_edit.match.there import text_stands
from apply_edit.types import EditFormat


def run(original, edit, fmt=None):
    """Apply an edit of one file."""
    return apply_file_edit(original, select_file(parse(edit, fmt, original=original), None))


def block(old, new):
    """Write a SEARCH/REPLACE block."""
    return f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"


def replaced(old, new, **more):
    """Write a str_replace edit."""
    return json.dumps({"old_str": old, "new_str": new, **more})


FILE = "import os\nx = 2\nn = 3\ny = 1\n"
INSERTIONS = {
    "block": block("x = 2\n", "x = 2\nn = 3\n"),
    "block above": block("n = 3\n", "x = 2\nn = 3\n"),
    "block both": block("x = 2\n", "import os\nx = 2\nn = 3\n"),
    "text": replaced("x = 2", "x = 2\nn = 3"),
    "text line": replaced("x = 2\n", "x = 2\nn = 3\n"),
    "text above": replaced("n = 3", "x = 2\nn = 3"),
    "v4a": "*** Begin Patch\n*** Update File: a.py\n@@\n x = 2\n+n = 3\n*** End Patch\n",
    "v4a anchor": "*** Begin Patch\n*** Update File: a.py\n@@ x = 2\n+n = 3\n*** End Patch\n",
    "udiff": "@@ -2,1 +2,2 @@\n x = 2\n+n = 3\n",
    "udiff numbers": "--- a\n+++ b\n@@ -2,0 +3 @@\n+n = 3\n",
    "insert": '{"command": "insert", "path": "a", "insert_line": 2, "insert_text": "n = 3"}',
    "append": block("", "y = 1\n"),
}


@pytest.mark.parametrize("edit", INSERTIONS.values(), ids=INSERTIONS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_insertion_goes_in_once(edit, newline):
    """Whatever it is written in: where the result stands already, the file stays as it is."""
    text = FILE.replace("\n", newline)
    result = run(text, edit)
    assert (result.text, result.outcomes[0].status) == (text, "already_applied")
    assert [(n.code, n.message.split(":")[0]) for n in result.notices] == [
        ("already_applied", "the edit is already applied")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "x = 2\nn = 30\n",
        "x = 2\nn = 3 + k\n",
        "x = 2\n    n = 3\n",
        "x = 2\n\nn = 3\n",
        "n = 3\nx = 2\n",
    ],
)
@pytest.mark.parametrize("name", ["block", "text", "text line"])
def test_another_line_beside_the_place_is_no_result(name, text):
    """A line that only begins alike, or stands elsewhere, does not hinder the insertion."""
    assert run(text, INSERTIONS[name]).text == text.replace("x = 2\n", "x = 2\nn = 3\n")


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("  }\n}\n", "  }\n}\n}\n", "  }\n}\n}\n"),
        ("a\nb,\n", "a\nb,\nb,\n", "a\nb,\nb,\n"),
        ("import os\n", "import os\n\n", "import os\n\nx\n"),
    ],
)
@pytest.mark.parametrize("write", [block, replaced])
def test_a_repetition_may_be_meant(write, old, new, text):
    """Brackets, blank lines, and short lines that the old text has itself go in once more."""
    assert run(text, write(old, new)).text == text.replace(old, new, 1)


def test_a_slid_insertion_is_recognised():
    """The old text is found at the end of what was inserted, since that ends as it begins."""
    old = "a()\n\nend\n\ndef z():\n"
    new = "a()\n\nend\n\ndef y():\n    b()\n\nend\n\ndef z():\n"
    edit = block("\nend\n\ndef z():\n", "\nend\n\ndef y():\n    b()\n\nend\n\ndef z():\n")
    assert run(old, edit).text == new
    assert run(new, edit).text == new


def test_pieces_of_a_line_go_in_once():
    """An argument that is there is not added again; another one is."""
    edit = replaced("f(a", "f(a, b")
    assert run("f(a)\n", edit).text == "f(a, b)\n"
    assert run("f(a, b)\n", edit).text == "f(a, b)\n"
    assert run("f(a, bc)\n", edit).text == "f(a, b, bc)\n"
    wrap = replaced("value", "int(value)")
    assert run("x = int(value)\n", wrap).text == "x = int(value)\n"
    # The old text has what is added, so one more may be meant.
    assert run("[0, 0, 0]\n", replaced("[0, 0", "[0, 0, 0")).text == "[0, 0, 0, 0]\n"


def test_all_occurrences_are_left_alone_only_where_all_were_replaced():
    """A rename of everywhere is not done twice, and is done where some are left."""
    edit = replaced("old", "old_name", replace_all=True)
    assert run("old_name + old_name\n", edit).text == "old_name + old_name\n"
    assert run("old + old\n", edit).text == "old_name + old_name\n"


def test_a_loose_find_is_compared_as_it_would_be_written():
    """Added lines are recognised with the file's indentation and quotes."""
    text = "def f():\n    x = 'a'\n    y = 'b'\n"
    edit = block("x = \u2018a\u2019\n", "x = \u2018a\u2019\ny = \u2018b\u2019\n")
    assert run(text, edit).text == text


def test_a_place_that_was_found_by_similarity_only_is_doubtful():
    """The added lines stand beside a place that is only like the old text: refused."""
    text = "alpha beta gamma\ndelta epsilon\nx = compute(1)\nlog(x, y, z)\n"
    old = "alpha bete gamma\ndelta epsilon\nx = compute(1)\n"
    with pytest.raises(AnchorNotFound):
        run(text, block(old, old + "log(x, y, z)\n"))


def test_text_that_was_changed_before_is_recognised():
    """The old text is gone and the new one is there in its place, in whole lines or pieces."""
    for text, edit in (
        ("x = 2\ny = 5\n", replaced("x = 1", "x = 2")),
        ("connect(host, timeout=60)\n", replaced("timeout=30", "timeout=60")),
        ("a\nx = 2\nc\n", "@@ -1,3 +1,3 @@\n a\n-x = 1\n+x = 2\n c\n"),
        ("a = 1; b = 3\nc = 4\n", replaced("b = 2\nc = 3", "b = 3\nc = 4")),
    ):
        result = run(text, edit)
        assert (result.text, result.outcomes[0].status) == (text, "already_applied"), edit


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("a = 2\n", "1", "2"),
        ("f(timeout=60)\ng(timeout=60)\n", "timeout=30", "timeout=60"),
        ("f(timeout=600)\n", "timeout=30", "timeout=60"),
        ("f(timeout=60)\ng(timeout=31)\n", "timeout=30", "timeout=60"),
        ("raise ValueError\n", "compute_all(x)", "raise ValueError"),
    ],
)
def test_a_piece_that_may_be_there_by_chance_is_no_proof(text, old, new):
    """Short, repeated, cut, unlike or doubtful pieces are refused."""
    assert not text_stands(text, old, new)
    with pytest.raises(AnchorNotFound):
        run(text, replaced(old, new))


def test_hunks_that_need_each_other_are_not_taken_for_applied():
    """A later hunk that is for the result of an earlier one is applied, whatever the file has."""
    chain = block("x = 1\n", "x = 2\n") + block("x = 2\n", "x = 3\n")
    assert run("x = 1\n", chain).text == "x = 3\n"
    middle, last = "b = 1\nb = 2\n", "c = 1\nc = 2\n"
    chain = block("a = 0\n", middle) + block(middle, last)
    assert run(f"a = 0\nk\n{last}", chain).text == f"{last}k\n{last}"


def test_what_this_edit_wrote_is_no_proof_for_another_hunk():
    """The second edit's new text is there only because the first one wrote it: refused."""
    edits = json.dumps(
        [
            {"old_str": "x = 1", "new_str": "x = 2"},
            {"old_str": "x = 0", "new_str": "x = 2"},
        ]
    )
    with pytest.raises(AnchorNotFound, match="hunk 2 of 2"):
        run("x = 1\n", edits)
    twice = json.dumps([{"old_str": "x = 1", "new_str": "x = 2"}] * 2)
    assert run("x = 1\n", twice).text == "x = 2\n"


MOVED = (
    ("        ch = read(fd)\n        echo(ch)\n", "        yield fd\n"),
    ("end\n", "def getchar():\n    ch = read(fd)\n    echo(ch)\nend\n"),
)


@pytest.mark.parametrize("separately", [False, True])
def test_old_text_is_not_looked_for_loosely_in_what_another_hunk_wrote(separately):
    """Lines that another hunk moved elsewhere are not found there, indented, a second time."""
    pairs = [{"old_str": old, "new_str": new} for old, new in MOVED]
    edit = json.dumps(pairs) if separately else "".join(block(*pair) for pair in MOVED)
    old = "with raw():\n        ch = read(fd)\n        echo(ch)\nend\n"
    once = run(old, edit).text
    assert once.count("read(fd)") == once.count("yield fd") == 1
    with pytest.raises(AnchorNotFound):
        run(once, edit)


def test_a_new_file_that_is_there_is_told():
    """A patch that adds the very file says that it was applied."""
    patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n"
    result = run("x\n", patch, EditFormat.V4A)
    assert (result.text, [n.code for n in result.notices]) == ("x\n", ["already_applied"])


def test_one_applied_hunk_of_several_is_named():
    """The notice says which hunk changed nothing; the others are applied."""
    edit = block("x = 1\n", "x = 2\n") + block("name = 1\n", "name = 2\n")
    result = run("x = 1\nname = 2\n", edit)
    assert result.text == "x = 2\nname = 2\n"
    assert [n.message for n in result.notices] == [
        "hunk 2 of 2 is already applied: the file has its new text"
    ]
    # Whoever checks the result must not look for what was there before.
    assert result.hunks[1].old == result.hunks[1].new


def test_text_there_compares_line_ends_and_folded_characters_as_asked():
    """Pairs of carriage return and line feed count as one, other quotes only where folded."""
    assert text_there("a\r\nlong line b\r\n", "a", "a\nlong line b", (0, 1))
    assert text_there(
        "f('a', 'b')", "f(\u2018a\u2019", "f(\u2018a\u2019, \u2018b\u2019", (0, 5), folded=True
    )
    assert not text_there(
        "f('a', 'b')", "f(\u2018a\u2019", "f(\u2018a\u2019, \u2018b\u2019", (0, 5)
    )
    assert not text_there("a\n", "", "a", (0, 0))
