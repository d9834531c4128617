from __future__ import annotations

import pytest

from apply_edit.errors import MergeUndetermined
from apply_edit.merge import merge_lazy
from apply_edit.merge.outline import Outline
from apply_edit.merge.readings import Reading, choose

FILE = "def f():\n    a = 1\n    b = 2\n    return a\n\ndef g():\n    return 1\n"
CLASS = (
    "class A:\n    x = 1\n\n    def a(self):\n        return 1\n\n    def b(self):\n"
    "        return 2\n\n    def c(self):\n        return 3\n"
)
YAML = "a: 1\nb: 2\nc: 3\n"
PAGE = "# A\n\ntext a\n\n# B\n\ntext b\n\n# C\n\ntext c\n"
JSON = '{\n  "a": 1,\n  "b": [\n    1,\n    2\n  ],\n  "c": 3\n}\n'


def merged(snippet: str, original: str = FILE, language: str | None = "python") -> str:
    """Return the merged text."""
    return merge_lazy(original, snippet, language=language).text


def refusal(snippet: str, original: str = FILE, language: str | None = "python") -> str:
    """Return the reason of the refusal."""
    with pytest.raises(MergeUndetermined) as caught:
        merge_lazy(original, snippet, language=language)
    assert "line" in caught.value.message
    return str(caught.value.fields["reason"])


WORDINGS = [
    "# snip",
    "# <snip>",
    "# etc",
    "# the rest",
    "# as before",
    "# continue as before",
    "# unchanged part",
    "# no change",
    "# rest omitted",
    "# other code",
    "# ... same ...",
    "pass  # ... existing code ...",
    "# bestehender Code",
    "# wie zuvor",
    "# le reste est inchang\u00e9",
    "# \u4ee5\u4e0b\u4ee3\u7801\u4e0d\u53d8",
]


@pytest.mark.parametrize("marker", WORDINGS)
def test_likely_marker_keeps_the_rest_of_the_body(marker):
    """A comment of such words, where the file has code that it would delete, is a marker."""
    assert merged(f"def f():\n    a = 5\n    {marker}\n") == FILE.replace("a = 1", "a = 5")


@pytest.mark.parametrize("marker", WORDINGS)
def test_likely_marker_between_lines(marker):
    """It is one right above a line, too."""
    original = "import os\n\n" + FILE
    snippet = f"def f():\n    a = 5\n    {marker}\n    return a\n"
    assert merged(snippet, original) == original.replace("a = 1", "a = 5")


@pytest.mark.parametrize("marker", ["# other methods", "# the rest", "# weitere Methoden"])
@pytest.mark.parametrize("gap", ["", "\n"])
def test_likely_marker_for_members(marker, gap):
    """It stands for members of a class, with a blank line behind it or without."""
    snippet = f"class A:\n    {marker}\n{gap}    def c(self):\n        return 33\n"
    assert merged(snippet, CLASS) == CLASS.replace("return 3", "return 33")


@pytest.mark.parametrize("comment", ["# as before", "# the same as above", "# etc.", "# Unchanged"])
def test_such_a_comment_above_a_line_is_kept_where_nothing_is_hidden(comment):
    """A comment right above its line, in whose place the file has no code, is a comment."""
    snippet = f"def f():\n    a = 1\n    {comment}\n    b = 2\n    return a\n"
    assert merged(snippet) == FILE.replace("    b = 2", f"    {comment}\n    b = 2")


def test_such_a_comment_of_the_file_is_code():
    """A line that the file has is no marker."""
    original = FILE.replace("    b = 2", "    # as before\n    b = 2")
    snippet = "def f():\n    a = 1\n    # as before\n    b = 3\n    return a\n"
    assert merged(snippet, original) == original.replace("b = 2", "b = 3")


def test_such_a_comment_in_a_new_function_is_kept():
    """The file has no code in a block that it does not have."""
    snippet = "# ... existing code ...\n\ndef h():\n    x = 1\n    # etc\n"
    assert merged(snippet) == FILE + "\ndef h():\n    x = 1\n    # etc\n"


@pytest.mark.parametrize(
    "comment",
    ["# the rest of the arguments are passed through", "# a, b,\n    # etc.", "# note: as before"],
)
def test_a_comment_with_something_to_say_is_kept(comment):
    """A sentence stays, also where the code below it takes the place of other code."""
    snippet = f"def f():\n    {comment}\n    return g()\n"
    rest = FILE[FILE.index("\ndef g") :]
    if "etc" in comment:
        assert refusal(snippet) == "marker_unclear"
    else:
        assert merged(snippet) == snippet + rest


@pytest.mark.parametrize("comment", ["# other", "# (body)", "# original", "# blah", "# TODO: rest"])
def test_a_doubtful_comment_never_deletes(comment):
    """Where it ends a block whose rest would go, any comment may be meant as a marker."""
    assert refusal(f"def f():\n    a = 5\n    {comment}\n") == "marker_unclear"


def test_a_comment_at_the_end_of_a_block_may_take_the_place_of_comments():
    """No code is lost where a comment is reworded, added, or code is commented out."""
    text = "def f():\n    a = 1\n    b = 2\n    # return a\n"
    assert merged(text) == FILE.replace("return a", "# return a")
    original = FILE.replace("    return a", "    return a\n    # old words about it")
    snippet = "def f():\n    a = 1\n    b = 2\n    return a\n    # a quite different text\n"
    assert merged(snippet, original) == FILE.replace(
        "return a", "return a\n    # a quite different text"
    )


def test_a_comment_that_is_all_there_is_to_change_is_refused():
    """Added or a marker: nothing else in the snippet tells."""
    assert refusal("    b = 2\n    # etc\n") == "marker_unclear"


def test_likely_marker_whose_place_is_not_clear():
    """The refusal says why the line is read as a marker, and what is not clear then."""

    def read(markers: frozenset[int]) -> Reading:
        if markers:
            raise MergeUndetermined("no place", reason="ambiguous", line=1)
        return Reading("def f():\n    a = 5\n    # as is\n")

    with pytest.raises(MergeUndetermined, match=r"no place.*line 3, '# as is'") as caught:
        choose(Outline(tuple(FILE.splitlines())), "def f():\n    a = 5\n    # as is\n", None, read)
    assert caught.value.fields["reason"] == "ambiguous"


def test_likely_markers_are_decided_one_by_one():
    """In one snippet one comment may be a marker, and another a comment."""
    original = "import os\n\n" + FILE
    snippet = "def f():\n    a = 5\n    # as before\n    return a\n\ndef g():\n    # etc.\n"
    expected = original.replace("a = 1", "a = 5")
    assert merged(snippet + "    return 1\n", original) == expected.replace(
        "    return 1", "    # etc.\n    return 1"
    )


@pytest.mark.parametrize(
    ("snippet", "expected"),
    [
        ("a: 5\n...\n", "a: 5\nb: 2\nc: 3\n"),
        ("a: 5\n...\nc: 4\n", "a: 5\nb: 2\nc: 4\n"),
        ("...\nc: 4\n", "a: 1\nb: 2\nc: 4\n"),
        ("a: 5\n# rest as before\n", "a: 5\nb: 2\nc: 3\n"),
    ],
)
def test_bare_dots_in_yaml(snippet, expected):
    """Without `---` nothing ends a document, so three dots are a marker."""
    assert merged(snippet, YAML, "yaml") == expected


def test_the_end_of_a_yaml_document():
    """With `---`, dots behind the last line end the document, and dots before others do not."""
    original = "---\n" + YAML
    assert merged("---\na: 5\n...\n", original, "yaml") == original.replace("a: 1", "a: 5")
    ended = "---\na: 1\nb: 2\nc: 4\n...\n"
    assert merged(ended, original, "yaml") == ended


@pytest.mark.parametrize("dots", ["...", "\u2026", "[...]"])
def test_bare_dots_in_data_of_unknown_language(dots):
    """In a table three dots stand for the rows that are not shown."""
    table = "id,name\n1,a\n2,b\n3,c\n"
    assert merged(f"id,name\n1,a\n2,bb\n{dots}\n", table, None) == table.replace("2,b", "2,bb")
    assert merged(f"id,name\n{dots}\n3,cc\n", table, None) == table.replace("3,c", "3,cc")


def test_bare_dots_in_a_document():
    """Between lines of the file three dots are a marker, in new text they are text."""
    snippet = "# A\n\ntext a\n\n...\n\n# C\n\nnew text c\n"
    assert merged(snippet, PAGE, "markdown") == PAGE.replace("text c", "new text c")
    example = "```python\ndef f():\n    ...\n```\n"
    snippet = f"# A\n\ntext a\n\n{example}\n# B\n"
    expected = PAGE.replace("# B\n", f"{example}\n# B\n")
    assert merged(snippet, PAGE, "markdown") == expected


def test_bare_dots_of_a_document_that_are_not_clear_are_refused():
    """Dots that stand for nothing, or in whose place text goes, have no plain reading."""
    text = "first line\nsecond line\nthird line\n"
    assert refusal("...\nsecond line\n...\nthird line\n", text, "text") == "marker_unclear"
    assert refusal("all new\n...\nother words\n", "a\nb\nc\nd\ne\n", None) == "no_anchor"
    page = "# A\n\nfirst words\nmiddle words\nlast words\n\n# B\n"
    snippet = "# A\n\nxyz\n...\nuvw\n\n# B\n"
    assert refusal(snippet, page, "markdown") == "marker_unclear"


def test_a_heading_of_such_words_is_a_heading():
    """In a document `## Rest` opens a section."""
    snippet = "# A\n\ntext a\n\n## Rest\n\nnew\n\n# B\n"
    expected = PAGE.replace("text a\n", "text a\n\n## Rest\n\nnew\n")
    assert merged(snippet, PAGE, "markdown") == expected


@pytest.mark.parametrize(
    "member",
    ['"...": "..."', '"...": ...', '"// ...": ""', '"...": ""', '"//": "... rest"', "// as before"],
)
def test_a_member_of_dots_stands_for_members(member):
    """A member of an object with dots for its name stands for those that are not shown."""
    expected = JSON.replace('"a": 1', '"a": 2')
    assert merged(f'{{\n  "a": 2,\n  {member}\n}}\n', JSON, "json") == expected


@pytest.mark.parametrize("member", ['"b": ["..."]', '"b": "..."', '"..."', "...,"])
def test_a_value_of_dots_is_refused(member):
    """Dots for a value that the file writes out are neither new nor a marker of their own."""
    snippet = f'{{\n  "a": 1,\n  {member}\n}}\n'
    assert refusal(snippet, JSON, "json") in ("marker_unclear", "deletion_unclear", "syntax")


@pytest.mark.parametrize("marker", ["[rest of file unchanged]", "(rest unchanged)", "...", "[...]"])
def test_a_new_first_paragraph_of_a_document_is_refused(marker):
    """Above a marker it may be new or replace the first line of the file."""
    letter = "Dear Bob,\n\nthanks for the letter.\n\nYours,\nAl\n"
    assert refusal(f"Dear Alice,\n\n{marker}\n", letter, "text") == "replace_or_add"
