"""Relace's ``/v1/code/apply``: one JSON object in, the merged file out.

Continue's ``relace`` provider sends an empty file with every request. An answer made from that
would replace the user's whole file by the snippet, so the spelling that it uses (``initialCode``)
with an empty text is always refused. In the documented spelling an empty file is a new one; with
elision markers in the snippet it cannot be.
"""

from __future__ import annotations

from dataclasses import dataclass

from apply_edit.errors import RequestError
from apply_edit.markers import is_marker, trailing_marker
from apply_edit.service.dialects.records import Asked
from apply_edit.text import split_lines, strip_end

# Beyond this length a line is data, and looking for a marker in it would take too long.
_MAX_LINE = 400


@dataclass(frozen=True, slots=True)
class Field:
    """A value and the name that it was sent under.

    Args:
        name: The name; of several spellings the one that was used.
        value: The text.
    """

    name: str
    value: str


def spelled(documented: str, other: str, first: str | None, second: str | None) -> Field | None:
    """Return a field that goes by two names, None where it was not sent.

    Args:
        documented: Name in the documentation.
        other: The other name that is in use.
        first: Value under the documented name.
        second: Value under the other.

    Raises:
        RequestError: It was sent twice, with different texts.
    """
    if first is not None and second is not None and first != second:
        message = f"{documented} and {other} are the same field and differ; send one of them"
        raise RequestError(message, option=other)
    if first is not None:
        return Field(documented, first)
    return None if second is None else Field(other, second)


def read(initial: Field | None, snippet: Field | None, instruction: Field | None) -> Asked:
    """Return what a request asks for.

    Args:
        initial: The file.
        snippet: The edit in any format.
        instruction: A sentence, or None.

    Raises:
        RequestError: A field is missing, or the file is empty where it cannot be.
    """
    if initial is None:
        message = "initial_code is missing; send the file, and an empty text for a new one"
        raise RequestError(message, option="initial_code")
    if snippet is None or not snippet.value.strip():
        message = "edit_snippet is missing or empty; there is nothing to apply"
        raise RequestError(message, option="edit_snippet")
    if not initial.value.strip():
        _require_new_file(initial, snippet.value)
    sentence = "" if instruction is None else instruction.value.strip()
    return Asked(initial.value, snippet.value, sentence or None)


def _require_new_file(initial: Field, snippet: str) -> None:
    if initial.name == "initialCode":
        message = (
            "initialCode is empty. Continue's `relace` provider sends no file, and the answer "
            "would replace yours by the snippet; use `provider: openai` with "
            "`apiBase: http://HOST:PORT/continue/v1/`. For a new file send initial_code"
        )
        raise RequestError(message, option=initial.name)
    for number, line in enumerate(map(strip_end, split_lines(snippet)), 1):
        if len(line) > _MAX_LINE:
            continue
        if is_marker(line) or trailing_marker(line) is not None:
            message = (
                f"{initial.name} is empty, and line {number} of the snippet stands for code of "
                "the file; send the file"
            )
            raise RequestError(message, option=initial.name)
