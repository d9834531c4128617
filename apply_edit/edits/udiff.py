r"""Unified diffs: well-formed, from git, and as models write them.

Numbers and counts in ``@@`` lines are hints: a count that fits the body tells where the body ends,
one that does not is overlooked and said so in a notice. Headers may be missing, in the wrong order
or half there; a diff without any ``@@`` line is read as one hunk.

Does not know: the file's text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import takewhile

from apply_edit.edits.diff_body import BodyLine, build, read_line, without_end
from apply_edit.edits.diff_kinds import other_kind
from apply_edit.edits.diff_paths import file_path, git_path, unquote, without_stamp
from apply_edit.edits.unwrap import edit_lines, fences
from apply_edit.errors import EditParseError
from apply_edit.text import strip_end
from apply_edit.types import EditFormat, FileEdit, FileOp, Hunk, Notice, ParsedEdit

_HUNK = re.compile(r"^@@+(?:\s*-(\d+)(?:,(\d+))?\s+\+(\d+)(?:,(\d+))?\s*@@+)?(?P<heading>.*)")
_OLD, _NEW = re.compile(r"^--- +(\S.*)$"), re.compile(r"^\+\+\+ +(\S.*)$")
_GIT = re.compile(r"^diff --git (.+)$")
_EXTENDED = re.compile(
    r"^(?:index [0-9a-f]|old mode |new mode |new file mode |deleted file mode |similarity index |"
    r"dissimilarity index |rename from |rename to |copy from |copy to |Binary files |GIT binary)"
)
_NOTE = re.compile(r"^\\ ?No newline|^\\ .*(?i:newline)")
_MODE = re.compile(
    r"^(?:(?P<new>new mode |new file mode )|old mode |deleted file mode |index \w+\.\.\w+ )"
    r"(?P<mode>\d{6})\s*$"
)
_SIGNATURE = re.compile(r"^-- ?$")


@dataclass(slots=True)
class _Section:
    """What is known of one file while its part of the diff is read."""

    old: str | None = None
    new: str | None = None
    git: str | None = None
    renamed_to: str | None = None
    created: bool = False
    deleted: bool = False
    executable: bool | None = None
    hunks: list[Hunk] = field(default_factory=list)

    def seen(self) -> bool:
        return bool(self.hunks or self.old or self.new or self.git)


def parse(edit: str) -> ParsedEdit:
    """Parse a diff.

    Raises:
        EditParseError: There is no hunk and no header in the text.
    """
    lines = edit_lines(_outdented(_inside_fence(edit)))
    other = other_kind([strip_end(line) for line in lines])
    if other is not None:
        message = f"the edit is {other}; send a unified diff (diff -u)"
        raise EditParseError(message, line=1)
    notices: list[Notice] = []
    sections = _Reader(lines, notices).read()
    files = _joined([_file_edit(section) for section in sections if section.seen()])
    if not files:
        files = _without_headers(lines)
        notices.append(Notice("missing_header", "the diff has no @@ line; it is read as one hunk"))
    return ParsedEdit(EditFormat.UDIFF, files, notices=tuple(notices))


def looks_like(edit: str) -> bool:
    """Say whether a text has the headers or the hunk lines of a unified diff."""
    lines = [strip_end(line) for line in edit_lines(_outdented(edit))]
    for i, line in enumerate(lines):
        if _HUNK.match(line) and any(x[:1] in ("+", "-") for x in lines[i + 1 : i + 40]):
            return True
        if _GIT.match(line) or (_OLD.match(line) and _NEW.match(_at(lines, i + 1))):
            return True
    return other_kind(lines) is not None


def _outdented(edit: str) -> str:
    """Shift a diff to the left margin that is indented as a whole, as in an item of a list."""
    lines = edit_lines(edit)
    solid = [line for line in lines if line.strip()]
    if not solid or not solid[0].startswith((" ", "\t")):
        return edit
    indent = solid[0][: len(solid[0]) - len(solid[0].lstrip(" \t"))]
    head = solid[0].lstrip(" \t")
    begins = _GIT.match(head) or _HUNK.match(head) or _OLD.match(head)
    if not begins or not all(line.startswith(indent) for line in solid):
        return edit
    return "".join(line.removeprefix(indent) for line in lines)


def _joined(files: list[FileEdit]) -> tuple[FileEdit, ...]:
    """Join sections that change the same file; the second may be about lines above the first."""
    joined: dict[object, FileEdit] = {}
    for number, file in enumerate(files):
        plain = file.op is FileOp.UPDATE and file.move_to is None and file.path is not None
        key = file.path if plain else number
        if key in joined:
            hunks = joined[key].hunks + file.hunks
            known = joined[key].executable
            executable = known if file.executable is None else file.executable
            joined[key] = replace(file, hunks=hunks, ordered=False, executable=executable)
        else:
            joined[key] = file
    return tuple(joined.values())


def _at(lines: list[str], i: int) -> str:
    return strip_end(lines[i]) if i < len(lines) else ""


def _inside_fence(edit: str) -> str:
    """Take the diff out of its fences; several fenced diffs are joined."""
    blocks = fences(edit)
    wrapped = [b.code for b in blocks if b.info.split(" ")[0] in ("diff", "patch", "udiff")]
    if not wrapped:
        wrapped = [b.code for b in blocks if looks_like(b.code)]
    lines = edit_lines(edit)
    outside = [line for line in lines[: blocks[0].start] if line.strip()] if blocks else lines
    starts_inside = any(_HUNK.match(line) or _GIT.match(line) for line in outside)
    return "".join(wrapped) if wrapped and not starts_inside else edit


class _Reader:
    """Walks over the lines once and collects one section per file."""

    def __init__(self, lines: list[str], notices: list[Notice]) -> None:
        self.lines = lines
        self.notices = notices
        self.sections: list[_Section] = []
        self.i = 0

    def read(self) -> list[_Section]:
        section = _Section()
        while self.i < len(self.lines):
            line = strip_end(self.lines[self.i])
            if _HUNK.match(line):
                self._hunk(section, line)
                continue
            if self._is_bare_body(line, section):
                self.i -= 1
                self._hunk(section, "@@")
                continue
            if self._starts_section(line, section):
                self.sections.append(section)
                section = _Section()
            self._header(section, line)
            self.i += 1
        self.sections.append(section)
        return self.sections

    def _is_bare_body(self, line: str, section: _Section) -> bool:
        """Say whether a hunk begins right below the headers, without its @@ line."""
        if section.hunks or not (section.old and section.new) or not line.strip():
            return False
        if _OLD.match(line) or _NEW.match(line) or _GIT.match(line) or _EXTENDED.match(line):
            return False
        rest = (strip_end(each) for each in self.lines[self.i :])
        body = takewhile(lambda each: not (_HUNK.match(each) or _GIT.match(each)), rest)
        return any(each[:1] in ("+", "-") for each in body)

    def _starts_section(self, line: str, section: _Section) -> bool:
        if _GIT.match(line):
            return section.seen()
        if not section.hunks and not (section.old and section.new):
            return False
        follows = _NEW.match(_at(self.lines, self.i + 1))
        return bool(_OLD.match(line) and (follows or section.hunks)) or bool(
            _NEW.match(line) and section.hunks
        )

    def _header(self, section: _Section, line: str) -> None:
        git, old, new = _GIT.match(line), _OLD.match(line), _NEW.match(line)
        mode = _MODE.match(line)
        if mode is not None:
            self._mode(section, mode)
        if git:
            section.git = git_path(git[1])
        elif old and not section.hunks:
            section.old = file_path(old[1])
        elif new and not section.hunks:
            section.new = file_path(new[1])
        elif line.startswith("rename to "):
            section.renamed_to = unquote(line.removeprefix("rename to "))
        elif line.startswith("rename from "):
            section.old = section.old or unquote(line.removeprefix("rename from "))
        elif line.startswith("new file mode"):
            section.created = True
        elif line.startswith("deleted file mode"):
            section.deleted = True
        elif section.git and line.startswith(("copy to ", "GIT binary patch", "Binary files ")):
            message = f"line {self.i + 1} of the diff copies a file or changes a binary one"
            raise EditParseError(message, line=self.i + 1)

    def _mode(self, section: _Section, mode: re.Match[str]) -> None:
        """Take what a mode says: only whether the file is a program."""
        if not mode["mode"].startswith("100"):
            message = f"line {self.i + 1} of the diff is about a symbolic link or a submodule"
            raise EditParseError(message, line=self.i + 1)
        if mode["new"]:
            section.executable = mode["mode"][3] in "1357"

    def _hunk(self, section: _Section, header: str) -> None:
        start = self.i
        numbers = _HUNK.match(header)
        old_count, new_count = _count(numbers, 1), _count(numbers, 3)
        self.i += 1
        body = self._body(old_count, new_count)
        first = int(numbers[1]) if numbers is not None and numbers[1] is not None else None
        after = first if first is not None and old_count == 0 else None
        hunk = build(body)
        if hunk is not None:
            named = first if after is None else None
            heading = "" if numbers is None else numbers["heading"].strip()
            section.hunks.append(
                replace(
                    hunk,
                    start_line=named,
                    insert_after=after,
                    edit_line=start + 1,
                    heading=heading.removesuffix("@@").strip() or None,
                )
            )
        if old_count is not None and (old_count, new_count) != _counts(body):
            message = f"line {start + 1} of the edit: the counts do not fit the hunk's body"
            self.notices.append(Notice("wrong_counts", message, (start + 1,)))

    def _body(self, old_count: int | None, new_count: int | None) -> list[BodyLine]:
        """Read body lines up to the next header; right counts decide, wrong ones do not."""
        body: list[BodyLine] = []
        fitting: int | None = None
        left_old, left_new = old_count or 0, new_count or 0
        begin = self.i
        while self.i < len(self.lines):
            line = strip_end(self.lines[self.i])
            if _NOTE.match(line):
                if body:
                    body[-1] = without_end(body[-1])
                self.i += 1
                if fitting == len(body):
                    begin = self.i
                continue
            inside = left_old > 0 and left_new > 0
            if self._ends_body(line, inside):
                break
            body.append(read_line(self.lines[self.i]))
            self.i += 1
            left_old -= body[-1].kind != "+"
            left_new -= body[-1].kind != "-"
            if old_count is not None and left_old == 0 and left_new == 0:
                fitting, begin = len(body), self.i
        if fitting is not None and self._only_junk(body[fitting:]):
            del body[fitting:]
            self.i = max(begin, self.i)
        return _trimmed(body)

    def _only_junk(self, rest: list[BodyLine]) -> bool:
        """Say whether lines behind a body whose counts fit are not part of it."""
        if not any(line.kind != " " for line in rest):
            return True
        return _signs(rest[0])

    def _ends_body(self, line: str, inside: bool) -> bool:
        if _HUNK.match(line) or _GIT.match(line) or line.startswith(("Index: ", "diff -r ")):
            return True
        if _EXTENDED.match(line) and not line.startswith(("+", "-", " ")):
            return True
        if inside and not self._names_one_file(line):
            return False
        if not _OLD.match(line):
            return False
        after = _at(self.lines, self.i + 2)
        return bool(_NEW.match(_at(self.lines, self.i + 1))) and (
            not after.strip() or _HUNK.match(after) is not None
        )

    def _names_one_file(self, line: str) -> bool:
        """Say whether this line and the next are the headers of a file, whatever counts say."""
        old, new = _OLD.match(line), _NEW.match(_at(self.lines, self.i + 1))
        if old is None or new is None:
            return False
        names = without_stamp(old[1]), without_stamp(new[1])
        prefixed = names[0].startswith("a/") and names[1].startswith("b/")
        return prefixed and names[0][2:] == names[1][2:]


def _count(numbers: re.Match[str] | None, group: int) -> int | None:
    if numbers is None or numbers[group] is None:
        return None
    return 1 if numbers[group + 1] is None else int(numbers[group + 1])


def _counts(body: list[BodyLine]) -> tuple[int, int]:
    return sum(b.kind != "+" for b in body), sum(b.kind != "-" for b in body)


def _signs(line: BodyLine) -> bool:
    """Say whether a line is the ``-- `` above the version number that git puts at the end."""
    return line.kind == "-" and _SIGNATURE.match("-" + strip_end(line.text)) is not None


def _trimmed(body: list[BodyLine]) -> list[BodyLine]:
    """Drop a mail signature and the blank lines behind the body."""
    for i in range(max(0, len(body) - 3), len(body)):
        rest = "".join(x.text for x in body[i + 1 :]).strip()
        if _signs(body[i]) and re.fullmatch(r"\d+(?:\.\d+)+\S*", rest):
            body = body[:i]
            break
    while body and not body[-1].prefixed and not body[-1].text.strip():
        body = body[:-1]
    return body


def _file_edit(section: _Section) -> FileEdit:
    old, new = section.old, section.new
    created = section.created or (old == "/dev/null" and not _removes(section.hunks))
    deleted = section.deleted or new == "/dev/null"
    names = [name for name in (new, old, section.git) if name not in (None, "/dev/null")]
    path = (old if old not in (None, "/dev/null") else None) or (names[0] if names else None)
    hunks = tuple(section.hunks)
    if deleted:
        return FileEdit(path, FileOp.DELETE, hunks, ordered=True)
    if created:
        text = "".join(h.new for h in hunks)
        new_file = (Hunk("", text, edit_line=1),)
        return FileEdit(path, FileOp.ADD, new_file, executable=section.executable)
    moved = section.renamed_to
    return FileEdit(path, FileOp.UPDATE, hunks, moved, ordered=True, executable=section.executable)


def _removes(hunks: list[Hunk]) -> bool:
    return any(h.old for h in hunks)


def _without_headers(lines: list[str]) -> tuple[FileEdit, ...]:
    body = [read_line(line) for line in lines]
    while body and not body[0].text.strip():
        body = body[1:]
    hunk = build(_trimmed(body))
    if hunk is None:
        message = "there is no hunk in the text: no @@ line, no line that begins with + or -"
        raise EditParseError(message, line=1)
    return (FileEdit(None, FileOp.UPDATE, (replace(hunk, edit_line=1),), ordered=True),)
