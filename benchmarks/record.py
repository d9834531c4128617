"""Record what the real target writes for each lazy and instruction fixture.

``python -m benchmarks.record [--only NAME …]`` writes ``recording.json`` beside each fixture: the
token ids of every reference text and of the target's output. ``tests/regression`` replays them
without weights and compares accepted run lengths; ``pytest --bless`` rewrites those. With
``--references`` no target runs: only the reference texts are encoded anew.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace

from apply_edit import edits
from apply_edit.applier import predict
from apply_edit.asked import Asked, rewrites_of
from apply_edit.config import DEFAULT_TARGET
from apply_edit.decode.tokens import TextTokenizer
from apply_edit.engine import Engine
from apply_edit.models import locate
from apply_edit.prompt import DEFAULT, DIALECTS
from apply_edit.rewriting import DecodeSettings, Rewrite
from apply_edit.text import SourceText, with_newlines
from tests.fixture_cases import FixtureCase, load_all
from tests.regression.recordings import FILE, Recording, load, save

# Any gamma gives the same output; a wrong draft is paid in full, so not too wide a one.
GAMMA_WHILE_RECORDING = 96


def job_of(case: FixtureCase) -> Rewrite:
    """Return what the engine is asked to do for a fixture."""
    original = SourceText.from_bytes(case.original).text
    parsed = edits.parse(case.edit, case.format, original=original, path=case.path)
    merge = predict(original, parsed, case.path)
    return rewrites_of(Asked(original, parsed, case.path, merge=merge))[0]


def record(engine: Engine, target: str, case: FixtureCase) -> tuple[Recording, bool]:
    """Have the target write one fixture; return the recording and whether it is exact."""
    job = job_of(case)
    text, output = engine.rewrite(job, DecodeSettings(gamma=GAMMA_WHILE_RECORDING))
    expected = with_newlines(SourceText.from_bytes(case.expected).text, "\n")
    recording = Recording(
        target, text == expected, output_ids=output.ids, **references(engine, job)
    )
    return recording, recording.exact


def references(engine: Engine, job: Rewrite) -> dict:
    """Encode what drafts are copied from; return it as fields of a recording."""
    prompt = DIALECTS[DEFAULT].render(job.task)
    texts = engine.references(job, prompt.stop)
    return {
        "original_ids": texts.original,
        "snippet_ids": texts.snippet,
        "prediction_ids": texts.prediction,
        "prediction_edits": texts.prediction_edits,
        "closing_ids": texts.closing,
    }


def encode_anew(engine: Engine) -> None:
    """Bring the reference texts of all recordings up to date."""
    for case in load_all("lazy", "instruction"):
        if (case.folder / FILE).exists():
            save(case.folder, replace(load(case.folder), **references(engine, job_of(case))))


def main() -> int:
    """Record all fixtures, or those named."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", nargs="*", default=[])
    options.add_argument("--missing", action="store_true", help="only those without a recording")
    options.add_argument("--target", default=DEFAULT_TARGET)
    options.add_argument("--references", action="store_true", help="only the reference texts")
    arguments = options.parse_args()
    if arguments.references:
        encode_anew(Engine(None, TextTokenizer.load(locate(arguments.target).path)))
        return 0
    engine = Engine.load(locate(arguments.target).path)
    for case in sorted(load_all("lazy", "instruction"), key=lambda case: len(case.original)):
        if arguments.only and case.name not in arguments.only:
            continue
        if arguments.missing and (case.folder / FILE).exists():
            continue
        recording, exact = record(engine, arguments.target, case)
        save(case.folder, recording)
        print(json.dumps({"case": case.name, "exact": exact, "tokens": len(recording.output_ids)}))
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
