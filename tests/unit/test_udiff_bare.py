"""Diffs with file headers and without @@ lines."""

import pytest

import apply_edit
from apply_edit.errors import ApplyEditError

FILE = "def a():\n    x = 1\n    return x\n\n\ndef b():\n    y = 2\n    return y\n"
HEAD = "--- a/p.py\n+++ b/p.py\n"
BODY = " def b():\n-    y = 2\n+    y = 3\n     return y\n"


def applied(edit):
    """Apply a diff to the file."""
    config = apply_edit.Config(strategy="direct")
    return apply_edit.apply(FILE, edit, path="p.py", config=config).text


@pytest.mark.parametrize(
    "edit",
    [
        HEAD + BODY,
        HEAD + "\n" + BODY,
        HEAD + BODY.replace(" def", "def"),
        HEAD + "-    y = 2\n+    y = 3\n",
        "diff --git a/p.py b/p.py\nindex 1234567..89abcde 100644\n" + HEAD + BODY,
        f"```diff\n{HEAD}{BODY}```\n",
        f"Here it is:\n\n```diff\n{HEAD}{BODY}```\n",
    ],
)
def test_a_body_right_below_the_headers_is_a_hunk(edit):
    """Without its @@ line it is applied all the same, never passed over."""
    assert applied(edit) == FILE.replace("y = 2", "y = 3")


def test_a_body_that_is_not_in_the_file_is_refused():
    """It is no success that nothing was changed."""
    with pytest.raises(ApplyEditError):
        applied(HEAD + BODY.replace("y = 2", "z = 2"))


def test_two_files_without_hunk_lines():
    """The second header ends the body of the first."""
    other = BODY.replace("b()", "a()").replace("y", "x").replace("2", "1")
    edit = HEAD + BODY + "--- a/q.py\n+++ b/q.py\n@@\n" + other
    config = apply_edit.Config(strategy="direct")
    assert apply_edit.apply(FILE, edit, path="p.py", config=config).text == FILE.replace("2", "3")
