import pytest

from apply_edit import Applier, Config
from apply_edit.merge import merge_lazy
from apply_edit.scope import find_windows, put_back
from tests.fakes import writing_engine


def module(num_functions: int, newline: str = "\n") -> str:
    """Return a Python file of many small functions."""
    body = "\n\n".join(
        f"def step_{i}(value):\n    checked = check_{i}(value)\n    return checked + {i}\n"
        for i in range(num_functions)
    )
    return ("import os\n\n\n" + body).replace("\n", newline)


SNIPPET = """# ... existing code ...

def step_20(value):
    checked = check_20(value)
    return checked - 20

# ... existing code ...
"""


def windows_of(original, snippet):
    """Return the windows of a Python file."""
    return find_windows(
        original, snippet, merge_lazy(original, snippet, language="python"), "python"
    )


def test_a_window_holds_the_whole_definition_and_its_part_of_the_snippet():
    """The target sees the changed function with some lines around, and the snippet's lines."""
    original = module(100)
    (window,) = windows_of(original, SNIPPET)
    assert "def step_20(value):" in window.text
    assert window.text in original
    assert window.text.count("\n") < 30
    assert "return checked - 20" in window.snippet
    assert "return checked - 20" in window.prediction


def test_far_changes_get_windows_of_their_own():
    """Two changes far apart give two windows in the file's order, each with its own lines."""
    snippet = SNIPPET + SNIPPET.replace("20", "70").removeprefix("# ... existing code ...\n")
    first, second = windows_of(module(100), snippet)
    assert first.end <= second.start
    assert "70" not in first.snippet
    assert "return checked - 70" in second.snippet


def test_a_small_file_is_shown_whole():
    """A file of less than a hundred lines is not cut."""
    assert windows_of(module(15), SNIPPET.replace("20", "10")) is None


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("at", ["start", "middle", "end"])
def test_predictions_put_back_are_the_merge(newline, at):
    """Windows cover all changes, at the start and the end of the file too."""
    original = module(100, newline)
    snippet = {
        "start": "import os\nimport sys\n\n\ndef step_0(value):\n    # ... existing code ...\n\n"
        "# ... existing code ...\n",
        "middle": SNIPPET,
        "end": "# ... existing code ...\n\ndef step_99(value):\n    checked = check_99(value)\n"
        "    return checked - 99\n",
    }[at]
    merge = merge_lazy(original, snippet, language="python")
    windows = find_windows(original, snippet, merge, "python")
    assert windows
    assert put_back(original, windows, [w.prediction for w in windows]) == merge.text


def test_the_cost_follows_the_edit_and_not_the_file():
    """The same edit in a file ten times as long processes hardly more tokens, same result."""
    widths = {}
    for size in (40, 400, 4000):
        original = module(size)
        expected = original.replace("return checked + 20\n", "return checked - 20\n")
        engine = writing_engine(lambda prompt: prompt_window(prompt).replace("+ 20\n", "- 20\n"))
        applier = Applier(Config(strategy="model", gamma=500), engine=engine)
        result = applier.apply(original, SNIPPET, path="steps.py")
        assert result.text == expected
        assert result.report.windows == 1
        widths[size] = sum(engine.target.widths)
    assert widths[4000] <= 1.1 * widths[40]


def prompt_window(prompt: str) -> str:
    """Return the code that a prompt shows."""
    return prompt.split("<code>\n", 2)[-1].split("</code>", 1)[0]


def test_the_whole_file_can_be_asked_for():
    """--scope file shows everything."""
    original = module(40)
    expected = original.replace("return checked + 20\n", "return checked - 20\n")
    applier = Applier(Config(strategy="model", scope="file"), engine=writing_engine(expected))
    result = applier.apply(original, SNIPPET, path="steps.py")
    assert (result.text, result.report.windows) == (expected, 0)


def test_an_answer_without_a_final_newline_does_not_join_lines():
    """A window's answer that lacks its last newline does not run into the next line."""
    (window,) = windows_of(module(100), SNIPPET)
    text = put_back(module(100), [window], [window.prediction.rstrip("\n")])
    assert text == put_back(module(100), [window], [window.prediction.rstrip("\n") + "\n"])
