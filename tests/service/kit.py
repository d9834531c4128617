"""A whole service over a target without weights, whose passes a test can hold up and count."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient

from apply_edit.decode.target import Block, Scores
from apply_edit.engine import Engine
from apply_edit.service.app import create_app
from apply_edit.service.loading import Loaded
from apply_edit.service.settings import Settings
from apply_edit.service.worker import Worker
from tests.fakes import writing_engine

ORIGINAL = "import os\n\n\ndef a():\n    return 1\n\n\ndef b():\n    return 2\n"
MERGED = ORIGINAL.replace("return 1", "return 42")
EDIT = '{"old_str": "return 1", "new_str": "return 42"}'
LAZY = "# ... existing code ...\n\ndef a():\n    return 42\n\n# ... existing code ...\n"
DIRECT = {"original": ORIGINAL, "edit": EDIT}
# One token per pass, so that there are passes to count.
PLAIN = {"original": ORIGINAL, "instruction": "return 42 from a", "gamma": 0}
HOST = "http://127.0.0.1"


class Held:
    """Holds up the passes of a target until they are allowed."""

    def __init__(self, engine: Engine) -> None:
        self._allowed = threading.Semaphore(0)
        self._free = False
        self._target: Any = engine.target
        self._score = engine.target.score
        self._target.score = self._wait

    def _wait(self, blocks: Sequence[Block]) -> list[Scores]:
        if not self._free:
            assert self._allowed.acquire(timeout=20), "a pass was held up for too long"
        return self._score(blocks)

    def allow(self, passes: int) -> None:
        """Let some passes run, and wait until they have."""
        wanted = self.passes + passes
        self._allowed.release(passes)
        until(lambda: self.passes == wanted)

    def free(self) -> None:
        """Hold up nothing from now on."""
        self._free = True
        self._allowed.release()

    @property
    def passes(self) -> int:
        """Passes that have run."""
        return int(self._target.num_passes)


def until(condition: Callable[[], bool]) -> None:
    """Wait until something holds; fail after 10 seconds."""
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.005)
    message = "what was waited for did not happen"
    raise AssertionError(message)


def settings_of(**values: Any) -> Settings:
    """Return settings that no variable of the environment has a say in."""
    return Settings.model_validate({**Settings().model_dump(), **values})


def service(engine: Engine | None = None, **values: Any) -> FastAPI:
    """Return the application.

    Args:
        engine: Its engine; None where no test may need one.
        **values: Settings.
    """
    settings = settings_of(**values)

    def source() -> Loaded:
        assert engine is not None, "the model was asked"
        worker = Worker(engine.target, engine.tokenizer, max_rows=settings.max_concurrency)
        worker.start()
        engine.use(worker)
        return Loaded(engine, worker)

    return create_app(settings, source)


@contextmanager
def client(engine: Engine | str | None = None, **values: Any) -> Iterator[TestClient]:
    """Run a service in this process and yield a client of it.

    Args:
        engine: As for ``service``, or the answer that a target gives.
        **values: Settings; the target is loaded when it is needed.
    """
    if isinstance(engine, str):
        engine = writing_engine(engine)
    app = service(engine, **{"preload": False, **values})
    with TestClient(app, base_url=HOST, raise_server_exceptions=False) as asking:
        yield asking
