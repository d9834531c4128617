"""New forms of comments, docstrings and calls that the snippet hides behind a marker."""

import pytest

from apply_edit.errors import MergeUndetermined
from apply_edit.guard import check
from apply_edit.merge import merge_lazy
from apply_edit.types import EditFormat, ParsedEdit, Severity

FILE = '''\
def load(path):
    """Load a file.

    path: where it is
    """
    # open it
    with open(path) as f:
        text = f.read()
    return parse(text)


@cache
def other(a):
    """Other thing."""
    log("other", a)
    check(a)
    return a * 2
'''
MARK = "# ... existing code ...\n"


def merged(snippet, language="python", file=FILE):
    """Merge a snippet."""
    return merge_lazy(file, snippet, language=language).text


@pytest.mark.parametrize(
    "docstring",
    [
        '    """Double it."""\n',
        '    """Double it.\n\n    a: a number\n    """\n',
        "    '''Double it.'''\n",
    ],
)
def test_a_docstring_takes_the_place_of_the_docstring(docstring):
    """Whatever the length of either: a function has one."""
    snippet = f"{MARK}def other(a):\n{docstring}    {MARK}\n{MARK}"
    assert merged(snippet) == FILE.replace('    """Other thing."""\n', docstring)
    old = FILE[FILE.index('    """Load') : FILE.index("    # open")]
    snippet = f"def load(path):\n{docstring}    {MARK}\n{MARK}"
    expected = FILE.replace(old, docstring)
    assert merged(snippet) == expected
    edit = ParsedEdit(EditFormat.LAZY, snippet=snippet)
    refused = [
        each.check
        for each in check(FILE, expected, edit, language="python")
        if each.severity is Severity.REFUSE
    ]
    assert refused == []


def test_new_lines_behind_a_new_docstring_are_added():
    """What follows the new docstring stands where the old one ended."""
    snippet = f'{MARK}def other(a):\n    """Double."""\n    a = int(a)\n    {MARK}'
    assert merged(snippet) == FILE.replace(
        '    """Other thing."""\n', '    """Double."""\n    a = int(a)\n'
    )


def test_a_first_statement_that_is_no_string_is_not_a_docstring():
    """A new statement below the head is added in front of nothing else."""
    file = "def f(a):\n    return a\n"
    snippet = f"def f(a):\n    x = 'text'\n    {MARK}"
    assert merged(snippet, file=file) == "def f(a):\n    x = 'text'\n    return a\n"


def test_a_comment_right_above_a_line_takes_the_place_of_the_one_there():
    """Between comment and line there is no room for the old one."""
    snippet = f"{MARK}    # open the file for reading\n    with open(path) as f:\n{MARK}"
    assert merged(snippet) == FILE.replace("# open it", "# open the file for reading")


def test_a_comment_above_hidden_code_with_a_comment_is_refused():
    """Nobody can say whether both are to stay."""
    snippet = f'{MARK}    path: where it is\n    """\n    # try it\n    {MARK}'
    with pytest.raises(MergeUndetermined, match="the comment may be new or replace"):
        merged(snippet)


def test_a_long_comment_is_not_replaced_by_a_short_one():
    """Above a plain line a block of many comment lines may be about more than that line."""
    file = "a()\n# one\n# two\n# three\n# four\nb()\n"
    with pytest.raises(MergeUndetermined, match="the comment may be new or replace"):
        merged(f"{MARK}# other\nb()\n", file=file)


@pytest.mark.parametrize(
    ("language", "old", "new"),
    [("c", "#include <a.h>", "#include <b.h>"), ("css", "#main {", "#x {"), ("sh", "#!x", "#!y")],
)
def test_directives_are_no_comments(language, old, new):
    """What only looks like a comment is not replaced as one."""
    file = f"{old}\nint x;\nint y;\n"
    try:
        text = merged(f"{new}\nint x;\n// ...\n", language=language, file=file)
    except MergeUndetermined:
        return
    assert old in text


def test_a_decorator_beside_a_hidden_one_is_refused():
    """It may be stacked on it or take its place."""
    snippet = f"{MARK}@lru_cache(maxsize=10)\ndef other(a):\n    {MARK}"
    with pytest.raises(MergeUndetermined, match="it may be new or replace line 12"):
        merged(snippet)


def test_a_call_with_the_arguments_of_a_hidden_one_is_refused():
    """Another function with nearly the same arguments may be its new form; other calls are new."""
    head = f'{MARK}def other(a):\n    """Other thing."""\n'
    with pytest.raises(MergeUndetermined, match="it may be new or replace line 15"):
        merged(f'{head}    logger.info("other %s", a)\n    {MARK}')
    added = merged(f"{head}    prepare()\n    {MARK}")
    assert added == FILE.replace('    log("other"', '    prepare()\n    log("other"')


@pytest.mark.parametrize(
    ("old", "new"), [("PORT=80", "PORT=81"), ("export A=1", "export A=2"), ("set B=2", "set B=3")]
)
def test_a_variable_without_spaces_is_the_same_variable(old, new):
    """Shell, batch and environment files assign without spaces."""
    file = f"FIRST=1\n{old}\nLAST=3\n"
    assert merged(f"FIRST=1\n{new}\n# ...\n", language=None, file=file) == file.replace(old, new)


def test_a_shorter_comment_has_lost_no_code():
    """A comment of five lines that becomes one is no lost code; lines of code beside it are."""
    file = "/**\n * One.\n * Two.\n * Three.\n * Four.\n */\nint f() {\n  return 1;\n}\nint g;\n"
    snippet = "/** All. */\nint f() {\n  // ...\n}\n// ...\n"
    text = "/** All. */\nint f() {\n  return 1;\n}\nint g;\n"
    edit = ParsedEdit(EditFormat.LAZY, snippet=snippet)
    assert check(file, text, edit, language="java") == []
    lost = check(file, text.replace("  return 1;\n", ""), edit, language="java")
    assert [each.check for each in lost if each.severity is Severity.REFUSE] != []


@pytest.mark.parametrize(
    ("language", "head", "end"),
    [("javascript", "function f(a) {", "}\n"), ("python", "def f(a):", "")],
)
def test_a_first_function_with_a_marker_inside_stands_for_itself(language, head, end):
    """One definition does not need a marker behind it, also where it begins the file."""
    mark = "//" if end else "#"
    body = f"{head}\n  const_x = a\n  log(x)\n{end}\n\n"
    file = body + body.replace("f(a)", "g(a)") + body.replace("f(a)", "h(a)")
    snippet = f"{head}\n  const_x = a * 2\n  {mark} ... existing code ...\n{end}"
    expected = file.replace("const_x = a\n", "const_x = a * 2\n", 1)
    assert merged(snippet, language=language, file=file) == expected
