import json

import pytest

from apply_edit.edits import detect, parse, str_replace
from apply_edit.errors import EditParseError
from apply_edit.types import EditFormat, FileOp


def only(value):
    """Return the edit of the only file."""
    (file,) = str_replace.parse(value if isinstance(value, str) else json.dumps(value)).files
    return file


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("old_str", "new_str"),
        ("old_string", "new_string"),
        ("oldText", "newText"),
        ("old", "new"),
        ("search", "replace"),
    ],
)
def test_all_spellings_of_the_keys_are_read(old, new):
    """The tools spell the same two texts in their own way."""
    (hunk,) = only({old: "a", new: ""}).hunks
    assert (hunk.old, hunk.new, hunk.whole_lines) == ("a", "", False)


@pytest.mark.parametrize("key", ["replace_all", "replaceAll", "allow_multiple"])
def test_every_occurrence_can_be_meant(key):
    """A flag says that all places are to be replaced."""
    assert only({"old_str": "a", "new_str": "b", key: True}).hunks[0].replace_all


def test_lists_and_multi_edits_keep_their_order():
    """A list, and an object with `edits`, give their hunks in order."""
    edits = [{"old_str": "a", "new_str": "b"}, {"old_str": "b", "new_str": "c"}]
    for value in (edits, {"file_path": "f", "edits": edits}, {"input": {"edits": edits}}):
        assert [h.old for h in only(value).hunks] == ["a", "b"]


def test_edits_of_several_files_are_grouped_by_path():
    """Each object may name its file."""
    value = [{"path": p, "old_str": "a", "new_str": "b"} for p in ("x", "y", "x")]
    assert [(f.path, len(f.hunks)) for f in str_replace.parse(json.dumps(value)).files] == [
        ("x", 2),
        ("y", 1),
    ]


def test_commands_of_the_text_editor_tool_are_read():
    """`create` adds a file, `insert` adds lines, `str_replace` may leave the new text out."""
    new = only({"command": "create", "path": "f", "file_text": "x"})
    assert (new.op, new.hunks[0].new) == (FileOp.ADD, "x")
    (line,) = only({"command": "insert", "path": "f", "insert_line": 2, "insert_text": "x"}).hunks
    assert (line.new, line.insert_after) == ("x\n", 2)
    assert only({"command": "str_replace", "old_str": "a"}).hunks[0].new == ""


def test_json_in_prose_fences_and_with_raw_newlines_is_read():
    """Models wrap the JSON and forget to escape line breaks."""
    assert only('Here:\n```json\n{"old_str": "a\nb", "new_str": "c"}\n```\n').hunks[0].old == "a\nb"
    assert only('Here:\n{"old_str": "a", "new_str": "c"}\nBye').hunks[0].old == "a"
    call = {"name": "edit", "arguments": json.dumps({"old_str": "a", "new_str": "b"})}
    assert only(call).hunks[0].old == "a"


@pytest.mark.parametrize(
    "edit",
    [
        "no json",
        '{"old_str": "a", "new_str"',
        "[]",
        "[1]",
        '{"old_str": "a"}',
        '{"new_str": "a"}',
        '{"old_str": 1, "new_str": "a"}',
        '{"old_str": "a", "new_str": "b", "replace_all": "yes"}',
        '{"command": "view", "path": "f"}',
        '{"command": "insert", "insert_line": -1, "new_str": "x"}',
        '[{"command": "create", "path": "f", "file_text": "x"},'
        ' {"path": "f", "old_str": "a", "new_str": "b"}]',
    ],
)
def test_json_that_is_no_edit_is_refused(edit):
    """A half or unknown edit is a typed error."""
    with pytest.raises(EditParseError):
        str_replace.parse(edit)


def test_deeply_nested_json_is_a_typed_error():
    """The parser's recursion limit does not reach the user."""
    with pytest.raises(EditParseError):
        str_replace.parse("[" * 100_000)


@pytest.mark.parametrize(
    ("text", "is_edit"),
    [
        ('{"old_str": "a", "new_str": "b"}', True),
        ('{"edits": [{"old_str": "a", "new_str": "b"}]}', True),
        ('{"command": "create", "file_text": ""}', True),
        ('{"name": "x", "version": 1}', False),
        ("[1, 2]", False),
        ("3", False),
        ("text", False),
    ],
)
def test_edits_are_told_from_other_json(text, is_edit):
    """Only objects with the keys of an edit look like one."""
    assert str_replace.looks_like(text) is is_edit


@pytest.mark.parametrize(
    "text",
    [
        '{"old": "a", "new": "b"}\n{"old": "c", "new": "d"}\n',
        '```json\n{"old": "a", "new": "b"}\n```\n\n```json\n{"old": "c", "new": "d"}\n```\n',
        'First:\n{"old": "a", "new": "b"}\nThen:\n{"old": "c", "new": "d"}\n',
    ],
)
def test_all_json_values_of_a_text_are_read(text):
    """No edit is dropped silently, however the values are put one after the other."""
    assert [(h.old, h.new) for h in only(text).hunks] == [("a", "b"), ("c", "d")]


def test_a_broken_value_behind_a_good_one_is_refused():
    """Half of the edits is not applied."""
    with pytest.raises(EditParseError, match="not valid JSON"):
        str_replace.parse('First:\n{"old": "a", "new": "b"}\nThen:\n{"old": "c", "new": \n')


def test_calls_may_hold_their_arguments_as_text():
    """The calls of chat interfaces are unwrapped."""
    call = {"name": "edit", "arguments": json.dumps({"old": "a", "new": "b"})}
    text = json.dumps({"tool_calls": [{"type": "function", "function": call}]})
    assert str_replace.looks_like(text)
    assert only(text).hunks[0].old == "a"


def test_a_number_of_expected_replacements_is_kept():
    """More than one means all places, and their number is checked."""
    (hunk,) = only({"old": "a", "new": "b", "expected_replacements": 2}).hunks
    assert (hunk.replace_all, hunk.occurrences) == (True, 2)
    with pytest.raises(EditParseError, match="expected_replacements"):
        str_replace.parse('{"old": "a", "new": "b", "expected_replacements": 0}')


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"old_str":"x = 1","new_str":"x = 2"', "ends before its last closing bracket"),
        ('{"old_str":"x = 1","new_str":"x = ', "string that begins in line 1 is not closed"),
        ('```json\n{"old_str":"x","new_str":"y"\n```\n', "ends before its last closing bracket"),
        ('[{"old_str":"a","new_str":"b"},{"old_str":"c"}]', "no new_str"),
        ('{"oldText":"x = 1"}', "no new_str"),
        ('{"new_string":"x = 1"}', "no old_str"),
        ('{"edits": [{"old_string": "a", "new_string": "b"}', "may be cut off"),
        ("{'old_str': 'a', 'new_str': 'b'}", "double quotes"),
    ],
)
def test_a_broken_edit_is_not_taken_for_code(text, fault):
    """Text that begins as such an edit is refused as one, with what is missing."""
    assert detect(text, original="x = 1\n", path="a.py") is EditFormat.STR_REPLACE
    with pytest.raises(EditParseError, match=fault):
        parse(text, original="x = 1\n", path="a.py")


def test_a_json_file_with_such_keys_may_be_edited():
    """The data of a JSON file that has the key is no broken edit."""
    original = '{\n  "old_str": "a",\n  "b": 1\n}\n'
    text = '{\n  "old_str": "c",\n  "b": 1\n}\n'
    assert detect(text, original=original, path="a.json") is not EditFormat.STR_REPLACE
