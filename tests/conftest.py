"""Options of the test suite, and hypothesis profiles."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --bless."""
    parser.addoption(
        "--bless",
        action="store_true",
        help="accept today's accepted run lengths as the expected ones (never in CI)",
    )


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    """Whether expectations are to be rewritten; refused in CI."""
    wanted = bool(request.config.getoption("--bless"))
    if wanted and os.environ.get("CI"):
        pytest.fail("--bless is for people: look at the difference, then commit it")
    return wanted
