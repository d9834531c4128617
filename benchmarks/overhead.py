"""What drafting costs in a large file: files of cases one behind the other, and an edit in each.

The original is as many files as are needed for so many tokens, the output the files as edited. So
every pass of the replay is one of a real edit, and what grows is only the text around it. Times are
the processor's.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace

from apply_edit.encoding import shown_text
from benchmarks.drafting import BRANCHES, SETS, replay

GAMMA = 256


def measure(tasks, engine, least):
    """Print and return what a call costs, and the index, in an original of ``least`` tokens.

    Args:
        tasks: Cases, taken in order until there are enough tokens.
        engine: Its tokenizer splits the texts.
        least: Tokens of the original, at least.
    """
    originals, expected, size = [], [], 0
    for task in tasks:
        originals.append(shown_text(task.job.original))
        expected.append(task.expected)
        size += len(task.references.original)
        if size >= least:
            break
    data = engine.tokenizer.encode_data
    original, target = tuple(data("".join(originals))), tuple(data("".join(expected)))
    print(f"{len(original)} tokens of original, {len(target)} of output, gamma {GAMMA}")
    print(f"{'set':<9} {'passes':>7} {'mean ms':>8} {'p99 ms':>8} {'max ms':>8} {'build ms':>9}")
    rows = {}
    # With a prediction, copying throughout; without, lost at every edit.
    for name, prediction in (("router", target), ("copy", None), ("copy tree", None)):
        texts = {"original": original, "snippet": (), "prediction": prediction}
        references = replace(task.references, **texts, prediction_edits=())
        started = time.thread_time()
        proposer = SETS[name](replace(task, references=references))
        build_ms = 1e3 * (time.thread_time() - started)
        passes = replay(proposer, target, GAMMA, BRANCHES.get(name, 1))
        times = sorted(1e3 * one.seconds for one in passes)
        row = {
            "passes": len(times),
            "mean_ms": round(statistics.fmean(times), 4),
            "p99_ms": round(times[int(0.99 * (len(times) - 1))], 3),
            "max_ms": round(times[-1], 3),
            "build_ms": round(build_ms, 1),
        }
        print(
            f"{name:<9} {row['passes']:>7} {row['mean_ms']:>8.3f} {row['p99_ms']:>8.3f} "
            f"{row['max_ms']:>8.2f} {row['build_ms']:>9.1f}"
        )
        rows[name] = row
    return {"original": len(original), "output": len(target), **rows}
