"""One merge that the target is asked for, and the texts that it has to write for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apply_edit.rewriting import Rewrite
from apply_edit.scope import Window
from apply_edit.syntax import language_of
from apply_edit.types import LazyMerge, ParsedEdit


@dataclass(frozen=True, slots=True)
class Asked:
    """One merge that the target is asked for.

    Args:
        original: The file.
        parsed: The edit.
        path: Path of the file.
        patch: A structured edit as it was written, None for other formats.
        merge: The deterministic merge of a lazy snippet, None where there is no single one.
    """

    original: str
    parsed: ParsedEdit
    path: str | None
    patch: str | None = None
    merge: LazyMerge | None = None

    @property
    def language(self) -> str | None:
        """Language of the file, None where unknown."""
        return language_of(self.path, self.original)


def rewrites_of(asked: Asked, windows: Sequence[Window] | None = None) -> list[Rewrite]:
    """Return the texts that the target has to write: one per window, or the whole file.

    Args:
        asked: What is asked.
        windows: The windows; None for the whole file.
    """
    parsed, language = asked.parsed, asked.language
    if windows is None:
        merge = asked.merge
        return [
            Rewrite(
                asked.original,
                snippet=parsed.snippet,
                patch=asked.patch,
                instruction=parsed.instruction,
                prediction=None if merge is None else merge.text,
                prediction_spans=() if merge is None else merge.spans,
                language=language,
            )
        ]
    return [
        Rewrite(
            window.text,
            snippet=window.snippet,
            instruction=parsed.instruction,
            prediction=window.prediction,
            prediction_spans=window.prediction_spans,
            is_part=True,
            language=language,
        )
        for window in windows
    ]
