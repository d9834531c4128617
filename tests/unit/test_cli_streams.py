import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EDIT = '{"old_str": "x = 1", "new_str": "x = 2"}'
ENVIRONMENT = {**os.environ, "APPLY_EDIT_NO_SERVICE": "1"}


@pytest.fixture
def file(tmp_path):
    """A file, and beside it an edit that fits."""
    (tmp_path / "edit.json").write_text(EDIT)
    path = tmp_path / "f.py"
    path.write_text("x = 1\n")
    return path


def run(folder: Path, *arguments: str, closed: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with streams closed, in the words of a shell (``>&- 2>&-``)."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "apply_edit", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
        timeout=120,
    )


@pytest.mark.parametrize("output", ["--stdout", "--diff", "--json", "-i --json"])
def test_where_nothing_can_be_printed_it_says_so_before_it_writes(file, output):
    """A result for a closed standard output is one message, and the file stays as it is."""
    ended = run(file.parent, "f.py", "--edit", "edit.json", *output.split(), closed=">&-")
    assert ended.returncode == 13
    assert "standard output is closed" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert file.read_text() == "x = 1\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_where_nothing_is_to_be_printed_closed_streams_do_not_matter(file, closed):
    """An edit that is written needs no stream, and nothing gets into a file by their numbers."""
    ended = run(file.parent, "f.py", "--edit", "edit.json", "-i", closed=closed)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert file.read_text() == "x = 2\n"


@pytest.mark.parametrize("arguments", [["f.py", "--edit", "none"], ["f.py", "--bogus"]])
def test_without_standard_error_the_exit_code_tells(file, arguments):
    """A message that nobody can read is no reason for another error."""
    ended = run(file.parent, *arguments, closed="2>&-")
    assert (ended.returncode, ended.stdout) == (10 if "none" in arguments else 2, "")


def test_an_edit_from_a_closed_standard_input_is_an_error(file):
    """There is nothing to read, which is said, also as an object."""
    ended = run(file.parent, "f.py", "--edit", "-", "--json", closed="<&-")
    assert ended.returncode == 14
    error = json.loads(ended.stdout)["error"]
    assert error["code"] == "file_error"
    assert "closed" in error["message"]
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("command", [["checks"], ["models", "list"], ["--help"], ["--version"]])
def test_other_commands_say_so_too(file, command):
    """Whatever prints tells that it cannot."""
    ended = run(file.parent, *command, closed=">&-")
    assert ended.returncode == 13
    assert "standard output is closed" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_the_tool_server_needs_both_streams(file, closed):
    """A server on standard input and output that lacks one of them ends with a message."""
    ended = run(file.parent, "mcp", "--root", ".", closed=closed)
    assert ended.returncode == 2
    assert "is closed" in ended.stderr
    assert "Traceback" not in ended.stderr
