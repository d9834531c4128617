from hypothesis import given
from hypothesis import strategies as st

from apply_edit.decode.detokenize import Detokenizer
from tests.fakes import ByteTokenizer

TEXTS = [
    "plain",
    " leading",
    "\u00e9\u6f22\u5b57\U0001f600",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\ud55c\uae00 e\u0301\r\n",
]


class WindowTokenizer(ByteTokenizer):
    """The same bytes, for a tokenizer that only decodes whole runs."""

    is_byte_level = False


@given(st.sampled_from(TEXTS), st.lists(st.integers(1, 5), min_size=1), st.booleans())
def test_pieces_joined_are_the_text(text, sizes, byte_level):
    """For every split of the ids into blocks no U+FFFD appears and the pieces are the text."""
    ids = list(text.encode())
    detokenizer = Detokenizer(ByteTokenizer() if byte_level else WindowTokenizer())
    pieces, place, turn = [], 0, 0
    while place < len(ids):
        size = sizes[turn % len(sizes)]
        pieces.append(detokenizer.push(ids[place : place + size]))
        place, turn = place + size, turn + 1
    pieces.append(detokenizer.flush())
    assert "".join(pieces) == text
    assert not any("\ufffd" in piece for piece in pieces)


def test_a_character_that_stays_incomplete_comes_out_at_the_end():
    """An output that ends inside a character gives one U+FFFD when it is flushed."""
    detokenizer = Detokenizer(ByteTokenizer())
    assert detokenizer.push("\u00e9".encode()[:1]) == ""
    assert detokenizer.flush() == "\ufffd"
