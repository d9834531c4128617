r"""Align two texts line by line, and give lines that were not edited the original's bytes.

A model is shown a file with ``\n`` line ends and writes a file with ``\n`` line ends; on the way it
may drop trailing spaces, compose Unicode, or type a plain space where the file has a no-break one.
:func:`keep_original_bytes` undoes all of that line by line. :func:`line_ops` is the alignment on
its own.

Does not know: edits, models, syntax.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator

from apply_edit.line_ops import Op, common_prefix, fill, line_ops
from apply_edit.text import dominant_newline, line_end, split_lines, strip_end

__all__ = ["Op", "keep_original_bytes", "line_ops", "plain_line", "unified_diff"]

# Spaces that look like one, and characters that look like nothing at all.
_PLAIN = {ord(c): " " for c in "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"}
_PLAIN |= {ord(c): " " for c in "\u2008\u2009\u200a\u202f\u205f\u3000"}
_PLAIN |= {ord(c): "" for c in "\u00ad\u200b\u2060\ufeff"}
_UNSAFE_IN_PATH = re.compile(r'[\x00-\x1f\x7f"\\]')
_GIT_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")


def plain_line(line: str) -> str:
    r"""Return a line in the spelling that says nothing about bytes: what alignment compares.

    No line end, no trailing space, composed Unicode, ordinary spaces, no invisible characters.

    >>> plain_line("e\u0301\u00a0= 1  \r\n") == "\u00e9 = 1"
    True
    """
    body = line
    if not body.isascii():
        body = unicodedata.normalize("NFC", body.translate(_PLAIN))
    return body.rstrip(" \t\x0c\r\n")


def keep_original_bytes(
    original: str,
    text: str,
    *,
    allowed: Collection[str] = (),
    final_newline: bool | None = None,
) -> str:
    r"""Return ``text`` with the original's bytes in every line that is the original's line.

    Two lines are the same line when :func:`plain_line` makes them equal. A changed or new line
    takes the line end of the line whose place it takes, or of the line before it, or of the line
    after it; the commonest line end of the original where it has no neighbour.

    The final newline follows the original: a result ends in one exactly when the original does. An
    empty original has no say, so the text's own is kept. ``final_newline`` overrules both.

    Args:
        original: Text of the file.
        text: What was made of it, with any line ends.
        allowed: Lines whose spelling the edit asked for (line ends do not matter). Such a line
            keeps its own trailing spaces and characters, and only its line end is the original's.
        final_newline: True to end in a newline, False not to; None follows the original.

    >>> keep_original_bytes("a \r\nb\r\nc", "a\nB\nc\n")
    'a \r\nB\r\nc'
    >>> keep_original_bytes("a\n", "a  \n", allowed=["a  "])
    'a  \n'
    """
    old, new = split_lines(original), split_lines(text)
    ops = _plain_ops(old, new)
    wanted = {strip_end(line) for line in allowed}
    newline = dominant_newline(original, dominant_newline(text))
    result: list[str] = []
    for op in ops:
        if op.kind == "equal":
            same = old[op.old_start : op.old_end]
            if wanted:
                pairs = zip(same, new[op.new_start : op.new_end], strict=True)
                same = [_same_line(before, after, wanted) for before, after in pairs]
            result += same
            continue
        for offset, line in enumerate(new[op.new_start : op.new_end]):
            result.append(strip_end(line) + _neighbour_end(old, op, offset, newline))
    if final_newline is None:
        final_newline = bool(line_end(old[-1])) if old else bool(new and line_end(new[-1]))
    return _join(result, newline, final_newline)


def unified_diff(original: str, text: str, path: str, context: int = 3) -> str:
    r"""Return the difference as a unified diff that ``git apply`` and ``patch`` accept.

    Lines end at ``\n`` only, as these tools have it, so ``\r`` stays visible as part of a line and
    a changed line end is a changed line.

    Args:
        original: The old text.
        text: The new text.
        path: Path of the file, relative to the folder where the diff will be applied.
        context: Unchanged lines around a change.

    Returns:
        The diff, or ``""`` where the texts are equal.
    """
    old, new = _GIT_LINE.findall(original), _GIT_LINE.findall(text)
    ops = line_ops(old, new)
    out: list[str] = []
    for group in _groups(ops, context):
        first, last = group[0], group[-1]
        spans = (
            _span(first.old_start, last.old_end),
            _span(first.new_start, last.new_end),
        )
        out.append(f"@@ -{spans[0]} +{spans[1]} @@\n")
        for op in group:
            if op.kind == "equal":
                out += [_diff_line(" ", line) for line in old[op.old_start : op.old_end]]
                continue
            out += [_diff_line("-", line) for line in old[op.old_start : op.old_end]]
            out += [_diff_line("+", line) for line in new[op.new_start : op.new_end]]
    if not out:
        return ""
    return f"--- {_diff_path('a', path)}\n+++ {_diff_path('b', path)}\n" + "".join(out)


def _plain_ops(old: list[str], new: list[str]) -> list[Op]:
    """Align by :func:`plain_line`, which is only worked out where the lines begin to differ."""
    bodies = [line.rstrip("\r\n") for line in old], [line.rstrip("\r\n") for line in new]
    prefix = common_prefix(bodies[0], bodies[1])
    suffix = common_prefix(bodies[0][prefix:][::-1], bodies[1][prefix:][::-1])
    end_old, end_new = len(old) - suffix, len(new) - suffix
    middle = line_ops(
        [plain_line(line) for line in bodies[0][prefix:end_old]],
        [plain_line(line) for line in bodies[1][prefix:end_new]],
    )
    blocks = [(0, 0, prefix)]
    blocks += [
        (op.old_start + prefix, op.new_start + prefix, op.old_end - op.old_start)
        for op in middle
        if op.kind == "equal"
    ]
    return fill([*blocks, (end_old, end_new, suffix)], len(old), len(new))


def _same_line(before: str, after: str, wanted: Collection[str]) -> str:
    body = strip_end(after)
    if body in wanted and body != strip_end(before):
        return body + line_end(before)
    return before


def _neighbour_end(old: list[str], op: Op, offset: int, newline: str) -> str:
    r"""Return the line end for the new line ``offset`` of a changed stretch.

    >>> _neighbour_end(["a\r\n", "b\n"], Op("insert", 1, 1, 1, 2), 0, "\n")
    '\r\n'
    """
    replaced = min(op.old_start + offset, op.old_end - 1)
    for index in (replaced, op.old_start - 1, op.old_end):
        if 0 <= index < len(old) and line_end(old[index]):
            return line_end(old[index])
    return newline


def _join(lines: list[str], newline: str, final_newline: bool) -> str:
    r"""Join, mending line ends where lines came to stand beside new neighbours.

    A line without an end gets one unless it is last, and the last has one as ``final_newline``
    says. A blank ``\n`` after a line that ends in ``\r`` would melt with it into one ``\r\n``, so
    it becomes ``\r``.
    """
    if not lines:
        return ""
    body = [line if line_end(line) else line + newline for line in lines]
    if not final_newline:
        body[-1] = strip_end(body[-1])
    if "\r" in newline or any(line.endswith("\r") for line in body):
        for index in range(1, len(body)):
            if body[index] == "\n" and body[index - 1].endswith("\r"):
                body[index] = "\r"
    return "".join(body)


def _groups(ops: list[Op], context: int) -> Iterator[list[Op]]:
    """Cut ops into hunks: changes with at most ``context`` equal lines around them."""
    group: list[Op] = []
    for op in ops:
        if op.kind != "equal":
            group.append(op)
            continue
        size = op.old_end - op.old_start
        if group and size > 2 * context:
            yield [*group, _cut(op, 0, context)] if context else group
            group = []
        if not group:
            group = [_cut(op, max(0, size - context), size)] if min(size, context) else []
        else:
            group.append(op)
    if any(op.kind != "equal" for op in group):
        last = group[-1]
        if last.kind == "equal":
            group[-1] = _cut(last, 0, min(context, last.old_end - last.old_start))
        yield group


def _cut(op: Op, start: int, end: int) -> Op:
    return Op(
        "equal", op.old_start + start, op.old_start + end, op.new_start + start, op.new_start + end
    )


def _span(start: int, end: int) -> str:
    """Return ``start,count`` as a hunk header has it: an empty span names the line before it."""
    count = end - start
    first = start + 1 if count else start
    return f"{first}" if count == 1 else f"{first},{count}"


def _diff_line(sign: str, line: str) -> str:
    return (
        f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
    )


def _diff_path(side: str, path: str) -> str:
    """Spell a path so that spaces, quotes and control characters survive."""
    name = f"{side}/{path.lstrip('/')}"
    if _UNSAFE_IN_PATH.search(name):
        return '"' + _UNSAFE_IN_PATH.sub(_escaped, name) + '"'
    return name + "\t" if " " in name else name


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    return "\\" + char if char in '"\\' else f"\\{ord(char):03o}"
