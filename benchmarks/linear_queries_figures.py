"""Figures of the errors of linear queries from what was measured: ``results/linear_queries.csv``.

    python -m benchmarks.linear_queries_figures docs/_static

The page docs/families/workload.md says how the numbers were measured and shows them.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from benchmarks.linear_queries import MIDDLE, RESULTS
from mechdesign.show.draw import save
from mechdesign.show.figure import Figure, Line, Panel
from mechdesign.show.tables import table

CURVES = {
    "bound": "proven bound",
    "here": "here",
    "channel_16n": "channel of 16n reports",
    "channel_4n": "channel of 4n reports",
    "tree": "binary tree",
    "haar": "Haar wavelets",
}

Row = dict[str, str]


def rows_of(name: str) -> list[Row]:
    """Return the measured settings of a workload, by size and epsilon."""
    with RESULTS.open(encoding="utf-8", newline="") as stream:
        found = [row for row in csv.DictReader(stream) if row["workload"] == name]
    return sorted(found, key=lambda row: (int(row["n"]), float(row["epsilon"])))


def panels_of(name: str, rows: list[Row], axis: str) -> list[Panel]:
    """Return a panel of errors and one of errors divided by the bound, over n or over epsilon."""
    x, names = list(range(len(rows))), [f"{float(row[axis]):g}" for row in rows]
    errors, parts = [], []
    for series, (column, label) in enumerate(CURVES.items()):
        y = [float(row[column]) for row in rows]
        if column != "channel_16n":  # it would hide the curves that it nearly equals
            errors.append(Line(x, y, label=label, series=series, dots=True))
        if column != "haar":  # its errors are up to 18 times the bound
            over = [value / float(row["bound"]) for value, row in zip(y, rows, strict=True)]
            parts.append(Line(x, over, label=label, series=series, dots=True))
    title = f"{name}, epsilon = 1" if axis == "n" else f"{name}, n = {MIDDLE}"
    label = "types n" if axis == "n" else "epsilon"
    return [
        Panel(label, "average error of one report", errors, title, y_scale="log", x_names=names),
        Panel(label, "error / proven bound", parts, title, x_names=names),
    ]


def figure(name: str) -> Figure:
    """Return the errors of a workload over n and over epsilon, and as parts of the bound."""
    rows = rows_of(name)
    over_n = [row for row in rows if float(row["epsilon"]) == 1.0]
    over_epsilon = [row for row in rows if int(row["n"]) == MIDDLE]
    return Figure(
        f"Errors of the {name} workload",
        [*panels_of(name, over_n, "n"), *panels_of(name, over_epsilon, "epsilon")],
        "Errors of one report, averaged over the types, with the best reconstruction. Left: the error. "
        "Right: the error divided by the bound that is proven for every unbiased protocol.",
    )


def results() -> str:
    """Return the measured errors as parts of the bound, as the table of the page."""
    names = ("here", "channel_16n", "channel_4n", "tree", "haar", "sampling", "subset")
    head = ["workload", "n", "epsilon", "bound", "here", "16n", "4n", "tree", "Haar", "sampling", "subset"]
    lines = []
    for workload in ("prefix", "ranges", "marginals", "histogram"):
        for row in rows_of(workload):
            bound = float(row["bound"])
            parts = [f"{float(row[name]) / bound:.4f}" if row[name] else "-" for name in names]
            lines.append([workload, row["n"], f"{float(row['epsilon']):g}", f"{bound:.5g}", *parts])
    return table(head, lines)


def main(folder: str) -> None:
    """Print the table and draw the figure of cumulative shares into a folder."""
    print(results())
    path = Path(folder) / "linear_queries_prefix.svg"
    save(figure("prefix"), path)
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["."])
