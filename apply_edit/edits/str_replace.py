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
_CALLS = ("input", "arguments", "parameters", "args")


def looks_like(edit: str) -> bool:
    """Say whether a text is JSON with the keys of such an edit."""
    try:
        value = _load(edit)
    except EditParseError:
        return False
    return _is_edit(value)


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
    candidates = [edit.strip(), *(block.code.strip() for block in fences(edit))]
    opening = re.search(r"^\s*[\[{]", edit, re.MULTILINE)
    if opening is not None:
        candidates.append(edit[opening.start() :].strip())
    failure: json.JSONDecodeError | None = None
    for text in candidates:
        if text[:1] not in ("{", "["):
            continue
        try:
            # strict=False: models write raw newlines and tabs inside strings.
            value, end = json.JSONDecoder(strict=False).raw_decode(text)
        except json.JSONDecodeError as error:
            failure = failure or error
            continue
        except RecursionError:
            message = "the JSON is nested too deeply"
            raise EditParseError(message) from None
        if text is candidates[0] and text[end:].strip():
            continue
        return value
    if failure is not None:
        message = f"the edit is not valid JSON: {failure.msg} (line {failure.lineno})"
        raise EditParseError(message, line=failure.lineno)
    message = "the edit is not JSON: it must be an object or a list"
    raise EditParseError(message, line=1)


def _is_edit(value: Any) -> bool:  # noqa: ANN401 - JSON has no narrower type
    if isinstance(value, list):
        return bool(value) and all(_is_edit(item) for item in value)
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(key), list | dict) and value[key] for key in (*_LISTS, *_CALLS)):
        inner = next(value[k] for k in (*_LISTS, *_CALLS) if isinstance(value.get(k), list | dict))
        return _is_edit(inner)
    if value.get("command") in ("create", "insert", "str_replace"):
        return True
    return _first(value, _OLD) is not None and _first(value, _NEW) is not None


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
    for key in _CALLS:
        inner = value.get(key)
        if isinstance(inner, str) and inner.lstrip()[:1] in ("{", "["):
            inner = _load(inner)
        if isinstance(inner, dict | list):
            return _flatten(inner, path)
    for key in _LISTS:
        if isinstance(value.get(key), list):
            return _flatten(value[key], path)
    return [_one(value, path)]


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
    hunk = Hunk(old, new, whole_lines=False, replace_all=bool(every))
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
