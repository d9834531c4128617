"""The experiments say what they are meant to show, and the command prints and draws them."""

import importlib.util
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from apply_edit.cli.lab import EXPERIMENTS, lab_group
from apply_edit.errors import ConfigError, FileNotWritten
from apply_edit.lab import chains, distance, greedy_draft, markov, noise, plots, temperature
from apply_edit.lab.result import LabResult, Plot, Series
from apply_edit.reference import acceptance_rate, expected_tokens


def by_label(result):
    """Return the values of each line of a result's plot."""
    return {series.label: series.ys for series in result.plot.series}


def test_the_chain_has_the_acceptance_rates_it_is_described_with():
    """0.6 after token 0, 0.5 after tokens 1 and 2."""
    rates = [acceptance_rate(p, q) for p, q in zip(chains.TARGET, chains.DRAFT, strict=True)]
    assert rates == pytest.approx([0.6, 0.5, 0.5])


def test_stationary_shares_do_not_change_by_a_step():
    """They sum to one and are their own successor."""
    shares = chains.stationary(chains.TARGET)
    assert shares.sum() == pytest.approx(1)
    assert shares @ np.array(chains.TARGET) == pytest.approx(shares)


@pytest.mark.parametrize(("runs", "want"), [(1, (1,)), (1000, (1000,)), (5000, (1000, 3162, 5000))])
def test_checkpoints_end_at_the_number_of_runs(runs, want):
    """Two per power of ten from 1,000 on, each below the end."""
    assert distance.checkpoints(runs) == want


def test_noise_separates_bias_from_chance():
    """At 3,000 runs every biased bug is far above the noise, the correct round is not."""
    lines = by_label(noise.run(3000, 1))
    limit = 3 * lines["chance alone"][-1]
    far = {name for name, ys in lines.items() if ys[-1] > limit}
    assert far == set(lines) - {"correct", "no bonus token", "chance alone"}


def test_the_exact_round_length_agrees_with_the_measured_one():
    """20,000 rounds are within four standard errors (0.04) of the exact value (level 1e-4)."""
    for gamma in (1, 6):
        exact = markov.exact_length(gamma)
        assert markov.measured_length(gamma, 20_000, 3) == pytest.approx(exact, abs=0.04)


def test_the_exact_round_length_is_the_formula_where_the_rate_is_constant(monkeypatch):
    """With one acceptance rate in every state there is nothing to be off by."""
    rows = ((0.5, 0.3, 0.2),) * 3
    monkeypatch.setattr(markov, "TARGET", rows)
    monkeypatch.setattr(markov, "DRAFT", ((0.3, 0.3, 0.4),) * 3)
    assert markov.exact_length(4) == pytest.approx(expected_tokens(0.8, 4))


def test_the_markov_table_has_a_row_per_gamma():
    """Gamma 1 to 6, measured, exact and by the formula."""
    result = markov.run(50, 1)
    assert [row[0] for row in result.rows] == ["1", "2", "3", "4", "5", "6"]
    assert all(len(row) == len(result.columns) for row in result.rows)


def test_temperature_zero_counts_equal_argmaxes():
    """The one-hot rows overlap fully or not at all."""
    logits = np.array([1.0, 3.0, 2.0])
    assert temperature.probabilities(logits, 0).tolist() == [0, 1, 0]
    assert temperature.probabilities(logits, 1e-3) == pytest.approx([0, 1, 0])
    assert temperature.probabilities(logits * 1000, 0.5).sum() == pytest.approx(1)


def test_alike_logits_and_high_temperatures_raise_the_acceptance_rate():
    """Alpha grows with the correlation, and from T = 1 on with the temperature."""
    lines = by_label(temperature.run(8, 1))
    low, middle, high = (lines[f"correlation {rho}"] for rho in (0.5, 0.9, 0.99))
    assert all(a < b < c for a, b, c in zip(low, middle, high, strict=True))
    assert all(list(ys[6:]) == sorted(ys[6:]) for ys in (low, middle, high))


def test_a_greedy_drafter_needs_the_one_hot_q():
    """The softmax as q is far from the target, the point mass within the noise."""
    lines = by_label(greedy_draft.run(3000, 1))
    limit = 3 * lines["chance alone"][-1]
    assert lines["argmax draft, q = one-hot"][-1] < limit
    assert lines["sampled draft, q = its softmax"][-1] < limit
    assert lines["argmax draft, q = its softmax"][-1] > 0.2


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_reproducible(name):
    """The same seed gives the same table."""
    run = EXPERIMENTS[name].run
    assert run(20, 5).rows == run(20, 5).rows


def test_list_names_every_experiment():
    """One line each, with what it shows."""
    result = CliRunner().invoke(lab_group, ["list"])
    assert result.exit_code == 0
    for name, experiment in EXPERIMENTS.items():
        assert f"{name} " in result.output
        assert experiment.summary in result.output


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_command_prints_the_table_without_plots(name, tmp_path, monkeypatch):
    """--no-plot needs no plotting library and writes nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = CliRunner().invoke(lab_group, [name, "--runs", "5", "--no-plot"])
    assert result.exit_code == 0, result.output
    assert EXPERIMENTS[name].run(5, 0).notes[0][:30] in result.output
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_a_png_and_an_svg(tmp_path):
    """Both files are there, are what they are called, and are named in the output."""
    pytest.importorskip("matplotlib")
    folder = tmp_path / "new" / "plots"
    arguments = ["markov", "--runs", "5", "--seed", "1", "--out", str(folder)]
    result = CliRunner().invoke(lab_group, arguments)
    assert result.exit_code == 0, result.output
    assert (folder / "lab-markov.png").read_bytes().startswith(b"\x89PNG")
    svg = (folder / "lab-markov.svg").read_bytes()
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert "lab-markov.png" in result.output
    assert CliRunner().invoke(lab_group, arguments).exit_code == 0
    assert (folder / "lab-markov.svg").read_bytes() == svg, "the same seed, the same picture"


def bars():
    """Return a small result with bars."""
    series = (Series("a", (0, 1), (1, 2)), Series("b", (0, 1), (2, 3)))
    plot = Plot("", "y", series, ticks=("left", "right"))
    return LabResult("bars", "Bars", ("x",), (("1",),), plot)


def test_bars_are_drawn_too(tmp_path):
    """A plot with ticks is a bar chart."""
    pytest.importorskip("matplotlib")
    assert [path.name for path in plots.save(bars(), tmp_path)] == ["lab-bars.png", "lab-bars.svg"]


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    """Before any work is done, and with the way out."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = CliRunner().invoke(lab_group, ["noise"])
    assert isinstance(result.exception, ConfigError)
    assert "apply-edit[plot]" in result.exception.message
    assert result.output == ""


def test_a_folder_that_cannot_be_made_is_a_typed_error(tmp_path):
    """A file in the way of the folder is reported with the path."""
    pytest.importorskip("matplotlib")
    blocker = tmp_path / "taken"
    blocker.write_text("")
    with pytest.raises(FileNotWritten) as caught:
        plots.save(bars(), blocker)
    assert caught.value.fields["path"] == str(blocker)
