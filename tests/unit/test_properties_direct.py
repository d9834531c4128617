r"""Laws of the direct strategy, over random files and edits.

``APPLY_EDIT_PROPERTIES=ci`` runs 20,000 examples over all laws; the default is a quick sample.
"""

import json
import os

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from apply_edit.direct import apply_file_edit, apply_whole, select_file
from apply_edit.edits import detect, parse
from apply_edit.errors import ApplyEditError, ApplyError
from apply_edit.line_ops import line_ops
from apply_edit.markers import is_marker
from apply_edit.text import split_lines
from apply_edit.types import EditFormat

IN_CI = os.environ.get("APPLY_EDIT_PROPERTIES") == "ci"


def law(share):
    """Settings for one law; ``share`` is its part of 20,000 examples in CI."""
    return settings(
        max_examples=share if IN_CI else max(20, share // 40),
        deadline=None,
        derandomize=not IN_CI,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


BODY = st.one_of(
    st.sampled_from(
        ["", "a", "b", "}", "    return 1", "\tx", "a  ", "  a", "“q” - r", "Ä", "x\x0cy"]
    ),
    st.text(st.characters(exclude_characters="\r\n\ufeff", exclude_categories=["Cs"]), max_size=12),
).filter(lambda line: not is_marker(line))
BODIES = st.lists(BODY, min_size=1, max_size=12)


@st.composite
def changes_of_files(draw):
    """A file and a changed file, as lists of lines without ends."""
    old = draw(BODIES)
    new = list(old)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(new)))
        gone = draw(st.integers(0, 2))
        new[at : at + gone] = draw(st.lists(BODY, max_size=2))
    return old, new


def unified(old, new, context=3):
    """Write the difference as a unified diff with right numbers, both texts ending in a newline."""
    changed = [op for op in line_ops(old, new) if op.kind != "equal"]
    groups = []
    for op in changed:
        if groups and op.old_start - groups[-1][-1].old_end <= 2 * context:
            groups[-1].append(op)
        else:
            groups.append([op])
    out = ["--- a/f\n", "+++ b/f\n"]
    for group in groups:
        lo = max(0, group[0].old_start - context)
        hi = min(len(old), group[-1].old_end + context)
        body, at = [], lo
        for op in group:
            body += [" " + x for x in old[at : op.old_start]]
            body += ["-" + x for x in old[op.old_start : op.old_end]]
            body += ["+" + x for x in new[op.new_start : op.new_end]]
            at = op.old_end
        body += [" " + x for x in old[at:hi]]
        olds, news = (sum(b[0] != sign for b in body) for sign in "+-")
        start = group[0].new_start - (group[0].old_start - lo)
        out.append(f"@@ -{lo + (olds > 0)},{olds} +{start + (news > 0)},{news} @@\n")
        out += [line + "\n" for line in body]
    return "".join(out)


def text_of(lines, newline="\n"):
    """Join lines without ends."""
    return "".join(line + newline for line in lines)


def applied(original, edit, fmt):
    """Apply an edit of one format without a model."""
    parsed = parse(edit, fmt, original=original)
    if parsed.snippet is not None:
        return apply_whole(original, parsed.snippet)
    return apply_file_edit(original, select_file(parsed, None)).text


@law(3000)
@given(BODIES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.data())
def test_an_edit_that_changes_nothing_gives_identical_bytes(lines, newline, final, data):
    """Old text equal to new text leaves every byte of the file as it is."""
    original = text_of(lines, newline)
    original = original if final else original.removesuffix(newline)
    assume(original)
    start = data.draw(st.integers(0, len(lines) - 1))
    part = text_of(lines[start : data.draw(st.integers(start + 1, len(lines)))])
    block = f"<<<<<<< SEARCH\n{part}=======\n{part}>>>>>>> REPLACE\n"
    for edit, fmt in (
        (json.dumps({"old_str": part, "new_str": part}), EditFormat.STR_REPLACE),
        (block, EditFormat.SEARCH_REPLACE),
    ):
        try:
            assert applied(original, edit, fmt) == original
        except ApplyEditError:
            continue
    assert apply_whole(original, original) == original


@law(3000)
@given(changes_of_files(), st.sampled_from(["\n", "\r\n"]))
def test_a_diff_and_its_inverse_give_the_original(pair, newline):
    """Applying a diff gives the new text, and the inverse diff gives the old one back."""
    old, new = pair
    assume(old != new and new)
    before, after = text_of(old, newline), text_of(new, newline)
    assert applied(before, unified(old, new), EditFormat.UDIFF) == after
    assert applied(after, unified(new, old), EditFormat.UDIFF) == before


@law(3000)
@given(changes_of_files(), st.sampled_from(["udiff", "search_replace", "str_replace", "v4a"]))
def test_line_ends_of_the_file_do_not_matter(pair, fmt):
    """The same edit of the same file in CRLF gives the same result in CRLF."""
    old, new = pair
    edit = written(old, new, fmt)
    outcomes = []
    for newline in ("\n", "\r\n"):
        try:
            outcomes.append(applied(text_of(old, newline), edit, EditFormat(fmt)))
        except ApplyError as error:
            outcomes.append(error.code)
    plain, paired = outcomes
    assert paired == plain.replace("\n", "\r\n")


def written(old, new, fmt):
    """Write the change of a whole file in a format."""
    before, after = text_of(old), text_of(new)
    if fmt == "udiff":
        return unified(old, new) if old != new else "@@\n-a\n+a\n"
    if fmt == "search_replace":
        return f"<<<<<<< SEARCH\n{before}=======\n{after}>>>>>>> REPLACE\n"
    if fmt == "str_replace":
        return json.dumps({"old_str": before, "new_str": after})
    body = "".join(f"-{x}\n" for x in old) + "".join(f"+{x}\n" for x in new)
    return f"*** Begin Patch\n*** Update File: f\n@@\n{body}*** End Patch\n"


@law(3000)
@given(
    BODIES, BODIES, BODIES, st.lists(BODY, max_size=4), st.lists(st.sampled_from(["\n", "\r\n"]))
)
def test_bytes_outside_the_edit_are_identical(head, old, tail, new, ends):
    """Whatever stands before and behind the replaced text keeps its bytes, mixed line ends too."""
    ends = ends or ["\n"]
    lines = [line + ends[i % len(ends)] for i, line in enumerate([*head, "«", *old, "»", *tail])]
    original = "".join(lines)
    edit = json.dumps({"old_str": text_of(["«", *old, "»"]), "new_str": text_of(["«", *new, "»"])})
    try:
        result = applied(original, edit, EditFormat.STR_REPLACE)
    except ApplyError:
        assume(False)
    assert result.startswith("".join(lines[: len(head) + 1]))
    assert result.endswith("".join(lines[len(head) + len(old) + 1 :]))


PIECES = st.sampled_from(
    [
        "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", "------- SEARCH\n",
        "+++++++ REPLACE\n", ":start_line:2\n", "-------\n", "*** Begin Patch\n",
        "*** Update File: f\n", "*** Add File: g\n", "*** Delete File: f\n", "*** Move to: h\n",
        "*** End of File\n", "*** End Patch\n", "@@\n", "@@ a\n", "@@ -1,2 +1,2 @@\n", "--- a/f\n",
        "+++ b/f\n", "+++ /dev/null\n", "diff --git a/f b/f\n", "\\ No newline at end of file\n",
        "```\n", "```diff\n", "---FIND\n", "---REPLACE\n", "-a\n", "+b\n", " a\n", "a\n", "\n",
        "...\n", "# ... existing code ...\n", '{"old_str": "a", "new_str": "b"}', "[", "{", "\r",
        '{"command": "insert", "insert_line": 1, "new_str": "x"}', "rename to x\n", "\x00", "-- \n",
    ]
)  # fmt: skip
NOISE = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=14).map("".join))


@law(6000)
@given(NOISE, st.one_of(st.none(), st.text(max_size=60), BODIES.map(text_of)))
def test_any_text_as_edit_gives_a_text_or_a_typed_error(edit, original):
    """No text, in whatever format it is read, raises anything but an ApplyEditError."""
    detect(edit, original=original, path="f")
    for fmt in (None, *EditFormat):
        try:
            parsed = parse(edit, fmt, original=original, path="f")
            if parsed.files:
                apply_file_edit(original, select_file(parsed, "f"))
        except ApplyEditError as error:
            json.dumps(error.to_dict())


@law(2000)
@given(changes_of_files())
def test_a_diff_applied_twice_is_refused_or_changes_nothing_more(pair):
    """A second application of a diff with context is recognised or refused, or it is the same."""
    old, new = pair
    assume(old != new)
    once = applied(text_of(old), unified(old, new), EditFormat.UDIFF)
    again = unified(old, new)
    if not all(_has_context(hunk) for hunk in again.split("@@ -")[1:]):
        return
    # A short line that stands there already may be wanted twice, so it is not recognised.
    runs = [new[op.new_start : op.new_end] for op in line_ops(old, new) if op.kind != "equal"]
    if any(len("".join(run).strip()) < 10 for run in runs):
        return
    try:
        twice = applied(once, again, EditFormat.UDIFF)
    except ApplyError:
        return
    assert twice == once or _fits_again(old, new)


def _has_context(hunk):
    lines = split_lines(hunk)[1:]
    return lines[0][0] == " " and lines[-1][0] == " " and sum(len(x.strip()) > 1 for x in lines) > 3


def _fits_again(old, new):
    """Say whether the old lines of the change stand in the new text: the diff truly fits again."""
    lines = [op for op in line_ops(old, new) if op.kind != "equal"]
    lo = max(0, lines[0].old_start - 3)
    core = old[lo : lines[0].old_end + 3]
    return any(new[i : i + len(core)] == core for i in range(len(new)))


@pytest.mark.parametrize("fmt", list(EditFormat))
def test_an_empty_edit_is_an_error_or_an_empty_file(fmt):
    """Only a whole file can be empty."""
    if fmt is EditFormat.WHOLE:
        assert parse("", fmt).snippet == ""
    else:
        with pytest.raises(ApplyEditError):
            parse("", fmt)
