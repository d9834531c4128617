"""Draw the plot of an experiment into files. The only module that needs matplotlib."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

from apply_edit.errors import ConfigError, FileNotWritten
from apply_edit.lab.result import LabResult, Plot

FORMATS = ("png", "svg")


def require_matplotlib() -> None:
    """Check, without importing it, that matplotlib is there.

    Raises:
        ConfigError: It is not; the message names the extra that brings it.
    """
    if importlib.util.find_spec("matplotlib") is None:
        message = (
            "plots need matplotlib, which is not installed: pip install 'apply-edit[plot]', "
            "or use --no-plot for the table alone"
        )
        raise ConfigError(message, option="plot", extra="plot")


def save(result: LabResult, folder: Path) -> list[Path]:
    """Write ``lab-NAME.png`` and ``lab-NAME.svg`` into ``folder``, which is made where missing.

    Returns:
        The files, in the order PNG, SVG.

    Raises:
        ConfigError: matplotlib is not installed.
        FileNotWritten: The folder or a file cannot be written.
    """
    require_matplotlib()
    matplotlib = importlib.import_module("matplotlib")
    # A Figure of its own, without pyplot: no window, no global state, nothing to close.
    figure = importlib.import_module("matplotlib.figure").Figure(
        figsize=(8, 5), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.set_title(result.title, wrap=True, fontsize="small")
    _draw(axes, result.plot)
    figure.legend(loc="outside lower center", ncols=3, fontsize="small")
    paths = [folder / f"lab-{result.name}.{suffix}" for suffix in FORMATS]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Fixed ids and no date: the same figures give the same SVG.
        with matplotlib.rc_context({"svg.hashsalt": result.name}):
            figure.savefig(paths[0], dpi=150)
            figure.savefig(paths[1], metadata={"Date": None})
    except OSError as error:
        message = f"cannot write the plots to {folder}: {error.strerror}"
        raise FileNotWritten(message, path=str(folder)) from error
    return paths


# ``axes`` is an object of a library that may not be installed.
def _draw(axes: Any, plot: Plot) -> None:  # noqa: ANN401
    width = 0.8 / max(len(plot.series), 1)
    for number, series in enumerate(plot.series):
        if plot.ticks:
            shift = (number - (len(plot.series) - 1) / 2) * width
            axes.bar([x + shift for x in series.xs], series.ys, width, label=series.label)
        else:
            style = "--" if series.dashed else "-"
            axes.plot(series.xs, series.ys, style, marker="o", markersize=4, label=series.label)
    axes.set_xlabel(plot.x_label)
    axes.set_ylabel(plot.y_label)
    axes.set_xscale("log" if plot.log_x else "linear")
    axes.set_yscale("log" if plot.log_y else "linear")
    if plot.ticks:
        # After the scale, which would put numbers back in place of the names.
        axes.set_xticks(range(len(plot.ticks)), plot.ticks, fontsize="small")
    axes.grid(visible=True, which="both", alpha=0.3)
