r"""Read SEARCH/REPLACE blocks in all their spellings; what they share.

Aider: ``<<<<<<< SEARCH``, ``=======``, ``>>>>>>> REPLACE``. Cline: ``------- SEARCH`` and
``+++++++ REPLACE``. Roo adds ``:start_line:`` directives, a ``-------`` line and escaped markers
(``\=======``). Copilot: ``---FIND`` and ``---REPLACE`` with fenced code.

Does not know: the file's text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from apply_edit.edits.unwrap import edit_lines, fences, file_name
from apply_edit.errors import EditParseError
from apply_edit.text import strip_end
from apply_edit.types import FileEdit, FileOp, Hunk, Notice

_OPEN = re.compile(r"^\s{0,3}(?:<{5,} (?:SEARCH|ORIGINAL)|-{5,} SEARCH)>?:?\s*$")
_DASHED = re.compile(r"^\s{0,3}-{5,} SEARCH")
_MIDDLE = re.compile(r"^\s{0,3}={5,}\s*$")
_CLOSE = re.compile(r"^\s{0,3}(?:>{5,}|\+{5,}) (?:REPLACE|UPDATED)\s*$")
# Not a marker, but nothing else either: a block written without the space or in small letters.
_ALMOST = re.compile(r"^\s*(?:<{5,}|-{5,})\s*SEARCH>?:?\s*$", re.IGNORECASE)
_GLUED = re.compile(r"^(?P<code>.*\S)(?:>{7}|\+{7}) REPLACE\s*$")
_START_LINE = re.compile(r"^:start_line:\s*(\d+)\s*$")
_DIRECTIVE = re.compile(r"^:(?:start_line|end_line):")
_RULE = re.compile(r"^-{5,}\s*$")
_ESCAPED = re.compile(r"^\\(?=(?:<{5,}|>{5,}|={5,}|-{5,}|\+{5,}|:(?:start_line|end_line):))")
_FIND = re.compile(r"^---FIND\s*$")
_FIND_PART = re.compile(r"^---(FILEPATH|FIND|REPLACE|COMPLETE)\b(.*)$")


@dataclass(slots=True)
class _Block:
    """The block that is being read; ``middles`` are line indexes of possible separators."""

    line: int
    dashed: bool
    rows: list[str] = field(default_factory=list)
    middles: list[int] = field(default_factory=list)
    start_line: int | None = None
    roo: bool = False
    ruled: bool = False


def has_blocks(edit: str) -> bool:
    """Say whether a text has a line that opens (or could close) a block."""
    lines = edit_lines(edit)
    opened = any(_OPEN.match(line) or _FIND.match(line) for line in lines)
    if opened or any(_CLOSE.match(line) for line in lines):
        return True
    return any(map(_ALMOST.match, lines)) and any(map(_MIDDLE.match, lines))


def has_directives(edit: str) -> bool:
    """Say whether blocks are written as Cline or Roo write them."""
    lines = [strip_end(line) for line in edit_lines(edit)]
    return any(
        _DASHED.match(line)
        or _ESCAPED.match(line)
        or (_OPEN.match(line) and _DIRECTIVE.match(strip_end("".join(lines[i + 1 : i + 2]))))
        for i, line in enumerate(lines)
    )


def read(edit: str, *, roo: bool = False) -> tuple[tuple[FileEdit, ...], tuple[Notice, ...]]:
    """Read all blocks, grouped by the file they name.

    Args:
        edit: The text with the blocks.
        roo: Markers in the text are escaped, so that a second separator line is a mistake.

    Raises:
        EditParseError: There is no block, or one is not well-formed or not closed.
    """
    if any(_FIND.match(line) for line in edit_lines(edit)):
        return _group(_find_blocks(edit)), ()
    reader = _Reader(edit_lines(edit), roo=roo)
    reader.run()
    if not reader.found:
        message = "there is no SEARCH/REPLACE block in the text"
        raise EditParseError(message, line=1)
    return _group(reader.found), tuple(reader.notices)


class _Reader:
    """Walks over the lines once; at most one block is open."""

    def __init__(self, lines: list[str], *, roo: bool) -> None:
        self.lines = lines
        self.roo = roo
        self.found: list[tuple[str | None, Hunk]] = []
        self.notices: list[Notice] = []
        self.path: str | None = None
        self.fence: str | None = None
        self.prose = False

    def run(self) -> None:
        block: _Block | None = None
        for i, raw in enumerate(self.lines):
            line = strip_end(raw)
            if _OPEN.match(line) and (block is None or not block.middles):
                if block is not None:
                    self._refuse(block.line, "has no separator line before the next block")
                block = _Block(i + 1, _DASHED.match(line) is not None, roo=self.roo)
                self.path = self._named(i) or self.path
            elif block is None:
                self._outside(line, i)
            elif _CLOSE.match(line):
                self._finish(block)
                block = None
            else:
                block = self._inside(block, raw)
        if block is not None:
            self._unclosed(block)

    def _outside(self, line: str, i: int) -> None:
        if _CLOSE.match(line):
            message = f"line {i + 1} of the edit closes a block that no SEARCH line opens"
            raise EditParseError(message, line=i + 1)
        text = line.strip()
        if text.startswith(("```", "~~~")):
            self.fence = None if self.fence else text[:3]
        elif text and file_name(text) is None:
            self.prose = True

    def _inside(self, block: _Block, raw: str) -> _Block | None:
        line = strip_end(raw)
        if not block.middles and not block.rows and self._directive(block, line):
            return block
        glued = _GLUED.match(line) if block.middles else None
        if glued is not None:
            block.rows.append(glued["code"] + "\n")
            self._finish(block)
            return None
        if _MIDDLE.match(line):
            block.middles.append(len(block.rows))
            block.rows.append(raw)
            return block
        if block.middles and _DIRECTIVE.match(line):
            self._refuse(block.line, f"has the directive {line.strip()!r} in its REPLACE part")
        block.rows.append(_ESCAPED.sub("", raw) if block.roo or block.dashed else raw)
        return block

    def _directive(self, block: _Block, line: str) -> bool:
        if _DIRECTIVE.match(line):
            start = _START_LINE.match(line)
            if start is not None and int(start[1]) > 0:
                block.start_line = int(start[1])
            block.roo = True
            return True
        if _RULE.match(line) is None or block.ruled or not (block.roo or block.dashed):
            return False
        block.ruled = True
        return True

    def _finish(self, block: _Block) -> None:
        if not block.middles:
            self._refuse(block.line, "has no separator line between SEARCH and REPLACE")
        adjacent = block.middles[1:] == [block.middles[0] + 1]
        if adjacent or (len(block.middles) > 1 and (block.roo or block.dashed)):
            self._refuse(block.line, "has two separator lines; escape the one that is text")
        # The longest old text is tried first: it is the least likely to be there by chance.
        readings = [
            ("".join(block.rows[:m]), _terminated("".join(block.rows[m + 1 :])))
            for m in reversed(block.middles)
        ]
        if any(len(old) + len(new) == 0 for old, new in readings):
            self._refuse(block.line, "has neither text to find nor text to put there")
        if len(readings) > 1:
            readings = [r for r in readings if r[0].strip()] or readings
        (old, new), others = readings[0], tuple(readings[1:])
        hunk = Hunk(old, new, start_line=block.start_line, edit_line=block.line, readings=others)
        self.found.append((self.path, hunk))

    def _unclosed(self, block: _Block) -> None:
        """Close a Cline block at the end of the text, as Cline does; refuse the others.

        Where there is prose before the blocks there may be some behind them, which must not get
        into the file.
        """
        if self.fence is not None:
            ends = [i for i, row in enumerate(block.rows) if row.startswith(self.fence)]
            if ends:
                del block.rows[ends[-1] :]
                self.prose = False
        if not (block.dashed and block.middles) or self.prose:
            self._refuse(block.line, "is not closed: the edit may have been cut off")
        while block.rows and not block.rows[-1].strip():
            block.rows.pop()
        message = f"the block at line {block.line} of the edit has no REPLACE marker"
        self.notices.append(Notice("missing_end_marker", message, (block.line,)))
        self._finish(block)

    def _named(self, i: int) -> str | None:
        """Look for a file name on the lines above a block, through fences."""
        for j in range(i - 1, max(-1, i - 4), -1):
            line = self.lines[j].strip()
            if _CLOSE.match(line):
                return None
            if not line or line.startswith(("```", "~~~")):
                continue
            return file_name(line)
        return None

    def _refuse(self, line: int, why: str) -> None:
        message = f"the block at line {line} of the edit {why}"
        raise EditParseError(message, line=line)


def _terminated(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _find_blocks(edit: str) -> list[tuple[str | None, Hunk]]:
    """Read ``---FIND`` / ``---REPLACE`` pairs, each with one fenced block."""
    lines = edit_lines(edit)
    found: list[tuple[str | None, Hunk]] = []
    path: str | None = None
    old: str | None = None
    at = 1
    marks = [(i, m) for i, line in enumerate(lines) if (m := _FIND_PART.match(strip_end(line)))]
    for k, (i, mark) in enumerate(marks):
        end = marks[k + 1][0] if k + 1 < len(marks) else len(lines)
        if mark[1] == "FILEPATH":
            path = mark[2].strip() or path
        elif mark[1] == "FIND":
            old, at = _fenced_part(lines[i + 1 : end], i + 1), i + 1
        elif mark[1] == "REPLACE":
            if old is None:
                message = f"line {i + 1} of the edit: ---REPLACE without ---FIND"
                raise EditParseError(message, line=i + 1)
            found.append((path, Hunk(old, _fenced_part(lines[i + 1 : end], i + 1), edit_line=at)))
            old = None
    if old is not None or not found:
        message = "the edit ends before the ---REPLACE part: it may have been cut off"
        raise EditParseError(message, line=len(lines))
    return found


def _fenced_part(lines: list[str], line: int) -> str:
    text = "".join(lines)
    blocks = fences(text)
    if not blocks:
        return text.strip("\r\n") + "\n" if text.strip() else ""
    if not blocks[0].closed:
        message = f"the code below line {line} of the edit is not closed: it may be cut off"
        raise EditParseError(message, line=line)
    return blocks[0].code


def _group(found: list[tuple[str | None, Hunk]]) -> tuple[FileEdit, ...]:
    """Put the blocks of one file together; a lone block with empty SEARCH makes a new file."""
    by_path: dict[str | None, list[Hunk]] = {}
    for path, hunk in found:
        by_path.setdefault(path, []).append(hunk)
    return tuple(FileEdit(path, FileOp.UPDATE, tuple(hunks)) for path, hunks in by_path.items())
