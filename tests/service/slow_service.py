"""A whole service in a process of its own, over a target without weights whose passes take a while.

``python -m tests.service.slow_service PASS GRACE LAST``: seconds of a pass, what applies get to
finish after a signal, and how long answers and a pass under way are waited for after that.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import click

from apply_edit.cli import serve as command
from apply_edit.decode.target import Block, Scores
from apply_edit.service import app as application
from apply_edit.service import logs, serving
from tests.fakes import writing_engine
from tests.service.kit import MERGED, service


def main() -> None:
    """Serve on a free port until a signal comes."""
    seconds, grace, last = map(float, sys.argv[1:4])
    engine = writing_engine(MERGED)
    target: Any = engine.target
    score = target.score

    def slowly(blocks: Sequence[Block]) -> list[Scores]:
        time.sleep(seconds)
        return score(blocks)  # type: ignore[no-any-return] # the fake's own

    target.score = slowly
    logs.configure("info", "json")
    application._LAST_PASS_S = serving._SEND_S = last
    app = service(engine, preload=False)
    with serving.bind_tcp("127.0.0.1", 0) as bound:
        serving.run(app, bound, lambda stop: click.echo(bound.url), grace)
    if not app.state.ended:
        command.leave_threads()


if __name__ == "__main__":
    main()
