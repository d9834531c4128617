import pytest

from apply_edit.errors import EditParseError, GuardRefused, RequestError
from apply_edit.service.dialects import chat, continue_, relace
from apply_edit.service.dialects.records import Asked, Message, Reply
from apply_edit.service.dialects.relace import Field, spelled

FILE = "class User:\n    name = ''\n"
DIFF = "@@ -2 +2 @@\n-    name = ''\n+    email = ''\n"
CONTINUE = (
    "ORIGINAL CODE:\n```\n{original}\n```\n\nSUGGESTED EDIT:\n```\n{edit}\n```\n\n"
    "Apply the SUGGESTED EDIT to the ORIGINAL CODE. Output ONLY code."
)


def user(*texts: str) -> list[Message]:
    """Return user messages."""
    return [Message("user", text) for text in texts]


def test_the_prediction_is_the_file():
    """With a prediction and no tags, the prediction is the file and the message the edit."""
    assert chat.read(user(DIFF), FILE) == Asked(FILE, DIFF)


def test_tags_win_over_the_prediction():
    """Where tags and a prediction come, the tags count."""
    text = f"<code>{FILE}</code><update>{DIFF}</update>"
    assert chat.read(user(text), "something else") == Asked(FILE, DIFF)


def test_html_in_a_snippet_is_no_tag_when_there_is_a_prediction():
    """A snippet with a <code> element of its own is an edit of the prediction."""
    assert chat.read(user("<p><code>x</code></p>"), FILE).edit == "<p><code>x</code></p>"


def test_a_message_that_repeats_the_file_is_not_the_edit():
    """Clients that send the file as a message too, as in OpenAI's example, ask for the sentence."""
    asked = chat.read(user("Replace name with email.", FILE), FILE)
    assert asked == Asked(FILE, "Replace name with email.")


def test_a_fence_that_repeats_the_file_is_not_the_edit():
    """The file in a fence of the message is taken away, the rest is the edit."""
    asked = chat.read(user(f"Replace name with email.\n\n```python\n{FILE}```\n"), FILE)
    assert asked.edit is not None
    assert asked.edit.strip() == "Replace name with email."


def test_a_fenced_edit_stays_fenced():
    """A fence that holds the edit is left for the edit's own parser."""
    text = f"Here is the change:\n```diff\n{DIFF}```\n"
    assert chat.read(user(text), FILE).edit == text


def test_a_prediction_alone_is_refused():
    """A message that holds only the file is refused, it says what to change nowhere."""
    with pytest.raises(RequestError, match="nothing but the file"):
        chat.read(user(FILE), FILE)


def test_an_empty_prediction_is_a_new_file():
    """An empty prediction is a file, not a missing one."""
    assert chat.read(user("x = 1\n"), "") == Asked("", "x = 1\n")


@pytest.mark.parametrize("original", [FILE, "a = 1", "a\r\nb\r\n", "", "ends blank\n\n"])
def test_continues_default_prompt_is_read(original):
    """The line end before a fence is the fence's; prefilled answers are ignored."""
    text = CONTINUE.format(original=original, edit=DIFF)
    asked = chat.read([*user(text), Message("assistant", "```\n")])
    assert asked == Asked(original, DIFF, reply=Reply.FENCED)


def test_continues_prompt_may_hold_fences():
    """Fences of file and edit are not mistaken for those of the prompt."""
    original, edit = "# T\n\n```sh\nls\n```\n", "# U\n\n```sh\nls -l\n```\n"
    asked = continue_.read(CONTINUE.format(original=original, edit=edit))
    assert asked == Asked(original, edit, reply=Reply.FENCED)


def test_continues_prompt_inside_continues_prompt_is_refused():
    """A file that holds the prompt itself has two ends, so it is refused."""
    with pytest.raises(EditParseError, match="found 2 places"):
        continue_.read(CONTINUE.format(original=CONTINUE, edit="x"))


@pytest.mark.parametrize("cut", ["\n```\n\nSUGGESTED", "SUGGESTED EDIT:", "\n```\n\nApply"])
def test_a_prompt_of_continue_that_was_cut_is_refused(cut):
    """A prompt that ends early is refused and not taken for a shorter one."""
    with pytest.raises(EditParseError):
        continue_.read(CONTINUE.format(original=FILE, edit=DIFF).partition(cut)[0])


@pytest.mark.parametrize(
    "text",
    [
        "# T\n\n```sh\nls\n```\n",
        'def f():\n    """\n    ```\n    x\n    ```\n    """\n',
        "a\n# End of file.\nb\n",
        "a  # End of file.\n",
        "a\n  <STOP EDITING HERE\n",
        "a\n[/CODE]\n",
        "a\n</START EDITING HERE> x\n",
        "[CODE]\na\n",
        "  {{FILL_HERE}}\na\n",
    ],
)
def test_what_continue_would_cut_is_refused(text):
    """Files that Continue's filters cut are refused with the line that they cut at."""
    with pytest.raises(GuardRefused, match=r"line [1-4] of the file") as caught:
        continue_.require_survival(text, "the file")
    assert caught.value.fields["findings"][0]["check"] == "continue_filters"


@pytest.mark.parametrize("text", ["", "class A:\n", "\n\na\n", "x = 'a```b'\n", "a\n[CODE]\n"])
def test_what_continue_lets_through_is_not_refused(text):
    """Files that survive the filters in a fence are not refused."""
    continue_.require_survival(text, "the file")


@pytest.mark.parametrize("name", ["initial_code", "initialCode"])
def test_relaces_fields_become_file_and_edit(name):
    """File, snippet and instruction are taken as they are."""
    asked = relace.read(
        Field(name, FILE), Field("edit_snippet", DIFF), Field("instruction", " rename it ")
    )
    assert asked == Asked(FILE, DIFF, "rename it")


def test_two_spellings_are_one_field():
    """Either spelling counts; both may come with one text, and not with two."""
    assert spelled("a_b", "aB", None, None) is None
    assert spelled("a_b", "aB", "x", None) == Field("a_b", "x")
    assert spelled("a_b", "aB", None, "x") == Field("aB", "x")
    assert spelled("a_b", "aB", "x", "x") == Field("a_b", "x")
    with pytest.raises(RequestError, match="a_b and aB"):
        spelled("a_b", "aB", "x", "y")


@pytest.mark.parametrize(
    ("initial", "snippet", "param"),
    [
        (None, "x", "initial_code"),
        ("a", None, "edit_snippet"),
        ("a", " \n", "edit_snippet"),
        ("", "# ... existing code ...\nx = 1\n", "initial_code"),
        ("\n", "f(  # ... existing code ...\n)", "initial_code"),
    ],
)
def test_relace_requests_that_cannot_be_meant_are_refused(initial, snippet, param):
    """Missing fields, and a lazy snippet for an empty file, are refused by name."""
    with pytest.raises(RequestError) as caught:
        relace.read(
            None if initial is None else Field("initial_code", initial),
            None if snippet is None else Field("edit_snippet", snippet),
            None,
        )
    assert caught.value.fields["option"] == param


def test_continues_empty_file_is_always_refused():
    """Continue's relace provider sends no file; any answer would replace the whole of it."""
    with pytest.raises(RequestError, match="provider: openai"):
        relace.read(Field("initialCode", ""), Field("editSnippet", "def f(): pass\n"), None)


def test_an_empty_file_in_the_documented_spelling_is_a_new_one():
    """A snippet without markers for an empty file is the new file."""
    asked = relace.read(Field("initial_code", ""), Field("edit_snippet", "x = 1\n"), None)
    assert asked == Asked("", "x = 1\n")
