from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from apply_edit.engine import Engine
from apply_edit.errors import PromptTooLong
from apply_edit.service.build import config_of, engine_source
from tests.fakes import writing_engine
from tests.service.kit import MERGED, settings_of


def test_settings_become_an_engine_that_a_worker_drives(monkeypatch):
    """Target and draft model are found by name, loaded as asked for, warmed up, and shared."""
    engine = writing_engine(MERGED)
    found: list[str] = []
    loaded: list[tuple[Any, ...]] = []

    def locate(name: str, *, progress: object) -> SimpleNamespace:
        found.append(name)
        return SimpleNamespace(path=Path("/models") / name)

    def load(*args: Any) -> Engine:
        loaded.append(args)
        return engine

    monkeypatch.setattr("apply_edit.service.build.locate", locate)
    monkeypatch.setattr(Engine, "load", load)
    settings = settings_of(target="big", draft="small", device="cpu", dtype="float32")
    made = engine_source(settings)()
    try:
        assert found == ["big", "small"]
        assert loaded == [(Path("/models/big"), "cpu", "float32", Path("/models/small"), "auto")]
        assert made.engine is engine
        assert made.worker is not None
        assert made.worker.stats().passes > 0
        assert made.worker.stats().alive
    finally:
        assert made.worker is not None
        made.worker.stop()
    assert not made.worker.stats().alive


def test_a_worker_whose_target_fails_to_warm_up_is_stopped(monkeypatch):
    """When the first pass fails, loading fails and no thread is left behind."""
    engine = writing_engine(MERGED)
    engine.target.context_limit = 1
    workers: list[Any] = []
    monkeypatch.setattr(
        "apply_edit.service.build.locate", lambda *_, **__: SimpleNamespace(path="")
    )
    monkeypatch.setattr(Engine, "load", lambda *_: engine)
    monkeypatch.setattr(engine, "use", workers.append)
    with pytest.raises(PromptTooLong):
        engine_source(settings_of())()
    assert len(workers) == 1
    assert not workers[0].stats().alive


def test_applies_have_the_targets_options_in_common():
    """What the service was started with is the base of every apply's settings."""
    config = config_of(settings_of(target="big", draft="small", device="cpu"))
    assert (config.target, config.draft, config.device) == ("big", "small", "cpu")
    assert config.proposer == "router"
