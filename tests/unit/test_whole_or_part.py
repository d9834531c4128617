"""A text without markers: the whole file, a part of it, or a file that was cut off.

Taking a part for the whole deletes the rest of the file, so each case is checked in both ways.
"""

import pytest

import apply_edit
from apply_edit.edits import detect
from apply_edit.edits.sections import lost_blocks
from apply_edit.errors import ApplyEditError
from apply_edit.text import is_cut_off
from apply_edit.types import EditFormat

DIRECT = apply_edit.Config(strategy="direct")

# Path, file, first block, its new form.
FIRST_BLOCKS = [
    (
        "f.js",
        "function f(a) {\n  return a;\n}\n\nfunction g() {\n  return 1;\n}\n",
        "function f(a) {\n  return a;\n}\n",
        "function f(a) {\n  return a * 2;\n}\n",
    ),
    (
        "f.c",
        "int f(int a)\n{\n  return a;\n}\n\nint g(void)\n{\n  return 1;\n}\n",
        "int f(int a)\n{\n  return a;\n}\n",
        "int f(int a)\n{\n  return a + 1;\n}\n",
    ),
    (
        "f.rs",
        "fn f() -> i32 {\n    1\n}\n\nfn g() -> i32 {\n    2\n}\n",
        "fn f() -> i32 {\n    1\n}\n",
        "fn f() -> i32 {\n    7\n}\n",
    ),
    (
        "f.rb",
        "def f(a)\n  a\nend\n\ndef g\n  1\nend\n",
        "def f(a)\n  a\nend\n",
        "def f(a)\n  a * 2\nend\n",
    ),
    (
        "f.css",
        ".a {\n  color: red;\n}\n\n.b {\n  color: blue;\n}\n",
        ".a {\n  color: red;\n}\n",
        ".a {\n  color: green;\n}\n",
    ),
    (
        "f.sql",
        "CREATE TABLE a (\n  id INT\n);\n\nCREATE TABLE b (\n  id INT\n);\n",
        "CREATE TABLE a (\n  id INT\n);\n",
        "CREATE TABLE a (\n  id INT,\n  n TEXT\n);\n",
    ),
    (
        "m.tf",
        'resource "a" "b" {\n  n = 1\n}\n\nresource "c" "d" {\n  n = 2\n}\n',
        'resource "a" "b" {\n  n = 1\n}\n',
        'resource "a" "b" {\n  n = 5\n}\n',
    ),
    (
        "p.py",
        "def main():\n    run()\n\n\ndef run():\n    print(1)\n\n\ndef other():\n    run()\n",
        "def main():\n    run()\n",
        "def main():\n    setup()\n    run()\n",
    ),
    (
        "p.sh",
        "#!/bin/sh\na() {\n  x\n}\n\nb() {\n  y\n}\n",
        "#!/bin/sh\na() {\n  x\n}\n",
        "#!/bin/sh\na() {\n  z\n}\n",
    ),
    (
        "A.java",
        "class A {\n  int f() {\n    return 1;\n  }\n}\n\nclass B {\n  int y;\n}\n",
        "class A {\n  int f() {\n    return 1;\n  }\n}\n",
        "class A {\n  int f() {\n    return 2;\n  }\n}\n",
    ),
]


@pytest.mark.parametrize(
    ("path", "file", "old", "new"), FIRST_BLOCKS, ids=[case[0] for case in FIRST_BLOCKS]
)
@pytest.mark.parametrize("fence", [False, True])
def test_a_new_first_block_leaves_the_others_alone(path, file, old, new, fence):
    """That it begins like the file and ends in a bracket does not make it the file."""
    edit = f"```\n{new}```\n" if fence else new
    assert apply_edit.apply(file, edit, path=path, config=DIRECT).text == file.replace(old, new)


def test_the_larger_part_of_a_file_is_not_the_file():
    """Most lines in common do not delete the small function behind them."""
    large = "def f(a):\n" + "".join(f"    step_{n}(a)\n" for n in range(20))
    file = large + "\n\ndef g():\n    return 1\n"
    new = large.replace("step_3(a)", "step_3(a, 1)")
    assert apply_edit.apply(file, new, path="f.py", config=DIRECT).text == file.replace(large, new)


def test_members_of_a_single_class_are_blocks_too():
    """A class with one of its methods does not delete the other methods."""
    file = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n"
    part = "class A:\n    def f(self):\n        self.n = 0\n        return 1\n"
    assert detect(part, original=file, path="a.py") is EditFormat.LAZY
    with pytest.raises(ApplyEditError):
        apply_edit.apply(file, part, path="a.py", config=DIRECT)
    whole = file.replace("return 2", "return 3")
    assert apply_edit.apply(file, whole, path="a.py", config=DIRECT).text == whole


def test_keys_of_a_json_object_are_blocks():
    """An object with a key less is no new file, unless somebody says so."""
    file = '{\n  "a": {\n    "x": 1\n  },\n  "b": 2\n}\n'
    part = '{\n  "a": {\n    "x": 2\n  }\n}\n'
    with pytest.raises(ApplyEditError, match="an entry of the file is missing"):
        apply_edit.apply(file, part, path="a.json", config=DIRECT)
    whole = apply_edit.Config(strategy="direct", format=EditFormat.WHOLE)
    assert apply_edit.apply(file, part, path="a.json", config=whole).text == part


def test_a_new_version_without_one_function_is_the_whole_file():
    """First and last block and most lines: what is missing in between is deleted."""
    file = "".join(f"def f{n}(a):\n    x = a + {n}\n    return x\n\n\n" for n in range(8))
    new = file.replace("def f3(a):\n    x = a + 3\n    return x\n\n\n", "")
    assert detect(new, original=file, path="f.py") is EditFormat.WHOLE
    assert apply_edit.apply(file, new, path="f.py", config=DIRECT).text == new


def test_blocks_of_one_name_are_told_apart_by_their_first_line():
    """A suite of tests that lacks its last one lacks a block."""
    suite = ['it("adds", () => {', "  x();", "});", 'it("cuts", () => {', "  y();", "});"]
    assert lost_blocks(suite, suite) == ([], False)
    assert lost_blocks(suite, suite[:3]) == (['it("cuts", () => {'], True)
    assert lost_blocks(["<div>", "  a", "</div>"] * 2, ["<div>", "  a", "</div>"])[1]


BIG = "".join(
    f'def f{n}(a):\n    """F {n}."""\n    x = a + {n}\n    if x > {n}:\n        return None\n'
    "    return x\n\n\n"
    for n in range(40)
)


@pytest.mark.parametrize("fmt", [None, EditFormat.WHOLE, EditFormat.LAZY])
@pytest.mark.parametrize("end", ['    """F', "    if x >", "        return Non", "    x = a"])
def test_a_file_that_was_cut_off_is_never_written(fmt, end):
    """An end within a line loses nothing: refused, or the rest of the file stays as it is."""
    new = BIG.replace("x = a + 3\n", "x = a + 33\n")
    for start in (len(new) // 2, len(new) * 9 // 10):
        cut = new[: new.index(end, start) + len(end)]
        config = apply_edit.Config(strategy="direct", format=fmt)
        with pytest.raises(ApplyEditError):
            apply_edit.apply(BIG, cut, path="f.py", config=config)


def test_a_stated_whole_file_must_not_end_within_a_block():
    """Whole lines, but the rest of a function is missing: it was cut off there."""
    config = apply_edit.Config(strategy="direct", format=EditFormat.WHOLE)
    lines = BIG.splitlines(keepends=True)
    with pytest.raises(ApplyEditError, match="may have been cut off"):
        apply_edit.apply(BIG, "".join(lines[: 8 * 39 + 3]), path="f.py", config=config)
    shorter = "".join(lines[: 8 * 39])
    result = apply_edit.apply(BIG, shorter, path="f.py", config=config)
    assert result.text == shorter
    assert any("the last 6 lines of the original" in each.message for each in result.warnings)


def test_a_rewritten_end_is_not_cut_off():
    """A last function that is written anew and shorter is what it is."""
    file = "def f(a):\n    x = a\n    y = x\n    z = y\n    return z\n"
    new = "def f(a):\n    return a\n"
    assert apply_edit.apply(file, new, path="f.py", config=DIRECT).text == new


@pytest.mark.parametrize(
    ("line", "whole", "cut"),
    [
        ("    return self.data.ge", "    return self.data.get(key)", True),
        ('    """F', '    """F 1."""', True),
        ('    ""', '    """F 1."""', True),
        ("  call(a", "  call(a, b);", True),
        ("  const s = `a", "  const s = `a b`;", True),
        ("x = 1", "x = 10", False),
        ("run()", "run()  # all of it", False),
        ("x", "x", False),
        ("", "x", False),
        ("y", "x", False),
    ],
)
def test_a_line_is_cut_off_within_a_word_a_string_or_brackets(line, whole, cut):
    """The beginning of a line that is a line of its own is not cut off."""
    assert is_cut_off(line, whole) is cut


def test_a_snippet_that_ends_with_a_bare_head_is_refused():
    """It shows nothing of the block that it begins, so it was cut off."""
    cut = BIG[: BIG.index("def f30(a):") + len("def f30(a):")]
    with pytest.raises(ApplyEditError, match="ends with the head of a block"):
        apply_edit.apply(BIG, cut.replace("a + 3\n", "a + 33\n"), path="f.py", config=DIRECT)


def test_imports_and_a_part_of_a_class_do_not_delete_its_methods():
    """A snippet that begins like the file and has no marker at its end names no deletion."""
    file = (
        "import os\n\n\nclass S:\n    def __init__(self):\n        self.a = 1\n\n"
        "    def get(self):\n        return self.a\n\n\ndef main():\n    S()\n"
    )
    part = "import os\nimport re\n\n\nclass S:\n    def __init__(self):\n        self.a = 1\n"
    with pytest.raises(ApplyEditError):
        apply_edit.apply(file, part + "        self.n = 0\n", path="s.py", config=DIRECT)
    marked = part + "        self.n = 0\n\n# ... existing code ...\n"
    with pytest.raises(ApplyEditError, match="put a marker inside the block"):
        apply_edit.apply(file, marked, path="s.py", config=DIRECT)
    imports = apply_edit.apply(file, "import os\nimport re\n", path="s.py", config=DIRECT)
    assert imports.text == file.replace("import os\n", "import os\nimport re\n")


PAGE = "# T\n\nHello world.\n"


@pytest.mark.parametrize(
    "line",
    [
        "Here is the updated file:",
        "Sure! Here's your complete README:",
        "I'm sorry, I can't help with that.",
        "Sorry, but I cannot edit this file.",
    ],
)
def test_the_answer_s_words_do_not_become_the_first_line(line):
    """Neither of a document nor of a program, alone or before the file."""
    for path, file in (("r.md", PAGE), ("f.py", BIG)):
        for edit in (f"{line}\n\n{file.replace('3', '4')}", line + "\n"):
            config = apply_edit.Config(strategy="direct", format=EditFormat.WHOLE)
            with pytest.raises(ApplyEditError, match="talks about the answer"):
                apply_edit.apply(file, edit, path=path, config=config)


@pytest.mark.parametrize(
    "line", ["Here is the plan.", "Below is a list of changes:", "Sure things first.", "I am here."]
)
def test_a_document_may_begin_with_words(line):
    """What is no answer's opening is the document's own."""
    config = apply_edit.Config(strategy="direct", format=EditFormat.WHOLE)
    new = f"{line}\n\n{PAGE}"
    assert apply_edit.apply(PAGE, new, path="r.md", config=config).text == new
