"""Accepted run lengths of recorded target outputs: drafting may get better, never by accident."""

import pytest

from tests.fixture_cases import load_all
from tests.regression.recordings import FILE, PROPOSERS, load, replay, save

RECORDED = [case for case in load_all() if (case.folder / FILE).exists()]


def test_there_are_recordings():
    """At least twelve fixtures have a recorded target output."""
    assert len(RECORDED) >= 12


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case.name)
def test_run_lengths_are_the_recorded_ones(case, bless):
    """Each pass drafts and accepts what it did when the recording was blessed."""
    recording = load(case.folder)
    if bless:
        save(case.folder, recording)
        return
    for name in PROPOSERS:
        assert replay(recording, name) == recording.passes[name], (
            f"{case.name}: drafting with {name} has changed; if it is meant, run pytest --bless"
        )


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case.name)
def test_drafting_saves_nine_passes_in_ten(case):
    """Whatever the fixture, the router needs at most a tenth of the plain passes."""
    recording = load(case.folder)
    assert len(recording.passes["router"]) * 10 <= len(recording.output_ids)
