"""From settings to an engine that a worker drives: find, load, start, warm up."""

from __future__ import annotations

from apply_edit.config import Config
from apply_edit.engine import Engine
from apply_edit.models import Progress, locate
from apply_edit.rewriting import DecodeSettings, Rewrite
from apply_edit.service.loading import EngineSource, Loaded
from apply_edit.service.settings import Settings


def config_of(settings: Settings) -> Config:
    """Return what all applies of a service have in common."""
    return Config(
        target=settings.target,
        device=settings.device,
        dtype=settings.dtype,
        draft=settings.draft,
        draft_dtype=settings.draft_dtype,
    )


def engine_source(settings: Settings, progress: Progress | None = None) -> EngineSource:
    """Return a function that loads what the settings name.

    Args:
        settings: Settings of the service.
        progress: Told about downloads.
    """

    def load() -> Loaded:
        # Found first: a name that is wrong should not take the seconds of importing torch.
        target = locate(settings.target, progress=progress).path
        draft = settings.draft
        small = None if draft is None else locate(draft, progress=progress).path
        from apply_edit.service.worker import Worker

        engine = Engine.load(target, settings.device, settings.dtype, small, settings.draft_dtype)
        worker = Worker(
            engine.target,
            engine.tokenizer,
            max_rows=settings.max_concurrency,
            prefix_bytes=settings.prefix_cache_bytes,
        )
        worker.start()
        engine.use(worker)
        try:
            warm_up(engine)
        except BaseException:
            worker.stop()
            raise
        return Loaded(engine, worker)

    return load


def warm_up(engine: Engine) -> None:
    """Have the target write a few tokens, so that the first request does not pay for what is lazy.

    Args:
        engine: The engine, with its worker running.
    """
    engine.rewrite(Rewrite("a = 1\n", snippet="a = 2\n"), DecodeSettings(max_new_tokens=4))
