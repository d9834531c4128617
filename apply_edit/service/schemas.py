"""What the native API takes and gives, as it stands in the OpenAPI document."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from apply_edit.config import LONGEST_GAMMA, Config, Scope, Strategy
from apply_edit.errors import UnsupportedLanguage
from apply_edit.facts import facts_of
from apply_edit.rewriting import Rewrite
from apply_edit.service.errand import Work
from apply_edit.syntax import canonical_language, language_of
from apply_edit.syntax.names import BY_EXTENSION
from apply_edit.types import EditFormat, EditResult
from proposers import NAMES

ORIGINAL = "def area(r):\n    return 3 * r * r\n"
EDIT = "import math\n\n# ... existing code ...\n    return math.pi * r * r\n"
_STRUCTURED: dict[str, JsonValue] = {
    "original": ORIGINAL,
    "edit": '{"old_str": "3 * r", "new_str": "3.14 * r"}',
    "path": "area.py",
}

Deadline = Annotated[
    float | None,
    Field(
        ge=1,
        allow_inf_nan=False,
        strict=True,
        description="Most seconds; the service has a limit, too.",
    ),
]


class Item(BaseModel):
    """One file and one edit."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                _STRUCTURED,
                {"original": ORIGINAL, "edit": EDIT, "path": "area.py"},
                {"original": ORIGINAL, "instruction": "Add a docstring.", "language": "python"},
            ]
        },
    )

    original: str | None = Field(
        None, description="The file's text, line ends as they are; null where there is no file."
    )
    edit: str | None = Field(None, description="The edit in any format that is understood.")
    instruction: str | None = Field(
        None, description="What to change, alone or with the edit.", max_length=100_000
    )
    path: str | None = Field(
        None,
        max_length=4096,
        description="Path of the file: tells its language and which part of a patch is meant. "
        "No file is opened.",
    )
    language: str | None = Field(
        None,
        min_length=1,
        max_length=64,
        description="Language of the file, used where there is no path.",
    )
    format: EditFormat | None = Field(None, description="Format of the edit; null detects it.")
    strategy: Strategy = Field("auto", description="direct never runs a model, model always does.")
    scope: Scope = Field("auto", description="auto shows the target windows around the edit.")
    gamma: Annotated[int, Field(ge=0, le=LONGEST_GAMMA, strict=True)] | Literal["auto"] = Field(
        "auto", description="Longest draft per pass."
    )
    proposer: Literal[tuple(NAMES)] = Field(  # type: ignore[valid-type] # one list of names
        "router", description="Where drafts come from."
    )
    max_new_tokens: Annotated[int, Field(ge=1, le=1 << 20, strict=True)] | None = Field(
        None, description="Limit of the output; null derives it from file and edit."
    )
    deadline_s: Deadline = None

    def to_work(self, base: Config) -> Work:
        """Return what the pool is to do.

        Args:
            base: What the service was started with.

        Raises:
            UnsupportedLanguage: The language is none that is known.
        """
        config = replace(
            base,
            strategy=self.strategy,
            format=self.format,
            scope=self.scope,
            gamma=self.gamma,
            max_new_tokens=self.max_new_tokens,
            proposer=self.proposer,
        )
        path = self.path
        if self.language is not None:
            named = path_for(self.language)
            path = named if path is None else path
        return Work(self.original, self.edit, self.instruction, path, config, self.deadline_s)


class ApplyRequest(Item):
    """One file and one edit, and how the answer is wanted."""

    stream: bool = Field(False, strict=True, description="Answer with server-sent events.")


class BatchRequest(BaseModel):
    """Several applies, independent of each other."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"items": [_STRUCTURED, _STRUCTURED]}]}
    )

    items: list[Item] = Field(min_length=1, description="What to do; bounded by max_batch.")


class PrewarmRequest(BaseModel):
    """A file that an edit is about to come for."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"original": ORIGINAL, "path": "area.py"}]},
    )

    original: str = Field(description="The file's text.")
    path: str | None = Field(None, max_length=4096, description="Path of the file.")
    language: str | None = Field(None, min_length=1, max_length=64, description="Its language.")
    format: EditFormat = Field(
        EditFormat.LAZY, description="Format of the edit to come; the prompt depends on it."
    )

    def to_job(self) -> Rewrite:
        """Return what the target would be asked, with an empty edit.

        Raises:
            UnsupportedLanguage: The language is none that is known.
        """
        path = self.path
        if self.language is not None:
            named = path_for(self.language)
            path = named if path is None else path
        is_snippet = self.format in (EditFormat.LAZY, EditFormat.WHOLE)
        is_sentence = self.format is EditFormat.INSTRUCTION
        return Rewrite(
            self.original,
            snippet="" if is_snippet else None,
            patch=None if is_snippet or is_sentence else "",
            instruction="" if is_sentence else None,
            language=language_of(path, self.original),
        )


class PrewarmAnswer(BaseModel):
    """What was read ahead."""

    tokens: int = Field(description="Tokens that are cached now.")
    cached: int = Field(description="Those among them that were cached before.")


class Warning_(BaseModel):  # noqa: N801 the builtin has the plain name
    """Something to know about a result that is good nevertheless."""

    model_config = ConfigDict(title="Warning")

    code: str
    message: str
    lines: list[int] = Field(description="1-based lines of the result.")


class Change(BaseModel):
    """One change of the target's."""

    start_line: int
    end_line: int
    mean_logprob: float
    confidence: float


class Attempt(BaseModel):
    """One try at a text."""

    scope: str
    refused: str | None
    message: str


class ApplyAnswer(BaseModel):
    """The merged file."""

    text: str = Field(description="The merged text; empty for a file that is deleted.")
    strategy: str = Field(description="direct, model or merge.")
    format: EditFormat = Field(description="What the edit was taken for.")
    warnings: list[Warning_]
    agreement: bool | None = Field(description="Whether target and plain reading wrote the same.")
    confidence: float | None = Field(description="Least probability of a word of the target's.")
    hunks: list[Change] = Field(description="How sure the target was of each of its changes.")
    tries: list[Attempt] = Field(description="What was tried; empty where no target was asked.")
    report: dict[str, Any] | None = Field(description="What the target did; null without one.")
    sha256: str = Field(description="SHA-256 of the text in UTF-8.")
    length: int = Field(description="Characters of the text.")
    deleted: bool = Field(description="The edit deletes the file.")
    moved_to: str | None = Field(description="New path where the edit moves the file.")


class ErrorObject(BaseModel):
    """Why there is no result."""

    model_config = ConfigDict(extra="allow")

    message: str = Field(description="What happened, where, and what to do.")
    type: str
    code: str = Field(description="A stable word for programs.")
    param: str | None = Field(description="The field that is at fault, where one is.")


class ErrorAnswer(BaseModel):
    """A refusal."""

    error: ErrorObject


class BatchAnswer(BaseModel):
    """One entry per item, in order: a result, or the error object that it would have got alone."""

    results: list[ApplyAnswer | ErrorAnswer]


def answer_of(result: EditResult) -> dict[str, Any]:
    """Return a result as the body of an answer."""
    return {
        "text": result.text,
        "sha256": hashlib.sha256(result.text.encode()).hexdigest(),
        "length": len(result.text),
        **facts_of(result),
    }


def path_for(language: str) -> str:
    """Return a path from which a language is told.

    Raises:
        UnsupportedLanguage: The language is none that is known.

    >>> path_for("Python"), path_for("golang")
    ('file.py', 'file.go')
    """
    name = canonical_language(language)
    for extension, known in BY_EXTENSION.items():
        if known == name:
            return f"file.{extension}"
    message = f"there is no language {language!r}; leave it out, or give a path"
    raise UnsupportedLanguage(message, option="language")
