"""What a target wrote for edit cases, kept small, and an engine that writes it again.

A recording holds no text of the cases: each line that a target wrote is a reference to a line that
it was shown, or the line itself where it was shown nowhere. A replay needs the cases, and no model.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import asdict, replace

from apply_edit.decode.confidence import LineScore
from apply_edit.decode.loop import Output
from apply_edit.errors import ModelNotFound
from apply_edit.report import Report
from apply_edit.text import split_lines

_SURE = -0.005


class Recorder:
    """Stands before an engine and remembers what it wrote; ``take`` hands that over.

    Args:
        engine: The engine.
    """

    def __init__(self, engine):
        self.engine = engine
        self._written = []

    def rewrite(self, job, settings, *rest):
        """Have the engine write; see ``Engine.rewrite``."""
        text, output = self.engine.rewrite(job, settings, *rest)
        self._written.append(
            {
                "asked": key(job, settings.dialect),
                "finish": output.finish,
                "text": packed(text, shown_lines(job)),
                "sure": sparse(output.lines),
                "tokens": len(output.ids),
                "passes": len(output.report.records),
                "prompt": output.report.prompt_tokens,
            }
        )
        return text, output

    def take(self):
        """Return what was written since the last call."""
        written, self._written = self._written, []
        return written


class Replayer:
    """An engine that writes what another one wrote.

    Args:
        rows: Rows of a recording, see ``benchmarks.accuracy``.
    """

    def __init__(self, rows):
        self._known = {job["asked"]: job for row in rows for job in row.get("written", ())}
        self._written = []

    def rewrite(self, job, settings, *rest):
        """Return the recorded text.

        Raises:
            ModelNotFound: The target was never asked this.
        """
        del rest
        known = self._known.get(key(job, settings.dialect))
        if known is None:
            message = "the recording has no answer to this; record it with --target NAME"
            raise ModelNotFound(message)
        self._written.append(known)
        text = unpacked(known["text"], shown_lines(job))
        output = Output("", (0,) * known["tokens"], known["finish"], Report())
        num_lines = len(split_lines(text)) + 1
        scores = dense(known["sure"], num_lines)
        return text, replace(output, lines=scores, dialect=settings.dialect)

    def take(self):
        """Return what was written since the last call."""
        written, self._written = self._written, []
        return written


def key(job, dialect):
    """Return a short digest of what a target is asked."""
    fields = {**asdict(job.task), "dialect": dialect}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:20]


def shown_lines(job):
    """Return the lines that a recording may refer to: those that the target was shown."""
    texts = (job.original, job.snippet or job.patch or "")
    return [line for text in texts for line in split_lines(text.replace("\r\n", "\n") + "\n")]


def packed(text, pool):
    r"""Write a text as ``[first, count]`` runs over a pool of lines, and lines that it lacks.

    >>> packed("b\nc\nx\n", ["a\n", "b\n", "c\n"])
    [[1, 2], 'x\n']
    """
    places = defaultdict(list)
    for place, line in enumerate(pool):
        places[line].append(place)
    lines = split_lines(text)
    runs, done = [], 0
    while done < len(lines):
        best = max(((_run(lines, done, pool, at), -at) for at in places[lines[done]]), default=None)
        if best is None:
            runs.append(lines[done])
            done += 1
        else:
            runs.append([-best[1], best[0]])
            done += best[0]
    return runs


def unpacked(runs, pool):
    r"""Return the text that ``packed`` wrote.

    >>> unpacked([[1, 2], "x\n"], ["a\n", "b\n", "c\n"])
    'b\nc\nx\n'
    """
    pieces = []
    for run in runs:
        pieces += [run] if isinstance(run, str) else pool[run[0] : run[0] + run[1]]
    return "".join(pieces)


def sparse(lines):
    """Keep the scores of lines of which the target was not all but certain."""
    return [
        [place, round(line.weakest, 3), round(line.total, 3), line.tokens]
        for place, line in enumerate(lines)
        if line.weakest < _SURE
    ]


def dense(kept, num_lines):
    """Return a score per line; where none was kept the target was certain."""
    lines = [LineScore(0.0, 0.0, 1) for _ in range(num_lines)]
    for place, weakest, total, tokens in kept:
        lines += [LineScore(0.0, 0.0, 1)] * (place + 1 - len(lines))
        lines[place] = LineScore(total, weakest, tokens)
    return tuple(lines)


def _run(lines, done, pool, at):
    count = 0
    while (
        done + count < len(lines)
        and at + count < len(pool)
        and lines[done + count] == pool[at + count]
    ):
        count += 1
    return count
