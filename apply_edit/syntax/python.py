"""What Python's own parser says about a text.

Does not know: other languages, edits.
"""

from __future__ import annotations

import ast
import warnings


def python_error(text: str) -> tuple[int, str] | None:
    """Return (0-based line, reason) where Python's own parser stops, or None.

    >>> python_error("x = = 1"), python_error("x = 1")
    ((0, 'invalid syntax'), None)
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return max((error.lineno or 1) - 1, 0), error.msg
    except (ValueError, RecursionError, MemoryError) as error:
        return 0, str(error)
    return None
