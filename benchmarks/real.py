"""Does drafting for a real target do what the replay promises, and is its output that of greedy?

    python -m benchmarks.real FILES... --out ROWS.jsonl [--target NAME] [--dtype float32]
        [--cases 15] [--plain 5] [--longest 1600] [--gamma-max 256] [--resume]

For so many short cases of the files: tokens per pass of the target as it really writes the whole
file, of a replay of the expected text, and of a replay of what the target wrote. For the shortest
of them the output is compared with plain greedy decoding, token for token. A row per case is
written as soon as it is known.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from apply_edit.config import DEFAULT_TARGET
from apply_edit.decode.loop import Decoding
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from apply_edit.engine import Engine
from apply_edit.models import locate
from benchmarks.drafting import SETS, replay, tasks
from proposers import Nothing


def main(argv=None):
    options = _options(argv)
    out = Path(options.out)
    rows = _known(out) if options.resume else {}
    engine = Engine.load(locate(options.target).path, "cpu", options.dtype)
    chosen = sorted(tasks(options, engine), key=_size)
    # Spread over the sizes, the shortest ones first because plain decoding takes them.
    step = max(1, (len(chosen) - options.plain) // max(1, options.cases - options.plain))
    chosen = [*chosen[: options.plain], *chosen[options.plain :: step]][: options.cases]
    with out.open("a" if rows else "w", encoding="utf-8") as file:
        for place, task in enumerate(chosen):
            if task.name not in rows:
                row = measured(engine, task, options, plain=place < options.plain)
                rows[task.name] = row
                file.write(json.dumps(row) + "\n")
                file.flush()
                print(json.dumps(row), file=sys.stderr, flush=True)
    summarise([rows[task.name] for task in chosen])
    return 0


def measured(engine, task, options, *, plain):
    """Return the figures of one case."""
    closed = (*task.expected_ids, *task.references.closing)
    limit = len(task.expected_ids) * 5 // 4 + 64
    request = Request(task.prompt_ids, limit, eos_ids=engine.tokenizer.eos_ids, stop=(task.stop,))
    started = time.perf_counter()
    output = decoded(engine, request, SETS["router"](task), options.gamma_max)
    row = {
        "id": task.name,
        "prompt": len(task.prompt_ids),
        "tokens": len(output.ids),
        "passes": output.report.passes,
        "exact": output.text == task.expected,
        "finish": output.finish,
        "seconds": round(time.perf_counter() - started, 1),
        "expected_tokens": len(closed),
        "replay_expected": len(replay(SETS["router"](task), closed, options.gamma_max)),
        "replay_own": len(replay(SETS["router"](task), output.ids, options.gamma_max)),
    }
    if plain:
        started = time.perf_counter()
        slow = decoded(engine, request, Nothing(), 0)
        row["equal_to_plain"] = slow.ids == output.ids
        row["plain_passes"] = slow.report.passes
        row["plain_seconds"] = round(time.perf_counter() - started, 1)
    return row


def decoded(engine, request, proposer, gamma):
    policy = FixedGamma(gamma)
    return Decoding(engine.target, engine.tokenizer, request, proposer, policy).run()


def summarise(rows):
    """Print the pooled figures."""
    tokens, passes = (sum(row[name] for row in rows) for name in ("tokens", "passes"))
    expected = sum(row["expected_tokens"] for row in rows)
    of_expected = expected / sum(row["replay_expected"] for row in rows)
    own = tokens / sum(row["replay_own"] for row in rows)
    right = [row for row in rows if row["exact"]]
    print(f"cases {len(rows)}, exact {len(right)}; tokens per pass, pooled:")
    print(f"  the target           {tokens / passes:7.1f}")
    print(f"  replay of its text   {own:7.1f}  (ratio {tokens / passes / own:.3f})")
    print(f"  replay of the right  {of_expected:7.1f}  (ratio {tokens / passes / of_expected:.3f})")
    if right:
        fast = sum(r["tokens"] for r in right) / sum(r["passes"] for r in right)
        due = sum(r["expected_tokens"] for r in right) / sum(r["replay_expected"] for r in right)
        print(f"  where it is right    {fast:7.1f}  of {due:.1f}  (ratio {fast / due:.3f})")
    plain = [row for row in rows if "equal_to_plain" in row]
    same = sum(row["equal_to_plain"] for row in plain)
    print(f"equal to plain greedy: {same} of {len(plain)}")
    for row in plain:
        ratio = row["plain_seconds"] / row["seconds"]
        print(f"  {row['id']}: {row['plain_passes']} passes to {row['passes']}, {ratio:.1f} times")


def _size(task):
    return len(task.prompt_ids) + len(task.expected_ids)


def _known(out):
    if not out.exists():
        return {}
    with out.open(encoding="utf-8") as lines:
        return {row["id"]: row for row in map(json.loads, lines)}


def _options(argv):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", help="case files")
    parser.add_argument("--out", required=True, help="file for the rows")
    parser.add_argument("--target", default=DEFAULT_TARGET)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--cases", type=int, default=15)
    parser.add_argument("--plain", type=int, default=5)
    parser.add_argument("--longest", type=int, default=1600, help="tokens of prompt and output")
    parser.add_argument("--gamma-max", type=int, default=256)
    parser.add_argument("--resume", action="store_true")
    return parser.parse_args(argv, namespace=argparse.Namespace(formats="lazy", limit=0))


if __name__ == "__main__":
    sys.exit(main())
