"""The given edit cases in structured formats: how many are applied, and that none goes wrong.

The records belong to their sources and are not part of the project. They are read from the folder
that ``APPLY_EDIT_CASES`` names, or from ``../shared/cases``.
"""

import functools
import json

import pytest

from benchmarks.cases import FORMAT_ALIASES, Runner, case_folder, judge

STRUCTURED = {
    "udiff",
    "udiff_drifted",
    "search_replace",
    "roo_diff",
    "v4a",
    "str_replace",
    "whole",
    "model_output",
}
FOLDER = case_folder()

pytestmark = pytest.mark.skipif(FOLDER is None, reason="no case files: set APPLY_EDIT_CASES")


@functools.cache
def verdicts(name, *, detect=False):
    """Run the structured cases of a file whose answer is beyond dispute."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"{path} is absent")
    runner = Runner(detect=detect)
    found = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            if case["format"] in STRUCTURED and not case.get("policy"):
                found.append((case, judge(case, runner.run(case))))
    return found


def shares(found):
    """Return the shares of ok and of wrong answers."""
    kinds = [verdict.kind for _, verdict in found]
    ok = kinds.count("exact") + kinds.count("ok")
    return ok / len(kinds), kinds.count("wrong") / len(kinds)


def test_peers_cases_are_applied_and_almost_none_is_wrong():
    """At least 98 % ok and at most 0.3 % wrong."""
    ok, wrong = shares(verdicts("peers.jsonl"))
    assert ok >= 0.98
    assert wrong <= 0.003


def test_every_expected_error_of_the_peers_is_refused():
    """Where a peer refuses for good reason we do too."""
    written = [
        c["id"] for c, v in verdicts("peers.jsonl") if c["expect_error"] and v.kind == "wrong"
    ]
    assert written == []


@pytest.mark.parametrize("name", ["reports.jsonl", "files.jsonl"])
def test_reported_failures_and_realistic_files_are_all_right(name):
    """Every structured case is ok."""
    assert [(c["id"], v.why) for c, v in verdicts(name) if v.kind in ("wrong", "refused")] == []


def test_real_commits_are_applied_in_every_format():
    """Clean edits all; drifted diffs at least 97 %; none wrong."""
    found = verdicts("history.jsonl")
    assert [c["id"] for c, v in found if v.kind == "wrong"] == []
    clean = [(c, v) for c, v in found if c["format"] != "udiff_drifted"]
    drifted = [(c, v) for c, v in found if c["format"] == "udiff_drifted"]
    assert shares(clean) == (1.0, 0.0)
    assert shares(drifted)[0] >= 0.97


@pytest.mark.parametrize("name", ["peers.jsonl", "reports.jsonl", "files.jsonl", "history.jsonl"])
def test_the_format_need_not_be_named(name):
    """With the format detected from the text nothing more goes wrong."""
    named = {c["id"]: v.kind for c, v in verdicts(name)}
    told = {c["id"]: v.kind for c, v in verdicts(name, detect=True)}
    worse = [i for i, kind in told.items() if kind == "wrong" and named[i] != "wrong"]
    assert worse == []
    assert set(FORMAT_ALIASES.values()) <= STRUCTURED
