from proposers import Draft
from proposers.repeat import Repeat
from tests.fakes import ByteTokenizer

BYTES = ByteTokenizer()


def guess(original: bytes, output: bytes, limit: int = 4) -> bytes:
    """Return the likeliest continuation."""
    return bytes(Repeat(original, BYTES).propose(output, limit).ids)


def test_what_followed_the_last_tokens_is_offered():
    """New text is guessed from what stood behind the same tokens."""
    assert guess(b"left.right()", b"left.", 5) == b"right"


def test_the_output_counts_as_text_before():
    """A run that only the output has written is offered, too."""
    assert guess(b"", b"name=zeta;name=", 5) == b"zeta;"


def test_a_new_line_is_indented_like_others_behind_such_a_line():
    """The indentation of the line before tells more than the character at its end."""
    original = b"a:\n\tb;\n\tc;\n\td;\ne;\nf;\ng;\nh;\n"
    assert guess(original, b"x:\n\ty;\n", 1) == b"\t"


def test_guesses_begin_with_different_tokens_and_keep_what_a_cursor_offers():
    """A cursor's draft stands among the guesses as it is, where it belongs."""
    expected = Draft(tuple(b"Z-copied"), "original")
    found = list(Repeat(b"abXabY", BYTES).guesses(b"ab", 3, expected, agreed=4))
    assert expected in found
    assert len({draft.ids[0] for draft in found}) == len(found) == 3
    assert all(len(draft) <= 3 for draft in found if draft is not expected)


def test_nothing_is_known_of_nothing():
    """Without any text there is no guess."""
    assert guess(b"", b"") == b""
