import threading
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from apply_edit.errors import ApplyEditError, ModelNotFound
from apply_edit.service.app import create_app
from apply_edit.service.loading import Loaded
from apply_edit.service.worker import WorkerStats
from tests.fakes import writing_engine
from tests.service.kit import DIRECT, HOST, LAZY, MERGED, ORIGINAL, settings_of, until

LAZY_ASK = {"original": ORIGINAL, "edit": LAZY}


class StubWorker:
    """A worker that says of itself what a test wants."""

    def __init__(self, **values: Any) -> None:
        idle = WorkerStats(True, *[0] * 10, 0.0)  # type: ignore[arg-type] # ten counts
        self.said = replace(idle, **values)

    def stats(self) -> WorkerStats:
        """Return what the test wants."""
        return self.said

    def stop(self, timeout: float, last_pass_s: float) -> None:
        """Do nothing."""


def test_structured_edits_are_applied_while_the_target_loads_and_others_wait():
    """Before the target is there /ready is 503, direct edits work, and model edits wait for it."""
    may_load = threading.Event()

    def source() -> Loaded:
        assert may_load.wait(20)
        return Loaded(writing_engine(MERGED))

    app = create_app(settings_of(), source)
    with TestClient(app, base_url=HOST) as asking:
        early = asking.get("/ready")
        assert (early.status_code, early.json()["error"]["code"]) == (503, "loading")
        assert early.headers["retry-after"]
        assert asking.get("/health").json()["engine"] == "loading"
        assert asking.post("/v1/apply", json=DIRECT).status_code == 200
        threading.Timer(0.05, may_load.set).start()
        assert asking.post("/v1/apply", json=LAZY_ASK).json()["text"] == MERGED
        assert asking.get("/ready").json()["engine"] == "ready"


def test_an_apply_gives_up_waiting_for_the_target_at_its_deadline():
    """Loading that takes too long is a 504 for the request, and loading goes on."""
    may_load = threading.Event()

    def source() -> Loaded:
        assert may_load.wait(20)
        return Loaded(writing_engine(MERGED))

    app = create_app(settings_of(deadline_s=0.2), source)
    with TestClient(app, base_url=HOST) as asking:
        assert asking.post("/v1/apply", json=LAZY_ASK).status_code == 504
        assert app.state.loading.state == "loading"
        may_load.set()
        until(lambda: asking.get("/ready").status_code == 200)


def test_a_target_that_cannot_be_loaded_is_told_to_all_who_need_it():
    """The error of loading is the answer of /ready and of applies that need the target."""
    told: list[ApplyEditError] = []

    def source() -> Loaded:
        message = "there is no model nonsense"
        raise ModelNotFound(message)

    with TestClient(create_app(settings_of(), source, told.append), base_url=HOST) as asking:
        until(lambda: bool(told))
        for answer in (asking.get("/ready"), asking.post("/v1/apply", json=LAZY_ASK)):
            assert answer.status_code == 503
            assert answer.json()["error"]["code"] == "model_not_found"
        assert asking.get("/health").status_code == 200
        assert asking.post("/v1/apply", json=DIRECT).status_code == 200


def test_a_bug_while_loading_is_a_load_error_without_details():
    """Whatever goes wrong while loading, those who wait hear of it."""

    def source() -> Loaded:
        raise ZeroDivisionError(ORIGINAL)

    with TestClient(create_app(settings_of(), source), base_url=HOST) as asking:
        answer = asking.post("/v1/apply", json=LAZY_ASK)
    assert answer.json()["error"]["code"] == "model_load_error"
    assert "ZeroDivisionError" in answer.json()["error"]["message"]
    assert "return 1" not in answer.text


@pytest.mark.parametrize(
    ("stats", "status", "code"),
    [
        ({"stalled_s": 4.0, "rows": 1}, 200, None),
        ({"stalled_s": 6.0, "rows": 1}, 503, "worker_stuck"),
        ({"alive": False}, 503, "worker_ended"),
    ],
)
def test_health_tells_a_worker_that_hangs_or_has_ended(stats, status, code):
    """A worker without progress for too long, or without a thread, makes the service unhealthy."""
    loaded = Loaded(writing_engine(MERGED), StubWorker(**stats))
    app = create_app(settings_of(stuck_after_s=5.0), lambda: loaded)
    with TestClient(app, base_url=HOST) as asking:
        until(lambda: app.state.loading.state == "ready")
        answer = asking.get("/health")
    assert answer.status_code == status
    assert answer.json().get("error", {}).get("code") == code


def test_the_worker_is_stopped_with_the_service():
    """When the service ends its worker ends, and the application says that all threads have."""
    stopped = threading.Event()
    worker = StubWorker()
    worker.stop = lambda timeout, last_pass_s: stopped.set()  # type: ignore[method-assign] # a stub
    app = create_app(settings_of(), lambda: Loaded(writing_engine(MERGED), worker))
    with TestClient(app, base_url=HOST):
        until(lambda: app.state.loading.state == "ready")
    assert stopped.is_set()
    assert app.state.ended


def test_a_load_that_does_not_end_does_not_hold_up_the_end():
    """When the service ends while the target loads, the application says that a thread is left."""
    may_load = threading.Event()

    def source() -> Loaded:
        assert may_load.wait(20)
        return Loaded(writing_engine(MERGED))

    app = create_app(settings_of(), source)
    with TestClient(app, base_url=HOST):
        assert app.state.loading.state == "loading"
    assert not app.state.ended
    may_load.set()
