"""Where a draft model pays: passes, and seconds by the cost of passes, on recorded outputs.

    python -m benchmarks.draft_model [FILES…] [--draft NAME] [--limit N] [--longest N] [--json OUT]

Without files: what the default target really wrote for the fixtures (``recording.json``), so that
acceptance is that of a real pair of models. With files: the expected texts of their cases. Drafts
are copied from the original only, as for an instruction, or from all texts (``router``); where
nothing can be copied, the real draft model is asked. It runs here, and what it says is kept for the
other columns; its time and the target's are those of tables, so that an unquiet machine does not
matter. Columns:

    none     no draft model, gamma by cost
    cost     the draft model where it pays, gamma by cost: what --draft does
    always   the draft model in all novel text, up to 8 tokens, copies up to 256
    free     the same if the draft model cost nothing: the most that can be gained

Reading the prompt costs the target the same in every column and is left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from apply_edit.config import DEFAULT_TARGET
from apply_edit.decode.cost import PassCost
from apply_edit.decode.draft_target import DraftTarget, load_draft_target
from apply_edit.decode.gamma import CostGamma
from apply_edit.decode.loop import Decoding
from apply_edit.decode.novel_drafts import NovelDrafts
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from apply_edit.decode.target import Block
from apply_edit.decode.tokens import TextTokenizer
from apply_edit.engine import Engine
from apply_edit.models import locate
from benchmarks.gamma import COSTS, NoText, ReplayTarget, Timed
from proposers import References, create

DRAFT = "qwen2.5-coder-0.5b-instruct"
# int8 on the machine of ``cpu``; on a GPU a small model has nearly as many layers to launch.
DRAFT_COSTS = {
    "cpu": {1: 0.083, 8: 0.107, 16: 0.133, 64: 0.51, 128: 0.961, 256: 1.80},
    "flat": {1: 0.017, 512: 0.020},
}
COLUMNS = ("none", "cost", "always", "free")
_FREE = 1e-6
_CHUNK = 512


class Fixed(PassCost):
    """A table that passes of this machine do not correct."""

    def observe(self, width, prefix, seconds):
        """Learn nothing."""


def table(seconds):
    """Return a cost from a table of widths."""
    widths = sorted(seconds)
    return Fixed({512: [seconds[width] for width in widths]}, widths)


@dataclass
class Heard:
    """Scores of one position that were computed before, or are now."""

    row: torch.Tensor
    num_rows: int = 1

    def logits(self, start, stop):
        """Return the row."""
        return self.row[None][start:stop]


class Memo:
    """A draft model whose answers are kept: the same prefix is never computed twice.

    Args:
        target: The model.
    """

    def __init__(self, target):
        self.vocab_size, self.context_limit = target.vocab_size, target.context_limit
        self.passes, self.seconds = 0, 0.0
        self._target = target
        self._row, self._ids = target.open_row(), []
        self._rows, self._next = {}, 0
        self._known = {}

    def forget(self):
        """Begin with another prompt."""
        self._known.clear()
        self._target.rollback(self._row, 0)
        self._ids = []

    def open_row(self):
        """Return a new row, which is a list of ids."""
        self._next += 1
        self._rows[self._next] = []
        return self._next

    def close_row(self, row):
        """Forget a row."""
        del self._rows[row]

    def length(self, row):
        """Return the ids of a row."""
        return len(self._rows[row])

    def rollback(self, row, length):
        """Shorten a row."""
        del self._rows[row][length:]

    def score(self, blocks):
        """Return what follows; compute it if nobody has asked before."""
        (block,) = blocks
        ids = self._rows[block.row]
        ids += block.ids
        if not block.wanted:
            return [Heard(torch.empty(0), 0)]
        key = tuple(ids)
        if key not in self._known:
            self._known[key] = self._compute(ids)
        return [Heard(self._known[key])]

    def _compute(self, ids):
        started = time.perf_counter()
        same = 0
        for ours, theirs in zip(self._ids, ids[:-1], strict=False):
            if ours != theirs:
                break
            same += 1
        self._target.rollback(self._row, same)
        for start in range(same, len(ids), _CHUNK):
            piece = tuple(ids[start : start + _CHUNK])
            scores = self._target.score([Block(self._row, piece, 1)])[0]
        self._ids = list(ids)
        row = scores.logits(0, 1)[0]
        self.passes += 1
        self.seconds += time.perf_counter() - started
        return row


class Asking:
    """Makes the drafts of set ``draft`` for ``benchmarks.drafting``: copies of the original, and up
    to 8 tokens of a draft model wherever nothing can be copied, whatever that costs.

    Args:
        name: The draft model.
        tokenizer: The target's tokenizer.
    """

    def __init__(self, name, tokenizer):
        self._target, self.kind = load_draft_target(locate(name).path, tokenizer, "auto", "auto")
        self._vocab_size = tokenizer.vocab_size
        self._novel = None
        self._before_s = 0.0

    @property
    def seconds(self):
        """Seconds of wall time in the draft model so far."""
        return self._before_s + (0.0 if self._novel is None else self._novel.seconds)

    def __call__(self, task):
        """Return a proposer; the draft model's row of the one before is given back."""
        self._before_s = self.seconds
        if self._novel is not None:
            self._novel.close()
        texts = replace(task.references, snippet=(), prediction=None, prediction_edits=())
        draft = DraftTarget(self._target, table(DRAFT_COSTS["cpu"]))
        request = Request(task.prompt_ids, len(task.expected_ids) + 1)
        self._novel = NovelDrafts(draft, request, FixedGamma(8), texts, self._vocab_size)
        return create("router", texts, self._novel)


@dataclass(frozen=True)
class Job:
    """An output, its prompt, and what can be copied."""

    name: str
    prompt_ids: tuple[int, ...]
    references: References
    output: tuple[int, ...]
    eos_ids: frozenset[int]


@dataclass
class Sums:
    """Counts and seconds of one column over all jobs."""

    tokens: int = 0
    passes: int = 0
    target_s: float = 0.0
    draft_s: float = 0.0
    drafted: int = 0
    accepted: int = 0
    read: int = 0
    asked: int = 0
    novel: int = 0
    per_case: list = field(default_factory=list)

    @property
    def seconds(self):
        """Seconds of both models."""
        return self.target_s + self.draft_s


class Clock:
    """Counts what a draft model's passes would take by a table."""

    def __init__(self, memo, cost):
        self.memo, self.cost, self.seconds, self.read = memo, cost, 0.0, 0
        self.vocab_size, self.context_limit = memo.vocab_size, memo.context_limit
        self.open_row, self.close_row = memo.open_row, memo.close_row
        self.length, self.rollback = memo.length, memo.rollback

    def score(self, blocks):
        """Score, and add the pass up."""
        self.seconds += self.cost.seconds(len(blocks[0].ids))
        self.read += len(blocks[0].ids)
        return self.memo.score(blocks)


def run(job, memo, column, costs, sums):
    """Decode one job in one column."""
    cost, price = costs
    prompt = job.prompt_ids
    target = ReplayTarget((0,) * (len(prompt) - 1) + job.output)
    target.vocab_size = memo.vocab_size
    ends = frozenset({job.output[-1]}) & job.eos_ids
    request = Request(prompt, len(job.output), eos_ids=ends, prefill_chunk=1 << 30)
    priced = table(dict.fromkeys((1, 512), _FREE)) if column == "free" else price
    if column in ("none", "cost"):
        policy = CostGamma(cost, expected_tokens=len(job.output), learns_cost=False)
    else:
        policy = FixedGamma(256)
    clock = Clock(memo, priced)
    novel = None
    if column != "none":
        shorter = policy if column == "cost" else FixedGamma(8)
        novel = NovelDrafts(
            DraftTarget(clock, priced), request, shorter, job.references, memo.vocab_size
        )
    proposer = create("router", job.references, novel)
    timed = Timed(policy, cost)
    output = Decoding(target, NoText(), request, proposer, timed).run()
    if output.ids != job.output:
        message = f"{job.name}: the replay wrote something else than its script"
        raise AssertionError(message)
    _count(output.report.records, len(prompt), cost, clock, sums)
    sums.per_case.append((job.name, output.report.passes, sums.seconds))


def _count(records, num_prompt, cost, clock, sums):
    for number, record in enumerate(records):
        width = record.width - (num_prompt - 1 if number == 0 else 0)
        sums.target_s += cost.seconds(width)
        sums.passes += 1
        sums.tokens += record.emitted
        for _, source, drafted, accepted in record.runs:
            if source == "draft_model":
                sums.asked += 1
                sums.drafted += drafted
                sums.accepted += accepted
        sums.novel += sum(count for region, _, count in record.output_runs if region == "novel")
    sums.draft_s += clock.seconds
    sums.read += clock.read


def recorded(engine):
    """Yield a job per fixture that has a recording of what the target wrote."""
    from apply_edit.prompt import DEFAULT, DIALECTS
    from benchmarks.record import job_of
    from tests.fixture_cases import load_all
    from tests.regression.recordings import FILE, load, references_of

    for case in load_all("lazy", "instruction"):
        if not (case.folder / FILE).exists():
            continue
        recording = load(case.folder)
        prompt = engine.encode(DIALECTS[DEFAULT].render(job_of(case).task))
        texts = replace(references_of(recording), view=engine.tokenizer)
        yield Job(
            case.folder.name,
            tuple(prompt),
            texts,
            tuple(recording.output_ids),
            engine.tokenizer.eos_ids,
        )


def expected(options, engine):
    """Yield a job per case of the files, its output the expected text."""
    from benchmarks.drafting import tasks

    found = [
        task
        for task in tasks(options, engine)
        if len(task.prompt_ids) + len(task.expected_ids) <= options.longest
    ]
    step = max(1, len(found) // options.limit_cases) if options.limit_cases else 1
    for task in found[::step][: options.limit_cases or None]:
        output = (*task.expected_ids, *task.references.closing)
        yield Job(task.name, task.prompt_ids, task.references, output, engine.tokenizer.eos_ids)


def copied(job):
    """Return a job without the edit's texts: what an instruction leaves to copy from."""
    texts = replace(job.references, snippet=(), prediction=None, prediction_edits=())
    return replace(job, references=texts)


def measure(jobs, memo, manners):
    """Return ``(manner, costs) → column → Sums``."""
    result = {}
    for number, job in enumerate(jobs):
        memo.forget()
        for manner in manners:
            one = copied(job) if manner == "copy" else job
            for name in COSTS:
                costs = table(COSTS[name]), table(DRAFT_COSTS[name])
                columns = result.setdefault((manner, name), {})
                for column in COLUMNS:
                    run(one, memo, column, costs, columns.setdefault(column, Sums()))
        print(
            f"{number + 1} {job.name}: prompt {len(job.prompt_ids)}, output {len(job.output)}, "
            f"{memo.passes} passes of the draft model in {memo.seconds:.0f} s",
            file=sys.stderr,
        )
    return result


def show(result):
    """Print a table per manner and cost."""
    for (manner, name), columns in result.items():
        plain = columns["none"]
        for column, sums in columns.items():
            rate = sums.accepted / sums.drafted if sums.drafted else 0.0
            print(
                f"{manner:7} {name:5} {column:7} {sums.tokens / sums.passes:7.2f} tokens a pass "
                f"{sums.passes:5} passes, target {sums.target_s:8.2f} s + draft model "
                f"{sums.draft_s:7.2f} s = {sums.seconds / plain.seconds:6.3f} of none; "
                f"asked {sums.asked:4}, accepted {sums.accepted}/{sums.drafted} ({rate:.2f}), "
                f"read and drafted {sums.read}, novel tokens {sums.novel}"
            )


def main(argv=None):
    """Run all columns and print them."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.draft_model",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", help="case files; none: the fixtures' recordings")
    parser.add_argument("--draft", default=DRAFT, metavar="NAME")
    parser.add_argument("--draft-dtype", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--formats", default="lazy")
    parser.add_argument("--limit", type=int, default=0, dest="limit_cases", metavar="N")
    parser.add_argument("--longest", type=int, default=1 << 30, help="tokens of prompt and output")
    parser.add_argument("--manners", default="copy,router")
    parser.add_argument("--json", metavar="OUT", help="write figures to this file")
    options = parser.parse_args(argv)
    options.limit = 0
    tokenizer = TextTokenizer.load(locate(DEFAULT_TARGET).path)
    engine = Engine(None, tokenizer)
    jobs = list(expected(options, engine) if options.files else recorded(engine))
    if options.limit_cases:
        jobs = jobs[: options.limit_cases]
    folder = locate(options.draft).path
    draft, kind = load_draft_target(folder, tokenizer, options.device, options.draft_dtype)
    print(f"draft model {options.draft}, {kind}, on {len(jobs)} outputs")
    result = measure(jobs, Memo(draft), options.manners.split(","))
    show(result)
    if options.json:
        rows = {
            f"{manner}.{name}.{column}": {**vars(sums), "seconds": sums.seconds}
            for (manner, name), columns in result.items()
            for column, sums in columns.items()
        }
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
