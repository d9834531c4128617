import random

import pytest

from benchmarks.drafting import replay
from benchmarks.recovery import Piece, made, passes_to_recover
from proposers import Part, Reference, References, create
from proposers.file_cursor import Change, Cursor
from tests.fakes import ByteTokenizer, PieceTokenizer

BYTES = ByteTokenizer()
TEXT = "".join(f"def f{i}(x{i}):\n    return {i * 7919 % 1000} + x{i}\n\n" for i in range(40))


def cursor(text: str | bytes, view=None) -> Cursor:
    """Return a cursor in a text."""
    ids = tuple(text.encode() if isinstance(text, str) else text)
    return Cursor(Reference([Part(ids, "original")]), view)


def draft(text: str, output: str, limit: int = 6) -> str:
    """Return what is drafted after an output."""
    return bytes(cursor(text).propose(output.encode(), limit).ids).decode()


def test_an_output_that_follows_is_copied():
    """While the output is the reference, the reference goes on."""
    assert draft("abcdefgh", "abc") == "defgh"
    assert draft("abcdefgh", "") == "abcdef"


def test_an_insertion_is_left_where_it_began():
    """Behind inserted text the cursor goes on where it was lost."""
    assert draft("one\ntwo\nthree\n", "one\nnew\ntw") == "o\nthre"


def test_a_deletion_is_jumped_over():
    """The nearest place ahead that agrees is taken."""
    assert draft("one\ntwo\nthree\nfour\n", "one\nthr") == "ee\nfou"


def test_a_replaced_token_is_taken_for_one():
    """With no other sign, one token replaced one."""
    assert draft("a = 1; b = 2", "a = 9") == "; b = "


def test_the_nearest_of_equal_places_is_taken():
    """Equal lines: of several agreeing places the next one, not the first or the longest way."""
    text = "x = 1\nend\n\ny = 2\nend\n\nz = 3\nend\n"
    assert draft(text, "x = 1\nend\n\ny = 5\nend\n", 3) == "\nz "


def test_a_moved_block_is_found_behind():
    """The cursor goes back for a long agreement, and then on where it had left."""
    a, b, c = TEXT[:300], TEXT[300:600], TEXT[600:]
    output = c[:200] + a
    following = cursor(TEXT)
    following.follow(output[:220].encode())
    assert following.position == 20
    assert bytes(following.propose((output + b[:1]).encode(), 50).ids).decode() == b[1:51]


def test_a_long_agreement_is_needed_to_move_home():
    """A coincidence far away does not become the place from which nearest is counted."""
    following = cursor("abcdefgh" + "x" * 2000 + "klm" + "y" * 20)
    following.follow(b"abcdklm")
    assert following.home == 4


def test_what_became_what_is_known():
    """A change is reported once copying goes on."""
    following = cursor("name = old_value + 1\nprint(name)\n")
    following.follow(b"name = new_value + 1\nprint(name)\n")
    assert following.changes[0] == Change(7, 10, 7, 10)


def test_an_unsure_guess_is_novel():
    """Where nothing agrees, a draft claims no region of the file."""
    following = cursor("abcdefghijkl")
    assert following.propose(b"abcd", 3).regions == (("unchanged", 3),)
    assert following.propose(b"abcdZ", 3).regions == (("novel", 3),)


# Tokens of several characters, and more than one way to split a text.
PIECES = PieceTokenizer([b"foo", b"bar", b"fo", b"ob", b"o", b"ar", b"\n"])
FOO, BAR, FO, OB, O, AR, NL = range(7)  # noqa: E741


class View:
    """Takes the longest piece that fits, again and again."""

    token_bytes = staticmethod(PIECES.token_bytes)

    @staticmethod
    def encode_data(text):
        """Split a text."""
        ids, data = [], text.encode()
        while data:
            fitting = [i for i, piece in enumerate(PIECES.pieces) if data.startswith(piece)]
            ids.append(max(fitting, key=lambda i: len(PIECES.pieces[i])))
            data = data[len(PIECES.pieces[ids[-1]]) :]
        return ids


@pytest.mark.parametrize(
    ("output", "rest"),
    [
        ([FO], (OB, AR, NL, FOO, BAR, NL)),
        ([FO, O], (BAR, NL, FOO, BAR, NL)),
        ([FO, OB], (AR, NL, FOO, BAR, NL)),
        ([FO, OB, AR], (NL, FOO, BAR, NL)),
    ],
)
def test_another_split_of_the_same_text_is_followed(output, rest):
    """Where the output splits the text differently, the rest is encoded from where it stands."""
    following = cursor(bytes([FOO, BAR, NL, FOO, BAR, NL]), View)
    draft = following.propose(output, 6)
    assert draft.ids == rest
    assert draft.sources == (("original", len(rest)),)


def test_without_a_view_another_split_is_a_divergence():
    """Ids alone do not tell that the text is the same."""
    following = cursor(bytes([FOO, BAR, NL, FOO, BAR, NL]))
    following.follow([FO, OB])
    assert following.agreed == 0


EDITS = {
    "insert": [Piece(TEXT[:400]), Piece("new = 1\n", copied=False), Piece(TEXT[400:])],
    "delete": [Piece(TEXT[:400]), Piece(TEXT[470:])],
    "replace": [Piece(TEXT[:400]), Piece("new", copied=False), Piece(TEXT[403:])],
    "move": [Piece(TEXT[:300]), Piece(TEXT[500:700]), Piece(TEXT[300:500]), Piece(TEXT[700:])],
}


@pytest.mark.parametrize("kind", EDITS)
def test_copying_resumes_soon_after_one_edit(kind):
    """After each kind of edit at most a few one-byte passes go by until copying resumes."""
    found = passes_to_recover(TEXT, EDITS[kind], BYTES, 64)
    assert found
    # A byte says far less than a token does.
    assert all(border is not None and told <= border <= 5 for told, border in found), found


def test_edits_are_made_of_all_kinds():
    """The kinds of edits that recovery is measured on, each made of the original's own text."""
    made_edits = list(made(TEXT + "same\n" * 4 + TEXT, random.Random(1)))
    assert {kind for kind, _ in made_edits} >= {
        "insert",
        "delete",
        "replace",
        "move",
        "equal lines",
    }
    for _, parts in made_edits:
        assert all(part.text in TEXT + "same\n" * 4 + TEXT for part in parts if part.copied)


def test_the_whole_text_takes_one_pass():
    """What closes the answer is part of the draft."""
    closing = tuple(b"</end>")
    proposer = create("cursor", References(tuple(b"abc\n"), closing=closing))
    assert len(replay(proposer, (*b"abc\n", *closing), 100)) == 1


def test_of_a_long_stretch_only_the_end_is_looked_at(monkeypatch):
    """However much was written that agrees with nothing, a call makes few guesses."""
    guesses = []
    anchor = Cursor._anchor
    monkeypatch.setattr(Cursor, "_anchor", lambda *args: guesses.append(1) or anchor(*args))
    following = cursor(TEXT)
    output = [*TEXT[:50].encode(), *[1, 2] * 2000, *TEXT[50:90].encode()]
    assert bytes(following.propose(output, 20).ids).decode() == TEXT[90:110]
    assert len(guesses) <= 64


def test_of_two_equally_near_places_the_one_ahead_is_taken():
    """Going back needs more than going ahead."""
    text = "key=1;" + "." * 20 + "|" + "." * 20 + "key=2;"
    assert draft(text, text[:26] + "#key=", 1) == "2"
