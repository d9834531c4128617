"""Put the parts together: text and edit in, merged text out. Never writes files.

Strategies::

    structured edit ──► located exactly and uniquely ──► spliced          strategy "direct"
    whole file      ──► laid over the original                            strategy "direct"
    lazy snippet, instruction ──► written by the target                   strategy "model"
         └─ the target's text is not good enough, or differs from a
            merge that has one plain reading ──► that merge               strategy "merge"
    anything doubtful ──► a typed error, and nothing is written
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from apply_edit import edits, guard
from apply_edit.arguments import path_text, require_config, require_texts
from apply_edit.asked import Asked
from apply_edit.config import Config
from apply_edit.direct import apply_file_edit, apply_whole, beside, select_file
from apply_edit.engine import Engine
from apply_edit.errors import (
    AnchorNotFound,
    ConfigError,
    EditParseError,
    FileMissing,
    MergeUndetermined,
)
from apply_edit.merge import merge_lazy
from apply_edit.models import Progress, locate
from apply_edit.rewriting import Observer, SilentObserver, Writes
from apply_edit.syntax import language_of
from apply_edit.target_merge import TargetMerge
from apply_edit.text import dominant_newline
from apply_edit.types import EditFormat, EditResult, Finding, LazyMerge, ParsedEdit, notices_of

# An edit whose text is nowhere near anything in the file is refused at once; with a near miss of at
# least this similarity the target may try, and the guard judges what it wrote.
_NEAR_MISS = 0.6
_BOM = "\ufeff"


class Applier:
    """Applies edits; loads the target when it is needed first, and keeps it.

    Args:
        config: Settings; None for the defaults.
        engine: A loaded engine, None to load the one that ``config.target`` names.
        observer: Told about loading and decoding.
        progress: Told about downloads.
        cancelled: Asked before every pass of the target.
    """

    def __init__(
        self,
        config: Config | None = None,
        *,
        engine: Writes | None = None,
        observer: Observer | None = None,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        require_config(config)
        self._config = config or Config()
        self._engine = engine
        self._observer = observer or SilentObserver()
        self._progress = progress
        self._cancelled = cancelled

    def apply(
        self,
        original: str | None,
        edit: str | None,
        *,
        path: str | None = None,
        instruction: str | None = None,
    ) -> EditResult:
        """Merge an edit into a text.

        Args:
            original: The file's text, line ends as they are; None where there is no such file.
            edit: The edit in any format; None for an instruction alone.
            path: Path of the file; tells the language, and which part of a patch is meant.
            instruction: What the edit is meant to do, alone or with the edit.

        Raises:
            ApplyEditError: One of its kinds; see ``errors``.
        """
        require_texts(original=original, edit=edit, instruction=instruction)
        path = path_text(path)
        # A byte order mark is no part of the first line; whoever reads bytes takes it off anyway.
        marked = original is not None and original.startswith(_BOM)
        original = original.removeprefix(_BOM) if original is not None else None
        parsed = self._parse(original, edit, path, instruction)
        result = self.apply_parsed(original, parsed, path=path, written=edit)
        if marked and not result.deleted:
            return replace(result, text=_BOM + result.text.removeprefix(_BOM))
        return result

    def apply_parsed(
        self,
        original: str | None,
        parsed: ParsedEdit,
        *,
        path: str | None = None,
        written: str | None = None,
    ) -> EditResult:
        """Merge an edit that is parsed already; see ``apply``.

        Args:
            original: The file's text; None where there is no such file.
            parsed: The edit.
            path: Path of the file.
            written: The edit as it was written, which a target can be shown; None where it is not
                about this file alone, and no target is asked about a hunk that is not found.
        """
        match parsed.format:
            case EditFormat.LAZY | EditFormat.INSTRUCTION:
                if original is None:
                    message = f"there is no file {path or ''} to merge this edit into"
                    raise FileMissing(message, path=path)
                return self._unstructured(original, parsed, path)
            case EditFormat.WHOLE if not parsed.files:
                return self._whole(original, parsed, path)
            case _:
                return self._structured(original, written, parsed, path)

    @property
    def engine(self) -> Writes:
        """The engine, loaded on first use."""
        if self._engine is None:
            config = self._config
            folder = locate(config.target, progress=self._progress).path
            draft = None
            if config.draft is not None:
                draft = locate(config.draft, progress=self._progress).path
            self._observer.stage("load")
            self._engine = Engine.load(
                folder, config.device, config.dtype, draft, config.draft_dtype
            )
        return self._engine

    def _parse(
        self, original: str | None, edit: str | None, path: str | None, instruction: str | None
    ) -> ParsedEdit:
        if edit is None:
            if instruction is None or not instruction.strip():
                message = "there is neither an edit nor an instruction"
                raise ConfigError(message, option="edit")
            return ParsedEdit(EditFormat.INSTRUCTION, instruction=instruction)
        if not edit.strip() and self._config.format is None:
            message = "the edit is empty; there is nothing to apply"
            raise EditParseError(message)
        parsed = edits.parse(edit, self._config.format, original=original, path=path)
        return replace(parsed, instruction=instruction) if instruction else parsed

    def _structured(
        self, original: str | None, written: str | None, parsed: ParsedEdit, path: str | None
    ) -> EditResult:
        if self._config.strategy == "model" and original is not None and written is not None:
            return self._by_model(original, parsed, path, patch=written)
        part = select_file(parsed, path)
        newline = dominant_newline(original or "")
        try:
            result = apply_file_edit(original, part, newline=newline)
        except FileMissing as error:
            message = f"there is no file {path or part.path or ''}: {error.message}"
            raise FileMissing(message, path=path) from None
        except AnchorNotFound as error:
            asks_model = self._config.strategy != "direct" and _is_near(error)
            if original is None or written is None or not asks_model:
                raise
            asked = self._by_model(original, parsed, path, patch=written)
            if asked.text == original:
                # Not even the target found anything to do, so the text is not there.
                raise
            return asked
        warnings = [*parsed.notices, *beside(part, path), *result.notices]
        if not result.deleted:
            single = replace(parsed, files=(replace(part, hunks=result.hunks or part.hunks),))
            warnings += notices_of(self._enforce(original or "", result.text, single, path))
        return EditResult(
            result.text,
            "direct",
            parsed.format,
            tuple(warnings),
            deleted=result.deleted,
            moved_to=result.moved_to,
            executable=part.executable,
        )

    def _whole(self, original: str | None, parsed: ParsedEdit, path: str | None) -> EditResult:
        text = apply_whole(original, parsed.snippet or "", newline=dominant_newline(original or ""))
        findings = self._enforce(original or "", text, parsed, path)
        warnings = (*parsed.notices, *notices_of(findings))
        return EditResult(text, "direct", parsed.format, warnings)

    def _unstructured(self, original: str, parsed: ParsedEdit, path: str | None) -> EditResult:
        if self._config.strategy == "direct" or not original.strip():
            return self._merged(original, _plain_reading(original, parsed, path), parsed, path)
        return self._by_model(original, parsed, path)

    def _merged(
        self, original: str, merge: LazyMerge, parsed: ParsedEdit, path: str | None
    ) -> EditResult:
        """Answer with the deterministic merge."""
        findings = self._enforce(original, merge.text, parsed, path)
        warnings = (*parsed.notices, *merge.notices, *notices_of(findings))
        return EditResult(merge.text, "direct", parsed.format, warnings)

    def _by_model(
        self, original: str, parsed: ParsedEdit, path: str | None, *, patch: str | None = None
    ) -> EditResult:
        asked = Asked(original, parsed, path, patch, predict(original, parsed, path))
        target = TargetMerge(self._config, lambda: self.engine, self._observer, self._cancelled)
        return target.merge(asked)

    def _enforce(
        self, original: str, text: str, parsed: ParsedEdit, path: str | None
    ) -> list[Finding]:
        return guard.enforce(
            original,
            text,
            parsed,
            language=language_of(path, original),
            disabled=self._config.disabled_checks,
        )


def apply(
    original: str | None,
    edit: str | None,
    *,
    path: str | None = None,
    instruction: str | None = None,
    config: Config | None = None,
) -> EditResult:
    """Merge one edit into one text; for many, keep an ``Applier``, which keeps the target loaded.

    Args:
        original: The file's text, line ends as they are; None where there is no such file.
        edit: The edit in any format; None for an instruction alone.
        path: Path of the file; tells the language, and which part of a patch is meant.
        instruction: What the edit is meant to do, alone or with the edit.
        config: Settings; None for the defaults.

    Raises:
        ApplyEditError: One of its kinds; see ``errors``.
    """
    return Applier(config).apply(original, edit, path=path, instruction=instruction)


def predict(original: str, parsed: ParsedEdit, path: str | None) -> LazyMerge | None:
    """Return the deterministic merge of a lazy snippet, None where it has no single plain reading.

    Args:
        original: The file's text.
        parsed: The edit; only a lazy snippet has a prediction.
        path: Path of the file; tells the language.
    """
    if parsed.format is not EditFormat.LAZY:
        return None
    try:
        return _plain_reading(original, parsed, path)
    except MergeUndetermined:
        return None


def _plain_reading(original: str, parsed: ParsedEdit, path: str | None) -> LazyMerge:
    """Merge without a model.

    Raises:
        MergeUndetermined: The edit has no single plain reading without a model.
    """
    if parsed.snippet is None:
        message = (
            "an instruction does not say which text to write; it needs a model "
            "(--strategy model or auto)"
        )
        raise MergeUndetermined(message, reason="instruction")
    return merge_lazy(original, parsed.snippet, language=language_of(path, original))


def _is_near(error: AnchorNotFound) -> bool:
    if error.fields.get("doubt") == "spelling":
        # A target copies the edit's characters, and no check of the guard knows better.
        return False
    nearest = error.fields.get("nearest")
    return isinstance(nearest, dict) and float(nearest.get("score", 0.0)) >= _NEAR_MISS
