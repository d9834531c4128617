from apply_edit.decode.loop import Decoding
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from apply_edit.decode.tree import Tree, depths, merge, walk_picks
from proposers import Draft, References, Router
from tests.fakes import ByteTokenizer, scripted_target


def test_drafts_that_begin_alike_share_nodes():
    """The first draft is nodes 0, 1, …; the second adds only what differs."""
    tree = merge([Draft((5, 6, 7), "a"), Draft((5, 8), "b")])
    assert tree.ids == (5, 6, 7, 8)
    assert tree.parents == (-1, 0, 1, 0)
    assert tree.sources == ("a", "a", "a", "b")
    assert [c.token for c in tree.candidates(0)] == [6, 8]
    assert tree.branch(3) == [5, 8]
    assert tree.depths == [0, 1, 2, 1]
    assert tree.height == 3
    assert not tree.is_linear


def test_the_same_token_in_two_places_is_two_nodes():
    """Nodes are shared where all that is before them is shared, and only there."""
    tree = merge([Draft((1, 2, 2)), Draft((2, 2))])
    assert tree.ids == (1, 2, 2, 2, 2)
    assert tree.parents == (-1, 0, 1, -1, 3)


def test_one_draft_is_a_linear_tree_and_none_an_empty_one():
    """Linear drafts take the same way and need no mask."""
    assert merge([Draft((5, 6))]).is_linear
    assert merge([]) == Tree()
    assert merge([Draft(), Draft((1,))]).ids == (1,)
    assert Tree().height == 0


def test_a_repeated_draw_is_judged_twice_and_a_repeated_copy_once():
    """Only draws count: leaving one out would change what the others were drawn from."""
    row = [0.5, 0.5]
    drawn = merge([Draft((1,), probs=[row]), Draft((1,), probs=[row])])
    assert len(drawn) == 1
    assert len(drawn.candidates(-1)) == 2
    assert len(merge([Draft((1,)), Draft((1,))]).candidates(-1)) == 1


def test_sources_within_a_draft_are_kept():
    """A draft from several places names the place of every token."""
    tree = merge([Draft((1, 2, 3), "x", (("x", 2), ("y", 1)))])
    assert tree.sources == ("x", "x", "y")


def test_depths_are_counted_from_the_root():
    """A token that follows the root has depth 0."""
    assert depths([-1, 0, 1, 0, -1]) == [0, 1, 2, 1, 0]


def test_the_walk_takes_the_branch_that_the_picks_follow():
    """The second branch is taken where the first is wrong, and the extra token is the next pick."""
    tree = merge([Draft((1, 2, 3)), Draft((1, 4, 5))])
    picks = {-1: 1, 0: 4, 3: 5, 4: 9}
    assert walk_picks(tree, picks.__getitem__) == ([0, 3, 4], 9)


class TwoTexts:
    """Trusts one text, and offers another as the alternative."""

    def __init__(self, first, second):
        self.first, self.second = first, second

    def propose_tree(self, output, limit):
        """Return what either text has at this place."""
        done = len(output)
        return [
            Draft(tuple(self.first[done : done + limit]), "first"),
            Draft(tuple(self.second[done : done + limit]), "second"),
        ]

    def propose(self, output, limit):
        """Return the draft of the first text."""
        return self.propose_tree(output, limit)[0]


def decode(policy):
    """Decode a text of which the trusted one is wrong in the middle."""
    text = b"abcdefghijk"
    target = scripted_target(2, [*text, 256], 258)
    texts = TwoTexts(b"abcdXYZhijk", text)
    request = Request((1, 2), 50, frozenset({256}))
    return Decoding(target, ByteTokenizer(), request, texts, policy).run(), target


def test_trees_are_off_unless_asked_for():
    """A fixed gamma uses one draft."""
    output, _ = decode(FixedGamma(3))
    assert all(record.drafted <= 3 for record in output.report.records)


def test_a_tree_saves_passes_and_counts_add_up():
    """The branch that is right is taken, and reports name where its tokens came from."""
    plain, _ = decode(FixedGamma(3))
    tree, target = decode(FixedGamma(3, branches=2))
    assert tree.text == plain.text == "abcdefghijk"
    assert tree.report.passes < plain.report.passes
    widest = max(tree.report.records, key=lambda record: record.drafted)
    assert widest.drafted == sum(count for _, count, _ in widest.sources) == 6
    assert widest.sources == (("first", 3, 0), ("second", 3, 3))
    assert widest.drafted == widest.accepted + widest.rejected + widest.discarded
    assert target.rows == {}


def test_the_router_offers_its_other_references():
    """The first of the drafts is what it would propose alone."""
    references = References(b"abcdefgh", b"abcdXYZWe")
    drafts = Router(references).propose_tree(b"abcd", 4)
    assert len(drafts) > 1
    assert Router(references).propose(b"abcd", 4) == drafts[0]
