r"""Replace a piece of text that need not be whole lines, as ``str_replace`` edits name it.

Does not know: lines, similarity; what is not found here is looked for by lines.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import NoReturn

from apply_edit.direct.spelling import Spelling, respelled
from apply_edit.direct.there import text_there
from apply_edit.errors import AnchorNotFound
from apply_edit.match.assign import ambiguous
from apply_edit.match.ladder import PUNCTUATION, changes
from apply_edit.match.locate import ALREADY
from apply_edit.text import dominant_newline, line_end, split_lines, strip_end
from apply_edit.types import Hunk

_MAX_HITS = 10_000


@dataclass(frozen=True, slots=True)
class Replaced:
    """A text hunk that was found.

    Args:
        text: The new text of the file.
        step: The search step that found it.
        line: 1-based line of the first place.
        status: ``applied``, ``no_op`` or ``already_applied``.
    """

    text: str
    step: str
    line: int
    status: str = "applied"


def replace_text(text: str, hunk: Hunk, index: int, total: int, newline: str) -> Replaced | None:
    """Replace the old text by the new one where it stands character by character.

    Args:
        text: The file.
        hunk: The hunk; its old text is not empty.
        index: Its index, for messages.
        total: How many hunks there are.
        newline: Line end for new lines where the file has none.

    Returns:
        The result; None where the text is not found exactly, nor in another newline style, nor
        with other punctuation.

    Raises:
        AmbiguousAnchor: It is there more than once and ``replace_all`` is not set.
        AnchorNotFound: It is there with other punctuation, and that of the new text cannot be told.
    """
    if hunk.old.endswith("\r") and hunk.new.endswith("\r") and hunk.old + "\n" in text:
        # The edit was cut between the two characters of a line end; halves must not be mixed.
        hunk = replace(hunk, old=hunk.old + "\n", new=hunk.new + "\n")
    for step, search in (("exact", _exact), ("newline", _any_newline), ("unicode", _folded)):
        spans = search(text, hunk.old)
        if not spans:
            continue
        if _unexpected(spans, hunk):
            statuses = ["applied"] * index + ["ambiguous"] + ["not_tried"] * (total - index - 1)
            raise ambiguous(index, statuses, [_line_of(text, start) for start, _ in spans])
        return _replaced(text, hunk, step, spans, newline)
    return None


def _unexpected(spans: list[tuple[int, int]], hunk: Hunk) -> bool:
    """Say whether there are more (or other than the expected number of) places."""
    if not hunk.replace_all:
        return len(spans) > 1
    if hunk.occurrences is None:
        return False
    count, at = 0, 0
    for start, end in spans:
        if start >= at:
            count, at = count + 1, end
    return count != hunk.occurrences


def _replaced(
    text: str, hunk: Hunk, step: str, spans: list[tuple[int, int]], newline: str
) -> Replaced:
    line = _line_of(text, spans[0][0])
    if hunk.old == hunk.new:
        return Replaced(text, step, line, "no_op")
    if all(text_there(text, hunk.old, hunk.new, s, folded=step == "unicode") for s in spans):
        return Replaced(text, step, line, ALREADY)
    out, at = [], 0
    for start, end in spans:
        if start < at:
            continue
        new = _rewritten(text, (start, end), hunk, newline)
        if new is None:
            _refuse_spelling(_line_of(text, start))
        out += [text[at:start], new]
        at = end
    return Replaced("".join(out) + text[at:], step, line)


def _refuse_spelling(line: int) -> NoReturn:
    message = (
        f"the old text fits line {line} only with other quotes, dashes or spaces, and those of the "
        "new text cannot be told; repeat the file's own characters"
    )
    nearest = {"start_line": line, "end_line": line, "score": 1.0}
    raise AnchorNotFound(message, hunk=0, nearest=nearest, already_applied=False, doubt="spelling")


def _exact(text: str, old: str) -> list[tuple[int, int]]:
    """Return all occurrences, overlapping ones too."""
    spans: list[tuple[int, int]] = []
    at = text.find(old)
    while at >= 0 and len(spans) < _MAX_HITS:
        # A text that begins with a line feed must take the whole pair, not leave half of it.
        half = old[0] == "\n" and text[at - 1 : at] == "\r"
        spans.append((at - half, at + len(old)))
        at = text.find(old, at + 1)
    return spans


def _any_newline(text: str, old: str) -> list[tuple[int, int]]:
    r"""Search with every ``\r\n`` taken for ``\n`` on both sides."""
    if "\r\n" not in text and "\r\n" not in old:
        return []
    parts = text.split("\r\n")
    plain = "\n".join(parts)
    # Position in ``plain`` of every line feed that was a pair; each adds one to later offsets.
    pairs: list[int] = []
    at = -1
    for part in parts[:-1]:
        at += len(part) + 1
        pairs.append(at)
    spans = _exact(plain, old.replace("\r\n", "\n"))
    return [(_original(pairs, start), _original(pairs, end)) for start, end in spans]


def _original(pairs: list[int], offset: int) -> int:
    """Translate an offset: every pair that ends at or before it counts one more character."""
    return offset + bisect_right(pairs, offset - 1)


def _folded(text: str, old: str) -> list[tuple[int, int]]:
    if text.isascii() and old.isascii():
        return []
    return _exact(text.translate(PUNCTUATION), old.translate(PUNCTUATION))


def _rewritten(text: str, span: tuple[int, int], hunk: Hunk, newline: str) -> str | None:
    """Return the new text with the file's line ends, and its spelling where nothing changes.

    Returns:
        The text; None where its quotes, dashes or spaces cannot be told.
    """
    region = text[span[0] : span[1]]
    default = _near_newline(text, span, hunk.new, newline)
    pairs, feeds = region.count("\r\n"), region.count("\n")
    if region == hunk.old and pairs in (0, feeds):
        return _with_newline(hunk.new, ("\r\n" if pairs else "\n") if feeds else default)
    have, old, new = (split_lines(part) for part in (region, hunk.old, hunk.new))
    if len(have) != len(old):
        return _with_newline(hunk.new, default)
    bare = [[strip_end(line) for line in lines] for lines in (have, old, new)]
    written = _respelled_lines(*bare)
    if written is None:
        return None
    out = []
    for body, row, j in written:
        if j is None:
            out.append(have[row])
            continue
        own = line_end(have[row]) if row >= 0 else ""
        out.append(body + ((own or default) if line_end(new[j]) else ""))
    # A line that was the last one of the region has no end of its own and may be followed now.
    ended = [line if line_end(line) else line + default for line in out]
    if ended and not line_end(new[-1]):
        ended[-1] = strip_end(ended[-1])
    return "".join(ended)


def _respelled_lines(
    have: list[str], old: list[str], new: list[str]
) -> list[tuple[str, int, int | None]] | None:
    """Write new lines in the place of old ones; None where their characters cannot be told.

    Returns:
        For each line its text, the row of ``have`` that it stands for (-1: none) and its index in
        ``new`` (None: the line stays as it is).
    """
    spelling = Spelling(zip(old, have, strict=True))
    out: list[tuple[str, int, int | None]] = []
    at = 0
    for i1, i2, j1, j2 in [*changes(old, new), (len(old), len(old), len(new), len(new))]:
        out += [(have[row], row, None) for row in range(at, i1)]
        for j in range(j1, j2):
            row = i1 + j - j1
            if row < i2:
                line = respelled(have[row], old[row], new[j], spelling)
            else:
                line, row = spelling.translate(new[j]), -1
            if line is None:
                return None
            out.append((line, row, j))
        at = i2
    return out


def _with_newline(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)


def _near_newline(text: str, span: tuple[int, int], new: str, newline: str) -> str:
    """Return the end of the line the span ends in, else the commonest one of file or edit."""
    after = text.find("\n", span[1])
    if after < 0:
        return dominant_newline(text, dominant_newline(new, newline))
    return "\r\n" if text[after - 1 : after] == "\r" else "\n"


def _line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
