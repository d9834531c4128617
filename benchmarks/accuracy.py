"""How often the result is right: exact, refused or wrong, per kind of edit, with a real target.

    python -m benchmarks.accuracy FILES... --out FOLDER [--target NAME] [--dialect a,b]
        [--scope auto,file] [--strategy auto|model] [--alone] [--dtype float32] [--formats lazy]
        [--sample N] [--max-lines N] [--limit N] [--resume] [--summary]

Writes one row per case to ``FOLDER/DIALECT-SCOPE-STRATEGY.jsonl`` as soon as it is known;
``--resume`` goes on where a run ended. ``--target recorded:FILE`` lets the target write what FILE
says that it wrote, so that everything around the model can be measured again in seconds.
``--alone`` is the target by itself: no guard, no fall-back, no doubts.

*exact*: the very text. *ok*: what the case accepts beside it. *space*: differs in white space only.
*refused*: a typed error, with its code. *wrong*: any other text, with a class: ``position`` (the
right lines in another order), ``incomplete`` (lines of the edit are missing or old ones stayed),
``invalid`` (new syntax errors), ``side effect`` (something else changed).
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import sys
import time
from dataclasses import replace
from pathlib import Path

from apply_edit.applier import Applier
from apply_edit.config import DEFAULT_TARGET, Config
from apply_edit.engine import Engine
from apply_edit.errors import ApplyEditError
from apply_edit.guard import CHECKS
from apply_edit.models import locate
from apply_edit.syntax import error_nodes, has_grammar, language_of
from apply_edit.text import SourceText, split_lines, strip_end
from apply_edit.types import EditFormat
from benchmarks.cases import FORMAT_ALIASES, Answer, judge
from benchmarks.recorded import Recorder, Replayer

KINDS = ("exact", "ok", "space", "refused", "wrong")
RECORDED = "recorded:"


def main(argv=None):
    options = _options(argv)
    cases = chosen(options)
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    engine = None
    for dialect in options.dialect.split(","):
        for scope in options.scope.split(","):
            strategy = "alone" if options.alone else options.strategy
            file = folder / f"{dialect}-{scope}-{strategy}.jsonl"
            done = known_rows(file) if options.resume or options.summary else {}
            missing = [] if options.summary else [c for c in cases if c["id"] not in done]
            if missing:
                engine = engine or load(options)
                config = configured(options, dialect, scope)
                rows = measured(missing, engine, config, options.engine_passes)
                write(file, rows, anew=not done)
                done = known_rows(file)
            summarise(f"{dialect}, {scope}, {strategy}", [done[c["id"]] for c in cases])
    return 0


def load(options):
    """Return an engine that records, or one that replays a recording."""
    if options.target.startswith(RECORDED):
        return Replayer(known_rows(Path(options.target.removeprefix(RECORDED))).values())
    return Recorder(Engine.load(locate(options.target).path, "cpu", options.dtype))


def configured(options, dialect, scope):
    """Return the settings of one variant."""
    if options.alone:
        checks = frozenset(CHECKS)
        return Config(
            "model",
            scope=scope,
            dialect=dialect,
            min_confidence=0.0,
            confirm=False,
            disabled_checks=checks,
        )
    confidence = options.min_confidence
    return Config(options.strategy, scope=scope, dialect=dialect, min_confidence=confidence)


def measured(cases, engine, config, with_passes):
    """Yield a row per case."""
    for case in cases:
        started = time.perf_counter()
        answer, result = applied(case, engine, config)
        seconds = time.perf_counter() - started
        written = engine.take()
        row = {
            "id": case["id"],
            "format": case["format"],
            "language": language(case),
            "num_lines": len(split_lines(case["original"] or "")),
            **verdict(case, answer),
            "seconds": round(seconds, 2),
            "written": written,
        }
        if result is not None:
            row |= {
                "strategy": result.strategy,
                "tries": [t.scope for t in result.tries],
                "agreement": result.agreement,
                "confidence": result.confidence and round(result.confidence, 4),
            }
            if with_passes and result.report is not None:
                row["report"] = result.report.to_dict()
        yield row


def applied(case, engine, config):
    """Apply a case's edit; return the answer to judge, and the result where there is one."""
    edit = case["edit"] if isinstance(case["edit"], str) else json.dumps(case["edit"])
    kind = EditFormat(FORMAT_ALIASES.get(case["format"], case["format"]))
    said = {"instruction": edit} if kind is EditFormat.INSTRUCTION else {}
    config = replaced(config, None if said else kind)
    try:
        result = Applier(config, engine=engine).apply(
            case["original"], None if said else edit, path=path_of(case), **said
        )
    except ApplyEditError as error:
        return Answer(error=error), None
    if config.disabled_checks and result.strategy == "merge":
        # The target by itself has nothing to fall back to.
        return Answer(error=ApplyEditError("no text of the target")), result
    return Answer(result.text, result.moved_to, result.deleted), result


def verdict(case, answer):
    """Return kind and class of an answer."""
    found = judge(case, answer)
    if found.kind == "refused":
        return {"verdict": "refused", "why": answer.error.code}
    if found.kind != "wrong" or answer.text is None or case.get("expected") is None:
        return {"verdict": found.kind, "why": found.why}
    if "".join(answer.text.split()) == "".join(case["expected"].split()):
        return {"verdict": "space", "why": "white space differs"}
    return {"verdict": "wrong", "why": wrong_class(case, answer.text)}


def wrong_class(case, text):
    """Say what kind of fault a wrong text has."""
    have, want = bodies(text), bodies(case["expected"])
    if sorted(have) == sorted(want):
        return "position"
    before = collections.Counter(bodies(case["original"] or ""))
    got, should = collections.Counter(have), collections.Counter(want)
    lacks = (should - before) - got
    kept = (before - should) & (got - should)
    if lacks or kept:
        return "incomplete"
    name = language(case)
    if has_grammar(name):
        faults, usual = (len(error_nodes(t, name)) for t in (text, case["expected"]))
        if faults > usual:
            return "invalid"
    return "side effect"


def language(case):
    return language_of(path_of(case), case["original"] or "") or "text"


def bodies(text):
    return [strip_end(line) for line in split_lines(text)]


def path_of(case):
    return case.get("file") or case.get("path")


def chosen(options):
    """Return the cases to run: filtered, and spread over languages and sizes where sampled."""
    wanted = set(options.formats.split(","))
    cases = []
    for name in options.files:
        with Path(name).open(encoding="utf-8") as lines:
            part = [unfolded(json.loads(line), Path(name).parent) for line in lines]
        part = [c for c in part if c["format"] in wanted and c["original"] is not None]
        part = [c for c in part if not (c.get("policy") or c.get("files"))]
        part = [c for c in part if c["id"] not in options.leave_out]
        if options.max_lines:
            part = [c for c in part if len(split_lines(c["original"])) <= options.max_lines]
        if options.sample and len(part) > options.sample:
            part.sort(key=lambda case: (language(case), len(case["original"])))
            part = [part[int(i * len(part) / options.sample)] for i in range(options.sample)]
        cases += part
    return cases[: options.limit] if options.limit else cases


def unfolded(case, folder):
    """Return a case with its texts, where it only names a file and what changes in it."""
    if "original_file" not in case:
        return case
    original = SourceText.from_bytes((folder / case["original_file"]).read_bytes()).text
    expected = original
    for change in case["changes"]:
        if "\r\n" in original:
            change = [text.replace("\n", "\r\n") for text in change]
        expected = expected.replace(*change)
    return {**case, "original": original, "expected": expected, "file": case["original_file"]}


def known_rows(file):
    """Return the rows of a file by case; a last line that was cut off is left out."""
    rows = {}
    if file.exists():
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                rows[row["id"]] = row
    return rows


def write(file, rows, *, anew):
    with file.open("w" if anew else "a", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            out.flush()
            line = f"{row['id']}: {row['verdict']} {row['why']} ({row['seconds']} s)"
            print(line, file=sys.stderr, flush=True)


def summarise(title, rows):
    """Print a line per kind of edit."""
    print(f"== {title}")
    print(f"{'format':<13}total  " + "  ".join(f"{kind:>7}" for kind in KINDS) + "   right  wrong")
    for name in sorted({row["format"] for row in rows}):
        part = [row for row in rows if row["format"] == name]
        counts = collections.Counter(row["verdict"] for row in part)
        right, wrong = counts["exact"] + counts["ok"], counts["wrong"] + counts["space"]
        print(
            f"{name:<13}{len(part):5}  "
            + "  ".join(f"{counts[kind]:7}" for kind in KINDS)
            + f"  {right / len(part):6.1%} {wrong / len(part):6.1%}"
        )
    whys = collections.Counter(r["why"] for r in rows if r["verdict"] in ("wrong", "refused"))
    took = collections.Counter(row.get("strategy", "refused") for row in rows)
    agreed = collections.Counter(str(row.get("agreement")) for row in rows)
    print(f"why: {dict(whys)}; strategy: {dict(took)}; agreement: {dict(agreed)}")
    seconds = sorted(row["seconds"] for row in rows)
    if seconds:
        print(f"seconds: median {seconds[len(seconds) // 2]:.1f}, sum {math.fsum(seconds):.0f}")


def replaced(config, kind):
    """Return the settings with the format of a case."""
    return replace(config, format=kind)


def _options(argv):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", help="case files")
    parser.add_argument("--out", required=True, help="folder for the rows")
    parser.add_argument("--target", default=DEFAULT_TARGET, help="model, or recorded:FILE")
    parser.add_argument("--dialect", default="auto", help="comma list of prompt dialects")
    parser.add_argument("--scope", default="auto", help="comma list of auto, file, windows")
    parser.add_argument("--strategy", choices=("auto", "model"), default="auto")
    parser.add_argument("--alone", action="store_true", help="the target without what is around it")
    parser.add_argument("--dtype", default="auto", help="number format of the target")
    parser.add_argument("--min-confidence", type=float, help="see apply-edit --help")
    parser.add_argument("--formats", default="lazy,instruction", help="comma list of formats")
    parser.add_argument("--sample", type=int, help="so many of each file, spread over kinds")
    parser.add_argument("--max-lines", type=int, help="leave longer files out")
    parser.add_argument("--leave-out", action="append", default=[], metavar="ID", help="not this")
    parser.add_argument("--limit", type=int, help="run this many cases at most")
    parser.add_argument("--resume", action="store_true", help="keep the rows that are there")
    parser.add_argument("--summary", action="store_true", help="only print what the rows say")
    parser.add_argument("--engine-passes", action="store_true", help="keep each report in its row")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
