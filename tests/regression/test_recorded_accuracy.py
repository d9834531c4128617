"""What the default target wrote for edit cases, through the system around it once more."""

import json
from collections import Counter

import pytest

from apply_edit import Config
from benchmarks.accuracy import known_rows, measured, unfolded
from benchmarks.cases import case_folder
from benchmarks.recorded import Replayer
from tests.fixture_cases import FIXTURES

RECORDED = FIXTURES / "recorded"


def cases_by_id():
    """Return all cases that are at hand, by id."""
    files = sorted(FIXTURES.glob("instructions*.jsonl"))
    if case_folder() is not None:
        files += sorted(case_folder().glob("*.jsonl"))
    found = {}
    for file in files:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                case = json.loads(line)
                if case["format"] in ("lazy", "instruction"):
                    found[case["id"]] = unfolded(case, file.parent)
    return found


@pytest.mark.parametrize(
    "name", ["auto-lazy", "auto-instruction", "auto-instruction-2", "auto-instruction-held-out"]
)
def test_the_system_is_as_right_as_it_was(name):
    """With the recorded answers of the target, no more is wrong and no less is right than was."""
    rows = known_rows(RECORDED / f"{name}.jsonl")
    cases = cases_by_id()
    here = [cases[key] for key in rows if key in cases]
    if not here:
        pytest.skip("the cases are not here; APPLY_EDIT_CASES names their folder")
    config = Config(dialect="generic")
    again = {row["id"]: row for row in measured(here, Replayer(rows.values()), config, False)}
    for verdicts in ({"exact", "ok"}, {"exact", "ok", "refused"}):
        was = {key for key in again if rows[key]["verdict"] in verdicts}
        now = {key for key in again if again[key]["verdict"] in verdicts}
        assert not was - now
    assert Counter(row["verdict"] for row in again.values())["exact"] > 0
