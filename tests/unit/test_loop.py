from hypothesis import given, settings
from hypothesis import strategies as st

from apply_edit.decode.batch import Batch
from apply_edit.decode.loop import Decoding, Output
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from proposers import Draft, Lookup, Nothing, References, create
from tests.fakes import ByteTokenizer, FakeTarget, hash_target, scripted_target

BYTES = ByteTokenizer()


class Fixed:
    """Proposes the same ids every time, or what a script says."""

    def __init__(self, ids):
        self.ids = tuple(ids)

    def propose(self, output, limit):
        """Return the ids."""
        return Draft(self.ids[:limit], "fixed")


def decode(target: FakeTarget, request: Request, proposer, gamma: int) -> Output:
    """Decode to the end."""
    return Decoding(target, BYTES, request, proposer, FixedGamma(gamma)).run()


def ask(text: str, **options) -> Request:
    """Return a request with the text as its prompt."""
    return Request(tuple(text.encode()), options.pop("limit", 1000), **options)


def script(text: str, prompt: str = "go") -> FakeTarget:
    """Return a target that writes the text behind a prompt of that length."""
    return scripted_target(len(prompt), [*text.encode(), 256], BYTES.vocab_size)


def test_a_perfect_draft_takes_one_pass():
    """When the whole output is drafted, prompt and draft go through the target in one pass."""
    text = "def f():\n    return 1\n"
    target = script(text)
    output = decode(
        target, ask("go", eos_ids=BYTES.eos_ids), create("cursor", References(text.encode())), 64
    )
    assert output.text == text
    assert output.finish == "eos"
    assert target.num_passes == 1
    assert output.report.run_lengths == [len(text)]


def test_no_draft_takes_one_pass_per_token():
    """Without drafts the loop is plain decoding: one pass per emitted token."""
    target = script("abc")
    output = decode(target, ask("go", eos_ids=BYTES.eos_ids), Nothing(), 64)
    assert output.text == "abc"
    assert target.num_passes == 4
    assert output.report.tokens_per_pass == 1.0


def test_wrong_drafts_change_nothing_but_the_cost():
    """A proposer that is always wrong gives the same text with as many passes as none."""
    target = script("abc")
    output = decode(target, ask("go", eos_ids=BYTES.eos_ids), Fixed(b"zzzz"), 4)
    assert output.text == "abc"
    assert target.num_passes == 4
    assert output.report.accepted == 0
    assert output.report.drafted == 16


def test_the_cache_holds_all_but_the_newest_token():
    """After the run the row held prompt and output without the newest token, and was closed."""
    target = script("abcdef")
    decoding = Decoding(target, BYTES, ask("go"), Fixed(b"abq"), FixedGamma(3))
    for event in decoding:
        rows = list(target.rows.values())
        if event.finish is None:
            done = decoding._row.output
            assert rows == [[*b"go", *done[:-1]]]
        if len(decoding._row.output) > 4:
            break
    assert target.rows == {}


def test_an_ending_token_inside_a_draft_ends_the_output_there():
    """Tokens that were drafted behind an accepted ending token are discarded, not emitted."""
    target = scripted_target(2, [97, 256, 97, 97], BYTES.vocab_size)
    output = decode(target, ask("go", eos_ids=BYTES.eos_ids), Fixed([97, 256, 97, 97]), 8)
    assert output.ids == (97, 256)
    assert output.text == "a"
    record = output.report.records[0]
    assert (record.drafted, record.accepted, record.discarded, record.emitted) == (4, 2, 2, 2)


def test_a_stop_string_across_two_passes_ends_the_text_before_it():
    """A stop string that begins in one pass and ends in the next is cut out of the text whole."""
    target = script("ab</x>cd")
    output = decode(target, ask("go", stop=("</x>",)), Fixed(b"ab</"), 4)
    assert output.text == "ab"
    assert output.finish == "stop"
    assert bytes(output.ids) == b"ab</x>"


def test_the_limit_is_never_exceeded():
    """max_new_tokens holds whether it is reached by a draft, a correction or a bonus token."""
    for limit in range(1, 9):
        for gamma in range(5):
            target = script("abcdefgh")
            output = decode(
                target, ask("go", limit=limit), create("cursor", References(b"abcdefgh")), gamma
            )
            assert output.text == "abcdefgh"[:limit]
            assert output.finish == "length"
            assert max(target.widths) <= 2 + limit


def test_the_context_limit_ends_the_output():
    """The output stops when prompt and output fill the context; no block goes beyond it."""
    target = scripted_target(2, b"abcdefgh", BYTES.vocab_size, context_limit=6)
    output = decode(target, ask("go"), create("cursor", References(b"abcdefgh")), 8)
    assert output.text == "abcd"
    assert output.finish == "length"


def test_a_long_prompt_is_read_in_chunks():
    """Chunks of the prompt are passes of their own, and the first draft rides on the last one."""
    target = scripted_target(10, [*b"abc", 256], BYTES.vocab_size)
    request = ask("0123456789", prefill_chunk=4, eos_ids=BYTES.eos_ids)
    output = decode(target, request, create("cursor", References(b"abc")), 8)
    assert output.text == "abc"
    assert target.widths == [4, 4, 2 + 3]
    assert output.report.prefill_passes == 2


def test_cancelling_takes_effect_before_the_next_pass():
    """A cancelled decoding runs no further pass, not even in the middle of a long prompt."""
    target = script("abc")
    request = ask("0123456789", prefill_chunk=4)
    decoding = Decoding(
        target, BYTES, request, Nothing(), FixedGamma(4), lambda: target.num_passes >= 1
    )
    assert decoding.run().finish == "cancelled"
    assert target.num_passes == 1
    assert target.rows == {}


def test_an_unknown_id_ends_a_draft():
    """Draft ids that the target does not have are dropped with what follows them."""
    target = script("abc")
    output = decode(target, ask("go", eos_ids=BYTES.eos_ids), Fixed([97, 5000, 98]), 8)
    assert output.text == "abc"
    assert output.report.drafted == 3


drafts = st.lists(st.lists(st.integers(0, 49), max_size=6), min_size=1, max_size=6)


class Cycle:
    """Proposes given drafts in turn."""

    def __init__(self, items):
        self.items, self.turn = items, 0

    def propose(self, output, limit):
        """Return the next draft in turn."""
        self.turn += 1
        return Draft(tuple(self.items[self.turn % len(self.items)])[:limit], "cycle")


@settings(max_examples=300, deadline=None)
@given(drafts, st.integers(0, 6), st.integers(1, 20), st.sets(st.integers(0, 49), max_size=3))
def test_speculation_never_changes_the_output(items, gamma, limit, eos):
    """Greedy output with any drafts equals plain greedy output, on a hash target."""
    request = Request((1, 2, 3), limit, eos_ids=frozenset(eos))
    plain = decode(hash_target(), request, Nothing(), 0)
    fast = decode(hash_target(), request, Cycle(items), gamma)
    assert fast.ids == plain.ids
    assert fast.finish == plain.finish
    assert fast.text == plain.text
    report = fast.report
    assert report.drafted == sum(r.accepted + r.rejected + r.discarded for r in report.records)
    assert report.emitted == len(fast.ids)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 49), st.integers(1, 12), drafts), min_size=1, max_size=5))
def test_a_batch_gives_every_request_what_it_would_get_alone(requests):
    """Rows that join at different times and accept different lengths do not disturb each other."""
    target = hash_target()
    batch = Batch(target, BYTES, max_tokens_per_step=9)
    rows = []
    for first, limit, items in requests:
        rows.append(batch.join(Request((first, 7), limit), Cycle(items), FixedGamma(4)))
        batch.step()
    while len(batch):
        batch.step()
    for row, (first, limit, _) in zip(rows, requests, strict=True):
        alone = decode(hash_target(), Request((first, 7), limit), Nothing(), 0)
        assert tuple(row.output) == alone.ids
    assert target.rows == {}


def test_lookup_follows_a_match_ahead_of_its_cursor():
    """Of two equal places the one ahead of the last copy is taken, not the first in the file."""
    lookup = Lookup(b"a x1 a x2 a x3", longest=3)
    assert bytes(lookup.propose(b"", 4).ids) == b"a x1"
    assert bytes(lookup.propose(b"a x1 a x", 2).ids) == b"2 "
