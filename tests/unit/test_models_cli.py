import io

import pytest
from click.testing import CliRunner
from rich.console import Console

from apply_edit.cli import models as cli
from apply_edit.errors import ModelNotFound
from tests.unit.models_kit import WHOLE, FakeIndex, make_store


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The commands work on a store with one model, ``tiny``."""
    store = make_store(tmp_path / "home", index=FakeIndex())
    monkeypatch.setattr(cli, "Store", lambda: store)
    return store


def run(*arguments, **options):
    """Run ``models`` with these arguments; errors of ours come through as they do to ``main``."""
    return CliRunner().invoke(cli.models_group, arguments, catch_exceptions=False, **options)


def test_list_shows_state_and_path(store):
    """A line per model: name, role, size, state, path; first missing, then ready."""
    assert run("list").stdout.split("\t")[3] == "missing"
    folder = store.pull("tiny")

    cells = run("list").stdout.strip().split("\t")

    assert cells[0] == "tiny"
    assert cells[3] == "ready"
    assert cells[4] == str(folder)


def test_list_shows_how_much_of_a_download_is_here(store):
    """A begun download shows its percentage."""
    downloads = store.layout.download("tiny")
    downloads.mkdir(parents=True)
    (downloads / "tiny.gguf.partial").write_bytes(WHOLE[: len(WHOLE) // 2])

    assert "partial 50 %" in run("list").stdout


def test_pull_reports_on_stderr_only(store):
    """Standard output stays free for programs."""
    result = run("pull", "tiny")

    assert result.exit_code == 0
    assert result.stdout == ""
    assert f"ready: {store.layout.model('tiny')}" in result.stderr


def test_path_prints_the_folder_and_nothing_else(store):
    """The output can be used in a shell substitution."""
    folder = store.pull("tiny")

    assert run("path", "tiny").output == f"{folder}\n"


def test_path_of_a_missing_model_fails(store):
    """A model that is not ready has no path; the message says what to run."""
    with pytest.raises(ModelNotFound, match="models pull tiny"):
        run("path", "tiny")


def test_remove_says_what_it_frees(store):
    """With --yes nothing is asked, and the freed size is said."""
    folder = store.pull("tiny")

    result = run("remove", "tiny", "--yes")

    assert not folder.exists()
    assert "removed tiny, freed" in result.stderr


def test_remove_without_a_terminal_needs_yes(store):
    """A script cannot delete by accident."""
    folder = store.pull("tiny")

    result = run("remove", "tiny")

    assert result.exit_code == 2
    assert "--yes" in result.stderr
    assert folder.exists()


def test_remove_asks_on_a_terminal(store, monkeypatch):
    """The default answer is no."""
    folder = store.pull("tiny")
    monkeypatch.setattr(cli, "_can_ask", lambda: True)

    assert run("remove", "tiny", input="\n").exit_code == 1
    assert folder.exists()
    assert run("remove", "tiny", input="y\n").exit_code == 0
    assert not folder.exists()


def test_removing_what_is_not_there_is_no_error(store):
    """There is nothing to do, and that is said."""
    result = run("remove", "tiny")

    assert result.exit_code == 0
    assert "nothing to remove" in result.stderr


def test_progress_on_a_terminal_is_a_bar_with_speed_and_time():
    """Size, speed and time left are shown; what was here before does not count as done now."""
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    progress = cli.ConsoleProgress(console)

    progress.start(10_000_000, "download", 4_000_000)
    progress.advance(2_000_000)
    progress.message("a [message]")
    progress.finish()

    shown = console.file.getvalue()
    assert "6.0/10.0 MB" in shown
    assert "a [message]" in shown


def test_progress_elsewhere_is_one_line_per_stretch():
    """A log file gets no control characters."""
    console = Console(file=io.StringIO())
    progress = cli.ConsoleProgress(console)

    progress.start(2_000_000_000, "download")
    progress.advance(5)
    progress.finish()
    progress.start(None, "convert x.gguf")
    progress.finish()

    assert console.file.getvalue() == "download (2.0 GB)\nconvert x.gguf\n"
