"""What a tool answers: one line of summary and the difference, as text and as an object."""

from __future__ import annotations

import hashlib
import json

from mcp.types import CallToolResult, TextContent

from apply_edit.errors import ApplyEditError
from apply_edit.mcp.editor import Change
from apply_edit.mcp.tools import ApplyPatchResult, EditFileResult, FileOutcome, Status, Warned
from apply_edit.workspace import Merged, changed_lines, diff

_VERBS: dict[Status, str] = {
    "applied": "Applied to",
    "preview": "Preview only, nothing written to",
    "unchanged": "No change to",
}
_MAX_DETAILS = 2000


def edited(change: Change, *, dry_run: bool) -> CallToolResult:
    """Return the answer of ``edit_file``."""
    status = _status(change, dry_run=dry_run)
    outcome = _outcome(change.files[0])
    result = EditFileResult(status=status, **outcome.model_dump())
    text = _text(status, [outcome])
    return CallToolResult(content=[text], structured_content=result.model_dump())


def patched(change: Change, *, dry_run: bool) -> CallToolResult:
    """Return the answer of ``apply_patch``."""
    status = _status(change, dry_run=dry_run)
    files = [_outcome(each) for each in change.files]
    result = ApplyPatchResult(
        status=status,
        added=sum(each.added for each in files),
        removed=sum(each.removed for each in files),
        files=files,
    )
    text = _text(status, files)
    return CallToolResult(content=[text], structured_content=result.model_dump())


def refused(error: ApplyEditError) -> CallToolResult:
    """Return the answer for an edit that was not carried out."""
    lines = [f"Refused ({error.code}): {error.message}"]
    if error.fields:
        details = json.dumps(error.fields, ensure_ascii=False, default=str)
        lines.append(f"Details: {details[:_MAX_DETAILS]}")
    lines.append("Nothing was written.")
    text = TextContent(type="text", text="\n".join(lines))
    structured = json.loads(json.dumps({"status": "refused", **error.to_dict()}, default=str))
    return CallToolResult(content=[text], structured_content=structured, is_error=True)


def _status(change: Change, *, dry_run: bool) -> Status:
    if change.is_nothing:
        return "unchanged"
    return "preview" if dry_run else "applied"


def _outcome(each: Merged) -> FileOutcome:
    text = diff(each)
    added, removed = changed_lines(text)
    data = each.data
    return FileOutcome(
        path=str(each.stamp.path),
        strategy=each.result.strategy,
        added=added,
        removed=removed,
        diff=text,
        warnings=[
            Warned(code=n.code, message=n.message, lines=list(n.lines))
            for n in each.result.warnings
        ],
        sha256=None if data is None else hashlib.sha256(data).hexdigest(),
        moved_to=each.result.moved_to,
    )


def _text(status: Status, files: list[FileOutcome]) -> TextContent:
    lines = []
    for each in files:
        lines.append(
            f"{_VERBS[status]} {each.path}: added {each.added}, removed {each.removed} lines; "
            f"strategy {each.strategy}"
        )
        lines += [f"Warning: {warning.message}" for warning in each.warnings]
    diffs = "".join(each.diff for each in files)
    return TextContent(type="text", text="\n".join(lines) + (f"\n\n{diffs}" if diffs else "\n"))
