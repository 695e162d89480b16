"""Figures 3.4 and 3.7 of Zhang (2019) from what was measured on ``retail``: ``results/marginals_retail.csv``.

    python -m benchmarks.marginals_figures docs/_static

The numbers are those of docs/families/marginals_experiments.md, which says how they were measured; the
models hold no people's data. What was not run (see there) is not drawn.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from mechdesign.core.figure import Figure, Panel
from mechdesign.core.marks import Line
from mechdesign.report.draw import save

MEASURED = Path(__file__).parent / "results" / "marginals_retail.csv"
METHODS = ("CALM", "FT", "FC", "AM", "EM", "Uni")
"""The methods of the thesis' figure; those that the page adds are in its tables."""

Points = list[tuple[float, float]]


def measured(figure: str) -> dict[str, dict[str, Points]]:
    """Return for each setting of a figure its curves: pairs of x and error, by x."""
    found: dict[str, dict[str, Points]] = {}
    with MEASURED.open(encoding="utf-8", newline="") as stream:
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


def figure_3_4() -> Figure:
    """Return the errors of all methods over epsilon, a panel a setting."""
    panels = [
        Panel(
            "epsilon",
            "mean squared error of a marginal (SSE)",
            lines(curves, list(METHODS)),
            setting,
            y_scale="log",
        )
        for setting, curves in measured("3.4").items()
    ]
    caption = (
        "Sum of squared errors of random marginals on retail, measured; logarithmic. CALM is lowest in every "
        "setting; FT, AM and FC lose with d and k and can be worse than Uni, which ignores the reports."
    )
    return Figure("CALM and others (figure 3.4, measured on retail)", panels, caption)


def figure_3_7() -> Figure:
    """Return the errors of CALM over the number of views and over epsilon, a curve a size of view."""
    by_setting = measured("3.7")
    names = sorted({name for curves in by_setting.values() for name in curves})
    labels = {"views (epsilon = 0.6)": "number of views m", "epsilon (28 views)": "epsilon"}
    panels = [
        Panel(
            labels[setting],
            "mean squared error of a marginal (SSE)",
            lines(curves, names),
            setting,
            x_scale="log" if setting.startswith("views") else "linear",
            y_scale="log",
        )
        for setting, curves in by_setting.items()
    ]
    caption = (
        "Sum of squared errors of CALM on retail by size l and number m of random views, d = 8, k = 3, "
        "measured over 5 repetitions. Views of 2 to 4 attributes hardly differ; large ones are worse."
    )
    return Figure("Size and number of views (figure 3.7, measured on retail)", panels, caption)


def main(folder: str) -> None:
    """Draw both into a folder."""
    for name, figure in (("3_4", figure_3_4()), ("3_7", figure_3_7())):
        path = Path(folder) / f"marginals_figure{name}.svg"
        save(figure, path)
        print(path)


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["."])
