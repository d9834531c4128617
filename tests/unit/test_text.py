import pytest
from hypothesis import given
from hypothesis import strategies as st

from apply_edit.errors import FileBinary
from apply_edit.text import SourceText, dominant_newline, line_end, split_lines, strip_end

BOM8 = b"\xef\xbb\xbf"


@given(st.text(alphabet="ab\r\n\x0c\u2028\x85 ", max_size=40))
def test_lines_joined_are_the_text(text):
    """Splitting loses nothing, and only CR, LF and CRLF end a line."""
    lines = split_lines(text)
    assert "".join(lines) == text
    assert all("\n" not in strip_end(line) and "\r" not in strip_end(line) for line in lines)
    assert all(line_end(line) for line in lines[:-1])


@pytest.mark.parametrize(
    ("data", "encoding", "newline"),
    [
        (b"a\nb\n", "utf-8", "\n"),
        (b"a\r\nb\r\nc\n", "utf-8", "\r\n"),
        (b"a\rb\r", "utf-8", "\r"),
        (b"no end", "utf-8", "\n"),
        (b"", "utf-8", "\n"),
        (BOM8 + b"a\n", "utf-8", "\n"),
        ("\u00e9t\u00e9\n".encode("latin-1"), "latin-1", "\n"),
        ("h\u00e9 \u6f22\u5b57 \U0001f600\n".encode(), "utf-8", "\n"),
        ("e\u0301 NFD\n".encode(), "utf-8", "\n"),
        (b"\xff\xfe" + "a\r\nb\r\n".encode("utf-16-le"), "utf-16-le", "\r\n"),
        (b"\xfe\xff" + "a\nb\n".encode("utf-16-be"), "utf-16-be", "\n"),
        ("class A {}\r\n".encode("utf-16-le"), "utf-16-le", "\r\n"),
        (b"a\x0cb\nc\x1b[0m\n", "utf-8", "\n"),
        ("a\u2028b\u2029c\x85d\n".encode(), "utf-8", "\n"),
    ],
)
def test_bytes_come_back_as_they_were(data, encoding, newline):
    """A file that is not edited is byte-identical, in every encoding and newline style."""
    source = SourceText.from_bytes(data)
    assert (source.encoding, source.newline) == (encoding, newline)
    assert source.to_bytes() == data


@given(st.binary(max_size=60))
def test_any_bytes_come_back_or_are_refused(data):
    """Whatever is read either comes back byte for byte or is refused as not text."""
    try:
        source = SourceText.from_bytes(data)
    except FileBinary:
        return
    assert source.to_bytes() == data


@pytest.mark.parametrize(
    "data",
    [b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", b"\x7fELF\x02\x01\x01\x00\x00", bytes(range(256)) * 2],
)
def test_binaries_are_refused(data):
    """What is not text is refused with an error that names the file."""
    with pytest.raises(FileBinary, match=r"logo\.png"):
        SourceText.from_bytes(data, "logo.png")


def test_a_character_that_the_encoding_lacks_is_refused_with_its_line():
    """A Latin-1 file cannot take a Greek letter; the error says which and where."""
    source = SourceText.from_bytes("\u00e9\n".encode("latin-1"))
    with pytest.raises(FileBinary, match=r"line 2.*U\+03B1"):
        source.to_bytes("\u00e9\n\u03b1\n")


def test_the_first_newline_wins_a_tie():
    """Mixed line ends in equal number: the first seen is the dominant one."""
    assert dominant_newline("a\r\nb\n") == "\r\n"
    assert dominant_newline("", "\r") == "\r"
