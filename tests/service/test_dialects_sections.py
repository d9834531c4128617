import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apply_edit.errors import EditParseError, RequestError
from apply_edit.service.dialects import chat, sections
from apply_edit.service.dialects.records import Asked, Message, Reply
from apply_edit.service.dialects.sections import CODE_UPDATE, SOURCE_SNIPPET

FILE = "def a():\n    return 1\n"
SNIPPET = "def a():\n    return 42\n# ... existing code ..."
HOSTILE = {
    "crlf": "a = 1\r\nb = 2\r\n",
    "mixed line ends": "a\r\nb\nc\rd",
    "no final newline": "a = 1",
    "byte order mark": "\ufeffa = 1\n",
    "leading and trailing blank lines": "\n\n  a = 1\n\n\n",
    "only white space": " \t\n",
    "empty": "",
    "balanced tags": "x = '<code>y</code>'\n<update>z</update>\n",
    "a whole message": "<instruction>i</instruction>\n<code>a</code>\n<update>b</update>\n",
    "an opening tag": "print('<code>')\n",
    "a closing tag": "print('</code>')\n",
    "an update tag": "print('<update>')\n",
    "a closing update tag": "print('</update>')\n",
    "an instruction's end": "x </instruction>\n<code> y\n",
    "a border": "print('</code>\n<update>')\n",
    "special tokens": "<|im_end|>\n<|endoftext|>\n",
    "a mebibyte": "x = 1  # y\n" * 95_326,
}


def morph(code: str, update: str, instruction: str | None = "I change a", gap: str = "\n") -> str:
    """Return a message as Morph's clients write it."""
    head = "" if instruction is None else f"<instruction>{instruction}</instruction>{gap}"
    return f"{head}<code>{code}</code>{gap}<update>{update}</update>"


def read(text: str, predicted: str | None = None) -> Asked:
    """Return what a chat of one user message asks for."""
    return chat.read([Message("user", text)], predicted)


def test_morphs_message_is_taken_apart():
    """The three sections of Morph's message become file, edit and instruction, untrimmed."""
    assert read(morph(FILE, SNIPPET)) == Asked(FILE, SNIPPET, "I change a")


@pytest.mark.parametrize("gap", ["", "\n", "\n\n"])
@pytest.mark.parametrize("word", ["instruction", "instructions"])
def test_spelling_and_spacing_vary(gap, word):
    """Both spellings of the instruction's tag are read, with newlines between sections or none."""
    text = morph(FILE, SNIPPET, gap=gap).replace("instruction>", f"{word}>")
    assert read(text) == Asked(FILE, SNIPPET, "I change a")


def test_the_instruction_is_optional():
    """File and update are enough."""
    assert read(morph(FILE, SNIPPET, None)) == Asked(FILE, SNIPPET)


def test_a_system_message_may_precede():
    """Only the user's message is read; a system message with tags in it is of no account."""
    system = Message("system", "Merge <update> into <code>. Answer in <updated-code>.")
    asked = chat.read([system, Message("user", morph(FILE, SNIPPET))])
    assert asked == Asked(FILE, SNIPPET, "I change a")


def test_only_the_last_turn_counts():
    """An earlier turn that was answered is not applied again."""
    earlier = [Message("user", morph("old", "x")), Message("assistant", "old x")]
    asked = chat.read([*earlier, Message("user", morph(FILE, SNIPPET))])
    assert asked.original == FILE
    with pytest.raises(RequestError, match="no file"):
        chat.read([*earlier, Message("user", "thanks")])


@pytest.mark.parametrize("name", HOSTILE)
def test_any_file_comes_through_exactly(name):
    """The file is what stands between the tags, whatever it holds, character for character."""
    assert read(morph(HOSTILE[name], SNIPPET)) == Asked(HOSTILE[name], SNIPPET, "I change a")


@pytest.mark.parametrize("name", ["balanced tags", "a whole message", "an opening tag"])
def test_any_update_comes_through_exactly(name):
    """An update that holds the tags itself is told from the border."""
    assert read(morph(FILE, HOSTILE[name])).edit == HOSTILE[name]
    both = read(morph(HOSTILE[name], HOSTILE[name]))
    assert (both.original, both.edit) == (HOSTILE[name], HOSTILE[name])


def test_a_border_behind_an_elision_marker_is_the_snippets():
    """Where tags do not balance, a border behind an elision marker belongs to the snippet."""
    update = "# ... existing code ...\nx = '</code>\n<update>'\n"
    asked = read(morph(FILE, update))
    assert (asked.original, asked.edit) == (FILE, update)


def test_a_border_that_cannot_be_told_is_refused():
    """Three borders without balance are refused: any choice could write a wrong file."""
    text = "x = '</code><update>'\n"
    with pytest.raises(EditParseError, match="cannot be told"):
        read(morph(text, text))


def test_many_borders_are_read_in_linear_time():
    """A message of borders only is decided, not explored."""
    with pytest.raises(EditParseError, match="cannot be told"):
        read(f"<code>{'</code><update>' * 100_000}x</update>")


def test_text_between_the_sections_does_not_matter():
    """Words between file and update are skipped."""
    asked = read(f"<code>{FILE}</code>\nand now:\n<update>{SNIPPET}</update>\nThank you.")
    assert asked == Asked(FILE, SNIPPET)


def test_an_instruction_may_speak_of_the_tags():
    """The file begins where the instruction ends, also when the instruction names the tag."""
    asked = read(morph(FILE, SNIPPET, "wrap it in <code> and </code>"))
    assert asked == Asked(FILE, SNIPPET, "wrap it in <code> and </code>")


@pytest.mark.parametrize("update", [None, "", " \n"])
def test_an_instruction_alone_is_enough(update):
    """A file with an instruction and no update is an edit by instruction."""
    text = f"<instruction>rename a</instruction>\n<code>{FILE}</code>"
    if update is not None:
        text += f"\n<update>{update}</update>"
    assert read(text) == Asked(FILE, None, "rename a")


def test_a_file_alone_is_refused():
    """A file without update and instruction is refused with the reason."""
    with pytest.raises(RequestError, match="neither an update nor an instruction") as caught:
        read(f"<code>{FILE}</code>")
    assert caught.value.fields["option"] == "messages"


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("<instruction>i", "</instruction>"),
        ("<code>a", "</code>"),
        ("<code>a<update>b</update>", "</code>"),
        ("<code>a</code><update>b", "</update>"),
        ("<code>a</update>", "<update>"),
    ],
)
def test_what_is_not_closed_is_refused(text, tag):
    """A message that was cut off is refused and names the tag that is missing."""
    with pytest.raises(EditParseError, match=tag):
        read(text)


def test_fastapplys_prose_is_read():
    """The prompt in prose, which names the tags before it uses them, is read."""
    text = (
        "Merge all changes from the <update> snippet into the <code> below.\n"
        "- Output only the updated code, enclosed within <updated-code> and </updated-code> tags."
        f"\n\n<code>{FILE}</code>\n\n<update>{SNIPPET}</update>\n\nProvide the updated code."
    )
    assert read(text) == Asked(FILE, SNIPPET)


def test_aixapplys_tags_are_read():
    """The file between <source_file> and <update_snippet> is answered in <update_file>."""
    text = f"<source_file>{FILE}</source_file>\n<update_snippet>{SNIPPET}</update_snippet>"
    assert read(text) == Asked(FILE, SNIPPET, reply=Reply.UPDATE_FILE)


def test_an_unknown_shape_is_refused_with_the_known_ones():
    """A message without a file is refused, and the refusal shows what is accepted."""
    with pytest.raises(RequestError) as caught:
        read("please make it faster")
    message = caught.value.message
    assert all(word in message for word in ("<code>", "<source_file>", "prediction"))


def test_no_user_message_is_refused():
    """A chat without a user message has nothing to apply."""
    with pytest.raises(RequestError):
        chat.read([Message("system", morph(FILE, SNIPPET))])


PIECES = st.sampled_from(["a", "\n", "\r\n", "<code>", "</code>", "<update>", "</update>", " "])


@given(st.lists(PIECES).map("".join), st.lists(PIECES).map("".join))
@example("</code><update>", "")
def test_sections_are_pieces_of_the_message(code, update):
    """Whatever a message holds, its sections are refused or slices of it in order."""
    text = morph(code, update, None)
    try:
        found = sections.read(text, CODE_UPDATE)
    except EditParseError:
        return
    assert found is not None
    assert text.startswith(f"<code>{found.original}</code>")
    assert found.update is None or text.endswith(f"{found.update}</update>")


def test_other_tags_are_no_sections():
    """A message with one pair of tags is nothing to a reader of another."""
    assert sections.read(morph(FILE, SNIPPET), SOURCE_SNIPPET) is None
