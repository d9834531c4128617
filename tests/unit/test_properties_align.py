from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from apply_edit import line_ops as algorithm
from apply_edit.align import keep_original_bytes, line_ops, plain_line, unified_diff
from apply_edit.guard import check
from apply_edit.text import split_lines, with_newlines
from apply_edit.types import EditFormat, ParsedEdit

ENDS = st.sampled_from(["\n", "\r\n", "\r"])
BODIES = st.sampled_from(
    ["", " ", "a", "a  ", "b", "\tb", "}", "caf\u00e9", "cafe\u0301", "x\u00a0y", "x y", "z\x0c"]
) | st.text("ab \t\u2028\u00a0\u0301\x0c\u200b", max_size=5)
LINES = st.lists(st.tuples(BODIES, ENDS), max_size=25)
TEXTS = st.builds(
    lambda lines, last: "".join(body + end for body, end in lines) + last, LINES, BODIES
)
KEYS = st.lists(st.sampled_from("abcdef"), max_size=40)
MANY = settings(max_examples=400, deadline=None)


@MANY
@given(TEXTS)
def test_identity(original: str):
    """Text that did not change comes back byte for byte, and so does its copy with LF ends."""
    assert keep_original_bytes(original, original) == original
    assert keep_original_bytes(original, with_newlines(original, "\n")) == original


@MANY
@given(TEXTS)
def test_normalised_copy_becomes_the_original(original: str):
    """What a model does to spaces and Unicode on the way is undone in every line."""
    copy = "".join(plain_line(line) + "\n" for line in split_lines(original))
    assert keep_original_bytes(original, copy) == original
    assert keep_original_bytes(original, unicodedata.normalize("NFC", original)) == original


@MANY
@given(TEXTS, TEXTS)
def test_line_ends_commute(original: str, text: str):
    """Merging the CRLF file is the same as merging the LF file and converting."""
    assume("\n" in original or "\r" in original)
    unix, text = with_newlines(original, "\n"), with_newlines(text, "\n")
    dos = with_newlines(unix, "\r\n")
    assert keep_original_bytes(dos, text) == with_newlines(keep_original_bytes(unix, text), "\r\n")


@MANY
@given(TEXTS, TEXTS)
def test_result_says_what_the_text_says(original: str, text: str):
    """Whatever the original is, the lines of the result say what the lines of the text say."""
    result = keep_original_bytes(original, text)
    wanted = [plain_line(line) for line in split_lines(text)]
    got = [plain_line(line) for line in split_lines(result)]
    # A last line that is empty but for its end disappears with the end.
    assert [*got, ""][: len(wanted)] == wanted
    assert len(wanted) - len(got) in (0, 1)


@pytest.mark.parametrize("cells", [0, 30, 10**9])
def test_line_ops_cover_and_are_equal(cells: int, monkeypatch: pytest.MonkeyPatch):
    """Ops cover both sides without gaps, equal ones are equal, and kinds alternate."""
    monkeypatch.setattr(algorithm, "_EXACT_CELLS", cells)
    monkeypatch.setattr(algorithm, "_WINDOW", 8)

    @MANY
    @given(KEYS, KEYS)
    def law(old: list[str], new: list[str]):
        i = j = 0
        was_equal: bool | None = None
        for op in line_ops(old, new):
            assert (op.old_start, op.new_start) == (i, j)
            assert op.old_end > i or op.new_end > j
            equal = op.kind == "equal"
            assert equal != was_equal
            assert not equal or old[i : op.old_end] == new[j : op.new_end]
            assert (op.kind == "insert") == (op.old_end == i)
            assert (op.kind == "delete") == (op.new_end == j)
            i, j, was_equal = op.old_end, op.new_end, equal
        assert (i, j) == (len(old), len(new))

    law()


@MANY
@given(TEXTS, TEXTS, st.integers(0, 4))
def test_unified_diff_rebuilds_both_sides(original: str, text: str, context: int):
    """The signs of a diff tell the old and the new lines of every hunk, and headers count them."""
    diff = unified_diff(original, text, "x", context)
    assert (diff == "") == (original == text)
    old = original.split("\n")
    for hunk in diff.split("\n@@ ")[1:]:
        header, _, body = hunk.partition(" @@\n")
        start, _, count = header.split(" ")[0][1:].partition(",")
        lines = [line for line in body.split("\n") if line[:1] in (" ", "-")]
        assert len(lines) == int(count or "1")
        first = int(start) - 1 if lines else 0
        assert [line[1:] for line in lines] == old[first : first + len(lines)]


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS, TEXTS, st.sampled_from(["python", "typescript", "markdown", None]))
def test_guard_never_crashes(original: str, text: str, snippet: str, language: str | None):
    """Any three texts get an answer from the guard, and an unchanged file is never refused."""
    for edit in (
        ParsedEdit(EditFormat.LAZY, snippet=snippet),
        ParsedEdit(EditFormat.WHOLE, snippet=snippet),
        ParsedEdit(EditFormat.INSTRUCTION, instruction=snippet),
    ):
        check(original, text, edit, language=language)
    same = ParsedEdit(EditFormat.LAZY, snippet=original)
    assert check(original, original, same, language=language) == []
