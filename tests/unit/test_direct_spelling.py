import json

import pytest

from apply_edit.direct import apply_file_edit, select_file
from apply_edit.direct.spelling import Spelling, respelled
from apply_edit.edits import parse
from apply_edit.errors import AnchorNotFound


def typed(text):
    """Write the signs that stand for typographic quotes and dashes in these tests as such."""
    return text.translate(str.maketrans("<>{}~^", "\u2018\u2019\u201c\u201d\u2013\u2014"))


def run(original, edit):
    """Apply an edit of one file."""
    return apply_file_edit(original, select_file(parse(edit, original=original), None)).text


def block(old, new):
    """Write a SEARCH/REPLACE block."""
    return f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"


def replaced(old, new):
    """Write a str_replace edit."""
    return json.dumps({"old_str": old.removesuffix("\n"), "new_str": new.removesuffix("\n")})


def diff(old, new):
    """Write a diff of one hunk."""
    lines = [f"-{line}\n" for line in old.splitlines()] + [f"+{x}\n" for x in new.splitlines()]
    return "@@ -1 +1 @@\n" + "".join(lines)


CHANGES = {
    "quotes": ("a = 'x';\n", "a = <x>;\n", "a = <z>;\n", "a = 'z';\n"),
    "double": (
        'a = "it\'s"\n',
        "a = {it>s}\n",
        "a = {its}\n",
        'a = "its"\n',
    ),
    "more of them": (
        "f('x')\n",
        "f(<x>)\n",
        "f(<x>, <y>)\n",
        "f('x', 'y')\n",
    ),
    "new lines": (
        "a = 'x'\n",
        "a = <x>\n",
        "a = <x>\nb = <y>\n",
        "a = 'x'\nb = 'y'\n",
    ),
    "dashes": ("a - b\n", "a ~ b\n", "a ~ c ~ d\n", "a - c - d\n"),
    "spaces": ("a = 1\n", "a\u00a0= 1\n", "a\u00a0= 2\nb\u00a0= 3\n", "a = 2\nb = 3\n"),
    "kept in the file": ("a ^ b, 1\n", "a - b, 1\n", "a - b, 2\n", "a ^ b, 2\n"),
    "plain stays plain": (
        "x = 1 # a ^ b\n",
        "x = 1 # a - b\n",
        "x = 1 - 2 # a - b\n",
        "x = 1 - 2 # a ^ b\n",
    ),
    "other kinds": (
        "a = 1 - 'x'\n",
        "a = 1 ~ 'x'\n",
        "a = 1 ~ <x>\n",
        "a = 1 - <x>\n",
    ),
    "in words": (
        "f('don>t')\n",
        "f(<don>t>)\n",
        "f(<can>t>)\n",
        "f('can>t')\n",
    ),
}


@pytest.mark.parametrize("write", [block, replaced, diff])
@pytest.mark.parametrize(("file", "old", "new", "expected"), CHANGES.values(), ids=CHANGES)
def test_new_text_has_the_characters_of_the_file(write, file, old, new, expected):
    """What stood for a plain character in the matched text stands for it in the new text."""
    file, old, new, expected = map(typed, (file, old, new, expected))
    assert run(file, write(old, new)) == expected


@pytest.mark.parametrize("write", [block, replaced, diff])
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (
            "a = 'don>t'\n",
            "a = <don>t>\n",
            "a = <don>t> + <b>\n",
        ),
        ("a = 'x'\n", "a = <x>\n", "a = {x}\n"),
        ("a - b\n", "a ~ b\n", "a ~ b\nc ^ d\n"),
    ],
    ids=["two for one", "unknown quote", "unknown dash"],
)
def test_characters_that_cannot_be_told_are_refused(write, file, old, new):
    """A character that stands for two, or for none that is known, is never guessed."""
    with pytest.raises(AnchorNotFound, match="quotes, dashes or spaces"):
        run(typed(file), write(typed(old), typed(new)))


def test_an_exact_find_is_written_as_it_is():
    """Typographic characters go into a file that the edit quotes exactly."""
    assert run("a = 'x'\n", block("a = 'x'\n", typed("a = <z>\n"))) == typed("a = <z>\n")


def test_composed_letters_do_not_hide_what_a_quote_stands_for():
    """Letters that are composed otherwise are counterparts, too."""
    pair = (typed("<caf\u00e9>"), "'cafe\u0301'")
    assert Spelling([pair]).translate(typed("<x>")) == "'x'"
    assert Spelling([(typed("<a>"), "something else")]).translate(typed("<x>")) == typed("<x>")


def test_runs_of_spaces_do_not_hide_what_a_quote_stands_for():
    """A line that was found with other spaces inside tells its quotes, too."""
    edit = block(typed("a = <x>\n"), typed("a = <y>\n"))
    assert run("a =  'x'\n", edit) == "a = 'y'\n"


def test_nothing_is_translated_where_nothing_differs():
    """Without a converted character in the matched text the edit is taken by its word."""
    plain = Spelling([(typed("a <b>"), typed("a <b>"))])
    assert plain.is_plain
    assert respelled("x", "x", typed("{y}"), plain) == typed("{y}")
