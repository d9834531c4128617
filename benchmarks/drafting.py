"""How many tokens each set of proposers gets through per target pass, on real edits.

    python -m benchmarks.drafting FILES... [--target replay|NAME] [--draft NAME] [--gamma-max N]
        [--formats lazy] [--sets none,router] [--limit N] [--longest N] [--json OUT]
        [--recovery [--branches N] | --renames | --overhead N]

The *replay* target writes the expected text as the real tokenizer splits it, so that figures do not
depend on a model's mistakes; with the NAME of a model the real target writes. ``--recovery`` prints
instead how soon a cursor copies again after an edit, by kind of edit; ``--renames`` how many
tokens a pass gets through when a word is renamed, without and with ``echo``; ``--overhead N`` what
a call costs in a file of at least N tokens.

The sets, each with the texts that it may copy from:

    none             plain decoding
    lookup10/64      prompt lookup as in transformers: leftmost match of at most 2 tokens in prompt
                     and output, 10 or 64 tokens
    cursor           the original, through one cursor
    copy             the original, with everything that the router knows (an instruction's case)
    copy no echo     the same without renames
    copy tree        the same as copy, as a token tree of up to 16 branches (replay only)
    cursor+snippet   original and snippet
    prediction       those and the deterministic merge, where it has one
    echo             those, renames applied
    draft            the original, and a draft model in all novel text (needs --draft; minutes of
                     computing per case, so best with --sets copy,draft --limit 12 --longest 1500)
    router           what apply-edit uses
"""

from __future__ import annotations

import argparse
import collections
import json
import statistics
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import proposers
from apply_edit import edits
from apply_edit.applier import predict
from apply_edit.asked import Asked, rewrites_of
from apply_edit.encoding import shown_text
from apply_edit.engine import Engine
from apply_edit.errors import ApplyEditError
from apply_edit.models import locate
from apply_edit.prompt import DEFAULT, DIALECTS
from apply_edit.rewriting import Rewrite
from apply_edit.types import EditFormat
from proposers import Draft, Nothing, References, Router

TOKENIZER = "qwen2.5-coder-1.5b-instruct"
# Sets that offer a token tree, and its most branches.
BRANCHES = {"copy tree": 16}


@dataclass(frozen=True)
class Task:
    """A case, ready to be drafted for."""

    name: str
    job: Rewrite
    prompt_ids: tuple[int, ...]
    references: References
    expected_ids: tuple[int, ...]
    expected: str
    stop: str
    predicted: bool | None  # whether the prediction is the expected text; None: there is none


class Leftmost:
    """Prompt lookup as in transformers: the leftmost match, of 2 tokens or of 1.

    Args:
        prompt: Prompt ids; matches are looked for in them and in the output.
        length: Length of every draft.
    """

    def __init__(self, prompt, length):
        self.text = []
        self.length = length
        self.first = {}
        self.seen = 0
        self._add(prompt)

    def propose(self, output, limit):
        self._add(output[self.seen :])
        self.seen = len(output)
        for size in (2, 1):
            place = self.first.get(tuple(self.text[-size:]))
            if place is not None and place < len(self.text):
                ids = tuple(self.text[place : place + min(self.length, limit)])
                return Draft(ids, "lookup", (), (("novel", len(ids)),))
        return proposers.NOTHING

    def _add(self, ids):
        for token in ids:
            self.text.append(token)
            end = len(self.text)
            for size in (1, 2):
                if end >= size:
                    self.first.setdefault(tuple(self.text[end - size :]), end)


def _copied(task):
    return replace(task.references, snippet=(), prediction=None, prediction_edits=())


def _unpredicted(task):
    return replace(task.references, prediction=None, prediction_edits=())


SETS = {
    "none": lambda task: Nothing(),
    "lookup10": lambda task: Leftmost(task.prompt_ids, 10),
    "lookup64": lambda task: Leftmost(task.prompt_ids, 64),
    "cursor": lambda task: proposers.create("cursor", _copied(task)),
    "copy": lambda task: Router(_copied(task)),
    "copy no echo": lambda task: Router(_copied(task), echo=False),
    "copy tree": lambda task: Router(_copied(task)),
    "cursor+snippet": lambda task: Router(_unpredicted(task), echo=False),
    "prediction": lambda task: Router(task.references, echo=False),
    "echo": lambda task: Router(task.references),
    "router": lambda task: proposers.create("router", task.references),
}


@dataclass
class Tally:
    """Counts of one set over all cases."""

    per_case: list[dict] = field(default_factory=list)
    regions: dict = field(default_factory=lambda: collections.defaultdict(lambda: [0, 0]))
    proposer_s: list[float] = field(default_factory=list)

    def add(self, name, tokens, records, build_s):
        """Add a case: ``records`` are (runs of region and counts, seconds of the proposer)."""
        self.per_case.append(
            {"id": name, "tokens": tokens, "passes": len(records), "build_ms": 1e3 * build_s}
        )
        for runs, seconds in records:
            self.proposer_s.append(seconds)
            for region, drafted, accepted in runs:
                self.regions[region or "unknown"][0] += drafted
                self.regions[region or "unknown"][1] += accepted

    def summary(self):
        tokens = sum(row["tokens"] for row in self.per_case)
        passes = sum(row["passes"] for row in self.per_case)
        ratios = [row["tokens"] / row["passes"] for row in self.per_case]
        return {
            "tokens_per_pass": round(tokens / passes, 2),
            "median_tokens_per_pass": round(statistics.median(ratios), 2),
            "tokens": tokens,
            "passes": passes,
            "width_per_pass": round(sum(row.get("width", 0) for row in self.per_case) / passes, 1),
            "median_passes": statistics.median(row["passes"] for row in self.per_case),
            "acceptance": {
                region: {"drafted": n, "accepted": k, "rate": round(k / n, 4)}
                for region, (n, k) in sorted(self.regions.items())
                if n
            },
            "proposer_ms_per_pass": {
                "mean": round(1e3 * statistics.fmean(self.proposer_s), 4),
                "p95": round(1e3 * _quantile(self.proposer_s, 0.95), 4),
                "max": round(1e3 * max(self.proposer_s), 4),
            },
            "build_ms": round(statistics.median(row["build_ms"] for row in self.per_case), 3),
        }


def _quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def tasks(options, engine):
    """Yield the cases of the files that can be drafted for."""
    formats = set(options.formats.split(","))
    count = 0
    for name in options.files:
        with Path(name).open(encoding="utf-8") as lines:
            for line in lines:
                case = json.loads(line)
                if case["format"] not in formats or not isinstance(case.get("expected"), str):
                    continue
                if not isinstance(case.get("original"), str) or case.get("files"):
                    continue
                task = _task(case, engine)
                if task is None or len(task.prompt_ids) + len(task.expected_ids) > options.longest:
                    continue
                yield task
                count += 1
                if options.limit and count >= options.limit:
                    return


def _task(case, engine):
    original, path = case["original"], case.get("path") or case.get("file")
    edit = case["edit"] if isinstance(case["edit"], str) else json.dumps(case["edit"])
    try:
        parsed = edits.parse(edit, EditFormat(case["format"]), original=original, path=path)
    except ApplyEditError:
        return None
    prediction = predict(original, parsed, path)
    structured = parsed.snippet is None and parsed.instruction is None
    asked = Asked(original, parsed, path, edit if structured else None, prediction)
    job = rewrites_of(asked)[0]
    prompt = DIALECTS[DEFAULT].render(job.task)
    expected = shown_text(case["expected"])
    return Task(
        case["id"],
        job,
        tuple(engine.encode(prompt)),
        engine.references(job, prompt.stop),
        tuple(engine.tokenizer.encode_data(expected)),
        expected,
        prompt.stop,
        None if prediction is None else shown_text(prediction.text) == expected,
    )


@dataclass(frozen=True)
class Pass:
    """One pass of a replay: the output before it, its draft, and how much of it was right.

    Of a tree, ``draft`` is the branch that was right for longest; ``width`` counts them all.
    """

    start: int
    draft: Draft
    accepted: int
    seconds: float
    width: int

    def runs(self):
        """Return (region, drafted, accepted) runs."""
        found, left = [], self.accepted
        for region, count in self.draft.regions or (
            (("", len(self.draft)),) if self.draft.ids else ()
        ):
            found.append((region, count, min(count, left)))
            left -= found[-1][2]
        return found


def replay(proposer, target, gamma, branches=1):
    """Let a target that writes ``target`` verify a proposer's drafts; return the passes."""
    output, passes = [], []
    while len(output) < len(target):
        limit = min(gamma, len(target) - len(output) - 1)
        # Time of the processor: others that use the machine do not count.
        started = time.thread_time()
        if branches == 1:
            drafts = [proposer.propose(output, limit)]
        else:
            drafts = proposer.propose_tree(output, limit)[:branches] or [proposers.NOTHING]
        seconds = time.thread_time() - started
        rights = [_right(draft, target, len(output)) for draft in drafts]
        accepted = max(rights)
        best, width = drafts[rights.index(accepted)], sum(map(len, drafts))
        passes.append(Pass(len(output), best, accepted, seconds, width))
        output += target[len(output) : len(output) + accepted + 1]
    return passes


def _right(draft, target, start):
    """Return how many tokens of a draft the target writes."""
    wanted = target[start : start + len(draft)]
    if wanted == draft.ids:
        return len(draft)
    pairs = zip(wanted, draft.ids, strict=True)
    return next(i for i, (ours, theirs) in enumerate(pairs) if ours != theirs)


def run_replay(options, engine, names):
    """Replay all cases with every set."""
    tallies = {name: Tally() for name in names}
    for task in tasks(options, engine):
        target = (*task.expected_ids, *task.references.closing)
        for name in names:
            started = time.thread_time()
            proposer = SETS[name](task)
            build_s = time.thread_time() - started
            passes = replay(proposer, target, options.gamma_max, BRANCHES.get(name, 1))
            records = [(one.runs(), one.seconds) for one in passes]
            tallies[name].add(task.name, len(target), records, build_s)
            tallies[name].per_case[-1].update(
                predicted=task.predicted, width=sum(one.width for one in passes)
            )
    return tallies


def run_real(options, engine, names):
    """Decode all cases with the real target and every set."""
    from apply_edit.decode.loop import Decoding
    from apply_edit.decode.policy import FixedGamma
    from apply_edit.decode.row import Request

    tallies = {name: Tally() for name in names}
    for task in tasks(options, engine):
        limit = len(task.expected_ids) * 5 // 4 + 64
        request = Request(
            task.prompt_ids, limit, eos_ids=engine.tokenizer.eos_ids, stop=(task.stop,)
        )
        for name in names:
            started = time.perf_counter()
            proposer = SETS[name](task)
            build_s = time.perf_counter() - started
            policy = FixedGamma(options.gamma_max)
            output = Decoding(engine.target, engine.tokenizer, request, proposer, policy).run()
            share = output.report.proposer_s / max(1, output.report.passes)
            records = [
                ([(region, n, k) for region, _, n, k in record.runs], share)
                for record in output.report.records
            ]
            tallies[name].add(task.name, output.report.emitted, records, build_s)
            row = tallies[name].per_case[-1]
            row.update(exact=output.text == task.expected, seconds=output.report.decode_s)
            print(json.dumps({"set": name, **row}), flush=True)
    return tallies


def show(tallies):
    """Print a table."""
    print(
        f"{'set':<15} {'tok/pass':>9} {'median':>8} {'passes':>7} {'per case':>8} "
        f"{'width':>6} {'unchanged':>9} {'edit':>7} {'novel':>7} {'ms/pass':>8} {'max ms':>7}"
    )
    for name, tally in tallies.items():
        row = tally.summary()
        rates = [
            row["acceptance"].get(region, {}).get("rate")
            for region in ("unchanged", "edit", "novel")
        ]
        cells = ["-" if rate is None else f"{rate:.3f}" for rate in rates]
        cost = row["proposer_ms_per_pass"]
        print(
            f"{name:<15} {row['tokens_per_pass']:>9.2f} {row['median_tokens_per_pass']:>8.1f} "
            f"{row['passes']:>7} {row['median_passes']:>8.0f} {row['width_per_pass']:>6.1f} "
            f"{cells[0]:>9} {cells[1]:>7} {cells[2]:>7} {cost['mean']:>8.3f} {cost['max']:>7.2f}"
        )


def main(argv=None):
    options = _options(argv)
    names = options.sets.split(",") if options.sets else list(SETS)
    tokenizer_only = options.target == "replay"
    if not tokenizer_only:
        names = [name for name in names if name not in BRANCHES]
    if tokenizer_only:
        from apply_edit.decode.tokens import TextTokenizer

        folder = locate(TOKENIZER, offline=True).path
        engine = Engine(None, TextTokenizer.load(folder))
    else:
        engine = Engine.load(locate(options.target).path)
    if options.draft:
        from benchmarks.draft_model import Asking

        SETS["draft"] = Asking(options.draft, engine.tokenizer)
        names += ["draft"] if "draft" not in names else []
    elif "draft" in names:
        sys.exit("the set draft needs a draft model: --draft NAME")
    result = _of_one_kind(options, engine)
    if result is None:
        if tokenizer_only:
            tallies = run_replay(options, engine, names)
        else:
            tallies = run_real(options, engine, names)
        show(tallies)
        result = {
            "target": options.target,
            "gamma_max": options.gamma_max,
            "cases": len(next(iter(tallies.values())).per_case),
            "pooled": {name: tally.summary() for name, tally in tallies.items()},
            "cases_by_set": {name: tally.per_case for name, tally in tallies.items()},
        }
        result["pooled"].setdefault("draft", None)
        if options.draft and "draft" in tallies:
            seconds = round(SETS["draft"].seconds, 1)
            result["pooled"]["draft"]["draft_model_s"] = seconds
            print(f"draft: {options.draft}, {SETS['draft'].kind}, took {seconds} s of wall time")
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def _of_one_kind(options, engine):
    """Return what was asked for instead of the table of sets; None where nothing was."""
    if options.overhead:
        from benchmarks.overhead import measure

        return {"overhead": measure(tasks(options, engine), engine, options.overhead)}
    if options.recovery or options.renames:
        from benchmarks import recovery

        what = (tasks(options, engine), engine.tokenizer, options.gamma_max)
        if options.renames:
            return {"renames": recovery.renames(*what)}
        return {"recovery": recovery.table(*what, options.branches)}
    return None


def _options(argv):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.drafting",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", help="case files")
    parser.add_argument("--target", default="replay", help="replay, or the name of a model")
    parser.add_argument("--draft", help="name of the draft model")
    parser.add_argument("--gamma-max", type=int, default=256)
    parser.add_argument("--formats", default="lazy", help="comma list of formats")
    parser.add_argument("--sets", help="comma list of sets (default: all)")
    parser.add_argument("--limit", type=int, default=0, help="run this many cases at most")
    parser.add_argument("--longest", type=int, default=1 << 30, help="tokens of prompt and output")
    parser.add_argument("--json", metavar="OUT", help="write figures to this file")
    parser.add_argument("--recovery", action="store_true", help="how soon copying resumes")
    parser.add_argument(
        "--branches", type=int, default=1, help="with --recovery: most drafts of a token tree"
    )
    parser.add_argument("--renames", action="store_true", help="what echo brings for a rename")
    parser.add_argument(
        "--overhead", type=int, metavar="N", help="time per call in a file of at least N tokens"
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
