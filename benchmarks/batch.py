"""Throughput of a ragged batch: tokens per second for 1, 2, 4, 8 rows.

    python -m benchmarks.batch [--model NAME] [--device auto] [--rows 1,2,4,8] [--tokens 32]
       [--repeats 5] [--gamma 0]

Every row copies a text of its own behind an instruction. Batch sizes take turns within a repeat, so
that all see the same machine, and medians are given. With ``--gamma`` above 0 rows draft by copying
their text. Outputs are compared with those of the rows alone.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

from apply_edit.decode.batch import Batch
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from apply_edit.decode.tokens import TextTokenizer
from apply_edit.decode.transformers_target import TransformersTarget, load
from apply_edit.models import locate
from apply_edit.reference.adapter import synchronise
from proposers import Lookup, Nothing


def texts(count: int) -> list[str]:
    """Return ``count`` short files that differ in length and content."""
    names = ("alpha", "beta", "gamma", "delta", "omega")
    files = []
    for number in range(count):
        name = names[number % len(names)]
        lines = [f"    {name}_{i} = {i * (number + 3)}\n" for i in range(4 + number % 3)]
        files.append(f"class {name.title()}{number}:\n{''.join(lines)}")
    return files


def run(
    target: TransformersTarget, tokenizer: TextTokenizer, files: list[str], args: argparse.Namespace
) -> tuple[float, list[tuple[int, ...]], int]:
    """Decode all files in one batch; return seconds, outputs and passes."""
    batch = Batch(target, tokenizer)
    rows = []
    for file in files:
        ids = tokenizer.encode_data(file)
        prompt = tokenizer.encode_control(f"The same code twice:\n\n{file}\n")
        proposer = Lookup(ids) if args.gamma else Nothing()
        request = Request(tuple(prompt), args.tokens, tokenizer.eos_ids)
        rows.append(batch.join(request, proposer, FixedGamma(args.gamma)))
    synchronise(target.model)
    started = time.perf_counter()
    passes = 0
    while len(batch):
        batch.step()
        passes += 1
    synchronise(target.model)
    seconds = time.perf_counter() - started
    return seconds, [tuple(row.output) for row in rows], passes


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="qwen2.5-coder-0.5b-instruct")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rows", default="1,2,4,8")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--gamma", type=int, default=0)
    args = parser.parse_args()
    sizes = [int(size) for size in args.rows.split(",")]
    folder = locate(args.model).path
    tokenizer = TextTokenizer.load(folder)
    target = load(folder, tokenizer.vocab_size, args.device)
    files = texts(max(sizes))
    alone = [run(target, tokenizer, [file], args)[1][0] for file in files]
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    counts: dict[int, tuple[int, int, int]] = {}
    for _ in range(args.repeats):
        for size in sizes:
            took, outputs, passes = run(target, tokenizer, files[:size], args)
            seconds[size].append(took)
            parted = sum(got != want for got, want in zip(outputs, alone, strict=False))
            counts[size] = sum(map(len, outputs)), passes, parted
    print(f"{args.model} on {target.device}, {target.dtype}, {args.tokens} tokens per row, ")
    print(f"gamma {args.gamma}, median of {args.repeats} interleaved runs, prefill included\n")
    print("| rows | tokens | passes | seconds | tokens/s | against 1 row | rows that differ |")
    print("|---|---|---|---|---|---|---|")
    base = None
    for size in sizes:
        tokens, passes, parted = counts[size]
        took = median(seconds[size])
        base = base or tokens / took
        ratio = tokens / took / base
        print(
            f"| {size} | {tokens} | {passes} | {took:.2f} | {tokens / took:.1f} | {ratio:.2f}x "
            f"| {parted} |"
        )


if __name__ == "__main__":
    main()
