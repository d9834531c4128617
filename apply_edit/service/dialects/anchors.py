r"""Decode Morph's anchor protocol, in which its SDK sends files of 131,072 characters and more.

The file comes as a table of definitions and a skeleton of placeholders and short lines::

    ⟪MORPH_DEFINITIONS_BEGIN_0⟫
    ⟪M0:0:line⟫="import os, sys, time, json"
    ⟪MORPH_DEFINITIONS_END_0⟫
    ⟪MORPH_CODE_BEGIN_0⟫
    ⟪M0:0:line⟫
    x = 1

The number behind ``BEGIN`` and ``M`` is one that the file does not contain. The true file is put
together again, and answers hold the plain file, which the SDK accepts. A table that does not fit
its skeleton is refused: the file would not be the user's.
"""

from __future__ import annotations

import json
import re

from apply_edit.errors import EditParseError

_TABLE = re.compile(r"\s*⟪MORPH_DEFINITIONS_BEGIN_(\d+)⟫[ \t]*\r?\n")
_PROTOCOL = re.compile(r"^[^\n]*LARGE-FILE ANCHOR PROTOCOL", re.MULTILINE)
_PARAM = "messages"


def is_anchored(code: str) -> bool:
    """Say whether a file is written as table and skeleton."""
    return _TABLE.match(code) is not None


def decode(code: str) -> str:
    """Return the true file; text without a table is returned as it is.

    Args:
        code: What stood between the tags of the file.

    Raises:
        EditParseError: A placeholder is unknown, malformed, defined twice or never used, or the
            table is not complete.
    """
    begin = _TABLE.match(code)
    if begin is None:
        return code
    number = begin[1]
    table, skeleton = _parts(code[begin.end() :], number)
    defined = _definitions(table, number)
    used: set[str] = set()

    def expand(found: re.Match[str]) -> str:
        name = found[1]
        if name not in defined:
            message = f"placeholder {found[0]} is in the file and not in its table"
            raise EditParseError(message, option=_PARAM)
        used.add(name)
        return defined[name]

    placeholder = _placeholder(number)
    if len(placeholder.findall(skeleton)) != skeleton.count(f"⟪M{number}:"):
        message = f"the file has a malformed placeholder ⟪M{number}:…"
        raise EditParseError(message, option=_PARAM)
    text = placeholder.sub(expand, skeleton)
    unused = defined.keys() - used
    if unused:
        message = (
            f"{len(unused)} placeholders of the table are not in the file, for example "
            f"⟪M{number}:{min(unused)}⟫: the message may have been cut off"
        )
        raise EditParseError(message, option=_PARAM)
    return text


def plain_instruction(instruction: str | None) -> str | None:
    """Return an instruction without the explanation of the protocol that the SDK adds to it."""
    if instruction is None:
        return None
    protocol = _PROTOCOL.search(instruction)
    text = instruction if protocol is None else instruction[: protocol.start()]
    return text.strip() or None


def _parts(rest: str, number: str) -> tuple[str, str]:
    """Return the lines of the table and the skeleton."""
    ends = re.search(
        rf"^⟪MORPH_DEFINITIONS_END_{number}⟫\s*⟪MORPH_CODE_BEGIN_{number}⟫[ \t]*\r?\n",
        rest,
        re.MULTILINE,
    )
    if ends is None:
        message = (
            f"the table of placeholders is not complete: ⟪MORPH_DEFINITIONS_END_{number}⟫ and "
            f"⟪MORPH_CODE_BEGIN_{number}⟫ have to follow it"
        )
        raise EditParseError(message, option=_PARAM)
    skeleton = rest[ends.end() :]
    closing = re.search(rf"\r?\n⟪MORPH_CODE_END_{number}⟫\s*\Z", skeleton)
    return rest[: ends.start()], skeleton if closing is None else skeleton[: closing.start()]


def _definitions(table: str, number: str) -> dict[str, str]:
    definition = re.compile(rf'⟪M{number}:(\d+:\w+)⟫=(".*")\s*')
    defined: dict[str, str] = {}
    for i, line in enumerate(table.split("\n"), 1):
        if not line.strip():
            continue
        found = definition.fullmatch(line)
        value = None if found is None else _string(found[2])
        if found is None or value is None:
            message = f'line {i} of the table is no definition of the form ⟪M{number}:0:line⟫="…"'
            raise EditParseError(message, option=_PARAM, line=i)
        if found[1] in defined:
            message = f"placeholder ⟪M{number}:{found[1]}⟫ is defined twice"
            raise EditParseError(message, option=_PARAM, line=i)
        defined[found[1]] = value
    return defined


def _string(literal: str) -> str | None:
    """Return the text of a JSON string, None where it is none."""
    try:
        value = json.loads(literal)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _placeholder(number: str) -> re.Pattern[str]:
    return re.compile(rf"⟪M{number}:(\d+:\w+)⟫")
