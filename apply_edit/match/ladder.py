r"""Find the place in a file that the old text of a hunk names.

The search is a ladder of named steps. Each step is a search of its own over the whole file and is
tried only when all stricter ones found nothing, so an exact place is never weighed against a loose
one. A step returns *every* place that it finds; choosing among several is not done here.

Does not know: how the difference is written into the file.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz import fuzz

from apply_edit import markers
from apply_edit.line_ops import line_ops
from apply_edit.text import split_lines, strip_end

# Characters that models write in place of one another; the map is one to one, so offsets hold.
PUNCTUATION = str.maketrans(
    "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
    "\u2018\u2019\u201a\u201b\u2032\u201c\u201d\u201e\u201f\u2033"
    "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
    "-" * 10 + "'" * 5 + '"' * 5 + " " * 13,
)
SIMILARITY_FLOOR = 0.9
SIMILARITY_MARGIN = 0.1
_LINE_FLOOR = 0.8
_LEAST_COMPARED = 10
_NUMBER = re.compile(r"\d+")
_MAX_VOTES = 100
_MAX_STARTS = 40
# Comparing is quadratic in the length of lines; minified files have lines of megabytes.
MAX_COMPARED = 1000
_NUMBERED = re.compile(r"^\s*(\d+)\s+\| ?")
_RUN_OF_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a hunk's old text stands.

    Args:
        start: First line, 0-based. end: index behind the last line.
        rows: For each old line the file line that is its counterpart; None for a line that has
            none (a blank line the file lacks, an elision marker).
        score: Similarity in 0..1.
    """

    start: int
    end: int
    rows: tuple[int | None, ...]
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Found:
    """What one step of the ladder found, and the reading of the hunk that it found it with.

    Args:
        step: Name of the step.
        old: Lines to be found, without ends. new: lines that take their place.
        places: Where they stand.
        kinds: The signs of a diff's lines, where they belong to this very reading.
    """

    step: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    places: tuple[Place, ...]
    kinds: str = ""


class FileLines:
    """The lines of a file with indexes that are built when a step needs them."""

    def __init__(self, text: str) -> None:
        self.lines = split_lines(text)
        self.bodies = [strip_end(line) for line in self.lines]
        self._keys: dict[str, list[str]] = {"exact": self.bodies}
        self._index: dict[str, dict[str, list[int]]] = {}

    def keys(self, norm: str) -> list[str]:
        """Return every line as the normaliser ``norm`` sees it."""
        if norm not in self._keys:
            function = NORMS[norm]
            self._keys[norm] = [function(body) for body in self.bodies]
        return self._keys[norm]

    def index(self, norm: str) -> dict[str, list[int]]:
        """Return the line numbers (0-based) of every normalised line."""
        if norm not in self._index:
            index: dict[str, list[int]] = defaultdict(list)
            for i, key in enumerate(self.keys(norm)):
                index[key].append(i)
            self._index[norm] = dict(index)
        return self._index[norm]


def fold(text: str) -> str:
    """Write punctuation and spaces in ASCII and compose accents."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.translate(PUNCTUATION))


NORMS: dict[str, Callable[[str], str]] = {
    "exact": lambda s: s,
    "trailing_space": str.rstrip,
    "unicode": lambda s: fold(s).rstrip(),
    "indentation": lambda s: fold(s).strip(),
    "inner_space": lambda s: _RUN_OF_SPACE.sub(" ", fold(s).strip()),
}

Lines = tuple[str, ...]
Change = tuple[int, int, int, int]
Search = Callable[[FileLines, Lines, Lines], Iterator[tuple[Lines, Lines, list[Place]]]]


def changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Return ``(i1, i2, j1, j2)`` for every region where ``old[i1:i2]`` became ``new[j1:j2]``.

    >>> changes(["a", "b", "c"], ["a", "x", "c", "d"])
    [(1, 2, 1, 2), (3, 3, 3, 4)]
    """
    return [
        (op.old_start, op.old_end, op.new_start, op.new_end)
        for op in line_ops(old, new)
        if op.kind != "equal"
    ]


def ladder() -> tuple[tuple[str, Search], ...]:
    """Return the named steps from the strictest to the loosest."""
    return (
        ("exact", _aligned("exact")),
        ("trailing_space", _aligned("trailing_space")),
        ("line_numbers", _without_line_numbers),
        ("outer_blank_lines", _without_outer_blanks),
        ("unicode", _aligned("unicode")),
        ("indentation", _aligned("indentation")),
        ("inner_space", _aligned("inner_space")),
        ("blank_lines", _across_blank_lines),
        ("escapes", _unescaped),
        ("elided_lines", _elided),
        ("similarity", _similar),
    )


STRICT_STEPS = frozenset({"exact", "trailing_space", "line_numbers", "outer_blank_lines"})


def run_places(file: FileLines, lines: Lines, norm: str) -> list[Place]:
    """Return all places where ``lines`` stand one below the other, as ``norm`` sees them."""
    if not lines:
        return []
    wanted = [NORMS[norm](line) for line in lines]
    index = file.index(norm)
    counts = [len(index.get(key, ())) for key in wanted]
    if 0 in counts:
        return []
    rarest = min(range(len(wanted)), key=counts.__getitem__)
    keys, size = file.keys(norm), len(wanted)
    return [
        Place(start, start + size, tuple(range(start, start + size)))
        for start in (i - rarest for i in index[wanted[rarest]])
        if start >= 0 and keys[start : start + size] == wanted
    ]


def _aligned(norm: str) -> Search:
    """Make the step that compares line by line under one normaliser."""

    def search(
        file: FileLines, old: Lines, new: Lines
    ) -> Iterator[tuple[Lines, Lines, list[Place]]]:
        yield old, new, run_places(file, old, norm)

    return search


def _without_line_numbers(
    file: FileLines, old: Lines, new: Lines
) -> Iterator[tuple[Lines, Lines, list[Place]]]:
    """Take ``12 | `` prefixes off that a tool's listing has put before the lines."""
    bare = _unnumbered(old)
    if bare is None:
        return
    fresh = _unnumbered(new) or tuple(_NUMBERED.sub("", line) for line in new)
    for norm in ("exact", "trailing_space", "unicode", "indentation"):
        yield bare, fresh, run_places(file, bare, norm)


def _unnumbered(lines: Lines) -> Lines | None:
    matches = [_NUMBERED.match(line) for line in lines]
    numbers = [int(m[1]) for m in matches if m is not None]
    if (
        not numbers
        or len(numbers) < len(lines)
        or numbers != list(range(numbers[0], numbers[0] + len(numbers)))
    ):
        return None
    return tuple(line[m.end() :] for line, m in zip(lines, matches, strict=True) if m is not None)


def _without_outer_blanks(
    file: FileLines, old: Lines, new: Lines
) -> Iterator[tuple[Lines, Lines, list[Place]]]:
    """Drop blank lines that old and new have in common at their ends."""
    head = min(_leading_blanks(old), _leading_blanks(new))
    tail = min(_leading_blanks(old[::-1]), _leading_blanks(new[::-1]))
    core = old[head : len(old) - tail]
    if (head or tail) and any(line.strip() for line in core):
        yield core, new[head : len(new) - tail], run_places(file, core, "trailing_space")


def trimmed(lines: Lines) -> Lines:
    """Return the lines without blank ones at both ends."""
    head, tail = _leading_blanks(lines), _leading_blanks(lines[::-1])
    return lines[head : len(lines) - tail]


def _leading_blanks(lines: Lines) -> int:
    return next((i for i, line in enumerate(lines) if line.strip()), len(lines))


def _across_blank_lines(
    file: FileLines, old: Lines, new: Lines
) -> Iterator[tuple[Lines, Lines, list[Place]]]:
    """Compare only the lines that are not blank; a single one is too little to go by."""
    solid = [i for i, line in enumerate(old) if line.strip()]
    if len(solid) < 2:
        return
    for norm in ("trailing_space", "indentation"):
        keys = file.keys(norm)
        wanted = [NORMS[norm](old[i]) for i in solid]
        places = []
        for start in file.index(norm).get(wanted[0], ()):
            rows = _walk(keys, wanted, start)
            if rows is not None:
                mapped = dict(zip(solid, rows, strict=True))
                blanks = _blank_rows(keys, mapped, len(old))
                places.append(Place(start, rows[-1] + 1, blanks))
        yield old, new, places


def _walk(keys: list[str], wanted: list[str], start: int) -> list[int] | None:
    """Follow ``wanted`` through the file from ``start``, passing over blank lines only."""
    rows, at = [start], start
    for key in wanted[1:]:
        at += 1
        while at < len(keys) and not keys[at].strip():
            at += 1
        if at >= len(keys) or keys[at] != key:
            return None
        rows.append(at)
    return rows


def _blank_rows(keys: list[str], mapped: dict[int, int], size: int) -> tuple[int | None, ...]:
    """Give blank old lines the blank file lines that stand at the same place, where there are."""
    rows: list[int | None] = [mapped.get(i) for i in range(size)]
    for i in range(1, size):
        before = rows[i - 1]
        if rows[i] is None and before is not None:
            follows = before + 1
            if follows < len(keys) and not keys[follows].strip():
                rows[i] = follows
    return tuple(rows)


def _unescaped(
    file: FileLines, old: Lines, new: Lines
) -> Iterator[tuple[Lines, Lines, list[Place]]]:
    """Read text that was escaped once too often: quotes first, then line breaks and tabs."""
    if not any("\\" in line for line in old):
        return
    for unescape in (_plain_quotes, _plain_all):
        bare, fresh = unescape(old), unescape(new)
        if bare != old:
            for norm in ("exact", "trailing_space", "indentation"):
                yield bare, fresh, run_places(file, bare, norm)


def _plain_quotes(lines: Lines) -> Lines:
    return tuple(re.sub(r"\\([\"'`])", r"\1", line) for line in lines)


def _plain_all(lines: Lines) -> Lines:
    known = {"n": "\n", "t": "\t", "r": ""}
    text = "\n".join(
        re.sub(r"\\([ntr\"'`\\])", lambda m: known.get(m[1], m[1]), line) for line in lines
    )
    return tuple(text.split("\n"))


def _elided(file: FileLines, old: Lines, new: Lines) -> Iterator[tuple[Lines, Lines, list[Place]]]:
    """Let a marker that old and new have in common stand for any lines of the file."""
    marks = [i for i, line in enumerate(old) if _elides(line)]
    if not marks or [old[i].strip() for i in marks] != [x.strip() for x in new if _elides(x)]:
        return
    bounds = [-1, *marks, len(old)]
    spans = [(a + 1, b) for a, b in pairwise(bounds) if b > a + 1]
    for norm in ("trailing_space", "indentation"):
        places = [run_places(file, old[a:b], norm) for a, b in spans]
        if places and all(len(found) == 1 for found in places):
            rows: list[int | None] = [None] * len(old)
            for (a, b), (place,) in zip(spans, places, strict=True):
                rows[a:b] = range(place.start, place.end)
            known = [row for row in rows if row is not None]
            if known == sorted(set(known)):
                yield old, new, [Place(known[0], known[-1] + 1, tuple(rows))]
                return


def _elides(line: str) -> bool:
    return markers.is_marker(line) or markers.is_bare_ellipsis(line)


def _similar(file: FileLines, old: Lines, new: Lines) -> Iterator[tuple[Lines, Lines, list[Place]]]:
    """Let context lines differ a little; what the edit changes must be there as it says.

    Only windows that share a line with the old text are scored, so the cost does not grow with the
    size of the file.
    """
    if len(old) < 3:
        return
    norm = "inner_space"
    wanted = [NORMS[norm](line) for line in old]
    # A line that stands somewhere word for word is meant there, not where it is only similar.
    index = file.index(norm)
    firm = _firm_rows(old, new) | {i for i, key in enumerate(wanted) if key in index}
    keys = file.keys(norm)
    scored = sorted(
        (
            (score, start)
            for start in likely_starts(file, wanted, norm)
            if (score := _window_score(keys[start : start + len(wanted)], wanted, firm)) is not None
        ),
        reverse=True,
    )
    places = [
        Place(start, start + len(old), tuple(range(start, start + len(old))), score)
        for score, start in scored
        if score >= max(SIMILARITY_FLOOR, scored[0][0] - SIMILARITY_MARGIN)
    ]
    yield old, new, places


def _firm_rows(old: Lines, new: Lines) -> set[int]:
    """Return the old lines that must match: those that change, and neighbours of insertions."""
    firm: set[int] = set()
    for i1, i2, _, _ in changes(old, new):
        firm.update(range(i1, i2) if i2 > i1 else range(max(0, i1 - 1), min(len(old), i1 + 1)))
    return firm


def likely_starts(file: FileLines, wanted: list[str], norm: str) -> list[int]:
    """Return where the window may begin, by votes of lines that are found."""
    votes: Counter[int] = Counter()
    index = file.index(norm)
    for i, key in enumerate(wanted):
        rows = index.get(key, ()) if key else ()
        if len(rows) <= _MAX_VOTES:
            votes.update(row - i for row in rows if row >= i)
    return [start for start, _ in votes.most_common(_MAX_STARTS)]


def _window_score(window: list[str], wanted: list[str], firm: set[int]) -> float | None:
    """Return the mean similarity of the lines, or None where one of them differs too much."""
    if len(window) < len(wanted):
        return None
    ratios = []
    for i, (have, want) in enumerate(zip(window, wanted, strict=True)):
        if have == want:
            ratios.append(1.0)
            continue
        alike = ratio(have, want)
        if i in firm or alike < _LINE_FLOOR or not _may_be_misquoted(have, want):
            return None
        ratios.append(alike)
    return sum(ratios) / len(ratios)


def _may_be_misquoted(have: str, want: str) -> bool:
    """Say whether two similar lines may be one; short lines and other numbers are other lines."""
    if min(len(have), len(want)) < _LEAST_COMPARED:
        return False
    return _NUMBER.findall(have) == _NUMBER.findall(want)


def ratio(left: str, right: str) -> float:
    """Return the similarity of two lines by their beginnings, in 0..1."""
    return fuzz.ratio(left[:MAX_COMPARED], right[:MAX_COMPARED]) / 100
