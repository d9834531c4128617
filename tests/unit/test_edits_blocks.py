import pytest

from apply_edit.edits import roo, search_replace
from apply_edit.errors import EditParseError


def pairs(edit, parse=search_replace.parse):
    """Return old and new text of all blocks."""
    return [(h.old, h.new) for f in parse(edit).files for h in f.hunks]


def test_a_block_is_old_and_new_text():
    """SEARCH is the old text, REPLACE the new one."""
    edit = "f.py\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
    assert pairs(edit) == [("a\n", "b\n")]
    assert search_replace.parse(edit).files[0].path == "f.py"


@pytest.mark.parametrize("n", [5, 6, 8, 9])
def test_markers_of_other_lengths_are_read(n):
    """Five to nine signs make a marker."""
    edit = f"{'<' * n} SEARCH\na\n{'=' * n}\nb\n{'>' * n} REPLACE"
    assert pairs(edit) == [("a\n", "b\n")]


def test_the_file_name_is_found_through_a_fence_and_kept_for_later_blocks():
    """A name stands above fence or block; blocks without one are about the same file."""
    block = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
    edit = f"Here it is:\n\nsrc/f.py\n```python\n{block}```\n\n...\n\n{block}"
    (file,) = search_replace.parse(edit).files
    assert (file.path, len(file.hunks)) == ("src/f.py", 2)


def test_blocks_of_several_files_are_grouped():
    """One FileEdit per file, in the order of first mention."""
    block = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
    files = search_replace.parse(f"a.py\n{block}\nb.py\n{block}\na.py\n{block}").files
    assert [(f.path, len(f.hunks)) for f in files] == [("a.py", 2), ("b.py", 1)]


def test_a_heading_underline_that_equals_the_separator_is_a_second_reading():
    """Every separator line is tried; the file decides."""
    edit = "<<<<<<< SEARCH\nA\n=======\nB\n=======\nc\n>>>>>>> REPLACE\n"
    (file,) = search_replace.parse(edit).files
    assert file.hunks[0].old == "A\n=======\nB\n"
    assert file.hunks[0].readings == (("A\n", "B\n=======\nc\n"),)


def test_a_closing_marker_behind_the_last_line_of_code_is_seen():
    """A missing line break before the marker is overlooked."""
    assert pairs("<<<<<<< SEARCH\na\n=======\nb}>>>>>>> REPLACE\n") == [("a\n", "b}\n")]


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        ("<<<<<<< SEARCH\na\n=======\nb\n", "not closed"),
        ("<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", "no separator"),
        ("=======\na\n>>>>>>> REPLACE\n", "no SEARCH line opens"),
        ("<<<<<<< SEARCH\na\n<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE\n", "no separator"),
        ("<<<<<<< SEARCH\na\n=======\n=======\n>>>>>>> REPLACE\n", "two separator"),
        ("<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n", "neither"),
        ("just text\n", "no SEARCH/REPLACE block"),
    ],
)
def test_malformed_blocks_are_refused_with_the_reason(edit, why):
    """Nothing is guessed about a block that is not whole."""
    with pytest.raises(EditParseError, match=why):
        search_replace.parse(edit)


def test_roo_directives_are_hints_and_escaped_markers_are_text():
    """`:start_line:` is read, `-------` dropped, an escaped marker unescaped."""
    edit = (
        "<<<<<<< SEARCH\n:start_line: 12\n:end_line: 13\n-------\na\n\\=======\n=======\nb\n"
        ">>>>>>> REPLACE\n"
    )
    (file,) = roo.parse(edit).files
    assert (file.hunks[0].old, file.hunks[0].start_line) == ("a\n=======\n", 12)


def test_a_directive_in_the_replacement_is_refused():
    """A line directive belongs into the SEARCH part."""
    with pytest.raises(EditParseError, match="directive"):
        roo.parse("<<<<<<< SEARCH\na\n=======\n:start_line:5\nb\n>>>>>>> REPLACE\n")


def test_cline_blocks_have_dashes_and_may_end_with_the_text():
    """`------- SEARCH` blocks are closed by the end of the edit, as Cline does."""
    assert pairs("------- SEARCH\na\n=======\nb\n+++++++ REPLACE", roo.parse) == [("a\n", "b\n")]
    assert pairs("------- SEARCH\na\n=======\nb\n\n", roo.parse) == [("a\n", "b\n")]
    assert pairs("```\n------- SEARCH\na\n=======\nb\n```\nBye!\n", roo.parse) == [("a\n", "b\n")]


def test_an_open_cline_block_with_prose_around_is_refused():
    """Prose behind the block would get into the file."""
    with pytest.raises(EditParseError, match="not closed"):
        roo.parse("Sure, here it is.\n\n------- SEARCH\na\n=======\nb\nBye!\n")


def test_find_and_replace_parts_are_fenced():
    """Copilot's blocks have their code in fences, also longer ones."""
    edit = (
        "---FILEPATH /x/f.py\n---FIND\n````md\n```\na\n```\n````\n---REPLACE\n````md\nb\n````\n"
        "---COMPLETE\n"
    )
    (file,) = search_replace.parse(edit).files
    assert (file.path, file.hunks[0].old, file.hunks[0].new) == ("/x/f.py", "```\na\n```\n", "b\n")


@pytest.mark.parametrize(
    "edit",
    ["---FIND\n```\na\n```\n", "---FIND\n```\na\n", "---FIND\n```\na\n```\n---REPLACE\n```\nb\n"],
)
def test_find_without_its_replacement_is_refused(edit):
    """A cut-off answer is not applied."""
    with pytest.raises(EditParseError, match="cut off"):
        search_replace.parse(edit)
    with pytest.raises(EditParseError, match="without ---FIND"):
        search_replace.parse("---REPLACE\nx\n---FIND\ny\n---REPLACE\nz\n")


def test_original_and_updated_name_a_block_too():
    """Another pair of words for the same markers."""
    assert pairs("<<<<<<< ORIGINAL\na\n=======\nb\n>>>>>>> UPDATED\n") == [("a\n", "b\n")]


@pytest.mark.parametrize("word", ["<<<<<<<SEARCH", "<<<<<<< search"])
def test_a_misspelt_marker_is_recognised_and_refused(word):
    """Such a text is no snippet of code: it would put the markers into the file."""
    edit = f"{word}\na\n=======\nb\n>>>>>>>REPLACE\n"
    assert search_replace.looks_like(edit)
    with pytest.raises(EditParseError):
        search_replace.parse(edit)


def test_an_underlined_line_may_end_the_search_text():
    """With a third separator line, two in a row are an underline and the separator."""
    edit = "<<<<<<< SEARCH\nT\n=======\n=======\nN\n=======\n>>>>>>> REPLACE\n"
    (hunk,) = search_replace.parse(edit).files[0].hunks
    assert ("T\n=======\n", "N\n=======\n") in [(hunk.old, hunk.new), *hunk.readings]


def test_only_the_first_rule_of_a_roo_block_is_syntax():
    """The second `-------` is text."""
    edit = "<<<<<<< SEARCH\n:start_line:1\n-------\n-------\na\n=======\nb\n>>>>>>> REPLACE\n"
    assert pairs(edit, roo.parse) == [("-------\na\n", "b\n")]
