r"""Read the file names of a diff's headers: prefixes, time stamps, git's quoting.

Does not know: hunks.
"""

from __future__ import annotations

import re

_STAMP = re.compile(r"\t.*$|(?<!\s)\s+\d{4}-\d\d-\d\d \d\d:\d\d.*$")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def without_stamp(name: str) -> str:
    """Take the time stamp off a header's name."""
    return _STAMP.sub("", name).strip()


def file_path(name: str) -> str:
    """Take time stamp, quotes and the prefixes ``a/`` and ``b/`` off a header's path."""
    name = name.strip()
    name = unquote(name) if name.startswith('"') else without_stamp(name)
    return name[2:] if name.startswith(("a/", "b/")) else name


def git_path(names: str) -> str | None:
    """Return the path of a ``diff --git`` line, where both names are the same."""
    if names.startswith('"'):
        return file_path(names.split('" "')[-1].strip('"'))
    half = len(names) // 2
    for middle in [half, *range(len(names))]:
        if names[middle : middle + 1] == " ":
            left, right = names[:middle], names[middle + 1 :]
            if left.split("/", 1)[-1] == right.split("/", 1)[-1]:
                return file_path(left)
    return None


def unquote(name: str) -> str:
    r"""Undo the C-style quoting of git: ``"a\tb"``."""
    if not (name.startswith('"') and name.endswith('"') and len(name) > 1):
        return name
    raw = re.sub(r"(?:\\[0-7]{3})+", _octal, name[1:-1])
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), raw)


def _octal(match: re.Match[str]) -> str:
    """Decode a run of octal escapes, which are bytes of UTF-8."""
    data = bytes(int(code, 8) & 255 for code in match[0].split("\\")[1:])
    return data.decode("utf-8", errors="replace")
