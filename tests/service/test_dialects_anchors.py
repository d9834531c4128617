import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apply_edit.errors import EditParseError
from apply_edit.service.dialects import anchors, chat
from apply_edit.service.dialects.records import Message

FILE = "".join(f"value_number_{i} = compute({i % 7})\nx = {i}\n" for i in range(40))


def encode(text: str, number: int = 0, shortest: int = 24) -> str:
    """Write a file as Morph's SDK does: long lines become placeholders, equal ones the same."""
    ids: dict[str, str] = {}
    skeleton = []
    for line in text.split("\n"):
        if len(line) < shortest:
            skeleton.append(line)
        else:
            skeleton.append(ids.setdefault(line, f"⟪M{number}:{len(ids)}:line⟫"))
    table = "".join(f"{name}={json.dumps(line)}\n" for line, name in ids.items())
    return (
        f"⟪MORPH_DEFINITIONS_BEGIN_{number}⟫\n{table}⟪MORPH_DEFINITIONS_END_{number}⟫\n"
        f"⟪MORPH_CODE_BEGIN_{number}⟫\n" + "\n".join(skeleton)
    )


def test_the_file_comes_back():
    """Table and skeleton give the true file."""
    assert "⟪M0:0:line⟫" in encode(FILE)
    assert anchors.decode(encode(FILE)) == FILE


@given(st.text(st.sampled_from('ab"\\\r\n\t é⟫<>'), max_size=80))
def test_any_file_comes_back(text):
    """Whatever characters a file has, it comes back exactly."""
    assert anchors.decode(encode(text, shortest=3)) == text


def test_a_large_file_comes_back():
    """A file of the size that the protocol is for comes back."""
    text = "".join(f"a line of some length with number {i}\n" for i in range(30_000))
    assert anchors.decode(encode(text, number=7)) == text


def test_text_without_a_table_is_left_alone():
    """An ordinary file is returned as it is, also one that mentions a placeholder."""
    text = "print('⟪M0:0:line⟫')\n"
    assert anchors.decode(text) is text
    assert not anchors.is_anchored(text)


def test_tokens_of_other_kinds_are_decoded():
    """HTML is cut at tags instead of lines; its placeholders are decoded where they stand."""
    code = (
        "⟪MORPH_DEFINITIONS_BEGIN_0⟫\n⟪M0:0:tag⟫=\"<div class='some-long-name'>\"\n"
        "⟪MORPH_DEFINITIONS_END_0⟫\n⟪MORPH_CODE_BEGIN_0⟫\n⟪M0:0:tag⟫hi⟪M0:0:tag⟫"
    )
    assert anchors.decode(code) == "<div class='some-long-name'>hi<div class='some-long-name'>"


def test_a_closing_line_is_no_part_of_the_file():
    """Where the skeleton is closed by a line of its own, that line and its newline go."""
    assert anchors.decode(encode(FILE) + "\n⟪MORPH_CODE_END_0⟫\n") == FILE


GOOD = encode("a line that is long enough to be named\nshort\n")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (GOOD + "⟪M0:9:line⟫", "is in the file and not in its table"),
        (GOOD + "⟪M0:0⟫", "malformed placeholder"),
        (GOOD + "⟪M0:0:line", "malformed placeholder"),
        (GOOD.replace('="', "='"), "no definition"),
        (GOOD.replace('="', '="\\x'), "no definition"),
        (GOOD.replace("⟪M0:0:line⟫=", "⟪M0:zero:line⟫="), "no definition"),
        (GOOD.replace("⟪M0:0:line⟫=", '⟪M0:0:line⟫="y"\n⟪M0:0:line⟫=', 1), "defined twice"),
        (GOOD.replace("\n⟪M0:0:line⟫\n", "\n"), "not in the file"),
        (GOOD.partition("⟪MORPH_DEFINITIONS_END_0⟫")[0], "not complete"),
        (GOOD.replace("CODE_BEGIN_0", "CODE_BEGIN_1"), "not complete"),
    ],
)
def test_what_does_not_fit_is_refused(code, reason):
    """Unknown, malformed, doubled and unused placeholders are refused."""
    with pytest.raises(EditParseError, match=reason):
        anchors.decode(code)


def test_a_message_with_anchors_is_read():
    """An anchored file is decoded, and the protocol's text is no instruction."""
    text = (
        "<instruction>I rename x\n\nLARGE-FILE ANCHOR PROTOCOL: copy placeholders\nexactly."
        f"</instruction>\n<code>{encode(FILE)}</code>\n<update>x = 0</update>"
    )
    asked = chat.read([Message("user", text)])
    assert (asked.original, asked.edit, asked.instruction) == (FILE, "x = 0", "I rename x")


def test_the_words_of_the_protocol_stay_in_an_ordinary_instruction():
    """Only where the file is anchored is the explanation of the protocol taken away."""
    text = (
        "<instruction>document the LARGE-FILE ANCHOR PROTOCOL</instruction>"
        "<code>a</code><update>b</update>"
    )
    assert (
        chat.read([Message("user", text)]).instruction == "document the LARGE-FILE ANCHOR PROTOCOL"
    )
