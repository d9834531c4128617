import pytest

from apply_edit.errors import ConfigError
from apply_edit.prompt import DEFAULT, DIALECTS, Task, choose, parse

every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS.keys())


def text_of(prompt):
    """Return the user message as one string."""
    return "".join(section.text for section in prompt.user)


@every_dialect
def test_the_file_is_shown_with_lf(dialect):
    """CRLF files and files without a final newline are shown to the model in one plain form."""
    prompt = dialect.render(Task("a\r\nb", snippet="c"))
    assert "a\nb" in text_of(prompt)
    assert "\r" not in text_of(prompt)
    assert prompt.padded


@every_dialect
@pytest.mark.parametrize("original", ["a\nb\n", "a\nb", ""])
def test_an_answer_that_repeats_the_file_gives_the_file(dialect, original):
    """What the model was shown and writes back unchanged parses to the original."""
    prompt = dialect.render(Task(original, snippet="x"))
    shown = next(section.text for section in prompt.user if section.data)
    assert parse(prompt, shown) == original


@pytest.mark.parametrize("answer", ["a\n", "\na\n", "a", "\na"])
def test_tags_that_touch_the_text_add_no_lines(answer):
    """Whether a trained model puts line ends between tags and text makes no difference."""
    prompt = DIALECTS["fastapply"].render(Task("a\n", snippet="x"))
    assert parse(prompt, answer) == "a\n"


@every_dialect
def test_tags_in_the_content_change_the_tags_of_the_prompt(dialect):
    """Wherever the prompt's own tags appear in file, edit or sentence, other tags are used."""
    plain = dialect.render(Task("x\n", snippet="y\n"))
    for fields in ({"snippet": plain.stop}, {"instruction": plain.stop}, {"patch": plain.stop}):
        assert dialect.render(Task("x\n", **fields)).stop != plain.stop
    prompt = dialect.render(Task(f"{plain.stop}\n{plain.prime}\n", snippet="x"))
    again = dialect.render(Task(f"{prompt.stop}\n{plain.stop}\n", snippet="x"))
    assert len({plain.stop, prompt.stop, again.stop}) == 3
    assert text_of(prompt).count(prompt.stop) <= text_of(plain).count(plain.stop)


@every_dialect
def test_content_is_data_and_words_are_not(dialect):
    """File, edit and sentence are encoded as data; our words are never part of these sections."""
    prompt = dialect.render(Task("file\n", snippet="edit\n", instruction="do it"))
    data = [section.text for section in prompt.user if section.data]
    words = "".join(section.text for section in prompt.user if not section.data)
    assert data[0].strip() == "file"
    assert "do it" in "".join(data)
    assert "edit" in "".join(data)
    assert not {"file\n", "edit\n", "do it"} & {words}


@pytest.mark.parametrize("name", ["generic", "generic-late", "generic-example", "aixapply"])
def test_sections_begin_behind_a_line_break(name):
    """No section of data begins on the line of a tag, where tokens would run together."""
    prompt = DIALECTS[name].render(Task("x\n", snippet="y\n", instruction="do it"))
    for before, section in zip(prompt.user, prompt.user[1:], strict=False):
        if section.data:
            assert before.text.endswith(">\n")
            assert section.text.endswith("\n")


@every_dialect
def test_the_file_comes_first_and_the_edit_last(dialect):
    """The prompt of the same file with another edit begins with the same text."""
    first = text_of(dialect.render(Task("file\n", snippet="one\n")))
    second = text_of(dialect.render(Task("file\n", snippet="two\n")))
    shared = first.split("one")[0]
    assert second.startswith(shared)
    assert "file\n" in shared or "file" in shared


def test_a_late_task_lets_all_kinds_of_edits_share_the_file():
    """With the task behind the file, a snippet and an instruction have the same prefix."""
    late = DIALECTS["generic-late"]
    snippet = text_of(late.render(Task("file\n", snippet="one\n")))
    sentence = text_of(late.render(Task("file\n", instruction="two")))
    assert snippet.split("</code>")[0] == sentence.split("</code>")[0]


def test_a_window_is_called_a_part():
    """A model that sees a part of a file is told so, and no other one is."""
    generic = DIALECTS["generic"]
    assert "part of a larger file" in text_of(
        generic.render(Task("x\n", snippet="y", is_part=True))
    )
    assert "part of a larger file" not in text_of(generic.render(Task("x\n", snippet="y")))


@pytest.mark.parametrize(
    ("name", "published_as", "wanted"),
    [
        ("auto", None, DEFAULT),
        ("auto", "someone/else", DEFAULT),
        ("auto", "Kortix/FastApply-1.5B-v1.0", "fastapply"),
        ("auto", "aiXcoder/aiXapply-4B", "aixapply"),
        ("generic", "Kortix/FastApply-1.5B-v1.0", "generic"),
    ],
)
def test_a_model_is_asked_as_it_was_trained(name, published_as, wanted):
    """A model with a prompt of its own gets that one, unless the caller says otherwise."""
    assert choose(name, published_as).name == wanted


def test_an_unknown_dialect_is_refused():
    """A misspelt dialect is an error that lists the known ones."""
    with pytest.raises(ConfigError, match="fastapply"):
        choose("fast-apply")
