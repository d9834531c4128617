r"""V4A patches: ``*** Begin Patch``, as the ``apply_patch`` tool takes them.

The envelope may be missing, wrapped in a shell command or indented; ``@@`` lines may be stacked,
bare, glued to their text or carry the numbers of a unified diff.

Does not know: the file's text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from apply_edit.edits.diff_body import BodyLine, build, read_line
from apply_edit.edits.unwrap import edit_lines, fences
from apply_edit.errors import EditParseError
from apply_edit.text import strip_end
from apply_edit.types import EditFormat, FileEdit, FileOp, Hunk, Notice, ParsedEdit

_BEGIN = re.compile(r"^\s*\*\*\* Begin Patch\s*$")
_END = re.compile(r"^\s*\*\*\* End Patch\s*$")
_FILE = re.compile(r"^\s*\*\*\* (Update|Add|Delete) File:\s*(\S.*)$")
_MOVE = re.compile(r"^\s*\*\*\* Move to:\s*(\S.*)$")
_EOF = re.compile(r"^\s*\*\*\* End of File\s*$")
_OTHER = re.compile(r"^\*\*\* \S+ File:|^\*\*\* [A-Z]\w+ ")
_NUMBERS = re.compile(r"^-(\d+)(?:,\d+)? \+\d+(?:,\d+)?\s*(?:@@)?")


@dataclass(slots=True)
class _Open:
    """The file section that is being read."""

    op: FileOp
    path: str
    move_to: str | None = None
    hunks: list[Hunk] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    start_line: int | None = None
    at_end: bool = False
    body: list[BodyLine] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    line: int = 1


def looks_like(edit: str) -> bool:
    """Say whether a text has the lines of a V4A patch."""
    return any(_BEGIN.match(line) or _FILE.match(line) for line in edit_lines(edit))


def parse(edit: str) -> ParsedEdit:
    """Parse a patch.

    Raises:
        EditParseError: There is no file section, a line that no section allows, or a new file
            that may have been cut off.
    """
    lines = [line if line.endswith("\n") else line + "\n" for line in _patch_lines(edit)]
    begin = next((i for i, line in enumerate(lines) if _BEGIN.match(line)), None)
    first = next((i for i, line in enumerate(lines) if _FILE.match(line)), None)
    if first is None or (begin is not None and begin > first):
        message = "the patch has no '*** Update File:', '*** Add File:' or '*** Delete File:' line"
        raise EditParseError(message, line=1)
    reader = _Reader(lines)
    closed = reader.read(first if begin is None else begin + 1)
    notices: list[Notice] = []
    if begin is not None and not closed:
        if reader.files[-1].op is FileOp.ADD:
            message = "the patch ends inside a new file, without '*** End Patch': it may be cut off"
            raise EditParseError(message, line=len(lines))
        notices.append(Notice("missing_end_marker", "the patch has no '*** End Patch' line"))
    return ParsedEdit(EditFormat.V4A, tuple(reader.files), notices=tuple(notices))


def _patch_lines(edit: str) -> list[str]:
    """Return the lines of a patch; one without an envelope ends where its fence ends."""
    lines = edit_lines(edit)
    if not any(_BEGIN.match(line) for line in lines):
        wrapped = [block for block in fences(edit) if _FILE.match(block.code.split("\n", 1)[0])]
        if len(wrapped) == 1 and not any(_FILE.match(x) for x in lines[: wrapped[0].start]):
            return edit_lines(wrapped[0].code)
    return lines


class _Reader:
    """Walks over the lines once; one open section at a time."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.files: list[FileEdit] = []
        self.open: _Open | None = None

    def read(self, start: int) -> bool:
        """Read from ``start``; say whether the end line was there."""
        for i in range(start, len(self.lines)):
            line = strip_end(self.lines[i])
            if _END.match(line):
                self._close_file()
                again = next(
                    (k for k in range(i, len(self.lines)) if _BEGIN.match(self.lines[k])), None
                )
                return True if again is None else self.read(again + 1)
            header = _FILE.match(line)
            if header is not None and not line.startswith("+"):
                self._close_file()
                self.open = _Open(FileOp(header[1].lower()), header[2].strip(), line=i + 1)
            else:
                self._line(line, i)
        self._close_file()
        return False

    def _line(self, line: str, i: int) -> None:
        section = self.open
        if section is None:
            if line.strip():
                self._refuse(line, i)
        elif section.op is FileOp.ADD:
            if line.startswith("+"):
                section.added.append(self.lines[i][1:])
            elif line.strip():
                message = f"line {i + 1} of the patch: a line of a new file begins with '+'"
                raise EditParseError(message, line=i + 1)
        elif section.op is FileOp.DELETE:
            if line.strip() and not line.startswith("-"):
                self._refuse(line, i)
        else:
            self._update_line(section, line, i)

    def _update_line(self, section: _Open, line: str, i: int) -> None:
        move = _MOVE.match(line)
        if move is not None and not section.body:
            section.move_to = move[1].strip()
        elif line.startswith("@@") or self._is_signed_anchor(section, line):
            self._anchor(section, line.removeprefix("+"), i)
        elif _EOF.match(line):
            section.at_end = True
            self._close_hunk(section)
        elif _OTHER.match(line):
            self._refuse(line, i)
        else:
            if not section.body and not section.anchors:
                section.line = i + 1
            section.body.append(read_line(self.lines[i]))

    def _is_signed_anchor(self, section: _Open, line: str) -> bool:
        """Recognise ``+@@ line`` as the first line of a section: an anchor with a stray plus."""
        return line.startswith("+@@ ") and not (section.hunks or section.body or section.anchors)

    def _anchor(self, section: _Open, line: str, i: int) -> None:
        if any(x.text.strip() or x.kind != " " for x in section.body):
            self._close_hunk(section)
        section.body = []
        text = line[2:].removeprefix(" ")
        numbers = _NUMBERS.match(text)
        if numbers is not None:
            section.start_line = int(numbers[1])
        else:
            text = text.removesuffix(" @@")
            if text.strip() and text.strip() not in ("@@", "...", "... @@"):
                section.anchors.append(text)
        section.line = i + 1

    def _close_hunk(self, section: _Open) -> None:
        hunk = build(section.body)
        if hunk is not None:
            # An addition that names no place goes to the end of the file, as in the tool itself.
            bare = not hunk.old and not section.anchors
            hunk = replace(
                hunk,
                anchors=tuple(section.anchors),
                start_line=section.start_line,
                at_end=section.at_end or bare,
                edit_line=section.line,
            )
            section.hunks.append(hunk)
        section.body, section.anchors = [], []
        section.start_line, section.at_end = None, False

    def _close_file(self) -> None:
        section, self.open = self.open, None
        if section is None:
            return
        if section.op is FileOp.ADD:
            hunk = Hunk("", "".join(section.added), edit_line=section.line)
            self.files.append(FileEdit(section.path, FileOp.ADD, (hunk,)))
            return
        if section.op is FileOp.DELETE:
            self.files.append(FileEdit(section.path, FileOp.DELETE))
            return
        self._close_hunk(section)
        if not section.hunks and section.move_to is None:
            message = f"the section for {section.path} changes nothing: it has no + and no - line"
            raise EditParseError(message, line=section.line)
        update = FileEdit(section.path, FileOp.UPDATE, tuple(section.hunks), section.move_to)
        self._add_update(replace(update, ordered=True))

    def _add_update(self, update: FileEdit) -> None:
        """Join two sections of one file; the second may be about lines above the first."""
        for k, other in enumerate(self.files):
            if other.path == update.path and other.op is FileOp.UPDATE and not other.move_to:
                hunks = other.hunks + update.hunks
                joined = replace(update, hunks=hunks, ordered=False)
                self.files[k] = joined
                return
        self.files.append(update)

    def _refuse(self, line: str, i: int) -> None:
        message = f"line {i + 1} of the patch has no meaning there: {line.strip()[:60]!r}"
        raise EditParseError(message, line=i + 1)
