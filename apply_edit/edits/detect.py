"""Tell the format of an edit by its text.

The structured formats have marks of their own and are tried from the most to the least distinctive.
What has none is a whole file, a lazy snippet or an instruction; the file decides between them.

Does not know: how the formats are parsed.
"""

from __future__ import annotations

import re
from collections import Counter

from rapidfuzz import fuzz

from apply_edit import markers
from apply_edit.edits import roo, search_replace, str_replace, udiff, v4a
from apply_edit.edits.sections import lost_blocks
from apply_edit.edits.unwrap import edit_lines, fences, named_before, outer_code
from apply_edit.text import strip_end
from apply_edit.types import EditFormat

_SIGNED = re.compile(r"^[-+](?![-+])\s*\S")
_CODE_LINE = re.compile(
    r"[;{}()\[\]=<>]|^\s*(?:#|//|/\*|--|<!--|import\b|from\b|def\b|class\b|@)|:$"
)
_SENTENCE = re.compile(r"^(?:[-*]\s+|\d+[.)]\s+)?[A-Z`][^\n]*\s[^\n]*[a-z][^\n]*$")
_MARK = re.compile(
    r"^\s*(?:(?:<{5,9}|-{5,9}) SEARCH|(?:>{5,9}|\+{5,9}) REPLACE|\*\*\* \w+ (?:Patch|File)|@@|"
    r"--- \S|\+\+\+ \S|diff --git |(?:`{3,}|~{3,})(?:diff|patch|udiff)\b|---FIND)"
    r"|[\"'](?:old_str|old_string|oldText|old_text)[\"']"
)
_IMPERATIVE = re.compile(
    r"(?:please\s+)?(?:add|change|rename|remove|delete|drop|make|use|replace|fix|convert|move|update|"
    r"set|create|implement|refactor|extract|insert|wrap|handle|simplify|rewrite|write|document|"
    r"annotate|inline|split|merge|sort|format|optimi[sz]e|improve|ensure|let|turn|switch|bump|"
    r"increase|decrease|allow|support|log|catch|undo|revert)\s+"
    r"(?!(?:into|from|table|view|index|column)\b)\S+\s+\S",
    re.IGNORECASE,
)
_CAPITALS = re.compile(r"[A-Z]{2,}\b")
_DOCUMENTS = (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc")
_ALIKE = 60
_MAX_LINE = 400
_WORDY = re.compile(r"^[A-Z\"'`][^\n]*[a-z][^\n]*$")


def detect(edit: str, *, original: str | None = None, path: str | None = None) -> EditFormat:
    """Return the format that an edit is written in.

    Args:
        edit: The edit, also wrapped in prose or a code fence.
        original: The file's text; tells a whole file from a snippet.
        path: The file's path; a snippet in that file's own notation is not mistaken for an edit.
    """
    if _has_own_marks(edit, original):
        return _unstructured(edit, original, path)
    if _begins_like(edit, original):
        return _unmarked(edit, original, path)
    if v4a.looks_like(edit):
        return EditFormat.V4A
    if str_replace.looks_like(edit) and not _is_new_json(edit, original, path):
        return EditFormat.STR_REPLACE
    is_json = path is not None and path.endswith((".json", ".jsonc"))
    if str_replace.looks_broken(edit, original if is_json else None):
        return EditFormat.STR_REPLACE
    if roo.looks_like(edit):
        return EditFormat.ROO_DIFF
    if search_replace.looks_like(edit):
        return EditFormat.SEARCH_REPLACE
    if udiff.looks_like(edit):
        return EditFormat.UDIFF
    return _unmarked(edit, original, path)


def _unmarked(edit: str, original: str | None, path: str | None) -> EditFormat:
    """Tell the formats that have no marks of their own, diffs without headers among them."""
    return (
        EditFormat.UDIFF if _is_bare_diff(edit, original) else _unstructured(edit, original, path)
    )


def _has_own_marks(edit: str, original: str | None) -> bool:
    """Say whether all marks of edits in a text are the file's own, in a text that is its content.

    A document may show diffs, and a program may hold blocks in its strings; an edit that repeats
    them has no mark of its own. It is content where it covers the file or elides some of it.
    """
    if original is None or not original.strip():
        return False
    lines, own = ([strip_end(x) for x in edit_lines(text)] for text in (edit, original))
    marks = Counter(line for line in lines if _MARK.search(line))
    if not marks or marks - Counter(line for line in own if _MARK.search(line)):
        return False
    if any(markers.is_marker(line) for line in lines if len(line) <= _MAX_LINE):
        return True
    telling = [line for line in own if any(c.isalnum() for c in line)]
    known = set(lines)
    return sum(line in known for line in telling) * 10 >= len(telling) * 6


def _begins_like(edit: str, original: str | None) -> bool:
    """Say whether an edit begins with the file's first line, bare or in a fence.

    It is then code of that file; what looks like the marks of an edit are examples in a document.
    """
    if original is None or not original.strip():
        return False
    solid = (line for line in edit_lines(edit) if line.strip())
    first = next(solid, "")
    own = next(line for line in edit_lines(original) if line.strip())
    if first.startswith(("```", "~~~")) and first.strip() != own.strip():
        first = next(solid, "")
    return len(first.strip()) > 1 and strip_end(first) == strip_end(own)


def _is_new_json(edit: str, original: str | None, path: str | None) -> bool:
    """Say whether JSON is the content of a JSON file and not an edit.

    It is without the keys of an edit, and where the file itself has such keys.
    """
    if path is None or not path.endswith((".json", ".jsonc")):
        return False
    if original is None or not original.strip():
        return '"old' not in edit
    return str_replace.is_content(edit, original)


def _is_bare_diff(edit: str, original: str | None) -> bool:
    if any(block.info.split(" ")[0] in ("diff", "patch", "udiff") for block in fences(edit)):
        return True
    if original is None:
        return False
    code, _ = outer_code(edit, original)
    lines = [strip_end(line) for line in edit_lines(code)]
    signed = [line for line in lines if _SIGNED.match(line)]
    known = {line.strip() for line in edit_lines(original)}
    if not signed or any(line.strip() in known for line in signed):
        return False
    removed = [line[1:].strip() for line in signed if line[0] == "-"]
    plain = [line.strip() for line in lines if line.strip() and line not in signed]
    if removed:
        return all(text in known for text in removed)
    # Context lines may be misquoted a little; nothing but a diff has plus signs at the margin.
    return 4 * sum(text in known for text in plain) >= 3 * len(plain) > 0


def _unstructured(edit: str, original: str | None, path: str | None) -> EditFormat:
    document = path is not None and path.lower().endswith(_DOCUMENTS)
    code, info = outer_code(edit, original)
    # Beyond this length a line is data; looking at it closely would take too long.
    lines = [line[:_MAX_LINE] for line in edit_lines(code) if line.strip()]
    own = {line.strip() for line in edit_lines(original or "")}
    fresh = [line for line in lines if line.strip() not in own]
    if any(markers.is_marker(line) or markers.trailing_marker(line) for line in fresh):
        return EditFormat.LAZY
    if info is None and _is_prose(lines):
        return EditFormat.INSTRUCTION
    if original is None or not original.strip() or _several_named(edit):
        return EditFormat.WHOLE
    shown = {line.strip() for line in lines}
    likely = any(markers.elision(line) is markers.Elision.LIKELY for line in fresh)
    if likely and any(line not in shown for line in own if any(c.isalnum() for c in line)):
        return EditFormat.LAZY
    if any(markers.is_bare_ellipsis(line) for line in fresh):
        return EditFormat.LAZY
    return EditFormat.WHOLE if _covers(lines, original, document=document) else EditFormat.LAZY


def _several_named(edit: str) -> bool:
    lines = edit_lines(edit)
    names = {named_before(lines, block.start) for block in fences(edit)} - {None}
    return len(names) > 1


def _is_prose(lines: list[str]) -> bool:
    """Say whether the text is sentences, not code."""
    if not lines or len(lines) > 12:
        return False
    first = lines[0].strip()
    if len(lines) == 1:
        code_end = first.endswith((";", "{", "}", ")", ":", ","))
        if _IMPERATIVE.match(first) and not first.endswith((";", "{", "}", ":", ",")):
            return True
        if _CAPITALS.match(first):
            return False
        return " " in first and _WORDY.match(first) is not None and not code_end
    wordy = sum(_SENTENCE.match(line.strip()) is not None for line in lines)
    code = sum(_CODE_LINE.search(strip_end(line)) is not None for line in lines)
    return wordy * 3 >= len(lines) * 2 and code * 3 <= len(lines)


def _covers(lines: list[str], original: str, *, document: bool = False) -> bool:
    """Say whether a text without markers speaks for the whole file.

    It does where it has all blocks of the file (definitions, sections, members of types), and it
    begins and ends like the file, repeats most of its lines, or the file is that one definition.
    With a block less it does where it repeats most lines and has the first and the last block. A
    document is whole where it begins like the file and is about as long.

    Lines in common do not suffice: what stands for a part of the file would delete the rest.
    """
    rows = [line[:_MAX_LINE].rstrip() for line in edit_lines(original) if line.strip()]
    own = [row.strip() for row in rows]
    new = [line.strip() for line in lines]
    if not own or not new:
        return True
    outermost = [row for row in rows if not row[0].isspace()]
    single = outermost[:1] == rows[:1] and not any(c.isalnum() for c in "".join(outermost[1:]))
    lost, is_cut = lost_blocks(rows, lines)
    if single and not lost and (len(new) > 1 or len(own) == 1) and _alike(own[0], new[0]):
        return True
    if document and not is_cut and own[0] == new[0] and len(new) * 10 >= len(own) * 6:
        return True
    # Lines of brackets only are in every snippet.
    telling = [line for line in own if any(c.isalnum() for c in line)]
    known = set(new)
    kept = sum(line in known for line in telling)
    mostly = kept * 10 >= len(telling) * 6
    if lost:
        return mostly and not is_cut and own[0] == new[0]
    return mostly or (own[0] == new[0] and own[-1] == new[-1])


def _alike(left: str, right: str) -> bool:
    return left == right or (len(left) > 3 and fuzz.ratio(left[:_MAX_LINE], right) >= _ALIKE)
