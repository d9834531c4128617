from __future__ import annotations

import pytest

from apply_edit.guard import check
from apply_edit.types import EditFormat, ParsedEdit, Severity

FILE = "def f():\n    a = 1\n    b = 2\n    return a\n\ndef g():\n    return 1\n"
LOST = "def f():\n    a = 5\n    {}\n\ndef g():\n    return 1\n"
FORMATS = [EditFormat.LAZY, EditFormat.WHOLE, EditFormat.INSTRUCTION]


def refused(
    text: str,
    snippet: str,
    original: str = FILE,
    language: str | None = "python",
    fmt: EditFormat = EditFormat.LAZY,
) -> set[str]:
    """Return the names of the checks that refuse a text."""
    if fmt is EditFormat.INSTRUCTION:
        edit = ParsedEdit(fmt, instruction="Set a to 5.")
    else:
        edit = ParsedEdit(fmt, snippet=text if fmt is EditFormat.WHOLE else snippet)
    found = check(original, text, edit, language=language)
    return {each.check for each in found if each.severity is Severity.REFUSE}


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("marker", ["# as before", "# etc", "# wie zuvor", "# other", "x = [...]"])
def test_a_likely_marker_in_the_place_of_code_is_refused(marker, fmt):
    """A new line that may be a marker, beside lost lines, is a leak, whoever wrote it."""
    snippet = LOST.format(marker).split("\n\n")[0] + "\n"
    assert "leaked_marker" in refused(LOST.format(marker), snippet, fmt=fmt)


def test_a_likely_marker_with_no_loss_is_a_comment():
    """Where no line is gone such a comment is one like any other."""
    text = FILE.replace("    b = 2", "    # as before\n    b = 2")
    assert refused(text, "    a = 1\n    # as before\n    b = 2\n") == set()
    assert refused(text, "", fmt=EditFormat.WHOLE) == set()


def test_a_comment_that_the_file_has_is_no_leak():
    """It was there before the edit."""
    original = LOST.format("# as before\n    b = 2\n    return a")
    text = LOST.format("# as before")
    assert "leaked_marker" not in refused(text, "", original, fmt=EditFormat.WHOLE)


def test_a_comment_at_the_end_of_a_block_is_refused_in_a_merged_snippet():
    """Whatever its words, it may stand for the rest of the block; a whole file says what it is."""
    snippet = "def f():\n    a = 5\n    # blah\n"
    assert "leaked_marker" in refused(LOST.format("# blah"), snippet)
    assert refused(LOST.format("# blah"), "", fmt=EditFormat.WHOLE) == set()


def test_a_likely_marker_that_was_understood_is_not_missing():
    """A merge that took the comment as a marker has all of the snippet."""
    text = FILE.replace("a = 1", "a = 5")
    assert refused(text, "def f():\n    a = 5\n    # as before\n") == set()


def test_a_body_with_a_likely_marker_is_not_written_out():
    """A definition with one in it does not account for lines that are gone."""
    body = "".join(f"    print({n!r} * {n})\n" for n in range(8))
    original = FILE.replace("    b = 2\n", body)
    text = "def f():\n    a = 5\n\ndef g():\n    return 1\n"
    assert "code_lost" in refused(text, "def f():\n    a = 5\n    # as before\n", original)
    assert "code_lost" not in refused(text, "def f():\n    a = 5\n", original)


@pytest.mark.parametrize(
    ("language", "original", "snippet", "text"),
    [
        ("yaml", "a: 1\nb: 2\n", "a: 5\n...\n", "a: 5\n...\nb: 2\n"),
        (None, "n,x\n1,a\n2,b\n", "n,x\n1,c\n...\n", "n,x\n1,c\n...\n2,b\n"),
        ("markdown", "one\n\ntwo\n", "One\n\n...\n", "One\n\n...\n\ntwo\n"),
    ],
)
def test_bare_dots_of_a_snippet_are_a_leak_in_data_and_text(language, original, snippet, text):
    """Three dots that the snippet has as a marker do not belong into the file."""
    assert "leaked_marker" in refused(text, snippet, original, language)


@pytest.mark.parametrize(
    ("language", "original", "text"),
    [
        ("yaml", "---\na: 1\n", "---\na: 2\n...\n"),
        ("markdown", "one\n\ntwo\n", "one\n\nnew\n...\nnewer\n\ntwo\n"),
        ("markdown", "one\n\n...\n\ntwo\n", "one\n\n...\n\nTwo\n"),
    ],
)
def test_bare_dots_that_are_content(language, original, text):
    """The end of a YAML document, dots in new text and dots of the file are content."""
    assert "leaked_marker" not in refused(text, text, original, language)


def test_dots_in_the_place_of_lines_are_a_leak_in_a_whole_file():
    """A whole file in which dots stand where rows were has lost them."""
    original = "n,x\n1,a\n2,b\n3,c\n"
    assert "leaked_marker" in refused("n,x\n1,a\n...\n", "", original, None, EditFormat.WHOLE)
    longer = "n,x\n1,a\n...\n4,q\n5,r\n6,s\n7,t\n"
    assert "leaked_marker" not in refused(longer, "", original, None, EditFormat.WHOLE)


def test_stubs_in_a_whole_file_are_meant():
    """Who writes the whole file may turn a body into a stub; in a snippet it may be elided."""
    text = "def f(): ...\n\ndef g():\n    return 1\n"
    assert refused(text, "", fmt=EditFormat.WHOLE) == set()
    assert "leaked_marker" in refused(text, "def f(): ...\n")
