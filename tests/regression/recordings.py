"""Recorded target outputs and the accepted run lengths that they must give.

A recording holds token ids only, so that a replay needs neither weights nor tokenizer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from apply_edit.decode.loop import Decoding
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from proposers import WALL, References, create
from tests.fakes import ByteTokenizer, scripted_target

FILE = "recording.json"
GAMMA = 128
PROPOSERS = ("router", "cursor", "lookup")
_PROMPT = (0,)


@dataclass
class Recording:
    """What a target wrote for a fixture, and how drafting did on it.

    Args:
        target: Name of the target.
        exact: Whether the output is the expected file.
        original_ids: Ids of the original.
        snippet_ids: Ids of the snippet's pieces, walls between them.
        prediction_ids: Ids of the deterministic merge, None where there is none.
        closing_ids: Ids that end an output.
        output_ids: Ids that the target wrote.
        prediction_edits: Spans of ``prediction_ids`` that come from the edit.
        passes: Per proposer one line per pass: drafted, accepted, and for each run of the draft
            region, source, accepted and drafted tokens.
    """

    target: str
    exact: bool
    original_ids: tuple[int, ...]
    snippet_ids: tuple[int, ...]
    prediction_ids: tuple[int, ...] | None
    closing_ids: tuple[int, ...]
    output_ids: tuple[int, ...]
    prediction_edits: tuple[tuple[int, int], ...] = ()
    passes: dict[str, list[str]] = field(default_factory=dict)


def load(folder: Path) -> Recording:
    """Read the recording of a fixture."""
    return Recording(**json.loads((folder / FILE).read_text(encoding="utf-8")))


def save(folder: Path, recording: Recording) -> None:
    """Write a recording with the run lengths that drafting gives today."""
    recording.passes = {name: replay(recording, name) for name in PROPOSERS}
    fields = asdict(recording)
    lines = [f"  {json.dumps(key)}: {_compact(value)}" for key, value in fields.items()]
    (folder / FILE).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def replay(recording: Recording, proposer: str) -> list[str]:
    """Decode the recorded output with a proposer and return one line per pass."""
    references = references_of(recording)
    # Which ids they are does not matter; few of them make small rows of logits.
    small: dict[int, int] = {WALL: WALL}
    texts = (recording.output_ids, *_texts(references))
    output, *copied = ([small.setdefault(token, len(small)) for token in text] for text in texts)
    original, snippet, closing, prediction = map(tuple, copied)
    texts_to_copy = replace(
        references,
        original=original,
        snippet=snippet,
        closing=closing,
        prediction=None if references.prediction is None else prediction,
    )
    target = scripted_target(len(_PROMPT), output, max(258, len(small)))
    source = create(proposer, texts_to_copy)
    request = Request(_PROMPT, max_new_tokens=len(output))
    result = Decoding(target, ByteTokenizer(), request, source, FixedGamma(GAMMA)).run()
    if list(result.ids) != output:
        message = f"the replay with {proposer} wrote something else than what was recorded"
        raise AssertionError(message)
    return [
        f"drafted {record.drafted:3d}  accepted {record.accepted:3d}  "
        + ", ".join(
            f"{region or 'unknown'}/{source} {taken}/{count}"
            for region, source, count, taken in record.runs
        )
        for record in result.report.records
    ]


def _texts(references: References) -> tuple[Sequence[int], ...]:
    prediction = references.prediction or ()
    return references.original, references.snippet, references.closing, prediction


def references_of(recording: Recording) -> References:
    """Return the texts that drafts are copied from; ids alone, so there is no view of them."""
    return References(
        tuple(recording.original_ids),
        tuple(recording.snippet_ids),
        recording.prediction_ids,
        tuple((start, end) for start, end in recording.prediction_edits),
        tuple(recording.closing_ids),
    )


def _compact(value: object) -> str:
    if isinstance(value, dict):
        parts = [
            f"    {json.dumps(key)}: [\n"
            + ",\n".join(f"      {json.dumps(line)}" for line in lines)
            + "\n    ]"
            for key, lines in value.items()
        ]
        return "{\n" + ",\n".join(parts) + "\n  }"
    return json.dumps(value)
