"""The lazy merge on recorded cases and on snippets derived from this repository's own sources."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path

import pytest

from apply_edit.errors import MergeUndetermined
from apply_edit.merge import merge_lazy
from apply_edit.syntax.python import python_error
from tests.lazy_cases import make_snippet, random_edit, random_manner

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(os.environ.get("APPLY_EDIT_CASES", ROOT.parent / "shared" / "cases"))


def _records(name: str) -> list[dict[str, object]]:
    path = CASES / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not here; set APPLY_EDIT_CASES to the folder of the cases")
    with path.open(encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return [r for r in records if r["format"] == "lazy" and not r.get("policy")]


def _unfenced(edit: str) -> str:
    """Take the code out of a fence with prose around it."""
    parts = edit.split("```")
    return parts[1].split("\n", 1)[1] if len(parts) == 3 else edit


def _same(result: str, expected: str, compare: str | None) -> bool:
    if compare in (None, "exact"):
        return result == expected
    lines = [[line.rstrip() for line in text.split("\n")] for text in (result, expected)]
    if compare == "modulo_blank_line_ws":
        lines = [
            [line if line.strip() else "" for line in text.split("\n")]
            for text in (result, expected)
        ]
    return "\n".join(lines[0]).rstrip("\n") == "\n".join(lines[1]).rstrip("\n")


def _outcomes(records: list[dict[str, object]]) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for record in records:
        original, edit = str(record["original"] or ""), str(record["edit"])
        if record.get("language") not in ("md", "markdown"):
            edit = _unfenced(edit)
        try:
            result = merge_lazy(original, edit, language=str(record.get("language"))).text
        except MergeUndetermined:
            counts["refused"] += 1
            continue
        compare = record.get("compare")
        good = _same(result, str(record["expected"]), None if compare is None else str(compare))
        counts["ok" if good else "wrong"] += 1
        if not good:
            wrong.append(str(record["id"]))
    return counts, wrong


@pytest.mark.parametrize(
    ("name", "least_ok", "most_wrong"),
    [("peers", 0.80, 0.02), ("files", 1.0, 0.0), ("reports", 1.0, 0.0), ("history", 0.85, 0.01)],
)
def test_recorded_cases(name, least_ok, most_wrong):
    """Of the recorded snippets the promised share is merged, and next to none wrongly."""
    records = _records(name)
    counts, wrong = _outcomes(records)
    assert counts["ok"] >= least_ok * len(records), counts
    assert counts["wrong"] <= most_wrong * len(records), wrong


@pytest.mark.parametrize("seed", [1, 2])
def test_snippets_derived_from_our_own_sources(seed):
    """Snippets cut from random edits of real files are merged to that edit, or refused."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    texts = {
        path: path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "apply_edit").rglob("*.py"))
    }
    long = [path for path, text in texts.items() if text.count("\n") >= 60]
    for path in rng.sample(long, len(long)):
        original = texts[path]
        expected = random_edit(original, rng)
        manner = random_manner(rng)
        snippet = make_snippet(original, expected, "python", manner)
        if snippet is None or python_error(expected) is not None:
            continue
        try:
            result = merge_lazy(original, snippet, language="python").text
        except MergeUndetermined:
            counts["refused"] += 1
            continue
        good = result == expected
        counts["ok" if good else "wrong"] += 1
        if not good:
            wrong.append(f"{path.name}: {manner}")
        if counts.total() == 30:
            break
    # Many random edits are no Python and are left out.
    assert counts["ok"] >= 20
    assert counts["ok"] > 3 * counts["refused"], counts
    # One in a hundred at the most; a sample of this size leaves room for none.
    assert not wrong
