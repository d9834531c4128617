import pytest

from apply_edit.edits import detect, parse
from apply_edit.errors import EditParseError
from apply_edit.types import EditFormat, FileOp

ORIGINAL = "import os\n\n\ndef a():\n    return 1\n\n\ndef b():\n    return 2\n"
DIFF = "--- a/f.py\n+++ b/f.py\n@@ -4,2 +4,2 @@\n def a():\n-    return 1\n+    return 3\n"
BLOCK = "<<<<<<< SEARCH\n    return 1\n=======\n    return 3\n>>>>>>> REPLACE\n"
PATCH = f"*** Begin Patch\n*** Update File: f.py\n{DIFF[DIFF.index('@@') :]}*** End Patch\n"
CASES = [
    (DIFF, EditFormat.UDIFF),
    ("-    return 1\n+    return 3\n", EditFormat.UDIFF),
    ("def a():\n+    x = 1\n    return 1\n", EditFormat.UDIFF),
    ("```diff\n-x\n+y\n```\n", EditFormat.UDIFF),
    (BLOCK, EditFormat.SEARCH_REPLACE),
    (BLOCK.replace("SEARCH\n", "SEARCH\n:start_line:5\n-------\n"), EditFormat.ROO_DIFF),
    (BLOCK.replace("<<<<<<<", "-------").replace(">>>>>>>", "+++++++"), EditFormat.ROO_DIFF),
    (PATCH, EditFormat.V4A),
    ('{"old_str": "1", "new_str": "3"}', EditFormat.STR_REPLACE),
    ("def a():\n    # ... existing code ...\n    return 3\n", EditFormat.LAZY),
    ("def a():\n    ...\n    return 3\n", EditFormat.LAZY),
    ("def a():\n    return 3\n", EditFormat.LAZY),
    (ORIGINAL.replace("1", "3"), EditFormat.WHOLE),
    ("```python\n" + ORIGINAL.replace("1", "3") + "```\n", EditFormat.WHOLE),
    ("Make a() return 3 instead of 1.", EditFormat.INSTRUCTION),
    ("Please do this:\n- Let a return 3.\n- Leave b as it is.\n", EditFormat.INSTRUCTION),
]


@pytest.mark.parametrize(("edit", "fmt"), CASES)
def test_the_format_is_told_by_the_text(edit, fmt):
    """Every format is recognised alone."""
    assert detect(edit, original=ORIGINAL, path="f.py") is fmt


@pytest.mark.parametrize(("edit", "fmt"), [c for c in CASES if "```" not in c[0]][3:8])
def test_the_format_is_told_inside_prose_and_fence(edit, fmt):
    """Prose and a fence around an edit do not hide it."""
    wrapped = f"Here is the change:\n\n```\n{edit}\n```\n\nHope this helps!\n"
    assert detect(wrapped, original=ORIGINAL) is fmt


def test_a_snippet_that_leaves_a_definition_out_is_not_the_whole_file():
    """Brackets in common do not make a snippet speak for the file; it would lose code."""
    original = (
        "class A {\n  a() {\n    return 1;\n  }\n}\n\nclass B {\n  b() {\n    return 2;\n  }\n}\n"
    )
    assert detect(original[original.index("class B") :], original=original) is EditFormat.LAZY


def test_a_file_of_one_definition_is_replaced_by_that_definition():
    """Where the file is one function, that function is the file."""
    original = "def f(a):\n    x = a\n    return x\n"
    assert detect("def f(a):\n    return a\n", original=original) is EditFormat.WHOLE


def test_a_document_about_edits_is_not_an_edit():
    """A new version of a page that shows SEARCH/REPLACE blocks is the page, not its example."""
    page = f"# How to edit\n\nWrite:\n\n{BLOCK}\nor\n\n{PATCH}"
    assert detect(page.replace("Write", "Type"), original=page) is EditFormat.WHOLE
    assert detect(DIFF.replace("3", "4"), original=DIFF, path="f.patch") is EditFormat.WHOLE


def test_a_new_file_is_a_whole_file():
    """Where there is no file, code without markers is the file."""
    assert detect("x = [1]\n", original=None) is EditFormat.WHOLE
    assert detect("x = [1]\n", original="") is EditFormat.WHOLE


def test_a_list_of_signed_lines_that_the_file_has_is_not_a_diff():
    """Markdown bullets and YAML items begin with a dash too."""
    original = "- one\n- two\n"
    assert detect("- one\n- two\n- three\n", original=original) is EditFormat.WHOLE


def test_named_fences_of_several_files_are_whole_files():
    """Each file gets the text below its name."""
    edit = "### a.txt\n```\nA\n```\n\n### b.txt\n```\nB\n```\n"
    assert detect(edit, original="x\n") is EditFormat.WHOLE
    files = parse(edit, EditFormat.WHOLE).files
    assert [(f.path, f.op, f.hunks[0].new) for f in files] == [
        ("a.txt", FileOp.REPLACE, "A\n"),
        ("b.txt", FileOp.REPLACE, "B\n"),
    ]


def test_json_files_are_not_mistaken_for_edits():
    """New content of a JSON file is code, whatever its keys are."""
    text = '{"command": "create", "id": 1}\n'
    assert detect(text, original=text.replace("1", "2"), path="a.json") is EditFormat.WHOLE


def test_parsing_without_a_format_detects_it():
    """The detected format is in the result."""
    assert parse(DIFF, original=ORIGINAL).format is EditFormat.UDIFF
    lazy = parse("```py\ndef a():\n    # ...\n```\n", original=ORIGINAL)
    assert (lazy.format, lazy.snippet) == (EditFormat.LAZY, "def a():\n    # ...\n")
    said = parse("Make a() return 3.\n", original=ORIGINAL)
    assert (said.format, said.instruction) == (EditFormat.INSTRUCTION, "Make a() return 3.")


def test_a_whole_file_in_an_open_fence_is_refused():
    """An answer that was cut off must not replace the file."""
    with pytest.raises(EditParseError, match="cut off"):
        parse("```python\nx = 1\n", EditFormat.WHOLE)


def test_a_document_that_shows_diffs_is_a_whole_file():
    """Marks that the file itself has do not make its new text a diff."""
    text = "# T\n\n```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\n\nText.\n"
    assert detect(text.replace("Text", "Words"), original=text) is EditFormat.WHOLE
    assert detect(text.replace("# T", "# U"), original=text) is EditFormat.WHOLE
    lazy = text[: text.index("Text")] + "<!-- ... existing content ... -->\n"
    assert detect(lazy, original=text) is EditFormat.LAZY
    diff = "--- a/d.md\n+++ b/d.md\n@@ -11 +11 @@\n-Text.\n+Words.\n"
    assert detect(diff, original=text) is EditFormat.UDIFF


def test_a_program_that_holds_blocks_in_strings_is_a_whole_file():
    """The block in the string is the file's."""
    text = f"import os\n\nX = '''\n{BLOCK}'''\n\n\ndef f():\n    return X\n"
    new = text.replace("import os\n\n", "").replace("return X", "return 1")
    assert detect(new, original=text) is EditFormat.WHOLE


def test_a_data_file_with_the_keys_of_edits_is_a_whole_file():
    """JSON like the file's is its content; an edit of another shape is an edit."""
    text = '{\n  "old": "x",\n  "new": "y"\n}\n'
    assert detect(text.replace('"y"', '"z"'), original=text, path="a.json") is EditFormat.WHOLE
    edit = '{"old_str": "y", "new_str": "z"}'
    assert detect(edit, original=text, path="a.json") is EditFormat.STR_REPLACE
    edit = '{"search": "1", "replace": "2"}'
    assert detect(edit, original='{"a": 1}\n', path="a.json") is EditFormat.STR_REPLACE


def test_code_that_the_file_has_is_no_marker():
    """A bare ellipsis that the file has does not make its new text a snippet."""
    text = (
        "import a\n\n\nclass P:\n    def f(self):\n        ...\n\n    def g(self):\n        ...\n"
    )
    assert detect(text.replace("import a\n", ""), original=text) is EditFormat.WHOLE


def test_one_line_like_the_first_is_not_the_whole_file():
    """A new import is a snippet, however short the file is."""
    text = "import os\n\n\ndef main():\n    return 0\n"
    assert detect("import sys\n", original=text) is EditFormat.LAZY


@pytest.mark.parametrize(
    "said", ["rename main to run", "Add a docstring to main()", "add type hints", "set x = 5 in f"]
)
def test_a_wish_in_small_letters_is_an_instruction(said):
    """It begins with what is to be done."""
    assert detect(said, original=ORIGINAL) is EditFormat.INSTRUCTION


def test_a_statement_in_capitals_is_code():
    """SQL and Dockerfiles shout."""
    assert detect("SELECT * FROM users\n", original=ORIGINAL) is not EditFormat.INSTRUCTION


def test_plus_signs_at_the_margin_make_a_diff_although_a_context_line_is_misquoted():
    """The sign must not get into the file."""
    text = "class A {\n  f(\n    a: string\n  ) {\n  }\n}\n"
    edit = "class A {\n  f(\n    a: string,\n+    b: string\n  ) {\n  }\n"
    assert detect(edit, original=text) is EditFormat.UDIFF
