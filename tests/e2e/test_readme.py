"""What the README shows is what happens."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import apply_edit

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_readme_shows():
    """The command of the README's example gives the README's output, byte for byte."""
    block = re.search(r"<!-- example -->\n```console\n(.*?)```", README, re.DOTALL)
    assert block is not None
    shape = r"\$ ((?:[^\n]*\\\n)*[^\n]*)\n(.*)"
    command, output = re.fullmatch(shape, block[1], re.DOTALL).groups()
    words = shlex.split(command.replace("\\\n", " "))
    assert words[0] == "apply-edit"
    done = subprocess.run(
        [sys.executable, "-m", "apply_edit", *words[1:]], capture_output=True, check=True, cwd=ROOT
    )
    assert done.stdout.decode() == output


def test_the_python_example_is_right():
    """The values in the README's Python example are the real ones."""
    block = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    names: dict[str, object] = {}
    for line in block.strip().split("\n"):
        code, _, comment = line.partition("#")
        if comment:
            assert repr(eval(code, names)) == comment.strip()
        else:
            exec(code, names)


def test_the_docstring_example_is_right():
    """The package's own example runs."""
    assert doctest.testmod(apply_edit).failed == 0


def test_every_file_that_the_docs_link_to_is_there():
    """No link of README or docs leads to a file that does not exist."""
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        pattern = r"\]\(([\w./-]+\.\w+)(?:#[\w-]*)?\)"
        for target in re.findall(pattern, page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
