"""Run edit cases and count what is exact, also accepted, refused and wrong.

    python -m benchmarks.cases FILES... [--strategy direct|model|auto] [--target NAME]
        [--formats a,b] [--detect] [--json OUT] [--show wrong|refused] [--limit N]

A case is a JSON object with ``original`` (null: no such file), ``edit``, ``expected`` and
``format``. *Exact* means the very text; *ok* counts it together with what the case accepts beside
it: a difference that ``compare`` allows, an error that was expected, the outcome in ``also_ok``.
*Wrong* is any other text, and text where an error was expected. *Refused* is a typed error where a
text was expected.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from apply_edit.applier import Applier
from apply_edit.config import Config
from apply_edit.direct import apply_files
from apply_edit.edits import parse
from apply_edit.errors import ApplyEditError
from apply_edit.text import SourceText, split_lines, strip_end
from apply_edit.types import EditFormat

FORMAT_ALIASES = {"udiff_drifted": "udiff", "model_output": "whole"}
SKIPPED_WITHOUT_MODEL = frozenset({"instruction"})


@dataclass(frozen=True)
class Answer:
    """What applying a case gave: a text (None: the file is deleted) or an error."""

    text: str | None = None
    moved_to: str | None = None
    deleted: bool = False
    error: ApplyEditError | None = None
    files: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """How an answer compares with what the case expects."""

    kind: str  # exact, ok, refused, wrong
    why: str = ""


def main(argv=None):
    options = _options(argv)
    runner = Runner(options.strategy, options.target, detect=options.detect)
    totals = collections.defaultdict(collections.Counter)
    rows = []
    seconds = time.perf_counter()
    for case in _cases(options):
        answer = runner.run(case)
        verdict = judge(case, answer)
        name = case["format"] + ("*" if case.get("policy") else "")
        totals[name][verdict.kind] += 1
        rows.append(
            {
                "id": case["id"],
                "format": case["format"],
                "policy": bool(case.get("policy")),
                "verdict": verdict.kind,
                "why": verdict.why,
                "error": answer.error and answer.error.code,
            }
        )
        if verdict.kind == options.show:
            _show(case, answer, verdict)
    _table(totals, time.perf_counter() - seconds)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


class Runner:
    """Applies cases through the public façade; the target is loaded once, when first needed.

    Args:
        strategy: Strategy of the configuration.
        target: Target model, None for the default.
        detect: Let the format be detected instead of taking it from the case.
    """

    def __init__(self, strategy="direct", target=None, *, detect=False):
        named = {"target": target} if target else {}
        self.applier = Applier(Config(strategy=strategy, **named))
        self.detect = detect

    def run(self, case):
        """Apply a case's edit to its original (or to its files)."""
        edit = case["edit"] if isinstance(case["edit"], str) else json.dumps(case["edit"])
        label = EditFormat(FORMAT_ALIASES.get(case["format"], case["format"]))
        fmt = None if self.detect else label
        path = case.get("file") or case.get("path")
        try:
            if case.get("files"):
                return _run_files(case, edit, fmt)
            original, source = _decoded(case)
            parsed = parse(edit, fmt, original=original, path=path)
            result = self.applier.apply_parsed(original, parsed, path=path, written=edit)
            if source is not None:
                source.to_bytes(result.text)
            text = None if result.deleted else result.text
            return Answer(text, result.moved_to, result.deleted)
        except ApplyEditError as error:
            return Answer(error=error)


def _decoded(case):
    """Send a case with an encoding through bytes, as a file would go."""
    original = case["original"]
    if original is None or "encoding" not in case:
        return original, None
    source = SourceText.from_bytes(original.encode(case["encoding"]))
    return source.text, source


def _run_files(case, edit, fmt):
    originals = {f["path"]: f["original"] for f in case["files"]}
    results = apply_files(originals, parse(edit, fmt))
    return Answer(files={p: None if r.deleted else r.text for p, r in results.items()})


def judge(case, answer):
    """Compare an answer with the case."""
    accepted_error = bool(case.get("expect_error"))
    also = case.get("also_ok") or ""
    if answer.error is not None:
        if accepted_error:
            return Verdict("exact")
        if also.startswith("error"):
            return Verdict("ok", f"also ok: {also}")
        return Verdict("refused", f"{answer.error.code}: {answer.error}")
    if accepted_error:
        return Verdict("wrong", f"an error was expected: {case.get('reason') or case.get('note')}")
    if case.get("files"):
        return _judge_files(case, answer)
    return _judge_text(case, answer, also)


def _judge_files(case, answer):
    for file in case["files"]:
        if file["path"] not in answer.files:
            return Verdict("wrong", f"{file['path']} was left out")
        if answer.files[file["path"]] != file["expected"]:
            return Verdict("wrong", f"{file['path']} differs")
    return Verdict("exact")


def _judge_text(case, answer, also):
    expected = case["expected"]
    if case.get("expect_deleted"):
        # Sources write a deleted file as null or as an empty text.
        return (
            Verdict("exact")
            if answer.deleted or (answer.text == "" and expected == "")
            else Verdict("wrong", "the file was to be deleted")
        )
    if case.get("move_to") and answer.moved_to != case["move_to"]:
        return Verdict("wrong", f"moved to {answer.moved_to}, not to {case['move_to']}")
    if answer.text == expected:
        return Verdict("exact")
    if answer.text is not None and expected is not None:
        same = COMPARE[case.get("compare") or "exact"]
        if same(answer.text) == same(expected):
            return Verdict("ok", case["compare"])
    if also and not also.startswith("error") and answer.text == also:
        return Verdict("ok", "also ok")
    return Verdict("wrong", "the text differs")


def _bodies(text):
    return [strip_end(line) for line in split_lines(text)]


COMPARE = {
    "exact": lambda text: text,
    "modulo_final_newline": lambda text: text.rstrip("\r\n"),
    "modulo_trailing_ws": lambda text: "\n".join(b.rstrip() for b in _bodies(text)).rstrip(),
    "modulo_blank_line_ws": lambda text: [b if b.strip() else "" for b in _bodies(text)],
    "modulo_line_endings": lambda text: re.sub(r"\r\n?", "\n", text),
    "modulo_blank_lines": lambda text: [b for b in _bodies(text) if b.strip()],
}


def _cases(options):
    wanted = set(options.formats.split(",")) if options.formats else None
    count = 0
    for name in options.files or _default_files():
        with Path(name).open(encoding="utf-8") as lines:
            for line in lines:
                case = json.loads(line)
                if wanted is not None and case["format"] not in wanted:
                    continue
                if options.strategy == "direct" and case["format"] in SKIPPED_WITHOUT_MODEL:
                    continue
                count += 1
                if options.limit and count > options.limit:
                    return
                yield case


def case_folder():
    """Return the folder with case files, or None where there is none."""
    named = os.environ.get("APPLY_EDIT_CASES")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "cases"
    return folder if folder.is_dir() else None


def _default_files():
    folder = case_folder()
    if folder is None:
        sys.exit("no case files: name some, or set APPLY_EDIT_CASES to a folder with *.jsonl files")
    return sorted(folder.glob("*.jsonl"))


def _table(totals, seconds):
    kinds = ("exact", "ok", "refused", "wrong")
    width = max([len(name) for name in totals] + [6])
    print(f"{'format':<{width}}  total  exact  also-ok  refused  wrong")
    for name, counts in sorted(totals.items()):
        print(
            f"{name:<{width}}  {sum(counts.values()):5}  {counts['exact']:5}  {counts['ok']:7}"
            f"  {counts['refused']:7}  {counts['wrong']:5}"
        )
    for title, policy in (("policy: false", False), ("policy: true (*)", True)):
        part = [c for name, c in totals.items() if name.endswith("*") is policy]
        if part:
            print(f"{title}: {_line(part, kinds)}")
    print(f"seconds={seconds:.1f}")
    print(_line(list(totals.values()), kinds))


def _line(counters, kinds):
    sums = {kind: sum(c[kind] for c in counters) for kind in kinds}
    sums["ok"] += sums["exact"]
    return f"total={sum(sum(c.values()) for c in counters)} " + " ".join(
        f"{kind}={sums[kind]}" for kind in kinds
    )


def _show(case, answer, verdict):
    print(f"--- {case['id']} ({case['format']}): {verdict.why}")
    if answer.text is None or case.get("expected") is None:
        return
    have, want = _bodies(answer.text), _bodies(case["expected"])
    from apply_edit.match.ladder import changes

    for i1, i2, j1, j2 in changes(want, have)[:8]:
        for line in want[i1:i2]:
            print(f"  - {line!r}")
        for line in have[j1:j2]:
            print(f"  + {line!r}")
    if have == want:
        print("  (the same lines; line ends or the final newline differ)")


def _options(argv):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cases",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", help="case files (default: all in the case folder)")
    parser.add_argument("--strategy", choices=("direct", "model", "auto"), default="direct")
    parser.add_argument("--target", help="name of the target model")
    parser.add_argument("--formats", help="comma list of formats")
    parser.add_argument("--detect", action="store_true", help="detect the format, ignore the label")
    parser.add_argument("--json", metavar="OUT", help="write a verdict per case to this file")
    parser.add_argument("--show", choices=("wrong", "refused"), help="print these cases")
    parser.add_argument("--limit", type=int, default=0, help="run this many cases at most")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
