"""What reading a file ahead saves: the same apply with and without ``/v1/prewarm``.

    python -m benchmarks.prewarm [--target NAME] [--dtype float32] [--pairs 5]

Starts a service of its own, then sends pairs of applies: an instruction for a file of a hundred
lines, once cold and once after the file was read ahead, in turn. Each file has a first line of its
own, so that nothing of it is cached from an earlier one. Prints the seconds to the last token.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

import httpx

from apply_edit.config import DEFAULT_TARGET

FILE = Path(__file__).parent.parent / "fixtures" / "python" / "invoice_parser" / "original.py"
SENTENCE = 'Add "currency" as a fourth entry to REQUIRED_KEYS.'


def main(argv=None):
    options = _options(argv)
    command = [sys.executable, "-m", "apply_edit", "serve", "--port", str(options.port)]
    command += ["--target", options.target, "--dtype", options.dtype]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as service:
        try:
            rows = measured(f"http://127.0.0.1:{options.port}", options.pairs)
        finally:
            service.terminate()
    cold, warm, ahead = (statistics.median(column) for column in zip(*rows, strict=True))
    for row in rows:
        print("cold {:.2f} s, read ahead {:.2f} s (the reading {:.2f} s)".format(*row))
    print(f"median: cold {cold:.2f} s, read ahead {warm:.2f} s; ratio {warm / cold:.2f}")
    print(f"the reading itself took {ahead:.2f} s, while the edit was still being written")
    return 0


def measured(address, pairs):
    """Return (cold, warm, prewarm) seconds per pair."""
    source = FILE.read_text(encoding="utf-8")
    rows = []
    with httpx.Client(base_url=address, timeout=600) as client:
        _wait_until_ready(client)
        for number in range(pairs):
            cold = _apply(client, f"# cold {number}\n{source}")
            body = {"original": f"# warm {number}\n{source}", "path": "a.py"}
            started = time.perf_counter()
            client.post("/v1/prewarm", json={**body, "format": "instruction"}).raise_for_status()
            ahead = time.perf_counter() - started
            rows.append((cold, _apply(client, body["original"]), ahead))
    return rows


def _apply(client, original):
    # Doubt is not the matter here; both ways give the same text.
    body = {"original": original, "instruction": SENTENCE, "path": "a.py"}
    started = time.perf_counter()
    answer = client.post("/v1/apply", json=body)
    seconds = time.perf_counter() - started
    if answer.status_code not in (200, 422):
        answer.raise_for_status()
    return seconds


def _wait_until_ready(client):
    while True:
        try:
            if client.get("/ready").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)


def _options(argv):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.prewarm",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--target", default=DEFAULT_TARGET)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--port", type=int, default=8499)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
