import pytest

from apply_edit.edits.unwrap import edit_lines, fences, file_name, named_before, outer_code


def test_prose_around_a_fence_is_taken_off():
    """Only what stands in the fence is the code."""
    assert outer_code("Here:\n\n```python\nx = 1\n```\nDone.\n") == ("x = 1\n", "python")


def test_an_outer_fence_is_closed_by_the_last_fence_line():
    """Fences inside the code do not end it."""
    text = "```python\nA\n```\nB\n```\nC\n```\n"
    assert outer_code(text) == ("A\n```\nB\n```\nC\n", "python")


def test_a_fence_that_the_file_begins_with_is_not_a_wrapper():
    """A Markdown file that is one code block keeps its fences."""
    text = "```text\nnew\n```\n"
    assert outer_code(text, "```text\nold\n```\n") == (text, None)
    assert outer_code(text, "old\n") == ("new\n", "text")


def test_text_without_a_fence_is_itself():
    """No fence, no unwrapping."""
    assert outer_code("x = `1`\n") == ("x = `1`\n", None)


def test_fences_with_a_language_inside_a_fence_nest():
    """An opening fence with an info string inside is closed by the next bare one."""
    (block,) = fences("````\n```py\nx\n```\n````\n")
    assert block.code == "```py\nx\n```\n"
    (outer,) = fences("```md\n```py\nx\n```\ny\n```\n")
    assert outer.code == "```py\nx\n```\ny\n"


def test_a_fence_without_an_end_is_reported_open():
    """A cut-off answer has an open fence."""
    (block,) = fences("```\nx\n")
    assert not block.closed
    assert block.code == "x\n"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("src/app.py", "src/app.py"),
        ("### `b.txt`", "b.txt"),
        ("**dir name/file.txt**", "dir name/file.txt"),
        ("Here is the new version of `a.txt` for you:", "a.txt"),
        ("Makefile", "Makefile"),
        ("Here is the change:", None),
        ("That is all for file.txt.", None),
        ("", None),
        ("a < b.c", None),
    ],
)
def test_file_names_are_told_from_prose(line, name):
    """A line is a file name, has one in backquotes, or names none."""
    assert file_name(line) == name


def test_the_name_above_a_fence_is_looked_for_past_a_blank_line():
    """Blank lines may stand between the name and the block."""
    assert named_before(["a.txt\n", "\n", "```\n"], 2) == "a.txt"
    assert named_before(["\n", "\n", "```\n"], 2) is None


def test_a_lone_carriage_return_does_not_split_a_line_of_an_edit():
    """A diff line with a carriage return inside stays one line."""
    assert edit_lines("-a\rb\r\n+c\n") == ["-a\rb\r\n", "+c\n"]
    assert edit_lines("a\rb") == ["a\r", "b"]


def test_blocks_in_a_row_are_not_one_block():
    """A second block with a language of its own, such as a command to run, is left out."""
    text = "```python\nx = 1\n```\n\nRun it:\n\n```bash\npython x.py\n```\n"
    assert outer_code(text, "x = 0\n") == ("x = 1\n", "python")


def test_thoughts_and_a_tag_around_an_answer_are_taken_off():
    """They belong to the model's answer, unless the file has them."""
    assert outer_code("<think>hm</think>\nx = 1\n", "x = 0\n") == ("x = 1\n", None)
    assert outer_code("<updated-code>\nx = 1\n</updated-code>\n", "x = 0\n") == ("x = 1\n", None)
    text = "<result>\n<b/>\n</result>\n"
    assert outer_code(text, "<result>\n</result>\n") == (text, None)
    assert outer_code(text, None) == (text, None)
