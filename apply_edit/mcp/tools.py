"""The two tools: what they take, what they give, and what an agent is told about them."""

from __future__ import annotations

from typing import Literal, TypeVar

from mcp.types import Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from apply_edit.errors import ConfigError

_Arguments = TypeVar("_Arguments", bound=BaseModel)
Status = Literal["applied", "preview", "unchanged"]

_DRY_RUN = "Only show the difference; write nothing."


class EditFileArguments(BaseModel):
    """Arguments of ``edit_file``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    path: str = Field(description="The file, relative to the root folder or absolute inside it.")
    code_edit: str = Field(
        description="The changed code, with a comment such as `// ... existing code ...` in place "
        "of each stretch that stays as it is. A unified diff, SEARCH/REPLACE blocks, a V4A patch, "
        "str_replace JSON or the whole file are understood as well."
    )
    instruction: str = Field(description="One sentence that says what the edit does.")
    dry_run: bool = Field(default=False, alias="dryRun", description=_DRY_RUN)


class ApplyPatchArguments(BaseModel):
    """Arguments of ``apply_patch``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    patch: str = Field(
        description="A unified diff or a V4A patch (`*** Begin Patch`) over one or more files. "
        "Files may be added, deleted and moved."
    )
    dry_run: bool = Field(default=False, alias="dryRun", description=_DRY_RUN)


class Warned(BaseModel):
    """Something to know about a result that is good nevertheless."""

    code: str
    message: str
    lines: list[int]


class FileOutcome(BaseModel):
    """What became of one file."""

    path: str = Field(description="Absolute path of the file as it was read.")
    strategy: str = Field(description="direct, model or merge: who decided the text.")
    added: int = Field(description="Lines added.")
    removed: int = Field(description="Lines removed.")
    diff: str = Field(description="Unified diff, empty where nothing changes.")
    warnings: list[Warned]
    sha256: str | None = Field(description="Digest of the new bytes; null for a deleted file.")
    moved_to: str | None = Field(description="New path relative to the root, or null.")


class EditFileResult(FileOutcome):
    """Structured result of ``edit_file``."""

    status: Status


class ApplyPatchResult(BaseModel):
    """Structured result of ``apply_patch``."""

    status: Status
    added: int
    removed: int
    files: list[FileOutcome]


# Applying an edit again is refused or changes nothing in most cases, but not in all of them (an
# insertion can go in twice), so neither tool claims to be idempotent.
_ANNOTATIONS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)

TOOLS = (
    Tool(
        name="edit_file",
        title="Edit a file",
        description=(
            "Change a file. Write only the changed lines and enough unchanged lines around them "
            "to show where they belong; stand-ins such as `# ... existing code ...` mean the rest. "
            "To delete lines, show the lines before and after them. Everything else stays byte "
            "for byte. A doubtful edit is refused with a reason and the file stays as it was. A "
            "file that does not exist is made from an edit without stand-ins."
        ),
        input_schema=EditFileArguments.model_json_schema(),
        output_schema=EditFileResult.model_json_schema(),
        annotations=_ANNOTATIONS,
    ),
    Tool(
        name="apply_patch",
        title="Apply a patch",
        description=(
            "Apply a unified diff or a V4A patch to all files that it names, or to none: if one "
            "part does not fit, nothing is written. Line numbers are hints; the text decides."
        ),
        input_schema=ApplyPatchArguments.model_json_schema(),
        output_schema=ApplyPatchResult.model_json_schema(),
        annotations=_ANNOTATIONS,
    ),
)


def read_arguments(model: type[_Arguments], values: object) -> _Arguments:
    """Check a tool's arguments.

    Raises:
        ConfigError: One is missing, unknown or of the wrong kind.
    """
    try:
        return model.model_validate({} if values is None else values)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        message = f"the arguments do not fit the tool ({'; '.join(faults)})"
        raise ConfigError(message, option=str(error.errors()[0]["loc"][0])) from None
