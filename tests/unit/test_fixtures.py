from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from apply_edit.edits import detect, parse
from apply_edit.markers import is_marker
from apply_edit.text import SourceText, line_end, split_lines, strip_end
from apply_edit.types import EditFormat
from tests.fixture_cases import EDIT_SUFFIXES, FIXTURES, FixtureCase, load_all, load_case

CASES = load_all()


def cases_of(*formats: EditFormat) -> pytest.MarkDecorator:
    """Parametrise a test over the fixtures of some formats, or over all."""
    chosen = [case for case in CASES if not formats or case.format in formats]
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.name)


every_case = cases_of()
UTF8_BOM = b"\xef\xbb\xbf"
BLOCK = re.compile(r"<{7} SEARCH\n(.*?)={7}\n(.*?)>{7} REPLACE\n", re.DOTALL)
FENCED = re.compile(r"^```[\w+#-]*\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def lines_of(data: bytes) -> list[str]:
    """Decode a file and split it into lines."""
    return split_lines(SourceText.from_bytes(data).text)


def line_ends(data: bytes) -> set[str]:
    """Return the kinds of line end that a file has."""
    return {line_end(line) for line in lines_of(data)} - {""}


def snippet_of(case: FixtureCase) -> str:
    """Take the code out of the fence where the fixture says that there is one."""
    if "fence" not in case.tags:
        return case.edit
    match = FENCED.search(case.edit)
    assert match is not None
    return match["code"]


def write_fixture(folder: Path, **files: str) -> Path:
    """Write a complete fixture; ``case__toml="…"`` adds or replaces the file ``case.toml``."""
    folder.mkdir(parents=True)
    parts = {
        "original.py": "a = 1\n",
        "expected.py": "a = 2\n",
        "edit.md": "a = 2\n",
        "case.toml": 'format = "lazy"\ndescription = "d"\npath = "a.py"\ntags = []\n',
    } | {name.replace("__", "."): text for name, text in files.items()}
    for name, text in parts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_the_set_covers_the_languages_and_formats():
    """There are enough fixtures, lazy snippets, languages and formats to build tests on."""
    formats = Counter(case.format for case in CASES)
    assert len(CASES) >= 18
    assert formats[EditFormat.LAZY] >= 12
    assert len({case.language for case in CASES}) >= 8
    assert set(formats) == set(EDIT_SUFFIXES)


def test_exactly_one_fixture_is_the_demo():
    """The demo is found by its tag, so there must be one and no second."""
    assert [case.name for case in CASES if "demo" in case.tags] == ["python/demo_rate_limiter"]


def test_no_fixture_is_left_out():
    """A folder that has any part of a fixture is loaded; nothing hides by lacking a case.toml."""
    parts = [
        path
        for pattern in ("original.*", "edit.*", "expected.*", "case.toml")
        for path in FIXTURES.glob(f"*/*/{pattern}")
    ]
    assert {path.parent for path in parts} == {case.folder for case in CASES}


def test_a_name_leads_to_its_formats_only():
    """load_all with formats returns just those fixtures."""
    assert {case.format for case in load_all(EditFormat.UDIFF, EditFormat.V4A)} == {
        EditFormat.UDIFF,
        EditFormat.V4A,
    }


def test_an_unknown_key_is_refused(tmp_path):
    """A misspelt key in case.toml is an error and not silently unused."""
    toml = 'format = "lazy"\ndescription = "d"\npath = "a.py"\ntags = []\nskip = true\n'
    with pytest.raises(ValueError, match="skip"):
        load_case(write_fixture(tmp_path / "python" / "case", case__toml=toml))


def test_two_edits_are_refused(tmp_path):
    """A fixture with two edits does not say which one is meant."""
    folder = write_fixture(tmp_path / "python" / "case", edit__diff="--- a\n")
    with pytest.raises(ValueError, match=r"2 files edit"):
        load_case(folder)


def test_a_complete_fixture_is_loaded(tmp_path):
    """The loader takes name and language from the folders and the rest from the files."""
    case = load_case(write_fixture(tmp_path / "python" / "small"))
    assert (case.name, case.language, case.path) == ("python/small", "python", "a.py")
    assert (case.original, case.edit, case.expected) == (b"a = 1\n", "a = 2\n", b"a = 2\n")


@every_case
def test_file_names_fit_together(case):
    """Original, expected and pretended path have one suffix; the edit's suffix tells its format."""
    suffixes = {next(case.folder.glob(f"{part}.*")).suffix for part in ("original", "expected")}
    assert suffixes == {Path(case.path).suffix}
    assert (case.folder / f"edit{EDIT_SUFFIXES[case.format]}").is_file()


@every_case
def test_the_description_is_one_sentence(case):
    """The description says in one sentence what the fixture is about, and there is a tag for it."""
    description = case.options["description"]
    assert description.endswith(".")
    assert ". " not in description
    assert case.tags


@every_case
def test_the_edit_changes_something_and_not_everything(case):
    """Original and expected differ, and at least half of the original's lines stay."""
    assert case.original != case.expected
    original, expected = Counter(lines_of(case.original)), Counter(lines_of(case.expected))
    assert (original & expected).total() * 2 > original.total()


@every_case
def test_the_size_is_realistic(case):
    """Originals have 60 to 300 lines, none too long to be read, and an edit is no essay."""
    lines = lines_of(case.original)
    assert 60 <= len(lines) <= 300
    assert max(map(len, lines)) <= 110
    assert 0 < len(case.edit) <= 4000


@every_case
def test_the_files_survive_decoding(case):
    """Original and expected are UTF-8 text with the same byte order mark, or none."""
    original, expected = map(SourceText.from_bytes, (case.original, case.expected))
    assert (original.encoding, original.bom) == (expected.encoding, expected.bom)
    assert original.encoding == "utf-8"
    assert original.to_bytes() == case.original


@every_case
def test_the_bytes_are_as_the_tags_say(case):
    """Line ends, byte order mark and final newline are what the tags promise, in both files.

    A checkout that converts line ends fails here and not in some test of the engine.
    """
    ends = {"\n"}
    if "crlf" in case.tags:
        ends = {"\r\n"}
    if "mixed_line_ends" in case.tags:
        ends = {"\n", "\r\n"}
    for data in (case.original, case.expected):
        assert line_ends(data) == ends
        assert data.startswith(UTF8_BOM) == ("bom" in case.tags)
        assert data.endswith(b"\n") == ("no_final_newline" not in case.tags)
        assert data.isascii() == ("non_ascii" not in case.tags)


@cases_of(EditFormat.LAZY, EditFormat.WHOLE)
def test_every_line_of_a_snippet_is_in_the_result(case):
    """Each line of a snippet is a marker, or is in the expected file in the snippet's order."""
    rest = iter([strip_end(line) for line in lines_of(case.expected)])
    for line in map(strip_end, split_lines(snippet_of(case))):
        if line.strip() and not is_marker(line):
            assert line in rest, f"{line!r} is not in the expected file, or not in this order"


@cases_of(EditFormat.LAZY)
def test_markers_are_in_the_snippet_and_nowhere_else(case):
    """A lazy snippet has markers, and neither file has a line that looks like one."""
    assert any(map(is_marker, split_lines(case.edit)))
    assert not any(map(is_marker, lines_of(case.original) + lines_of(case.expected)))


@every_case
def test_the_format_is_detected(case):
    """The edit is recognised as what case.toml says, with the file at hand."""
    original = SourceText.from_bytes(case.original).text
    assert detect(case.edit, original=original, path=case.path) is case.format


@cases_of(EditFormat.STR_REPLACE, EditFormat.SEARCH_REPLACE)
def test_exact_replacements_give_the_expected_file(case):
    """Blocks and str_replace texts occur once, and replacing them gives the expected bytes."""
    if case.format is EditFormat.STR_REPLACE:
        edit = json.loads(case.edit)
        pairs = [(edit["old_str"], edit["new_str"])]
    else:
        pairs = BLOCK.findall(case.edit)
    assert pairs
    text = case.original.decode()
    for old, new in pairs:
        assert text.count(old) == 1
        text = text.replace(old, new)
    assert text.encode() == case.expected


@cases_of(EditFormat.LAZY, EditFormat.WHOLE)
def test_the_snippet_is_taken_out_of_fence_and_prose(case):
    """Parsing gives the code alone, and leaves fences that belong to the file where they are."""
    original = SourceText.from_bytes(case.original).text
    assert parse(case.edit, original=original, path=case.path).snippet == snippet_of(case)
