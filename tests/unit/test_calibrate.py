import json
import os

import pytest
from click.testing import CliRunner
from rich.console import Console

from apply_edit.cli.calibrate import calibrate_command, show_cost, write_plot
from apply_edit.decode import calibrate
from apply_edit.decode.calibrate import Key, cost_of, key_of, load, measure, save
from apply_edit.decode.cost import WIDTHS, PassCost
from apply_edit.errors import ConfigError
from tests.e2e.tiny_folder import make
from tests.fakes import hash_target
from tests.tiny import qwen2_config, tiny_target

KEY = Key("folder", "cpu", "float32", 2, "2.13")


class Machine:
    """A target and its clock: a pass takes ``base`` and ``step`` per token, rows cost nothing."""

    def __init__(self, base, step, limit=1 << 20):
        self.target = hash_target(7)
        self.target.context_limit = limit
        self.now = 0.0
        score = self.target.score

        def timed(blocks):
            self.now += base + step * len(blocks[0].ids)
            return score(blocks)

        self.target.score = timed

    def clock(self):
        """Return the time."""
        return self.now


def test_a_measurement_gives_the_time_of_a_pass():
    """Every width is measured behind every prefix, and no row is left open."""
    machine = Machine(1.0, 0.1)
    cost = measure(machine.target, (20, 40), budget_s=1e4, clock=machine.clock)
    assert cost.widths == WIDTHS
    assert sorted(cost.tables) == [20, 40]
    assert cost.seconds(64, 20) == pytest.approx(7.4)
    assert cost.measured
    assert machine.target.rows == {}


def test_a_small_budget_leaves_out_wide_passes():
    """Widths that do not fit into the budget are extrapolated, and the budget is kept."""
    machine = Machine(0.3, 0.02)
    cost = measure(machine.target, (64,), budget_s=15.0, clock=machine.clock)
    assert machine.now < 20
    assert 32 < cost.widths[-1] < 512
    assert cost.seconds(512) == pytest.approx(0.3 + 0.02 * 512, rel=0.1)


def test_a_short_context_is_measured_as_far_as_it_goes():
    """Prefixes and widths that the context has no room for are left out."""
    machine = Machine(1.0, 0.1, limit=100)
    cost = measure(machine.target, (512,), budget_s=1e4, clock=machine.clock)
    assert list(cost.tables) == [50]
    assert cost.widths[-1] == 32


def test_a_kept_measurement_comes_back(tmp_path):
    """What was saved is loaded for the same key, and for no other."""
    cost = PassCost({512: (1.0, 2.0), 2048: (1.5, 3.0)}, (1, 8))
    save(tmp_path, KEY, cost)
    again = load(tmp_path, KEY)
    assert again is not None
    assert (again.widths, again.tables, again.measured) == (cost.widths, cost.tables, True)
    assert load(tmp_path, Key("folder", "cpu", "float32", 4, "2.13")) is None
    assert [path.name for path in tmp_path.iterdir()] == [KEY.file_name]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: text.replace('"float32"', '"float16"'),
        lambda text: text.replace("2.0", "-2.0"),
        lambda text: text.replace("2.0", "NaN"),
        lambda text: json.dumps({**json.loads(text), "tables": None}),
        lambda text: json.dumps({**json.loads(text), "widths": [8, 1]}),
        lambda text: json.dumps({**json.loads(text), "version": 0}),
    ],
)
def test_a_damaged_file_is_no_file(tmp_path, damage):
    """A file that is cut, of another version or that holds no times is as good as none."""
    path = save(tmp_path, KEY, PassCost({512: (1.0, 2.0)}, (1, 8)))
    path.write_text(damage(path.read_text()))
    assert load(tmp_path, KEY) is None
    save(tmp_path, KEY, PassCost({512: (1.0, 2.0)}, (1, 8)))
    assert load(tmp_path, KEY) is not None


def test_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    """A save that fails before its rename keeps what was there and leaves nothing beside it."""
    save(tmp_path, KEY, PassCost({512: (1.0, 2.0)}, (1, 8)))

    def broken(source, destination):
        raise OSError(28, "no space left")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="no space"):
        save(tmp_path, KEY, PassCost({512: (7.0, 8.0)}, (1, 8)))
    kept = load(tmp_path, KEY)
    assert kept is not None
    assert kept.seconds(1) == 1.0
    assert len(list(tmp_path.iterdir())) == 1


def test_the_key_changes_with_the_model(tmp_path):
    """Other files in the model's folder, another number of threads: another key."""
    target = tiny_target(qwen2_config())
    (tmp_path / "model.safetensors").write_bytes(b"1")
    first = key_of(target, tmp_path)
    assert key_of(target, tmp_path) == first
    (tmp_path / "model.safetensors").write_bytes(b"22")
    assert key_of(target, tmp_path).file_name != first.file_name


def test_a_first_call_measures_nothing_on_a_cpu(tmp_path, monkeypatch):
    """Without a kept measurement the usual shape is taken; a kept one is used."""
    target = tiny_target(qwen2_config())
    monkeypatch.setattr(calibrate, "measure", lambda *a, **k: pytest.fail("it measured"))
    assert not cost_of(target, tmp_path, tmp_path / "kept").measured
    save(tmp_path / "kept", key_of(target, tmp_path), PassCost({512: (3.0, 4.0)}, (1, 2)))
    assert cost_of(target, tmp_path, tmp_path / "kept").seconds(1) == 3.0


def test_a_real_target_is_measured():
    """A tiny model gives a table whose times rise with the width."""
    cost = measure(tiny_target(qwen2_config()), (100,), budget_s=0.2)
    assert cost.widths[0] == 1
    assert list(cost.tables[100]) == sorted(cost.tables[100])


def test_the_table_shows_seconds_and_tokens_per_second():
    """The command's table has a line per width and two columns per prefix."""
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    show_cost(console, PassCost({512: (0.5, 2.0)}, (1, 8)), "name, cpu")
    text = console.export_text()
    console.file.close()
    assert "name, cpu" in text
    assert "seconds after 512" in text
    assert "2.0000" in text
    assert "4.0" in text


def test_a_plot_is_written_or_refused(tmp_path):
    """The plot is a picture; an impossible kind of file is an error with a reason."""
    cost = PassCost({512: (0.5, 2.0)}, (1, 8))
    write_plot(cost, "name", tmp_path / "t.png")
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigError, match="cannot be written"):
        write_plot(cost, "name", tmp_path / "t.nonsense")


def test_the_command_says_what_it_can_do():
    """--help names the options."""
    result = CliRunner().invoke(calibrate_command, ["--help"])
    assert result.exit_code == 0
    for option in ("--target", "--prefix", "--seconds", "--show", "--plot"):
        assert option in result.output


def test_showing_measures_nothing(tmp_path, monkeypatch):
    """--show says that nothing is kept and what to run; what is kept is printed."""
    model = make(tmp_path / "model")
    monkeypatch.setenv("APPLY_EDIT_HOME", str(tmp_path / "home"))
    measured = calibrate.measure
    monkeypatch.setattr(calibrate, "measure", lambda *a, **k: pytest.fail("it measured"))
    arguments = ["--target", str(model), "--dtype", "float32"]
    shown = CliRunner().invoke(calibrate_command, [*arguments, "--show"])
    assert isinstance(shown.exception, ConfigError)
    for words in ("nothing is kept", str(model), "float32", "without --show"):
        assert words in shown.exception.message
    assert not (tmp_path / "home" / "calibration").exists()
    monkeypatch.setattr(calibrate, "measure", measured)
    assert CliRunner().invoke(calibrate_command, [*arguments, "--seconds", "0.1"]).exit_code == 0
    monkeypatch.setattr(calibrate, "measure", lambda *a, **k: pytest.fail("it measured"))
    shown = CliRunner().invoke(calibrate_command, [*arguments, "--show"])
    assert shown.exit_code == 0
    assert "seconds after" in shown.output
