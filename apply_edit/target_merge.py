"""Have the target write a merge, judge what it wrote, and know what to do when that is not enough.

::

    windows around the edit (or the whole file) ──► written, checked
        │ refused by the guard, cut off, too long, or the target was not sure enough
        ├─ 1. once more in wider windows      where no deterministic merge could take its place
        ├─ 2. the deterministic merge         where it has one plain reading and passes the guard
        └─ 3. the refusal                     with what was tried

Every try is in the result (``EditResult.tries``). Does not know: edit formats beyond what it has to
show the target, files, models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from apply_edit import guard
from apply_edit.align import keep_original_bytes
from apply_edit.asked import Asked, rewrites_of
from apply_edit.confidence import hunk_scores, least_sure
from apply_edit.config import Config
from apply_edit.errors import (
    ApplyEditError,
    ApplyError,
    Cancelled,
    GuardRefused,
    LowConfidence,
    OutputTruncated,
    PromptTooLong,
)
from apply_edit.prompt import confirming
from apply_edit.report import Report
from apply_edit.rewriting import DecodeSettings, Observer, Rewrite, Writes
from apply_edit.scope import SMALL_FILE, Window, find_windows, put_back
from apply_edit.text import split_lines, strip_end
from apply_edit.types import EditResult, HunkScore, Notice, Try, notices_of

if TYPE_CHECKING:
    from apply_edit.decode.loop import Output

# What another try, or another text, can mend.
_Mendable = (GuardRefused, LowConfidence, OutputTruncated, PromptTooLong)


@dataclass(slots=True)
class _Log:
    """What has been done so far; the result carries it."""

    report: Report = field(default_factory=Report)
    tries: list[Try] = field(default_factory=list)
    dialect: str = ""


class TargetMerge:
    """Asks the target.

    Args:
        config: Settings.
        engine: Gives the engine; called when it is first needed.
        observer: Told about decoding.
        cancelled: Asked before every pass.
    """

    def __init__(
        self,
        config: Config,
        engine: Callable[[], Writes],
        observer: Observer,
        cancelled: Callable[[], bool],
    ) -> None:
        self._config = config
        self._engine = engine
        self._observer = observer
        self._cancelled = cancelled

    def merge(self, asked: Asked) -> EditResult:
        """Return the merge, written by the target or in its place.

        Raises:
            Cancelled: The caller asked to stop.
            ApplyError: The target's text is not good enough and nothing can take its place.
            PromptTooLong: File and edit do not fit the context, and nothing can take its place.
        """
        log = _Log()
        # Checked when it is first needed: mostly the target writes the same text.
        instead = cache(lambda: self._instead_of_target(asked))
        refusal: ApplyEditError | None = None
        for scope, windows in self._scopes(asked):
            try:
                result = self._written(asked, windows, log)
            except _Mendable as error:
                refusal = refusal or error
                log.tries.append(Try(scope, error.code, error.message))
                if self._config.strategy != "model" and instead() is not None:
                    break
                continue
            log.tries.append(Try(scope))
            self._confirm(asked, result, log)
            result = replace(result, tries=tuple(log.tries), report=log.report)
            return self._settled(asked, result, instead)
        assert refusal is not None  # noqa: S101 there is at least one scope
        merged = instead()
        if merged is None:
            raise refusal
        notice = Notice(
            "model_refused",
            f"no text of the target was used ({refusal.message}); this is the deterministic merge",
        )
        return _in_place(merged, notice, log.report, (*log.tries, Try("merge")))

    def _scopes(self, asked: Asked) -> Iterator[tuple[str, list[Window] | None]]:
        """Yield what the target is to see: first the windows or the file, then something wider."""
        windows = self._windows(asked, wide=False)
        if windows is None:
            yield "file", None
            return
        yield "windows", windows
        wider = self._windows(asked, wide=True)
        if wider is None:
            yield "file", None
        elif _spans(wider) != _spans(windows):
            yield "wider", wider

    def _windows(self, asked: Asked, *, wide: bool) -> list[Window] | None:
        if asked.merge is None or self._config.scope == "file":
            return None
        return find_windows(
            asked.original,
            asked.parsed.snippet or "",
            asked.merge,
            asked.language,
            wide=wide,
            smallest=0 if self._config.scope == "windows" else SMALL_FILE,
        )

    def _written(self, asked: Asked, windows: list[Window] | None, log: _Log) -> EditResult:
        """Have the target write, and check it.

        Raises:
            GuardRefused, OutputTruncated, PromptTooLong, LowConfidence: Not good enough.
        """
        log.report.windows = 0 if windows is None else len(windows)
        answers: list[str] = []
        hunks: list[HunkScore] = []
        least: list[float] = []
        shift = 0
        for job in rewrites_of(asked, windows):
            text, output = self._write(job, log.report, self._config.dialect)
            log.dialect = output.dialect
            start = 0 if windows is None else windows[len(answers)].start
            hunks += hunk_scores(job.original, text, output.lines, start + shift)
            least += [least_sure(output.lines)] if output.lines else []
            shift += len(split_lines(text)) - len(split_lines(job.original))
            answers.append(text)
        answer = answers[0] if windows is None else put_back(asked.original, windows, answers)
        result = self._checked(asked, answer, log.report, tuple(hunks))
        result = replace(result, confidence=min(least) if least else None)
        self._require_confidence(asked, result)
        return result

    def _write(self, job: Rewrite, report: Report, dialect: str) -> tuple[str, Output]:
        """Have the target write one text.

        Raises:
            Cancelled: The caller asked to stop.
            OutputTruncated: The answer reached its limit.
        """
        config = self._config
        settings = DecodeSettings(config.proposer, config.gamma, config.max_new_tokens, dialect)
        text, output = self._engine().rewrite(job, settings, self._observer, self._cancelled)
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
        return text, output

    def _checked(
        self, asked: Asked, answer: str, report: Report, hunks: tuple[HunkScore, ...]
    ) -> EditResult:
        snippet = asked.parsed.snippet or ""
        allowed = frozenset(strip_end(line) for line in split_lines(snippet))
        text = keep_original_bytes(asked.original, answer, allowed=allowed)
        warnings = self._judged(asked, text)
        return EditResult(text, "model", asked.parsed.format, warnings, report, hunks=hunks)

    def _judged(self, asked: Asked, text: str) -> tuple[Notice, ...]:
        """Return what there is to say of a text.

        Raises:
            GuardRefused: A check of the guard refuses it.
        """
        findings = guard.enforce(
            asked.original,
            text,
            asked.parsed,
            language=asked.language,
            disabled=self._config.disabled_checks,
        )
        return (*asked.parsed.notices, *notices_of(findings))

    def _confirm(self, asked: Asked, result: EditResult, log: _Log) -> None:
        """Ask for the same again in other words; the first answer is the draft.

        A text that the target writes only for one wording of the question is a guess. Where the
        answers agree each asking costs little more than one pass.

        Raises:
            LowConfidence: The answers differ.
        """
        if not self._config.confirms(asked.parsed.format) or asked.merge is not None:
            return
        job = replace(rewrites_of(asked)[0], prediction=result.text)
        for dialect in confirming(log.dialect):
            text, _ = self._write(job, log.report, dialect)
            text = keep_original_bytes(asked.original, text)
            if text != result.text:
                raise _unsure(result, _first_difference(result.text, text))
            log.tries.append(Try("confirm"))

    def _require_confidence(self, asked: Asked, result: EditResult) -> None:
        least = self._config.min_confidence
        if least is None or result.confidence is None or result.confidence >= least:
            return
        if asked.merge is not None and result.text == asked.merge.text:
            # A second opinion that was formed without the target is worth more than its doubts.
            return
        doubted = [hunk for hunk in result.hunks if hunk.confidence < least]
        where = f" about line {doubted[0].start_line}" if doubted else ""
        message = (
            f"the target is not sure of its text{where}: it gave one of its words a probability of "
            f"{result.confidence:.2f}, and {least:.2f} is asked for; say more precisely what to "
            "change, send a snippet or a diff instead, or lower --min-confidence"
        )
        raise LowConfidence(
            message,
            confidence=result.confidence,
            least=least,
            lines=[hunk.start_line for hunk in doubted],
        )

    def _instead_of_target(self, asked: Asked) -> EditResult | None:
        """Return the deterministic merge as a result, None where there is none or it is refused."""
        if asked.merge is None:
            return None
        try:
            warnings = self._judged(asked, asked.merge.text)
        except ApplyError:
            return None
        return EditResult(
            asked.merge.text,
            "direct",
            asked.parsed.format,
            (*warnings, *asked.merge.notices),
        )

    def _settled(
        self, asked: Asked, result: EditResult, instead: Callable[[], EditResult | None]
    ) -> EditResult:
        """Decide between the target's text and the deterministic merge where they differ.

        A merge that has one plain reading is right more often than a small model (the figures are
        in docs/accuracy.md), so ``auto`` takes it; ``model`` means the target's text.
        """
        if asked.merge is None:
            return result
        if result.text == asked.merge.text:
            return replace(result, agreement=True)
        merged = None if self._config.strategy == "model" else instead()
        if merged is None:
            return replace(result, agreement=False)
        line = _first_difference(result.text, asked.merge.text)
        notice = Notice(
            "model_disagrees",
            f"the target's text was not used: in line {line} it differs from the plain reading of "
            "the snippet, which is the result; --strategy model takes the target's",
        )
        return _in_place(merged, notice, result.report, (*result.tries, Try("merge")))


def _unsure(result: EditResult, line: int) -> LowConfidence:
    message = (
        "the target writes something else when it is asked in other words, first in line "
        f"{line}; say more precisely what to change, send a snippet or a diff instead, or use "
        "--no-confirm"
    )
    return LowConfidence(message, confidence=result.confidence, lines=[line])


def _in_place(
    merged: EditResult, notice: Notice, report: Report | None, tries: tuple[Try, ...]
) -> EditResult:
    """Return the deterministic merge as the answer to what was asked of the target."""
    return replace(
        merged,
        strategy="merge",
        report=report,
        agreement=False,
        warnings=(notice, *merged.warnings),
        tries=tries,
    )


def _spans(windows: Sequence[Window]) -> list[tuple[int, int]]:
    return [(window.start, window.end) for window in windows]


def _first_difference(text: str, other: str) -> int:
    """Return the 1-based number of the first line that differs."""
    lines, others = split_lines(text), split_lines(other)
    return 1 + next(
        (i for i, (a, b) in enumerate(zip(lines, others, strict=False)) if a != b),
        min(len(lines), len(others)),
    )
