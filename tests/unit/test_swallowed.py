from __future__ import annotations

import pytest

from apply_edit.swallowed import Swallowed, dangling, swallowed

OLD = ["def f():", "    a = 1", "    b = 2", "    return a", "", "def g():", "    return 1"]


def new_body(*lines: str) -> list[str]:
    """Return the file with another body of ``f``."""
    return [OLD[0], *("    " + line for line in lines), *OLD[4:]]


def test_a_comment_in_the_place_of_code_has_swallowed_it():
    """Lines that are gone without a successor are lost to the suspect beside them."""
    new = new_body("a = 5", "# as before")
    assert swallowed(OLD, new, {2}) == [Swallowed(2, (2, 3), True)]


@pytest.mark.parametrize(
    "body",
    [
        ("a = 1", "# as before", "b = 2", "return a"),
        ("a = 1", "# as before", "b = 22", "return a"),
        ("# as before", "b = 2", "a = 1", "return a"),
    ],
)
def test_a_comment_that_is_only_added_has_swallowed_nothing(body):
    """Lines that stay, change or move are not lost."""
    new = new_body(*body)
    at = next(j for j, line in enumerate(new) if "# as" in line)
    assert swallowed(OLD, new, {at}) == []


def test_no_suspect_no_finding():
    """Lines that are gone are nobody's fault without a suspect beside them."""
    assert swallowed(OLD, new_body("a = 5"), set()) == []
    assert swallowed(OLD, new_body("a = 5"), {4}) == []


def test_comments_and_brackets_are_no_loss():
    """Only code is lost: an old comment, a closing line or a `pass` are not."""
    old = ["f {", "  x", "  // old note", "}", "pass"]
    assert swallowed(old, ["f {", "  x", "  // etc"], {2}) == []
    assert swallowed(["# A", "text"], ["etc."], {0}, prose=True) == [Swallowed(0, (0, 1), True)]


def test_a_comment_is_no_successor():
    """However like an old line a suspect is, it does not take its place in a document."""
    assert swallowed(["etc a"], ["etc."], {0}, prose=True) == [Swallowed(0, (0,), True)]


def test_a_line_that_is_commented_out_is_not_swallowed():
    """A real comment with the words of the line in whose place it stands is that line."""
    assert swallowed(OLD, new_body("a = 1", "# b = 2", "return a"), {2}) == []


def test_a_stretch_goes_on_over_brackets():
    """A bracket that stays does not part a suspect from the code that it stands for."""
    old = ["f {", "  if x {", "    y", "  }", "  z", "}"]
    new = ["f {", "  if x {", "    q", "  }", "  // etc", "}"]
    assert [each.lost for each in swallowed(old, new, {4})] == [(2, 4)]


def test_comments_at_the_end_of_a_block_dangle():
    """A new comment below code with nothing of its block behind it has nothing to be about."""
    assert dangling(OLD, new_body("a = 5", "# blah")) == [2]
    assert dangling(OLD, new_body("# why", "a = 5")) == []
    assert dangling(OLD, new_body("# empty on purpose")) == []
    assert dangling(["x"], ["x", "# at the level of the file"]) == []
    assert dangling(["  # old"], ["f:", "  x", "  # old"]) == []


def test_code_that_is_commented_out_accounts_for_itself_only():
    """Other lines that are gone beside it are lost to it."""
    assert [each.lost for each in swallowed(OLD, new_body("a = 5", "# return a"), {2})] == [(2,)]
