import pytest

from apply_edit.errors import AmbiguousAnchor, AnchorNotFound
from apply_edit.match.assign import assign
from apply_edit.match.ladder import FileLines, changes, fold, ladder, likely_starts, run_places
from apply_edit.match.locate import ALREADY, anchor_rows, locate
from apply_edit.match.near import nearest
from apply_edit.types import FileEdit, Hunk


def found(text, old, new="x\n", **facts):
    """Look for a hunk in a text."""
    return locate(FileLines(text), Hunk(old, new, **facts))


def starts(spot):
    """Return the first lines of the places."""
    return [place.start for place in spot.places]


@pytest.mark.parametrize(
    ("step", "text", "old"),
    [
        ("exact", "a\nb\n", "b\n"),
        ("exact", "a\r\nb\r\n", "b\n"),
        ("trailing_space", "a\nb  \n", "b\n"),
        ("line_numbers", "a\nbb\ncc\n", "2 | bb\n3 | cc\n"),
        ("outer_blank_lines", "a\nb\n", "\nb\n\n"),
        ("unicode", "say “hi” \u2013 now\n", 'say "hi" - now\n'),
        ("unicode", "cafe\u0301\n", "café\n"),
        ("indentation", "    if x:\n        y\n", "if x:\n    y\n"),
        ("inner_space", "f( a,   b )\n", "f( a, b )\n"),
        ("blank_lines", "a\n\nb\n", "a\nb\n"),
        ("escapes", 'x = "a"\n', 'x = \\"a\\"\n'),
        ("escapes", "a\n\tb\n", "a\\n\\tb\n"),
        ("elided_lines", "a\nb\nc\nd\n", "a\n# ... existing code ...\nd\n"),
        (
            "similarity",
            "alpha beta\ngamma delta\nx = 1\ny = 2\n",
            "alpha bete\ngamma delta\nx = 1\n",
        ),
    ],
)
def test_each_step_finds_what_it_is_for(step, text, old):
    """A slip of each kind is found by the step of that name, and by none before it."""
    new = "\n" + "x\n" + "\n" if step == "outer_blank_lines" else "x\n"
    if step == "elided_lines":
        new = old.replace("a\n", "A\n", 1)
    if step == "similarity":
        new = old.replace("x = 1", "x = 2")
    spot = found(text, old, new)
    assert (spot.step, len(spot.places)) == (step, 1)


def test_an_exact_place_is_never_weighed_against_a_loose_one():
    """A loose match elsewhere does not make an exact one ambiguous."""
    assert starts(found("  a\nx\na\n", "a\n")) == [2]


def test_steps_have_unique_names_and_exact_comes_first():
    """The ladder begins with the exact step."""
    names = [name for name, _ in ladder()]
    assert names[0] == "exact"
    assert len(set(names)) == len(names)


def test_runs_that_overlap_are_all_found():
    """Three equal lines hold two overlapping pairs."""
    places = run_places(FileLines("a\na\na\n"), ("a", "a"), "exact")
    assert [p.start for p in places] == [0, 1]


def test_similarity_does_not_overwrite_a_line_that_differs():
    """What the edit changes must stand in the file, however alike the rest is."""
    text = "func a() {\n\tx := 1\n\ty := 2\n\tz := 3\n\treturn\n}\n"
    old = text.replace("y := 2", "y := 99")
    assert found(text, old, old.replace("99", "100")) is None


def test_similarity_needs_the_neighbours_of_an_insertion():
    """A line is not inserted beside one that is not there."""
    text = "one two\nthree four\nfive six\nseven eight\n"
    old = text.replace("three four", "three fours")
    new = old.replace("three fours\n", "three fours\nnew\n")
    assert found(text, old, new) is None


def test_blank_lines_are_not_skipped_for_a_single_line():
    """One line is too little to look for across blank ones."""
    assert found("a\n\nb\n", "c\n") is None


def test_anchors_choose_among_equal_places():
    """The first place below the anchor is meant, below each of several anchors one."""
    text = "fn a\nx\nfn b\nx\n"
    assert starts(found(text, "x\n", anchors=("fn b",))) == [3]
    assert starts(found("def f\nx\ndef f\nx\n", "x\n", anchors=("def f",))) == [1, 3]


def test_stacked_anchors_must_all_be_there_in_order():
    """A second anchor that is not below the first one is no place."""
    text = "class A\n    def f()\n        x\nclass B\n    def g()\n        x\n"
    assert starts(found(text, "        x\n", anchors=("class B", "def g()"))) == [5]
    assert found(text, "        x\n", anchors=("class B", "def f()")) is None


def test_one_unknown_anchor_is_advice_for_a_unique_text():
    """A single anchor that is not in the file does not hide an exact and unique text."""
    assert starts(found("a\nb\n", "b\n", anchors=("nope",))) == [1]
    assert found("b\nb\n", "b\n", anchors=("nope",)) is None
    assert found("  b\n", "b\n", anchors=("nope",)) is None


@pytest.mark.parametrize("anchor", ["class Foo:", "  class Foo:  ", "class  Foo:", "class Foo"])
def test_anchors_are_found_with_other_spaces_or_cut_short(anchor):
    """An anchor may lack its indentation or its end."""
    assert anchor_rows(FileLines("x\n  class Foo:\ny\n"), (anchor,)) == [1]
    assert anchor_rows(FileLines("x\n"), ("y",)) == []


def test_the_end_of_file_mark_chooses_the_last_place():
    """`at_end` prefers the place at the end, blank lines behind it do not matter."""
    assert starts(found("a\nx\na\n\n", "a\n", at_end=True)) == [2]
    assert starts(found("a\nx\n", "a\n", at_end=True)) == [0]


def test_insertions_go_where_number_anchor_or_mark_say():
    """Text without old text needs a place of another kind."""
    assert starts(found("a\nb\n", "", insert_after=1)) == [1]
    assert starts(found("a\nb\nc\n", "", anchors=("b",))) == [2]
    assert starts(found("a\nb\n", "", at_end=True)) == [2]
    assert starts(found("", "", "x\n")) == [0]
    assert found("a\n", "", insert_after=2) is None
    assert found("a\n", "") is None
    assert found("b\nb\n", "", anchors=("b",)) is None
    assert found("", "a\n") is None


def test_a_hunk_whose_result_stands_there_is_already_applied():
    """The old text is gone and the new one is there, in two lines or more."""
    assert found("a\nb\nc\n", "a\nc\n", "a\nb\nc\n").step == ALREADY
    assert found("b\n", "a\n", "b\n") is None


def test_one_line_was_changed_before_where_it_resembles_the_old_one_most():
    """A single new line that is there is no proof by itself."""
    assert found("x = 2\ny = 5\n", "x = 1\n", "x = 2\n").step == ALREADY
    assert found("x = 2\nx = 3\n", "x = 1\n", "x = 2\n") is None
    assert found("x = 2\nx = 2\n", "x = 1\n", "x = 2\n") is None
    assert found("pass\n", "frobnicate()\n", "pass\n") is None


def test_a_line_that_is_taken_away_may_stand_elsewhere():
    """Lines around the change tell that the place was changed before; without them it is doubt."""
    text = "def f():\n    return b\n\n\n\n\ndef g():\n    return a\n"
    change = ("def f():\n    return a\n", "def f():\n    return b\n")
    assert found(text, *change).step == ALREADY
    near = "def f():\n    return b\n    return a\n"
    assert found(near, *change) is None
    block = ("one = 1\ntwo = 2\n", "three = 3\nfour = 4\n")
    assert found("three = 3\nfour = 4\n\n\n\n\n\none = 1\n", *block) is None


def test_what_is_only_taken_away_cannot_be_recognised():
    """The rest of a deletion at the edge stands in every file."""
    assert found("a = 1\nb = 2\n", "a = 1\nb = 2\nc = 3\n", "a = 1\nb = 2\n") is None


def test_a_loose_find_inside_the_new_text_is_no_place():
    """Lines that were wrapped are found again, indented; the edit was applied before."""
    text = "try:\n    f()\nexcept E:\n    pass\n"
    assert found(text, "f()\n", text).step == ALREADY
    # What is left of a deletion is no new text.
    assert found("a = 1\n  b = 2\n", "a = 1\nb = 2\n", "a = 1\n").step == "indentation"


def test_an_anchor_that_is_there_must_be_above_the_place():
    """Text above the only anchor is another one; only an anchor that is nowhere is overlooked."""
    assert found("x = 10\nfn b\n", "x = 10\n", anchors=("fn b",)) is None
    assert starts(found("x = 10\n", "x = 10\n", anchors=("fn b",))) == [0]


def test_a_reindented_text_is_not_indented_twice():
    """A loose find whose region is the new text is already applied."""
    assert found("  a\n  b\n", "a\nb\n", "  a\n  b\n").step == ALREADY


def chosen(text, hunks, *, ordered=True):
    """Return the first lines of the places that are chosen for each hunk."""
    file = FileLines(text)
    edit = FileEdit("f", hunks=tuple(hunks), ordered=ordered)
    picked = assign(file, edit, [locate(file, h) for h in hunks])
    return [[place.start for place in places] for places in picked]


def test_the_order_of_hunks_resolves_repeats():
    """A hunk behind a unique one takes the only place behind it."""
    text = "x\nmid\nx\n"
    assert chosen(text, [Hunk("mid\n", "m\n"), Hunk("x\n", "y\n")]) == [[1], [2]]
    assert chosen("x\na\nx\n", [Hunk("x\n", "1\n"), Hunk("x\n", "2\n")]) == [[0], [2]]


def test_order_that_leaves_two_choices_is_ambiguous():
    """Both lines are listed."""
    with pytest.raises(AmbiguousAnchor) as error:
        chosen("x\nx\nmid\n", [Hunk("x\n", "y\n"), Hunk("mid\n", "m\n")])
    assert error.value.fields == {
        "hunk": 0,
        "count": 2,
        "lines": [1, 2],
        "hunks": ["ambiguous", "found"],
    }


def test_blocks_out_of_order_are_taken_where_each_is_unique():
    """Order is only used where it is needed."""
    assert chosen("a\nb\n", [Hunk("b\n", "B\n"), Hunk("a\n", "A\n")]) == [[1], [0]]


def test_equal_blocks_take_equal_places_one_by_one():
    """K blocks with one text and k places go together, also where order means nothing."""
    hunks = [Hunk("x\n", "1\n"), Hunk("x\n", "2\n")]
    assert chosen("x\na\nx\n", hunks, ordered=False) == [[0], [2]]
    with pytest.raises(AmbiguousAnchor):
        chosen("x\nx\nx\n", hunks, ordered=False)
    with pytest.raises(AmbiguousAnchor):
        chosen("x\nmid\nx\n", [Hunk("mid\n", "m\n"), Hunk("x\n", "y\n")], ordered=False)


def test_a_line_number_decides_only_beyond_doubt():
    """A number at or close to one place, with the next one far away, picks it."""
    text = "x\n" + "a\n" * 30 + "x\n"
    assert chosen(text, [Hunk("x\n", "y\n", start_line=32)]) == [[31]]
    assert chosen(text, [Hunk("x\n", "y\n", start_line=30)]) == [[31]]
    with pytest.raises(AmbiguousAnchor):
        chosen(text, [Hunk("x\n", "y\n", start_line=15)])
    with pytest.raises(AmbiguousAnchor):
        chosen("x\na\na\nx\n", [Hunk("x\n", "y\n", start_line=2)])


def test_numbers_are_read_relative_to_a_hunk_whose_place_is_known():
    """A diff for a file that has moved by ten lines points ten lines further."""
    text = "new\n" * 10 + "u\n" + "v\nx\n" * 8
    hunks = [Hunk("u\n", "U\n", start_line=1), Hunk("x\n", "X\n", start_line=5)]
    assert chosen(text, hunks) == [[10], [14]]


def test_every_occurrence_is_taken_without_overlap():
    """`replace_all` goes from top to bottom."""
    assert chosen("a\na\na\n", [Hunk("a\na\n", "b\n", replace_all=True)]) == [[0]]


def test_an_insertion_by_number_is_refused_where_numbers_are_off():
    """Another hunk that stands elsewhere than its number says makes numbers worthless."""
    hunks = [Hunk("b\n", "B\n", start_line=1), Hunk("", "x\n", insert_after=2)]
    with pytest.raises(AnchorNotFound, match="numbers of the edit are off"):
        chosen("a\nb\nc\n", hunks)


def test_the_nearest_region_names_its_first_differing_line():
    """Lines are counted from 1."""
    near = nearest(FileLines("one\ntwo\nthree\nfour\n"), ("two", "threx", "four"))
    assert (near.start_line, near.end_line, near.line) == (2, 4, 3)
    assert (near.expected, near.found) == ("threx", "three")


def test_the_nearest_region_may_share_no_line():
    """The longest line finds it by likeness; nothing alike is nothing near."""
    near = nearest(FileLines("x\nreturn total_sum\n"), ("return total_sums",))
    assert (near.start_line, near.line) == (2, 2)
    assert nearest(FileLines("aaaa\n"), ("zzzzzz",)) is None
    assert nearest(FileLines(""), ("a",)) is None


def test_similarity_only_scores_windows_that_share_a_line():
    """The number of windows depends on shared lines, not on the size of the file."""
    file = FileLines("filler\n" * 1000 + "shared\n" + "filler\n" * 1000)
    assert likely_starts(file, ["x", "shared", "filler"], "inner_space") == [999]


def test_folding_keeps_ascii_and_joins_accents():
    """Quotes, dashes and spaces become ASCII."""
    assert fold("“a”\u00a0\u2013\u2019") == '"a" -\''
    assert fold("e\u0301") == "é"


def test_changes_are_regions_of_both_texts():
    """Equal texts have none."""
    assert changes("abc", "abc") == []
    assert changes(["a", "b"], ["a", "c", "b"]) == [(1, 1, 1, 2)]


def test_a_heading_chooses_among_equal_places():
    """The place in the block that a diff's heading names is meant, if there is only one."""
    text = "def a():\n    x = 1\n    y\n\ndef b():\n    x = 1\n    y\n"
    hunk = Hunk("    x = 1\n", "    x = 2\n", heading="def b():")
    file, edit = FileLines(text), FileEdit(None, hunks=(hunk,), ordered=True)
    ((place,),) = assign(file, edit, [locate(file, hunk)])
    assert place.start == 5


def test_a_heading_does_not_choose_where_the_place_may_be_behind_its_block():
    """Code of the module behind a function has that function's heading too."""
    text = "def a():\n    x = 1\n\nif q:\n    x = 1\n"
    hunk = Hunk("    x = 1\n", "    x = 2\n", heading="def a():")
    file, edit = FileLines(text), FileEdit(None, hunks=(hunk,), ordered=True)
    with pytest.raises(AmbiguousAnchor):
        assign(file, edit, [locate(file, hunk)])


@pytest.mark.parametrize("line", ["line 66", "value 12 of the sum"])
def test_short_lines_and_other_numbers_are_not_similar(line):
    """``line 6`` and ``line 66`` are two lines, not one with a slip."""
    text = f"alpha beta\ngamma delta\n{line}\n"
    old = "alpha beta\ngamma delta\n" + line.replace("66", "6").replace("12", "13") + "\n"
    assert found(text, old, "omega\n" + old) is None


def test_new_lines_lose_their_numbers_although_they_do_not_count_up():
    """The old text is numbered, so whatever numbers new lines have are a listing's."""
    spot = found("aa\nbb\n", "1 | aa\n2 | bb\n", "1 | aa\nnew\n2 | bb\n2 | cc\n")
    assert spot.new == ("aa", "new", "bb", "cc")
