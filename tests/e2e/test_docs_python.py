import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["python.md", "guard.md"])
def test_the_python_of_a_page_does_what_it_says(name):
    """Every Python block of the page runs, and an expression has the value in its comment."""
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    names: dict[str, object] = {}
    compared = 0
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        lines = block.split("\n")
        for statement in ast.parse(block).body:
            source = ast.get_source_segment(block, statement)
            said = lines[statement.end_lineno - 1][statement.end_col_offset :].strip()
            if isinstance(statement, ast.Expr) and said:
                assert repr(eval(source, names)) == said.removeprefix("# "), source
                compared += 1
            else:
                exec(source, names)
    assert compared >= 4
