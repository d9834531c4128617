from benchmarks.drafting import replay
from proposers import WALL, Draft, References, Router
from proposers.snippet import pieces_of, weave
from tests.fakes import ByteTokenizer

BYTES = ByteTokenizer()
FILE = b"import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n"
PIECE = b"def first():\n    log()\n    return 1\n"
MERGED = b"import os\n\n\ndef first():\n    log()\n    return 1\n\n\ndef second():\n    return 2\n"


def router(prediction=None, closing=b"</end>", **options) -> Router:
    """Return a router for the file, the piece, and perhaps a prediction."""
    snippet = (*PIECE, WALL)
    return Router(References(FILE, snippet, prediction, closing=closing, view=BYTES, **options))


def test_one_draft_runs_through_all_regions():
    """From the original into a piece of the snippet, out of it again, up to the closing."""
    draft = router().propose([], 500)
    assert bytes(draft.ids) == MERGED + b"</end>"
    assert [name for name, _ in draft.sources] == ["original", "snippet", "original", "closing"]
    assert [name for name, _ in draft.regions] == ["unchanged", "edit", "unchanged"]


def test_the_prediction_goes_first():
    """A computed guess of the whole output is copied as long as the output follows it."""
    draft = router(b"import sys\n").propose([], 500)
    assert draft.sources == (("prediction", 11), ("closing", 6))


def test_regions_of_the_prediction_are_the_edits_spans():
    """Tokens of the edit's spans are ``edit``, the others ``unchanged``."""
    draft = router(MERGED, prediction_edits=((25, 35),)).propose([], 40)
    assert draft.regions == (("unchanged", 25), ("edit", 10), ("unchanged", 5))


def test_a_wrong_prediction_is_left():
    """Where the output leaves the prediction, the text that it follows instead is copied."""
    proposer = router(b"import os\n\n\ndef other():\n    return 1\n")
    draft = proposer.propose(FILE[:20], 9)
    assert bytes(draft.ids) == FILE[20:29]


def test_a_piece_without_a_place_is_copied_and_left_for_the_original():
    """A piece that could not be placed is copied when the output writes it, with what follows."""
    original = b"alpha = 1\nbeta = 2\ngamma = 3\ndelta = 4\n"
    piece = b"zeta = [\n    55,\n]\n"
    proposer = Router(References(original, (*piece, WALL)))
    output = b"alpha = 1\nzeta = ["
    assert bytes(proposer.propose(output, 9).ids) == piece[8:17]


def test_a_piece_is_followed_by_what_it_joins():
    """A draft from a piece that ends in the original's own text goes on in the original."""
    tail = b"    return second_value(argument)\n"
    original = b"x = 1\n" + tail + b"y = 2\n"
    proposer = Router(References(original, (*b"\x00", WALL)))
    draft = proposer._continued(Draft(tuple(tail), "snippet"), 100)
    assert bytes(draft.ids) == tail + b"y = 2\n"


def test_novel_text_is_left_to_the_draft_model():
    """Where nothing agrees the given proposer is asked, and only there."""
    asked = []

    class Small:
        def propose(self, output, limit):
            asked.append(len(output))
            return Draft((1, 2), "draft_model", (), (("novel", 2),))

    proposer = Router(References(FILE, closing=b"</end>"), Small())
    assert proposer.propose([], 5).source == "original"
    assert asked == []
    assert proposer.propose([*FILE[:11], 1], 5).source == "draft_model"
    assert asked == [12]
    # "\\ndef " agrees with a place: a copy is cheaper than a guess.
    assert proposer.propose([*FILE[:11], 1, *b"\ndef "], 5).source == "original"
    assert asked == [12]


def test_novel_text_repeats_what_was_written_before():
    """Nothing to copy from: what followed the last tokens the last time is offered."""
    output = [*FILE[:11], *b"\x01\x02\x03\x04\x05", *b"\x01\x02\x03"]
    draft = Router(References(FILE)).propose(output, 5)
    assert draft.source == "repeat"
    assert draft.ids[:2] == (4, 5)


def test_alternatives_begin_with_the_draft_and_differ():
    """A tree gets the router's own draft first, and no draft that another one contains."""
    drafts = router(MERGED).propose_tree(MERGED[:26], 12)
    assert drafts[0] == router(MERGED).propose(MERGED[:26], 12)
    assert len({draft.ids for draft in drafts}) == len(drafts)


def test_a_piece_is_woven_in_where_it_agrees():
    """A piece takes the place of what stands between its first and last agreeing tokens."""
    parts = weave(FILE, (*PIECE, WALL))
    assert b"".join(bytes(part.ids) for part in parts) == MERGED
    assert weave(FILE, (*b"@#$%&", WALL)) == []
    assert list(pieces_of((1, WALL, WALL, 2, 3))) == [(1,), (2, 3)]


def test_text_at_a_seam_is_not_written_twice():
    """A line end that the original splits otherwise does not make the border another text."""

    class Joined(ByteTokenizer):
        """Has one token for an empty line."""

        def token_bytes(self, token):
            return b"\n\n" if token == 257 else super().token_bytes(token)

        def encode_data(self, text):
            return [257 if pair == "\n\n" else ord(pair) for pair in _pairs(text)]

    def _pairs(text):
        while text:
            size = 2 if text.startswith("\n\n") else 1
            yield text[:size]
            text = text[size:]

    view = Joined()
    original = view.encode_data("one;\n\ntwo.\n\nthree!\n\nfour,\n")
    piece = view.encode_data("\ntwo.\nnew?\n\nthree!\n")
    parts = weave(original, (*piece, WALL), view)
    text = b"".join(view.token_bytes(token) for part in parts for token in part.ids)
    assert text == b"one;\n\ntwo.\nnew?\n\nthree!\n\nfour,\n"
    assert [token for part in parts for token in part.ids] == view.encode_data(text.decode())


def test_a_right_guess_of_everything_is_one_pass():
    """With gamma wide enough, a merge is one pass."""
    target = (*MERGED, *b"</end>")
    assert len(replay(router(), target, 1000)) == 1


def test_a_seam_is_split_as_one_text():
    """Where a piece meets the original, tokens are those of the whole text."""

    class Pairs(ByteTokenizer):
        """Has one token for an empty line."""

        def token_bytes(self, token):
            return b"\n\n" if token == 257 else super().token_bytes(token)

        def encode_data(self, text):
            ids = []
            for number, part in enumerate(text.split("\n\n")):
                ids += ([257] if number else []) + list(part.encode())
            return ids

    view = Pairs()
    original = view.encode_data("alpha = 1;\nbeta = 2;\ngamma = 3;\n")
    piece = view.encode_data("alpha = 1;\nnew = 5;\n")
    ids = [t for part in weave(original, (*piece, *b"\n", WALL), view) for t in part.ids]
    assert ids == view.encode_data(b"".join(map(view.token_bytes, ids)).decode())
