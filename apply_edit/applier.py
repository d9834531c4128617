"""Put the parts together: text and edit in, merged text out. Never writes files.

Strategies::

    structured edit ──► located exactly and uniquely ──► spliced          strategy "direct"
    whole file      ──► laid over the original                            strategy "direct"
    lazy snippet, instruction ──► written by the target                   strategy "model"
         └─ the target's text fails the guard, or differs from a merge
            that has one plain reading ──► that merge                     strategy "merge"
    anything doubtful ──► a typed error, and nothing is written
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from apply_edit import edits, guard
from apply_edit.align import keep_original_bytes
from apply_edit.config import Config
from apply_edit.direct import apply_file_edit, apply_whole, select_file
from apply_edit.engine import DecodeSettings, Engine, Observer, Rewrite, SilentObserver
from apply_edit.errors import (
    AnchorNotFound,
    ApplyEditError,
    ApplyError,
    Cancelled,
    ConfigError,
    EditParseError,
    FileMissing,
    GuardRefused,
    MergeUndetermined,
    OutputTruncated,
    PromptTooLong,
)
from apply_edit.merge import merge_lazy
from apply_edit.models import Progress, locate
from apply_edit.report import Report
from apply_edit.scope import Window, find_windows, put_back
from apply_edit.syntax import language_of
from apply_edit.text import dominant_newline, split_lines, strip_end
from apply_edit.types import (
    EditFormat,
    EditResult,
    Finding,
    LazyMerge,
    Notice,
    ParsedEdit,
)

# An edit whose text is nowhere near anything in the file is refused at once; with a near miss of at
# least this similarity the target may try, and the guard judges what it wrote.
_NEAR_MISS = 0.6


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
        engine: Engine | None = None,
        observer: Observer | None = None,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
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
        parsed = self._parse(original, edit, path, instruction)
        return self.apply_parsed(original, parsed, path=path, written=edit)

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
    def engine(self) -> Engine:
        """The engine, loaded on first use."""
        if self._engine is None:
            folder = locate(self._config.target, progress=self._progress)
            self._observer.stage("load")
            self._engine = Engine.load(folder.path, self._config.device, self._config.dtype)
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
            return self._by_model(original, parsed, path, patch=written)
        warnings = [*parsed.notices, *result.notices]
        if not result.deleted:
            single = replace(parsed, files=(replace(part, hunks=result.hunks or part.hunks),))
            warnings += _notices(self._enforce(original or "", result.text, single, path))
        return EditResult(
            result.text,
            "direct",
            parsed.format,
            tuple(warnings),
            deleted=result.deleted,
            moved_to=result.moved_to,
        )

    def _whole(self, original: str | None, parsed: ParsedEdit, path: str | None) -> EditResult:
        text = apply_whole(original, parsed.snippet or "", newline=dominant_newline(original or ""))
        findings = self._enforce(original or "", text, parsed, path)
        warnings = (*parsed.notices, *_notices(findings))
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
        warnings = (*parsed.notices, *merge.notices, *_notices(findings))
        return EditResult(merge.text, "direct", parsed.format, warnings)

    def _by_model(
        self, original: str, parsed: ParsedEdit, path: str | None, *, patch: str | None = None
    ) -> EditResult:
        prediction = predict(original, parsed, path)
        windows = None
        if prediction is not None and self._config.scope == "auto":
            snippet = parsed.snippet or ""
            windows = find_windows(original, snippet, prediction, language_of(path, original))
        if windows is None:
            jobs = [whole_file(original, parsed, prediction, patch=patch)]
        else:
            jobs = [_window_job(window, parsed) for window in windows]
        report = Report(windows=0 if windows is None else len(windows))
        try:
            answers = self._write(jobs, report)
            answer = answers[0] if windows is None else put_back(original, windows, answers)
            result = self._accepted(original, answer, parsed, path, report)
        except (GuardRefused, OutputTruncated, PromptTooLong) as error:
            if prediction is None:
                raise
            return self._fallback(original, prediction, parsed, path, error, report)
        if prediction is None:
            return result
        return self._settled(original, result, prediction, parsed, path)

    def _settled(
        self,
        original: str,
        result: EditResult,
        merge: LazyMerge,
        parsed: ParsedEdit,
        path: str | None,
    ) -> EditResult:
        """Decide between the target's text and the deterministic merge where they differ.

        A merge that has one plain reading is right more often than a small model (the figures are
        in docs/benchmarks.md), so ``auto`` takes it; ``model`` means the target's text.
        """
        if result.text == merge.text:
            return replace(result, agreement=True)
        if self._config.strategy == "model":
            return replace(result, agreement=False)
        line = _first_difference(result.text, merge.text)
        notice = Notice(
            "model_disagrees",
            f"the target's text was not used: in line {line} it differs from the plain reading of "
            "the snippet, which is the result; --strategy model takes the target's",
        )
        try:
            merged = self._merged(original, merge, parsed, path)
        except ApplyError:
            return replace(result, agreement=False)
        return _instead(merged, notice, result.report)

    def _write(self, jobs: list[Rewrite], report: Report) -> list[str]:
        """Have the target write each job's text.

        Raises:
            Cancelled: The caller asked to stop.
            OutputTruncated: An answer reached its limit.
        """
        settings = DecodeSettings(
            self._config.proposer, self._config.gamma, self._config.max_new_tokens
        )
        answers = []
        for job in jobs:
            answer, output = self.engine.rewrite(job, settings, self._observer, self._cancelled)
            report.absorb(output.report)
            if output.finish == "cancelled":
                message = "cancelled; nothing was changed"
                raise Cancelled(message)
            if output.finish == "length":
                message = (
                    f"the target was stopped after {len(output.ids)} tokens and had not finished; "
                    "raise --max-new-tokens or edit a smaller part"
                )
                raise OutputTruncated(message, emitted=len(output.ids))
            answers.append(answer)
        return answers

    def _accepted(
        self,
        original: str,
        answer: str,
        parsed: ParsedEdit,
        path: str | None,
        report: Report,
    ) -> EditResult:
        allowed = frozenset(strip_end(line) for line in split_lines(parsed.snippet or ""))
        text = keep_original_bytes(original, answer, allowed=allowed)
        findings = self._enforce(original, text, parsed, path)
        warnings = (*parsed.notices, *_notices(findings))
        return EditResult(text, "model", parsed.format, warnings, report)

    def _fallback(
        self,
        original: str,
        merge: LazyMerge,
        parsed: ParsedEdit,
        path: str | None,
        refusal: ApplyEditError,
        report: Report,
    ) -> EditResult:
        """Answer with the deterministic merge, because the target's text was refused."""
        try:
            merged = self._merged(original, merge, parsed, path)
        except ApplyError:
            raise refusal from None
        notice = Notice(
            "model_refused",
            f"no text of the target was used ({refusal.message}); this is the deterministic merge",
        )
        return _instead(merged, notice, report)

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


def whole_file(
    original: str, parsed: ParsedEdit, prediction: LazyMerge | None, *, patch: str | None = None
) -> Rewrite:
    """Return the job of rewriting the whole file.

    Args:
        original: The file's text.
        parsed: The edit.
        prediction: Its deterministic merge, see ``predict``.
        patch: A structured edit as it was written, None for other formats.
    """
    return Rewrite(
        original,
        snippet=parsed.snippet,
        patch=patch,
        instruction=parsed.instruction,
        prediction=None if prediction is None else prediction.text,
        prediction_spans=() if prediction is None else prediction.spans,
    )


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


def _instead(merged: EditResult, notice: Notice, report: Report | None) -> EditResult:
    """Return the deterministic merge as the answer to what was asked of the target."""
    return replace(
        merged,
        strategy="merge",
        report=report,
        agreement=False,
        warnings=(notice, *merged.warnings),
    )


def _first_difference(text: str, other: str) -> int:
    """Return the 1-based number of the first line that differs."""
    lines, others = split_lines(text), split_lines(other)
    return 1 + next(
        (i for i, (a, b) in enumerate(zip(lines, others, strict=False)) if a != b),
        min(len(lines), len(others)),
    )


def _window_job(window: Window, parsed: ParsedEdit) -> Rewrite:
    return Rewrite(
        window.text,
        snippet=window.snippet,
        instruction=parsed.instruction,
        prediction=window.prediction,
    )


def _is_near(error: AnchorNotFound) -> bool:
    nearest = error.fields.get("nearest")
    return isinstance(nearest, dict) and float(nearest.get("score", 0.0)) >= _NEAR_MISS


def _notices(findings: list[Finding]) -> list[Notice]:
    return [Notice(f.check, f.message, tuple(start + 1 for start, _ in f.lines)) for f in findings]
