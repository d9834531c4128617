import pytest

from benchmarks.drafting import replay
from proposers import Draft, References, Router
from proposers.echo import Echo
from proposers.file_cursor import Change
from tests.fakes import ByteTokenizer

BYTES = ByteTokenizer()


def taught(old: bytes, new: bytes, change: Change) -> Echo:
    """Return an echo that has seen a change."""
    echo = Echo(BYTES)
    echo.learn(old, new, change)
    return echo


def renamer() -> Echo:
    """Return an echo that has seen ``total`` become ``amount``."""
    return taught(b"x = total + 1", b"x = amount + 1", Change(4, 9, 4, 10))


def original(text: bytes) -> Draft:
    """Return a copy of the original."""
    return Draft(tuple(text), "original", (), (("unchanged", len(text)),))


def test_a_rename_is_applied_to_what_is_copied():
    """The old word becomes the new one, as a whole word only, and says so."""
    draft = renamer().apply(original(b"f(total, total_2, subtotal)"), 99)
    assert bytes(draft.ids) == b"f(amount, total_2, subtotal)"
    assert ("echo", 8) in draft.sources
    assert sum(count for _, count in draft.regions) == len(draft)


def test_a_change_within_a_word_is_one_of_the_word():
    """A divergence that begins in the middle of a word still renames the word."""
    echo = taught(b"run(old_name)", b"run(old_label)", Change(8, 12, 8, 13))
    draft = echo.apply(original(b"old_name()"), 99)
    assert bytes(draft.ids) == b"old_label()"


@pytest.mark.parametrize(
    ("old", "new"), [(b"a + b", b"a - b"), (b"f(x)", b"f(x, y + 1)"), (b"x", b"y")]
)
def test_other_changes_are_no_renames(old, new):
    """Operators, new arguments and single letters are not echoed."""
    echo = taught(old, new, Change(0, len(old), 0, len(new)))
    assert echo.apply(original(old * 3), 99) == original(old * 3)


def test_a_contradicted_rename_is_forgotten():
    """Where the output keeps the old word, the rename was meant for one place."""
    echo = renamer()
    echo.observe(b"g(total)")
    assert echo.apply(original(b"f(total)"), 99) == original(b"f(total)")


def test_only_copies_of_the_original_are_changed():
    """The edit's own text is offered as it is."""
    draft = Draft(tuple(b"f(total)"), "snippet", (), (("edit", 8),))
    assert renamer().apply(draft, 99) == draft


def test_the_limit_holds():
    """A longer new word does not make a draft longer than asked for."""
    assert len(renamer().apply(original(b"f(total)"), 8)) == 8


def test_a_renamed_file_takes_fewer_passes():
    """A name that was replaced twice is replaced in the draft from then on."""
    text = "".join(f"line_{i}(total, {i * 31 % 17})\n" for i in range(12))
    target = tuple(text.replace("total", "amount").encode())
    references = References(tuple(text.encode()), view=BYTES)
    with_echo = len(replay(Router(references), target, 500))
    without = len(replay(Router(references, echo=False), target, 500))
    assert with_echo * 2 <= without
