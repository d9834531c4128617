"""Texts on their way to the target: chat templates, snippet pieces, spans of lines in tokens.

Pure functions; the tokenizer itself is in ``decode.tokens``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from apply_edit.errors import ModelLoadError
from apply_edit.markers import is_marker
from apply_edit.text import split_lines, strip_end, with_newlines


def token_spans(
    pieces: Iterable[bytes], text: str, spans: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    r"""Return the token spans that line spans of a text amount to.

    A token belongs to the line that its first byte is in.

    Args:
        pieces: The bytes of each token; joined they are the text.
        text: The text, LF line ends.
        spans: Ascending half-open 0-based line spans.

    >>> token_spans([b"a", b"\n", b"b\n", b"c\n"], "a\nb\nc\n", [(1, 2)])
    [(2, 3)]
    """
    lines = [0, *accumulate(len(line.encode()) for line in split_lines(text))]
    starts = list(accumulate(map(len, pieces), initial=0))[:-1]
    last = len(lines) - 1
    found = []
    for first, behind in spans:
        start = bisect_left(starts, lines[min(first, last)])
        end = bisect_left(starts, lines[min(behind, last)])
        if start < end:
            found.append((start, end))
    return found


def snippet_pieces(snippet: str) -> list[str]:
    r"""Split a snippet at its elision markers; line ends become LF.

    >>> snippet_pieces("a\n# ... existing code ...\nb\n")
    ['a\n', 'b\n']
    """
    pieces: list[list[str]] = [[]]
    for line in split_lines(with_newlines(snippet, "\n")):
        if is_marker(strip_end(line)):
            pieces.append([])
        else:
            pieces[-1].append(line)
    return ["".join(piece) for piece in pieces if piece]


def render_chat(template: str, system: str, user: str) -> str:
    """Render a chat template up to where the answer begins, in transformers' Jinja sandbox.

    Raises:
        ModelLoadError: The template cannot be rendered.
    """
    import jinja2
    from transformers.utils.chat_template_utils import render_jinja_template

    attempts: list[list[dict[str, Any]]] = [
        [{"role": "system", "content": system}, {"role": "user", "content": user}],
        # Some templates know no system role.
        [{"role": "user", "content": f"{system}\n\n{user}"}],
    ]
    for messages in attempts:
        try:
            answers = render_jinja_template(
                conversations=[messages], chat_template=template, add_generation_prompt=True
            )
            return str(answers[0][0])
        except jinja2.TemplateError as error:
            reason = error
    message = f"the model's chat template cannot be rendered: {reason}"
    raise ModelLoadError(message)


def shown_text(text: str) -> str:
    """Return a text as the prompt shows it: LF, with a final newline."""
    lf = with_newlines(text, "\n")
    return lf if lf.endswith("\n") else lf + "\n"
