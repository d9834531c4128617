from __future__ import annotations

import pytest

from apply_edit.markers import (
    is_bare_ellipsis,
    is_marker,
    marker_subject,
    removal_comment,
    trailing_marker,
)

MARKERS = [
    "// ... existing code ...",
    "    # ... existing code ...",
    "\t-- rest of the file unchanged",
    "; ... rest ...",
    "% ...",
    "/* ... existing styles ... */",
    "<!-- ... -->",
    "      {/* ... rest of JSX ... */}",
    '"""... existing docstring ..."""',
    "' ... existing code ...",
    "// …",
    "# ⋮",
    ".. ... existing code ...",
    "[the rest of the file is unchanged]",
    "(same as before)",
    "// ... same ...",
    "// other methods remain the same",
    "// rest of the class",
    "# existing imports",
    "# keep the rest",
    "# ... rest of file unchanged",
    "// ... other methods",
    "// existing code",
    "... existing code ...",
    "...existing code...",
    "# ... (unchanged) ...",
    "// [existing code]",
    "// unchanged",
    "// The rest of the code remains unchanged",
    "# ... 12 lines ...",
    "# ... keep login and logout ...",
    "// ... imports ...",
    "// ---- existing code ----",
    "//...",
    " * ... existing code ...",
    "{# ... existing markup ... #}",
    "# ... existing code ...\r\n",
]
NOT_MARKERS = [
    "",
    "# ... see above",
    "...",
    "    ...",
    "...args,",
    "  ...existingUsers,",
    "0..10",
    "---",
    "# remove trailing white space",
    "// TODO: keep the rest of the buffer for the next read",
    "# existing users are skipped",
    "# The rest of the file is read lazily",
    "// the same value is used below",
    "# Unchanged",
    "# same as foo",
    "return x  # unchanged",
    "// keep existing value if nothing was passed",
    "# Keep all rows",
    "// Rest parameters are collected in an array",
    '"..."',
    "x = ...",
    "# e.g. a, b, ...",
    "# loading...",
    "// Existing connections are closed first",
    "// previous value",
    "# other methods",
    "The rest of the file is unchanged.",
    '"""..."""',
    "# type: ignore",
    "// remaining bytes",
    "// unchanged files are skipped",
    "# the values remain unchanged",
    "# someone was calling it, so it stays for now...",
]


@pytest.mark.parametrize("line", MARKERS)
def test_markers_are_recognised(line):
    """Comments and bracketed prose that stand for elided code are markers."""
    assert is_marker(line)


@pytest.mark.parametrize("line", NOT_MARKERS)
def test_code_and_real_comments_are_not_markers(line):
    """Code with dots and comments that a programmer would write are not markers."""
    assert not is_marker(line)


@pytest.mark.parametrize("line", ["...", "    ...\n", "…", "[...]", "(...)"])
def test_bare_ellipsis_is_left_to_the_caller(line):
    """An ellipsis alone is reported as such, and not as a marker."""
    assert is_bare_ellipsis(line)
    assert not is_marker(line)


def test_commented_ellipsis_is_not_bare():
    """With a comment sign an ellipsis is a marker."""
    assert not is_bare_ellipsis("# ...")


def test_trailing_marker_is_split_from_the_code():
    """Code, marker and closing brackets of one line are told apart."""
    line = "function f() { /* ... existing code ... */ }\n"
    assert trailing_marker(line) == ("function f() {", "/* ... existing code ... */", " }")
    assert trailing_marker("def f():  # ... existing code ...") == (
        "def f():",
        "# ... existing code ...",
        "",
    )


@pytest.mark.parametrize("line", ["x = 1  # one", "// ... existing code ...", "f(...args)"])
def test_line_without_trailing_marker(line):
    """A line of code with a real comment, or a marker alone, has no trailing marker."""
    assert trailing_marker(line) is None


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("# remove foo", "foo"),
        ("    // removed: bar()", "bar()"),
        ("/* Delete the legacy_login function */", "the legacy_login function"),
        ("# foo removed.", "foo"),
        ("-- drop table_name", "table_name"),
    ],
)
def test_removal_comment_gives_what_is_to_go(line, what):
    """A comment that asks for a removal gives back its object in its own words."""
    assert removal_comment(line) == what


@pytest.mark.parametrize("line", ["remove(foo)", "# removal of foo", "# foo", "del foo"])
def test_other_lines_are_no_removal_comments(line):
    """Code and other comments ask for no removal."""
    assert removal_comment(line) is None


@pytest.mark.parametrize(
    ("line", "subject"),
    [
        ("# ... existing imports ...", "imports"),
        ("// ... existing code ...", None),
        ("# ... keep login and logout ...", "login and logout"),
        ("x = 1", None),
    ],
)
def test_marker_subject(line, subject):
    """A marker that names what it keeps gives the name, without filler words."""
    assert marker_subject(line) == subject
