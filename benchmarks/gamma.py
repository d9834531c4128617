"""What choosing gamma is worth: the policy against every fixed gamma, on real edit cases.

    python -m benchmarks.gamma [FILES…] [--cost cpu|flat|FILE.json …] [--limit N] [--json OUT]

The real loop runs over a target that writes the expected text as the real tokenizer splits it, and
time is the sum of T(width) over its passes. T is a table: ``cpu`` was measured with a 1.5B model in
float32 on two cores, ``flat`` is like a GPU's, and a file holds ``{"width": seconds, …}``. Reading
the prompt costs the same whatever is drafted and is left out: the prompt is one token.

Sets: *easy* lazy edits with snippet and prediction; *hard* the same without prediction;
*instruction* copies of the original only; *adversarial* drafts that are wrong now and then, or from
another file; *zero* drafts that are always wrong, against plain decoding; *mixed* the first four.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from apply_edit import edits
from apply_edit.applier import predict
from apply_edit.asked import Asked, rewrites_of
from apply_edit.config import DEFAULT_TARGET
from apply_edit.decode.acceptance import Acceptance
from apply_edit.decode.branches import Branches
from apply_edit.decode.cost import PassCost
from apply_edit.decode.gamma import CostGamma, explain_line
from apply_edit.decode.loop import Decoding
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from apply_edit.decode.target import Block
from apply_edit.decode.tokens import TextTokenizer
from apply_edit.decode.tree import depths
from apply_edit.engine import Engine
from apply_edit.models import locate
from apply_edit.prompt import DEFAULT, DIALECTS
from benchmarks.cases import case_folder
from proposers import Draft, Proposer, References, create

FIXED = (1, 4, 8, 16, 32, 64, 128, 256, 512)
COSTS = {
    "cpu": {1: 0.35, 8: 0.65, 32: 1.23, 64: 1.85, 128: 3.2, 256: 5.4, 512: 10.5},
    "flat": {1: 0.020, 64: 0.0205, 128: 0.0215, 256: 0.024, 512: 0.030},
}
SETS = ("easy", "hard", "instruction", "adversarial")
# Ids that no text has.
_EOS = (1 << 30) - 1
_WRONG = 0


@dataclass(frozen=True)
class Task:
    """One output to be written, and what its drafts can be copied from."""

    output: tuple[int, ...]
    references: References


class ReplayTarget:
    """Writes a script, whatever was drafted."""

    context_limit = 1 << 30
    vocab_size = 1 << 30

    def __init__(self, script: Sequence[int]) -> None:
        self._script = tuple(script)
        self._length = 0

    def open_row(self, prefix: None = None) -> int:
        del prefix
        return 0

    def close_row(self, row: int) -> None:
        del row

    def length(self, row: int) -> int:
        del row
        return self._length

    def score(self, blocks: Sequence[Block]) -> list[ReplayScores]:
        (block,) = blocks
        base = self._length
        self._length += len(block.ids)
        # The prompt is one token, so the token behind position n is script[n].
        places = depths(block.parents or range(-1, len(block.ids) - 1))[-block.wanted :]
        return [ReplayScores(self._script, [base + place for place in places])]

    def rollback(self, row: int, length: int) -> None:
        del row
        self._length = length

    def keep_branch(self, row: int, base: int, offsets: Sequence[int]) -> None:
        del row
        self._length = base + len(offsets)


@dataclass(frozen=True)
class Peak:
    """A row of logits of which only the highest place is known: all that greedy choice reads."""

    place: int

    def argmax(self) -> int:
        return self.place


class ReplayScores:
    def __init__(self, script: Sequence[int], places: Sequence[int]) -> None:
        self._script = script
        self._places = places
        self.num_rows = len(places)

    def logits(self, start: int, stop: int) -> list[Peak]:
        # Behind the script only what is behind a stop is asked for.
        return [
            Peak(self._script[place] if place < len(self._script) else _EOS)
            for place in self._places[start:stop]
        ]


class NoText:
    is_byte_level = True

    def token_bytes(self, token: int) -> bytes:
        del token
        return b""


class Always:
    """Drafts that are wrong from the first token on, in the guise of copies of the original."""

    def __init__(self, num_left: int) -> None:
        self._num_left = num_left

    def propose(self, output: Sequence[int], limit: int) -> Draft:
        count = min(limit, self._num_left - len(output))
        return Draft((_WRONG,) * count, "original", regions=(("unchanged", count),))


class Timed:
    """Replaces the wall time that the loop measured by T, and hands on to a policy."""

    def __init__(self, policy, cost: PassCost, branches: bool) -> None:
        self._policy = policy
        self._branches = branches
        self._cost = cost
        self.think_s = 0.0
        self.passes = 0

    def limit(self) -> int:
        return self._policy.limit()

    def choose(self, draft: Draft, prefix_length: int, head: int) -> int:
        started = time.perf_counter()
        gamma = self._policy.choose(draft, prefix_length, head)
        self.think_s += time.perf_counter() - started
        return gamma

    @property
    def is_branching(self) -> bool:
        return self._branches and self._policy.is_branching

    def branch(self, others: Sequence[Draft]) -> list[Draft]:
        started = time.perf_counter()
        chosen = self._policy.branch(others)
        self.think_s += time.perf_counter() - started
        return chosen

    def observe(self, record, ids) -> None:
        started = time.perf_counter()
        self._policy.observe(replace(record, seconds=self._cost.seconds(record.width)), ids)
        self.think_s += time.perf_counter() - started
        self.passes += 1


def tasks_of(files: Sequence[Path], limit: int, tokenizer: TextTokenizer) -> list[Task]:
    """Read up to ``limit`` lazy cases, spread evenly."""
    cases = [
        case
        for file in files
        for case in map(json.loads, file.read_text(encoding="utf-8").splitlines())
        if case["format"] == "lazy" and case.get("expected") and case.get("original")
    ]
    step = max(1, len(cases) // limit) if limit else 1
    engine = Engine(None, tokenizer)
    return [_task(case, engine) for case in cases[::step]]


def _task(case, engine: Engine) -> Task:
    original, expected = case["original"], case["expected"]
    path = case.get("path")
    parsed = edits.parse(case["edit"], edits.EditFormat.LAZY, original=original, path=path)
    job = rewrites_of(Asked(original, parsed, path, merge=predict(original, parsed, path)))[0]
    stop = DIALECTS[DEFAULT].render(job.task).stop
    texts = engine.references(job, stop)
    output = [*engine.tokenizer.encode_data(_ended(expected)), *texts.closing, _EOS]
    return Task(tuple(output), texts)


def _ended(text: str) -> str:
    text = text.replace("\r\n", "\n")
    return text if text.endswith("\n") else text + "\n"


def jobs_of(name: str, tasks: Sequence[Task]):
    """Return (task, makes a proposer) pairs of a set."""
    if name == "mixed":
        # Every task in one manner each, in turn.
        parts = [jobs_of(part, tasks) for part in SETS]
        return [parts[i % len(parts)][i] for i in range(len(tasks))]
    return [(task, _maker(name, task, tasks[i - 1], i)) for i, task in enumerate(tasks)]


def _maker(name: str, task: Task, other: Task, seed: int):
    texts = task.references
    if name == "zero":
        return lambda: Always(len(task.output))
    if name == "hard":
        texts = replace(texts, prediction=None, prediction_edits=())
    elif name == "instruction":
        texts = replace(texts, snippet=(), prediction=None, prediction_edits=())
    elif name == "adversarial" and seed % 2:
        texts = replace(other.references, snippet=(), closing=texts.closing)
    elif name == "adversarial":
        dice = random.Random(seed)
        rate = dice.choice((0.02, 0.1, 0.3))
        spoilt = tuple(_WRONG if dice.random() < rate else i for i in task.output)
        texts = replace(texts, snippet=(), prediction=spoilt, prediction_edits=())
    return lambda: create("router", texts)


def run(task: Task, proposer: Proposer, policy, cost: PassCost, *, branches: bool = True):
    """Decode one task; return seconds by T, passes and seconds that the policy itself took."""
    target = ReplayTarget(task.output)
    request = Request((0,), len(task.output), eos_ids=frozenset({_EOS}))
    timed = Timed(policy, cost, branches)
    output = Decoding(target, NoText(), request, proposer, timed).run()
    if output.ids != task.output:
        message = "the replay wrote something else than its script"
        raise AssertionError(message)
    widths = [record.width for record in output.report.records]
    return widths, timed.think_s


def measure(name: str, jobs, costs: dict[str, PassCost], explain: bool):
    """Return ``cost → {policy: seconds}`` of a set, and counts."""
    seconds = {cost: {} for cost in costs}
    tokens = sum(len(task.output) for task, _ in jobs)
    for gamma in (0, *FIXED):
        if gamma == 0:
            widths = [1] * tokens
        else:
            widths = list(
                itertools.chain.from_iterable(
                    run(task, make(), FixedGamma(gamma), _cost("cpu"))[0] for task, make in jobs
                )
            )
        for cost, table in costs.items():
            seconds[cost]["plain" if gamma == 0 else gamma] = _sum(table, widths)
    counts = {}
    for cost, table in costs.items():
        seconds[cost]["uncalibrated"] = _uncalibrated(cost, table, jobs)
        seconds[cost]["linear"] = _auto(table, jobs, branches=False)["seconds"]
        auto = _auto(table, jobs, explain=explain)
        seconds[cost]["auto"] = auto.pop("seconds")
        counts[cost] = {"tokens": tokens, **auto}
    return seconds, counts


def _auto(table: PassCost, jobs, *, branches: bool = True, explain: bool = False):
    """Run the policy over all jobs; return its seconds by T and counts."""
    total, passes, think, worst = 0.0, 0, 0.0, 0.0
    acceptance, trees = Acceptance(), Branches()
    for task, make in jobs:
        policy = CostGamma(
            table, acceptance, trees, expected_tokens=len(task.output), learns_cost=False
        )
        widths, spent = run(task, make(), policy, table, branches=branches)
        acceptance, trees = policy.acceptance.carried(), policy.branches.carried()
        total += _sum(table, widths)
        worst = max(worst, _sum(table, widths) / _sum(table, [1] * len(task.output)))
        passes += len(widths)
        think += spent
        if explain:
            for decision in policy.decisions:
                print(explain_line(decision))
    return {
        "seconds": total,
        "passes": passes,
        "policy_ms_per_pass": round(1000 * think / passes, 3),
        "worst_over_plain": round(worst, 3),
    }


def _uncalibrated(name: str, table: PassCost, jobs) -> float:
    """Return the seconds of a policy that knows the usual shape and sees the passes' true times."""
    learned = PassCost.usual("cuda" if name == "flat" else "cpu")
    total, acceptance = 0.0, Acceptance()
    for task, make in jobs:
        policy = CostGamma(learned, acceptance, expected_tokens=len(task.output))
        widths, _ = run(task, make(), policy, table)
        acceptance = policy.acceptance.carried()
        total += _sum(table, widths)
    return total


def _sum(cost: PassCost, widths: Sequence[int]) -> float:
    return float(cost.at(np.asarray(widths)).sum())


def main(argv=None) -> int:
    """Run all sets and print a table per cost."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("files", nargs="*", type=Path)
    options.add_argument("--cost", nargs="*", default=list(COSTS))
    options.add_argument("--sets", default=",".join((*SETS, "mixed", "zero")))
    options.add_argument("--limit", type=int, default=30, help="lazy cases; 0 is all")
    options.add_argument("--explain", action="store_true", help="print every decision")
    options.add_argument("--json", metavar="OUT")
    arguments = options.parse_args(argv)
    folder = case_folder()
    files = arguments.files or ([folder / "history.jsonl"] if folder else [])
    if not files:
        sys.exit("no case files: name some, or set APPLY_EDIT_CASES to a folder with *.jsonl files")
    tokenizer = TextTokenizer.load(locate(DEFAULT_TARGET).path)
    tasks = tasks_of(files, arguments.limit, tokenizer)
    costs = {name: _cost(name) for name in arguments.cost}
    result = {}
    for name in arguments.sets.split(","):
        jobs = jobs_of(name, tasks if name != "zero" else tasks[::3])
        seconds, counts = measure(name, jobs, costs, arguments.explain)
        result[name] = {"seconds": seconds, "counts": counts}
        _show(name, seconds, counts)
    for cost in costs:
        _show_pooled(cost, result)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def _cost(name: str) -> PassCost:
    table = COSTS.get(name) or json.loads(Path(name).read_text(encoding="utf-8"))
    widths = sorted(int(width) for width in table)
    return PassCost({512: [float(table.get(w) or table[str(w)]) for w in widths]}, widths)


def _show(name: str, seconds, counts) -> None:
    for cost, by_policy in seconds.items():
        fixed = {g: s for g, s in by_policy.items() if g in FIXED}
        best = min(fixed, key=fixed.get)
        auto, plain = by_policy["auto"], by_policy["plain"]
        row = " ".join(f"{g}:{s / auto:.2f}" for g, s in fixed.items())
        print(
            f"{name:12} {cost:5} {counts[cost]['tokens']:7} tokens  auto {auto:9.1f} s "
            f"in {counts[cost]['passes']} passes, {auto / plain:.3f} of plain "
            f"(worst case {counts[cost]['worst_over_plain']:.3f}), "
            f"{auto / by_policy['linear']:.3f} of one draft a pass, "
            f"{auto / fixed[best]:.3f} of best fixed ({best}), uncalibrated "
            f"{by_policy['uncalibrated'] / fixed[best]:.3f}; fixed / auto: {row}; "
            f"policy {counts[cost]['policy_ms_per_pass']:.2f} ms a pass",
            flush=True,
        )


def _show_pooled(cost: str, result) -> None:
    """Print one line for all sets together: the best single value against the policy."""
    sums = {}
    for part in result.values():
        for policy, seconds in part["seconds"][cost].items():
            sums[policy] = sums.get(policy, 0.0) + seconds
    best = min(FIXED, key=sums.get)
    print(
        f"all sets     {cost:5} auto {sums['auto']:9.1f} s, "
        f"{sums['auto'] / sums[best]:.3f} of best fixed ({best}), "
        f"uncalibrated {sums['uncalibrated'] / sums[best]:.3f}"
    )


if __name__ == "__main__":
    sys.exit(main())
