"""Checks that need no reading of the edit: loops, nothing, everything, junk."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from apply_edit.guard.base import Check
from apply_edit.guard.context import Context
from apply_edit.guard.keys import loose
from apply_edit.guard.reach import reach_of
from apply_edit.text import split_lines
from apply_edit.types import EditFormat, FileOp, Finding, Severity

# Longest block (in lines) whose repetition is looked for, and how often is too often.
_LONGEST_BLOCK = 80
_REPEATS = 4
_MIN_LOOP_LINES = 8
# A last line of this many characters that is one short piece over and over.
_LOOP_TAIL = 300
_LONGEST_PIECE = 60
_JUNK = {"\ufffd": "U+FFFD (a character that was lost)", "\0": "NUL"}
_ASKS_SPACE = re.compile(
    r"indent|space|tab\b|tabs\b|newline|line end|blank|format|crlf|\blf\b", re.I
)
_ASKS_EMPTY = re.compile(
    r"\b(?:empty|clear|truncate|delete (?:all|everything)|remove (?:all|every))", re.I
)


class RepetitionLoop(Check):
    """A block of lines that repeats far oftener than in file and edit: the model ran in circles."""

    name = "repetition_loop"
    severity = Severity.REFUSE
    description = "the same block of lines repeats many times, as in a looping model"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield the longest loop of the lines that the merge brought in."""
        for op in merge.changes:
            if op.new_end - op.new_start < _MIN_LOOP_LINES // 2:
                continue
            start = max(0, op.new_start - _LONGEST_BLOCK)
            found = _loop(merge.new_keys[start : op.new_end + _LONGEST_BLOCK])
            if found is None:
                continue
            first, period, repeats = found
            block = merge.new_keys[start + first : start + first + period]
            if repeats > 2 * max(_times(block, merge.old_keys), self._in_edit(block, merge)):
                end = start + first + period * repeats
                message = (
                    f"lines {start + first + 1} to {end} of the result are the same {period} "
                    f"line(s) {repeats} times over; file and edit have nothing like it"
                )
                yield self.finding(message, range(start + first, end), repeats=repeats)
                return
        yield from self._endless_line(merge)

    def _in_edit(self, block: list[str], merge: Context) -> int:
        return _times(block, [loose(line) for line in split_lines(merge.edit_text)])

    def _endless_line(self, merge: Context) -> Iterator[Finding]:
        """A loop inside one line ends only with the limit, so it is at the end of the text."""
        if not merge.inserted or merge.inserted[-1] != len(merge.new) - 1:
            return
        tail = merge.new[-1][-_LOOP_TAIL:]
        period = (tail + tail).find(tail, 1)
        piece = tail[:_LONGEST_PIECE]
        if len(tail) == _LOOP_TAIL and piece not in merge.original + merge.edit_text:
            shifted = next((p for p in range(1, _LONGEST_PIECE) if tail[p:] == tail[:-p]), period)
            if shifted < _LONGEST_PIECE:
                message = "the last line of the result repeats one short piece over and over"
                yield self.finding(message, [len(merge.new) - 1])


class NoOp(Check):
    """An edit that wants a change, and a text without one.

    Of a snippet or a hunk one can see that the file has it already. What a sentence asks for cannot
    be seen in the file, and a model that copies the file has done nothing: that is no result.
    """

    name = "no_op"
    severity = Severity.REFUSE
    description = "the edit asks for a change and the text is identical"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield once when nothing changed although the edit says otherwise."""
        if merge.text != merge.original or not self._wants_change(merge):
            return
        if merge.by_instruction:
            yield self.finding(
                "the file came back as it was; if it does not have what was asked for already, say "
                "more precisely what to change, or send a snippet or a diff instead"
            )
        else:
            message = "the edit asks for a change, and the result is the file as it was"
            yield self.finding(message, severity=Severity.WARN)

    def _wants_change(self, merge: Context) -> bool:
        if merge.structured:
            moved = any(file.op is not FileOp.UPDATE or file.move_to for file in merge.edit.files)
            return not moved and any(hunk.old != hunk.new for hunk in merge.hunks)
        if merge.by_instruction or merge.edit.snippet is None:
            return True
        if merge.edit.format is EditFormat.WHOLE:
            return [loose(line) for line in split_lines(merge.edit.snippet)] != merge.old_keys
        same = reach_of(merge.edit.snippet, merge.old_keys, merge.old_keys)
        return bool(same.removals) or not all(same.whole)


class FileEmptied(Check):
    """A file that had text and has none."""

    name = "file_emptied"
    severity = Severity.REFUSE
    description = "nothing is left of the file"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield once, unless a structured edit or a sentence says so."""
        if merge.text.strip() or not merge.original.strip():
            return
        asked = merge.structured or (merge.by_instruction and _ASKS_EMPTY.search(merge.edit_text))
        if not asked:
            message = "the result is empty; delete the file by a patch if that is what you want"
            yield self.finding(message)


class WhitespaceOnly(Check):
    """A change of nothing but white space."""

    name = "whitespace_only"
    severity = Severity.WARN
    description = "only white space changed, and the edit asks for more"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield the lines whose white space changed when nothing else did."""
        if merge.text == merge.original or self._asked(merge):
            return
        removed = [k for op in merge.changes for k in merge.old_keys[op.old_start : op.old_end]]
        added = [merge.new_keys[j] for j in merge.inserted]
        if [key for key in removed if key] == [key for key in added if key]:
            lines = merge.inserted or [max(len(merge.new) - 1, 0)]
            yield self.finding("the result differs from the file in white space only", lines)

    def _asked(self, merge: Context) -> bool:
        if merge.by_instruction:
            return _ASKS_SPACE.search(merge.edit_text) is not None
        if merge.wanted is not None:
            before = Counter(merge.old_keys)
            return all(before[key] == merge.wanted[key] for key in {*before, *merge.wanted} if key)
        if merge.structured:
            return all(loose(hunk.old) == loose(hunk.new) for hunk in merge.hunks)
        wanted = {key for segment in merge.reach.segments for key in segment.keys}
        return not wanted - set(merge.old_keys)


class EncodingJunk(Check):
    """Characters that stand for lost characters, or that no text has."""

    name = "encoding_junk"
    severity = Severity.REFUSE
    description = "the text has new U+FFFD, NUL or half surrogates"

    def find(self, merge: Context) -> Iterator[Finding]:
        """Yield lines with junk that is oftener in the result than in file and edit."""
        for char, what in _JUNK.items():
            had = max(merge.original.count(char), 0) + merge.edit_text.count(char)
            if merge.text.count(char) > had:
                lines = [j for j in merge.inserted if char in merge.new[j]]
                yield self.finding(f"the result has new {what}", lines)
        lines = [j for j in merge.inserted if re.search("[\ud800-\udfff]", merge.new[j])]
        if lines:
            message = "the result has half a surrogate pair, which no encoding can hold"
            yield self.finding(message, lines)


def _loop(keys: list[str]) -> tuple[int, int, int] | None:
    """Return (start, period, repeats) of the longest loop of consecutive equal blocks."""
    ids: dict[str, int] = {}
    row = np.array([ids.setdefault(key, len(ids)) for key in keys], dtype=np.int64)
    best: tuple[int, int, int] | None = None
    for period in range(1, min(_LONGEST_BLOCK, len(keys) // _REPEATS) + 1):
        same = np.concatenate(([0], (row[period:] == row[:-period]).astype(np.int8), [0]))
        edges = np.flatnonzero(np.diff(same))
        runs = edges[1::2] - edges[::2]
        if not len(runs):
            continue
        longest = int(runs.argmax())
        start, repeats = int(edges[::2][longest]), int(runs[longest]) // period + 1
        block = keys[start : start + period]
        enough = repeats >= _REPEATS and repeats * period >= _MIN_LOOP_LINES and any(block)
        if enough and (best is None or repeats * period > best[1] * best[2]):
            best = (start, period, repeats)
    return best


def _times(block: list[str], keys: list[str]) -> int:
    """Return how many times in a row a block occurs at most."""
    best = run = 0
    place = 0
    while place + len(block) <= len(keys):
        if keys[place : place + len(block)] == block:
            run += 1
            place += len(block)
            best = max(best, run)
        else:
            run = 0
            place += 1
    return best
