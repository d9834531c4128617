"""The guard against edits that other people made: right results pass, spoiled ones do not.

The records belong to other projects and are read from outside the checkout.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from apply_edit import edits
from apply_edit.align import line_ops
from apply_edit.errors import ApplyEditError
from apply_edit.guard import check
from apply_edit.markers import is_marker
from apply_edit.syntax import canonical_language, definitions, has_grammar
from apply_edit.text import split_lines
from apply_edit.types import EditFormat, ParsedEdit, Severity

CASES = Path(os.environ.get("APPLY_EDIT_CASES") or Path(__file__).parents[3] / "shared" / "cases")
pytestmark = pytest.mark.skipif(
    not CASES.is_dir(),
    reason="no recorded cases at ../shared/cases or in the folder that APPLY_EDIT_CASES names",
)
MARKERS = {"python": "# ... existing code ...", "markdown": "<!-- ... existing code ... -->"}


@cache
def cases() -> list[tuple[str, str, str, ParsedEdit, str | None]]:
    """Records as (id, original, expected, edit, language); a policy of another tool is left out."""
    found = []
    for path in sorted(CASES.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").split("\n"):
            record = json.loads(line) if line else {}
            name = str(record.get("format")).replace("_drifted", "")
            if (
                record.get("expected") is None
                or record.get("policy")
                or name not in set(EditFormat)
            ):
                continue
            edit = parsed(record, EditFormat(name))
            if edit is not None:
                original = record["original"] or ""
                language = record.get("language")
                found.append((record["id"], original, record["expected"], edit, language))
    return found


def parsed(record: dict[str, Any], fmt: EditFormat) -> ParsedEdit | None:
    """The edit of a record, or None where it cannot be read."""
    raw = record["edit"] if isinstance(record["edit"], str) else json.dumps(record["edit"])
    if fmt is EditFormat.LAZY and is_marker(raw.split("\n")[0]):
        return ParsedEdit(fmt, snippet=raw)  # begins with a marker, so nothing is wrapped around it
    try:
        return edits.parse(raw, fmt, original=record["original"] or "")
    except ApplyEditError:
        return None


def worst(original: str, text: str, edit: ParsedEdit, language: str | None) -> str:
    """What the guard does: ``refuse``, ``warn`` or ``pass``."""
    severities = {each.severity for each in check(original, text, edit, language=language)}
    return max(severities, key=lambda s: s is Severity.REFUSE).value if severities else "pass"


def test_right_results_are_never_refused():
    """Not one expected text is refused, and few of them are warned about."""
    rng = random.Random(5)
    outcomes: Counter[str] = Counter()
    refused = []
    for name, original, expected, edit, language in rng.sample(cases(), min(len(cases()), 500)):
        outcome = worst(original, expected, edit, language)
        outcomes[outcome] += 1
        if outcome == "refuse":
            refused.append(name)
    assert refused == []
    assert outcomes["warn"] <= 0.1 * outcomes.total()


def mutants(
    original: str, expected: str, language: str | None, rng: random.Random
) -> Iterator[tuple[str, str]]:
    """Spoil a right result in the ways in which models spoil it."""
    lines = split_lines(expected)
    size = len(lines)
    name = canonical_language(language)
    changes = [op for op in line_ops(split_lines(original), lines) if op.kind != "equal"]
    changed = {j for op in changes for j in range(op.new_start, op.new_end)}
    near = {op.new_start + d for op in changes for d in range(-2, 3)}
    near |= {j + d for j in changed for d in range(-2, 3)}
    far = [j for j in range(size) if j not in near and any(c.isalpha() for c in lines[j])]

    def joined(start: int, end: int, *between: str) -> str:
        return "".join([*lines[:start], *between, *lines[end:]])

    at, end = rng.randrange(size), rng.randrange(size // 2, size - 3)
    marker = MARKERS.get(name or "", "// ... existing code ...") + "\n"
    yield "marker", joined(at, at, marker)
    yield "marker instead of code", joined(at // 2, min(size, at // 2 + 4), marker)
    yield "tail cut", joined(end, size)
    if far:
        j = rng.choice(far)
        yield "unrelated line changed", joined(j, j + 1, lines[j].rstrip() + " + other\n")
        yield "unrelated line added", joined(j, j, "something_else();\n")
    yield "fence", f"```{language or ''}\n{expected.rstrip()}\n```\n"
    yield "prose before", f"Here is the updated code:\n\n{expected}"
    yield "prose behind", f"{expected}\n\nI have updated the code as requested.\n"
    yield "think", f"<think>\nWhere does it go?\n</think>\n{expected}"
    yield "tag", f"{expected.rstrip()}\n</updated-code>\n"
    block = [line.rstrip("\r\n") + "\n" for line in lines[at : at + 6]]
    if any(line.strip() for line in block):
        yield "loop", joined(at, at + 6, *(block * 5))
    new = [j for j in sorted(changed) if lines[j].strip()]
    if new:
        j = rng.choice(new)
        yield "edit line dropped", joined(j, j + 1)
    if has_grammar(language) and name is not None:
        whole = [
            d
            for d in definitions(expected, name)
            if d.kind in ("function", "method")
            and d.end_line - d.start_line < size // 2
            and near.isdisjoint(range(d.start_line, d.end_line))
        ]
        if whole:
            lost = rng.choice(whole)
            yield "method dropped", joined(lost.start_line, lost.end_line)


def test_spoiled_results_are_found():
    """Of every kind of spoiled result at least 95 % are refused or warned about."""
    rng = random.Random(3)
    seen: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    judged = [
        each
        for each in cases()
        if each[3].format is not EditFormat.INSTRUCTION and 8 < each[2].count("\n") < 800
    ]
    for _, original, expected, edit, language in rng.sample(judged, min(len(judged), 45)):
        before = {each.check for each in check(original, expected, edit, language=language)}
        for kind, text in mutants(original, expected, language, rng):
            findings = check(original, text, edit, language=language)
            seen[kind] += 1
            if not {each.check for each in findings} - before:
                missed[kind] += 1
    assert len(seen) >= 13
    assert {kind: missed[kind] / n for kind, n in seen.items() if missed[kind] > 0.05 * n} == {}
