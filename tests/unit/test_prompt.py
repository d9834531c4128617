import pytest

from apply_edit.prompt import parse, render


def text_of(prompt):
    """Return the user message as one string."""
    return "".join(section.text for section in prompt.user)


def test_the_file_is_shown_with_lf_and_a_final_newline():
    """CRLF files and files without a final newline are shown to the model in one plain form."""
    prompt = render("a\r\nb", snippet="c", instruction=None)
    assert "<code>\na\nb\n</code>\n" in text_of(prompt)
    assert prompt.padded


@pytest.mark.parametrize("original", ["a\nb\n", "a\nb", ""])
def test_an_answer_that_repeats_the_file_gives_the_file(original):
    """What the model was shown and writes back unchanged parses to the original."""
    prompt = render(original, snippet="x", instruction=None)
    shown = next(section.text for section in prompt.user if section.data)
    assert parse(prompt, shown) == original


def test_tags_in_the_file_change_the_tags_of_the_prompt():
    """A file that has the prompt's tags in it gets numbered tags that it does not have."""
    prompt = render("<code>\n</updated-code-1>\n", snippet="x", instruction=None)
    assert prompt.stop == "</updated-code-2>"
    assert "<code-2>" in text_of(prompt)


def test_sections_begin_behind_a_line_break():
    """No section of data begins on the line of a tag, where tokens would run together."""
    prompt = render("x\n", snippet="y\n", instruction="do it")
    for before, section in zip(prompt.user, prompt.user[1:], strict=False):
        if section.data:
            assert before.text.endswith(">\n")
            assert section.text.endswith("\n")


def test_the_file_comes_first_and_the_edit_last():
    """The prompt of the same file with another edit begins with the same text."""
    first = text_of(render("file\n", snippet="one\n", instruction=None))
    second = text_of(render("file\n", snippet="two\n", instruction=None))
    assert first.split("one")[0] == second.split("two")[0]
    assert "file\n" in first.split("one")[0]
