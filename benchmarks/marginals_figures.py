"""Figures 3.4 and 3.7 to 3.9 of Zhang (2019) from what was measured: ``results/marginals_*.csv``.

    python -m benchmarks.marginals_figures docs/_static

The numbers are those of docs/papers/marginals_experiments.md, which says how they were measured; the
models hold no people's data. What was not run (see there) is not drawn.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from mechdesign.show.draw import save
from mechdesign.show.figure import Figure, Line, Panel

RESULTS = Path(__file__).parent / "results"
MANY, FEWER, CLICKS = (RESULTS / f"marginals_{name}.csv" for name in ("retail", "retail_2_16", "msnbc"))
"""Baskets with 2^18 users and with 2^16, visits of pages with 2^18; each has the figures that were run."""

METHODS = ("CALM", "FT", "FC", "AM", "EM", "Uni")
"""The methods of the thesis' figure; those that the page adds are in its tables."""

ERROR = "mean squared error of a marginal (SSE)"

Points = list[tuple[float, float]]


def measured(results: Path, figure: str) -> dict[str, dict[str, Points]]:
    """Return for each setting of a figure its curves: pairs of x and error, by x."""
    found: dict[str, dict[str, Points]] = {}
    with results.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if row["figure"] == figure:
                curves = found.setdefault(row["setting"], {})
                curves.setdefault(row["curve"], []).append((float(row["x"]), float(row["error"])))
    return {
        name: {curve: sorted(points) for curve, points in curves.items()} for name, curves in found.items()
    }


def lines(curves: dict[str, Points], names: list[str]) -> list[Line]:
    """Return a line a curve; a style is a curve's own in every panel."""
    return [
        Line([x for x, _ in curves[name]], [y for _, y in curves[name]], label=name, series=number, dots=True)
        for number, name in enumerate(names)
        if name in curves
    ]


def figure_3_4(results: Path, title: str, caption: str) -> Figure:
    """Return the errors of all methods over epsilon, a panel a setting."""
    panels = [
        Panel("epsilon", ERROR, lines(curves, list(METHODS)), setting, y_scale="log")
        for setting, curves in measured(results, "3.4").items()
    ]
    return Figure(title, panels, caption)


def figure_3_7(results: Path, title: str, caption: str) -> Figure:
    """Return the errors of CALM over the number of views and over epsilon, a curve a size of view."""
    by_setting = measured(results, "3.7")
    names = sorted({name for curves in by_setting.values() for name in curves})
    labels = {"views (epsilon = 0.6)": "number of views m", "epsilon (28 views)": "epsilon"}
    panels = [
        Panel(
            labels[setting],
            ERROR,
            lines(curves, names),
            setting,
            x_scale="log" if setting.startswith("views") else "linear",
            y_scale="log",
        )
        for setting, curves in by_setting.items()
    ]
    return Figure(title, panels, caption)


def by_order(figure: str, label: str, title: str, caption: str) -> Figure:
    """Return errors of CALM over an order of marginals, a panel a setting, a curve a choice of views."""
    by_setting = measured(MANY, figure)
    names = sorted({name for curves in by_setting.values() for name in curves})
    panels = [
        Panel(label, ERROR, lines(curves, names), setting, y_scale="log")
        for setting, curves in by_setting.items()
    ]
    return Figure(title, panels, caption)


def figures() -> dict[str, Figure]:
    """Return all of them by the names of their files."""
    lowest = "CALM is lowest in every setting; FT, AM and FC lose with d and k and can be worse than Uni, "
    return {
        "3_4": figure_3_4(
            MANY,
            "CALM and others (figure 3.4, measured on retail, 2^18 users)",
            f"Sum of squared errors of random marginals on retail, logarithmic. {lowest}which ignores "
            "the reports.",
        ),
        "3_4_fewer": figure_3_4(
            FEWER,
            "CALM and others (figure 3.4, measured on retail, 2^16 users)",
            f"The same with a quarter of the users. {lowest}in more settings than with 2^18.",
        ),
        "3_7": figure_3_7(
            MANY,
            "Size and number of views (figure 3.7, measured on retail)",
            "Sum of squared errors of CALM on retail by size l and number m of random views, d = 8, k = 3, "
            "measured over 5 repetitions. Views of 2 to 4 attributes hardly differ; large ones are worse.",
        ),
        "3_7_msnbc": figure_3_7(
            CLICKS,
            "Size and number of views (figure 3.7, measured on msnbc)",
            "The same on msnbc, measured over 5 repetitions.",
        ),
        "3_8": by_order(
            "3.8",
            "order k' that the views are for",
            "Views for another order (figure 3.8, second row, measured on retail)",
            "Sum of squared errors of CALM on retail by the order k' that the views were chosen for, d = 16, "
            "measured over 10 repetitions. There are three choices of views; the fewest, for k' = 2, do "
            "best.",
        ),
        "3_9": by_order(
            "3.9",
            "order k of the marginals",
            "Views for three attributes or for as many as are asked for (figure 3.9, measured on retail)",
            "Sum of squared errors of CALM on retail by the order k, d = 16, measured over 3 repetitions, "
            "from the views for k' = 3 and for k' = k. They are the same views at epsilon = 0.5 and 1.",
        ),
    }


def main(folder: str) -> None:
    """Draw all into a folder."""
    for name, figure in figures().items():
        path = Path(folder) / f"marginals_figure{name}.svg"
        save(figure, path)
        print(path)


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["."])
