"""Changes in places that a sentence does not speak of."""

import pytest

from apply_edit.guard import check
from apply_edit.types import EditFormat, ParsedEdit

FILE = """\
import os


def load(path):
    if not path:
        return None
    return read(path)


def save(path):
    if not path:
        return None
    return write(path, "done")


class Store:
    def load(self):
        return None
"""
FIRST = FILE.replace("return None", "return 0", 1)
BOTH = FILE.replace("        return None\n    return", "        return 0\n    return")


def refused(sentence, text, original=FILE, language="python"):
    """Messages of the check about places."""
    edit = ParsedEdit(EditFormat.INSTRUCTION, instruction=sentence)
    found = check(original, text, edit, language=language)
    return [each.message for each in found if each.check == "unasked_place"]


def test_equal_lines_are_not_all_meant_by_one_sentence():
    """A change made in all equal lines is refused, unless the sentence speaks of several places."""
    (message,) = refused("Return 0 rather than None where there is no path.", BOTH)
    assert "2 lines 'return None' were changed alike" in message
    assert refused("Return 0 rather than None where there is no path.", FIRST) == []
    for several in ("everywhere", "in all functions", "in each of them", "in both places"):
        assert refused(f"Return 0 for None {several}.", BOTH) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "In save(), return 0 when there is no path.",
        "save: return 0 when there is no path",
        "save() should give 0 when there is no path.",
        "Inside the function `save`, return 0 when there is no path.",
    ],
)
def test_a_named_definition_is_the_place(sentence):
    """What the sentence names as the place is where the text may change."""
    (message,) = refused(sentence, FIRST)
    assert "asks for a change in save" in message
    right = FILE[: FILE.index("def save")] + FILE[FILE.index("def save") :].replace("None", "0", 1)
    assert refused(sentence, right) == []


def test_imports_and_mentioned_definitions_may_change_too():
    """A change in one function may need an import, and another function may be spoken of."""
    text = FILE.replace("import os\n", "import os\nimport sys\n")
    text = text.replace('write(path, "done")', "write(path, sys.argv)")
    assert refused("In save(), write sys.argv.", text) == []
    assert refused("In save(), do as load does.", FIRST) == []
    assert refused("Rename load to fetch, in save() too.", FIRST) == []


def test_only_means_one_place():
    """Two changes where the sentence says 'only' are one too many."""
    text = FIRST.replace('"done"', '"ok"')
    (message,) = refused("Give 0 for a missing path only.", text)
    assert "says 'only'" in message
    assert refused("Give 0 for a missing path only.", FIRST) == []


def test_what_the_sentence_says_to_leave_stays():
    """A definition or a quoted text in such a clause must not change."""
    sentence = 'Rename path to name everywhere; save() stays and "done" must not change.'
    text = FILE.replace('write(path, "done")', 'write(name, "done")')
    (message,) = refused(sentence, text)
    assert message == "the sentence says to leave save, and it changed"
    messages = refused(sentence, FILE.replace('"done"', '"name"'))
    assert 'the sentence says to leave "done", and it is gone in one place' in messages
    assert refused(sentence, FIRST) == []


def test_other_edits_say_themselves_where():
    """A snippet or a hunk names its lines."""
    edit = ParsedEdit(EditFormat.LAZY, snippet="        return 0\n")
    assert "unasked_place" not in {each.check for each in check(FILE, BOTH, edit)}
