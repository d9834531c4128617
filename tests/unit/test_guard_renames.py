"""An old name that is still there after a sentence asked to rename it."""

import pytest

from apply_edit.guard import check
from apply_edit.types import EditFormat, ParsedEdit

FILE = '''\
def mean(values, n):
    """Mean of the last n values."""
    return sum(values[-n:]) / n


def total(values, n):
    log("n is", n)  # n
    return mean(values, n=n)
'''
DONE = FILE.replace("values, n)", "values, window)", 1).replace(
    "[-n:]) / n", "[-window:]) / window"
)


def refused(sentence, text):
    """Messages of the check about names."""
    edit = ParsedEdit(EditFormat.INSTRUCTION, instruction=sentence)
    found = check(FILE, text, edit, language="python")
    return [each.message for each in found if each.check == "name_left"]


def test_a_name_that_is_left_in_one_place_is_refused():
    """Within the function that the sentence names, code must not have the old name."""
    sentence = "Rename the parameter n of mean to window."
    half = DONE.replace("/ window", "/ n")
    (message,) = refused(sentence, half)
    assert message == "n was to become window, and line 3 of the result still has n"
    assert refused(sentence, DONE) == []


def test_words_count_where_the_sentence_speaks_of_them():
    """A docstring may keep the word unless it was asked for."""
    assert refused("Rename the parameter n of mean to window, docstring included.", DONE)
    done = DONE.replace("last n", "last window")
    assert refused("Rename the parameter n of mean to window, docstring included.", done) == []


def test_without_a_place_the_whole_file_is_meant():
    """Strings and comments apart."""
    assert refused("Rename n to window everywhere.", DONE)
    everywhere = DONE.replace("values, n):", "values, window):").replace('is", n)', 'is", window)')
    everywhere = everywhere.replace("n=n", "window=window")
    assert refused("rename `n` to `window`", everywhere) == []
    assert refused("Please rename variable n into window in this file", everywhere) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Rename n to window in mean only.",
        "Rename n to window, but keep it in total.",
        "Rename n to width.",  # no such name came in, so another check has to see it
        "Return window.",
    ],
)
def test_exceptions_are_not_weighed(sentence):
    """Where the sentence leaves room, nothing is said."""
    assert refused(sentence, DONE.replace("/ window", "/ n")) == []
