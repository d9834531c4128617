from proposers.anchors import Anchors
from proposers.file_cursor import Cursor
from proposers.reference import Part, Reference
from tests.fakes import ByteTokenizer

BYTES = ByteTokenizer()


def best(text: str, output: str, home: int) -> str:
    """Return what stands at the best place to go on."""
    anchors = Anchors(tuple(text.encode()), BYTES)
    place = anchors.ranked(output.encode(), len(output), [(home, 0.0)])[0].place
    return text[place : place + 6]


def test_a_rare_token_says_more_than_a_common_one():
    """One agreeing rare token beats two common ones that are nearer."""
    text = "....aa.aa.aa.aa.aa.aa.aa.aa.ax1" + "." * 20 + "#far"
    assert best(text + "aa" * 40, "zz#", 3) == "faraaa"


def test_one_of_the_next_lines_follows_new_lines():
    """Where nothing but the line's beginning agrees, home is taken before later lines."""
    text = "first\nsecond\nthird\nfourth\n"
    assert best(text, "first\nbrand new?\n", 6) == "second"


def test_a_line_is_resumed_at_its_beginning():
    """A token that begins a line is looked for at the beginnings of lines first."""
    text = "k = 0\nif x: k\nif y: k\nk = 5\nend\n"
    assert best(text, "w?\nk", 6) == " = 5\ne"


def test_places_with_the_same_next_token_vote_together():
    """Each next token comes once, with its best place."""
    anchors = Anchors(tuple(b"ab1 ab2 ab1 ab3"), BYTES)
    found = anchors.ranked(b"ab", 2, [(0, 0.0)])
    assert [bytes([b"ab1 ab2 ab1 ab3"[one.place]]) for one in found][:1] == [b"1"]
    assert len({one.place for one in found}) == len(found) == 3


def test_without_a_view_nothing_is_known_of_lines():
    """Line ends are tokens like any other then."""
    anchors = Anchors(tuple(b"a\nb\n"))
    assert anchors.ends_line(10) is False
    assert anchors.ranked(b"?\n", 2, [(0, 0.0)])[0].agreed == 1


def test_a_lost_cursor_knows_other_places():
    """Alternatives begin with other tokens than the draft, and end when copying goes on."""
    text = b"ab1 ab2 ab3 cd"
    cursor = Cursor(Reference([Part(tuple(text), "original")]), BYTES)
    draft = cursor.propose(b"?ab", 4)
    others = cursor.alternatives(b"?ab", 4)
    assert {one.ids[0] for one in others} == set(b"123") - {draft.ids[0]}
    assert all(one.regions == (("novel", len(one)),) for one in others)
    copied = b"?ab1 ab2 ab3"
    cursor.follow(copied)
    assert cursor.alternatives(copied, 4) == []


def test_less_of_an_indentation_is_another_one():
    """A shorter indentation is no other split of the same text, so copying looks elsewhere."""

    class Indents(ByteTokenizer):
        """Has tokens for two and four spaces."""

        def token_bytes(self, token):
            return {258: b"  ", 259: b"    "}.get(token) or super().token_bytes(token)

    view = Indents()
    original = (*b"if x:\n", 259, *b"one()\n", 259, *b"two()\n", 258, *b"three()\n")
    cursor = Cursor(Reference([Part(original, "original")]), view)
    assert bytes(cursor.propose((*b"if x:\n", 258), 5).ids) == b"three"
