r"""JSON edits of the text-editor tools: ``old_str`` and ``new_str``, one, a list, or commands.

Spellings of Anthropic's tool, Claude Code, Gemini, opencode and others are taken: ``old_string``,
``oldText``, ``edits`` lists, ``replace_all``, ``create`` and ``insert`` commands, and the wrapper
of a tool call.

Does not know: the file's text.
"""

from __future__ import annotations

import json
import re
from typing import Any

from apply_edit.edits.unwrap import fences
from apply_edit.errors import EditParseError
from apply_edit.types import EditFormat, FileEdit, FileOp, Hunk, ParsedEdit

_OLD = ("old_str", "old_string", "oldString", "oldText", "old_text", "old", "search", "find")
_NEW = (
    "new_str",
    "new_string",
    "newString",
    "newText",
    "new_text",
    "new",
    "replace",
    "replacement",
)
_ALL = ("replace_all", "replaceAll", "allow_multiple", "allowMultiple", "all")
_LISTS = ("edits", "replacements", "changes", "operations")
_PATHS = ("path", "file_path", "filePath", "file", "filename", "target_file")
_INSERTED = ("insert_text", "new_str", "new_string", "text")
_CALLS = ("input", "arguments", "parameters", "args", "function", "tool_calls")
_COUNTS = ("expected_replacements", "expectedReplacements")
_JSON_LINE = re.compile(r"^[ \t]*[\[{]", re.MULTILINE)
_KEY = re.compile(
    r"[\"'](?P<key>(?:old|new)_str(?:ing)?|(?:old|new)String|(?:old|new)_?[Tt]ext|edits)[\"']\s*:"
)
_JSON_NEXT = re.compile(r"[\s,;]*[\[{]")


def looks_like(edit: str) -> bool:
    """Say whether a text is JSON with the keys of such an edit."""
    try:
        value = _load(edit)
    except EditParseError:
        return False
    return _is_edit(value)


def looks_broken(edit: str, original: str | None) -> bool:
    """Say whether a text begins as such an edit and is none: cut off, or without a part.

    Args:
        edit: The text.
        original: The file's text where the file is JSON itself, so that the text may be its data.
    """
    blocks = fences(edit)
    code = (blocks[0].code if blocks and not edit.strip().startswith(("{", "[")) else edit).strip()
    key = _KEY.search(code)
    if key is None or not code.startswith(("{", "[")) or looks_like(edit):
        return False
    return original is None or f'"{key["key"]}"' not in original


def is_content(edit: str, original: str | None) -> bool:
    """Say whether JSON is the new text of a JSON file whose data looks like edits itself."""
    try:
        old, new = json.loads(original or ""), json.loads(edit)
    except (json.JSONDecodeError, RecursionError):
        return False
    if isinstance(old, list) and isinstance(new, list):
        return _is_edit(old)
    if isinstance(old, dict) and isinstance(new, dict):
        return bool(old.keys() & new.keys())
    return False


def parse(edit: str) -> ParsedEdit:
    """Parse the JSON.

    Raises:
        EditParseError: It is not JSON, or not an edit of a known shape.
    """
    files: dict[str | None, list[FileEdit]] = {}
    for item in _flatten(_load(edit), None):
        files.setdefault(item.path, []).append(item)
    if not files:
        message = "the JSON has no edit: an object with old_str and new_str is expected"
        raise EditParseError(message)
    return ParsedEdit(EditFormat.STR_REPLACE, tuple(_merged(items) for items in files.values()))


def _load(edit: str) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """Return the JSON of an edit; a list where the text holds several values that are edits."""
    code = [block.code for block in fences(edit) if block.code.lstrip()[:1] in ("{", "[")]
    failure: json.JSONDecodeError | None = None
    for texts, prose in (([edit], False), (code, False), ([edit], True)):
        try:
            values = [value for text in texts for value in _values(text, prose=prose)]
        except json.JSONDecodeError as error:
            failure = failure or error
            continue
        found = [value for value in values if _is_edit(value)] or values[:1]
        if found:
            return found if len(found) > 1 else found[0]
    if failure is not None:
        message = f"the edit is not valid JSON: {_fault(failure)}"
        raise EditParseError(message, line=failure.lineno)
    message = "the edit is not JSON: it must be an object or a list"
    raise EditParseError(message, line=1)


def _fault(failure: json.JSONDecodeError) -> str:
    """Say in words why a text is not JSON."""
    if failure.msg.startswith("Unterminated string"):
        return f"the string that begins in line {failure.lineno} is not closed; it may be cut off"
    if failure.pos >= len(failure.doc.rstrip()):
        return "it ends before its last closing bracket; it may be cut off"
    return f"{failure.msg} (line {failure.lineno})"


def _values(text: str, *, prose: bool) -> list[Any]:
    """Return the JSON values of a text one after the other.

    Args:
        text: The text.
        prose: There may be other text around them, as long as it does not look like an edit; else
            nothing is returned where something else stands in it.
    """
    values: list[Any] = []
    at = 0
    while True:
        opening = _JSON_LINE.search(text, at) if prose else _JSON_NEXT.match(text, at)
        if opening is None:
            return values if prose or not text[at:].strip() else []
        at = opening.end() - 1
        try:
            # strict=False: models write raw newlines and tabs inside strings.
            value, at = json.JSONDecoder(strict=False).raw_decode(text, at)
        except json.JSONDecodeError:
            if prose and values and not any(f'"{key}"' in text[at:] for key in _OLD):
                return values
            raise
        except RecursionError:
            message = "the JSON is nested too deeply"
            raise EditParseError(message) from None
        values.append(value)


def _is_edit(value: Any) -> bool:  # noqa: ANN401 - JSON has no narrower type
    if isinstance(value, list):
        return bool(value) and all(_is_edit(item) for item in value)
    if not isinstance(value, dict):
        return False
    inner = _inner(value)
    if inner:
        return _is_edit(inner)
    if value.get("command") in ("create", "insert", "str_replace"):
        return True
    return _first(value, _OLD) is not None and _first(value, _NEW) is not None


def _inner(value: dict[str, Any]) -> Any:  # noqa: ANN401 - see above
    """Return what a tool call or a list of edits wraps, or None; a call may hold it as text."""
    for key in (*_CALLS, *_LISTS):
        inner = value.get(key)
        if key in _CALLS and isinstance(inner, str) and inner.lstrip()[:1] in ("{", "["):
            inner = _load(inner)
        if isinstance(inner, list) or (key in _CALLS and isinstance(inner, dict)):
            return inner
    return None


def _first(value: dict[str, Any], keys: tuple[str, ...]) -> Any:  # noqa: ANN401 - see above
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _flatten(value: Any, path: str | None) -> list[FileEdit]:  # noqa: ANN401 - see above
    if isinstance(value, list):
        return [edit for item in value for edit in _flatten(item, path)]
    if not isinstance(value, dict):
        message = f"an edit must be a JSON object, not {type(value).__name__}"
        raise EditParseError(message)
    named = _first(value, _PATHS)
    path = named if isinstance(named, str) else path
    inner = _inner(value)
    return [_one(value, path)] if inner is None else _flatten(inner, path)


def _one(value: dict[str, Any], path: str | None) -> FileEdit:
    command = value.get("command")
    if command == "create":
        text = _text(value, ("file_text", "content", "contents"), "file_text")
        return FileEdit(path, FileOp.ADD, (Hunk("", text, whole_lines=False),))
    if command == "insert":
        return FileEdit(path, FileOp.UPDATE, (_insertion(value),))
    if command not in (None, "str_replace", "replace", "edit"):
        message = f"the command {command!r} does not change a file"
        raise EditParseError(message)
    old = _text(value, _OLD, "old_str")
    # The text-editor tool lets new_str be left out for a deletion; elsewhere that is a slip.
    new = _text(value, _NEW, "new_str", default="" if command == "str_replace" else None)
    every = _first(value, _ALL)
    if every not in (None, True, False):
        message = f"replace_all must be true or false, not {every!r}"
        raise EditParseError(message)
    count = _first(value, _COUNTS)
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
        message = f"expected_replacements must be a whole number from 1, not {count!r}"
        raise EditParseError(message)
    several = bool(every) or (count or 1) > 1
    hunk = Hunk(old, new, whole_lines=False, replace_all=several, occurrences=count)
    return FileEdit(path, FileOp.UPDATE, (hunk,))


def _insertion(value: dict[str, Any]) -> Hunk:
    line = value.get("insert_line")
    if not isinstance(line, int) or isinstance(line, bool) or line < 0:
        message = f"insert_line must be a whole number from 0, not {line!r}"
        raise EditParseError(message)
    text = _text(value, _INSERTED, "new_str")
    return Hunk("", text if text.endswith("\n") else text + "\n", insert_after=line)


def _text(
    value: dict[str, Any], keys: tuple[str, ...], name: str, default: str | None = None
) -> str:
    text = _first(value, keys)
    if text is None:
        text = default
    if not isinstance(text, str):
        message = f"{name} must be a string" if text is not None else f"the edit has no {name}"
        raise EditParseError(message)
    return text


def _merged(items: list[FileEdit]) -> FileEdit:
    """Join the edits of one file; creating and changing one file at once is refused."""
    if len(items) > 1 and any(item.op is FileOp.ADD for item in items):
        message = f"the edit both creates and changes {items[0].path}"
        raise EditParseError(message)
    hunks = tuple(hunk for item in items for hunk in item.hunks)
    return FileEdit(items[0].path, items[0].op, hunks)
