"""What an experiment hands back: a table and a plot, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a plot, or one colour of its bars.

    Args:
        label: Name for the legend.
        xs: Places on the x axis; for bars the indexes of ``Plot.ticks``.
        ys: Values; as many as places.
        dashed: Draw it as a theory or a limit, not as a measurement.
    """

    label: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot without a drawing library.

    Args:
        x_label: What the x axis shows.
        y_label: What the y axis shows.
        series: The lines or bars.
        log_x: Logarithmic x axis.
        log_y: Logarithmic y axis.
        ticks: Names of the groups of bars; empty for lines.
    """

    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False
    ticks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabResult:
    """The outcome of one experiment.

    Args:
        name: The experiment, as it is called on the command line.
        title: One line that says what was measured, with its parameters.
        columns: Heads of the table.
        rows: Cells, ready to print; as many per row as columns.
        plot: The same figures to look at.
        notes: What to read out of them.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    plot: Plot
    notes: tuple[str, ...] = ()
