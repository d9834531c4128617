"""What the text code takes for large files: no model runs.

    python -m benchmarks.large [--lines 10000,100000] [--repeats 3] [--json OUT]

The file is made of small functions. Edits: a SEARCH/REPLACE block that is found, one that is not, a
lazy snippet that changes one function, the new whole file. Each is applied with every check, by
``strategy="direct"``; kinds take turns within a repeat, and medians are given.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import apply_edit
from apply_edit.errors import ApplyEditError

FUNCTION = '''\
def handler_{n}(request, limit={m}):
    """Answer request number {n}."""
    rows = fetch(request, limit)
    if not rows:
        return None
    total = sum(row.value for row in rows) + {n}
    log.info("handled {n}: %s", total)
    return total


'''
LINES = FUNCTION.count("\n")


def edits(text, count):
    """Return the edits of a file of ``count`` functions, by name."""
    n = count // 2
    old = f"    total = sum(row.value for row in rows) + {n}\n"
    new = f"    total = sum(row.price for row in rows) + {n}\n"
    block = "<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n"
    nowhere = "    this(text)\n    is_not(there)\n    at_all(1)\n"
    marker = "# ... existing code ...\n"
    head = f"def handler_{n}(request, limit={n % 97}):\n"
    return {
        "found": block.format(old, new),
        "not found": block.format(nowhere, new),
        "lazy": f"{marker}{head}    {marker}{new}    {marker}{marker}",
        "whole": text.replace(old, new),
    }


def measure(num_lines, repeats):
    """Return median seconds per kind of edit."""
    count = max(2, num_lines // LINES)
    text = "".join(FUNCTION.format(n=n, m=n % 97) for n in range(count))
    config = apply_edit.Config(strategy="direct")
    seconds = {}
    for _ in range(repeats):
        for name, edit in edits(text, count).items():
            started = time.perf_counter()
            try:
                apply_edit.apply(text, edit, path="handlers.py", config=config)
                outcome = ""
            except ApplyEditError as error:
                outcome = error.code
            seconds.setdefault((name, outcome), []).append(time.perf_counter() - started)
    return len(text), {key: statistics.median(values) for key, values in seconds.items()}


def main(argv=None):
    """Print a row per size and kind of edit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", default="10000,100000", help="comma list of sizes")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", metavar="OUT", help="write the figures to this file")
    options = parser.parse_args(argv)
    rows = []
    for num_lines in map(int, options.lines.split(",")):
        size, medians = measure(num_lines, options.repeats)
        for (name, outcome), median in medians.items():
            rows.append({"lines": num_lines, "bytes": size, "edit": name, "seconds": median})
            print(
                f"{num_lines:>8} lines {size / 1e6:>6.1f} MB  {name:<10} {median:>7.2f} s {outcome}"
            )
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
