"""Errors of linear queries: this package, its bound, trees, wavelets, and gradient methods on the channel."""

from __future__ import annotations

import csv
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

import mechdesign as md
from benchmarks.factorization import best_channel
from mechdesign.core.errors import MechDesignError
from mechdesign.families.workload.papers.linear_queries import tree_error
from mechdesign.families.workload.simple_reports import best_subset, why_not_halves
from mechdesign.show.tables import table

TITLE = "Linear queries: errors as parts of the proven bound, next to gradient methods"

RESULTS = Path(__file__).parent / "results" / "linear_queries.csv"
"""Errors over n at epsilon = 1 and over epsilon at n = 32, from ``python -m benchmarks.linear_queries``."""

NAMES = ("prefix", "ranges", "marginals", "histogram")
SIZES, EPSILONS = (8, 16, 32, 64), (0.5, 1.0, 2.0, 4.0)
MIDDLE = 32

FACTORS = {"channel_4n": (4, 2, 1), "channel_16n": (16, 1, 0)}
"""Rows per type, random starts, and known mechanisms as starts."""

COLUMNS = (
    "workload", "n", "epsilon", "bound", "here", "subset", "tree", "haar", "sampling", *FACTORS,
    "seconds_here", "seconds_4n", "seconds_16n",
)  # fmt: skip


def problem_of(name: str, size: int, epsilon: float) -> md.LinearQueries:
    """Return a workload of 2^d types; marginals are all three-way marginals of d bits."""
    workload: dict[str, Any] = {"name": name, "size": size}
    if name == "marginals":
        workload = {"name": name, "sizes": [2] * (size.bit_length() - 1), "order": 3}
    return md.LinearQueries(workload=workload, epsilon=epsilon)


def measured(name: str, size: int, epsilon: float) -> dict[str, Any]:
    """Return the errors of one setting, averaged over the types, and processor seconds."""
    problem = problem_of(name, size, epsilon)
    begun = time.process_time()
    solution = md.solve(problem)
    row: dict[str, Any] = {"workload": name, "n": size, "epsilon": epsilon}
    row |= {"bound": solution.bound, "here": solution.value, "seconds_here": time.process_time() - begun}
    row["subset"] = best_subset(problem)[1]
    if why_not_halves(problem) is None:
        row["tree"] = tree_error(problem)
    for method, column in (("haar", "haar"), ("marginal-sampling", "sampling")):
        try:
            row[column] = md.solve(problem, method).value
        except MechDesignError:  # it is for other workloads
            row[column] = math.nan
    rows = problem.queries.factor[0]
    for column, (factor, restarts, known) in FACTORS.items():
        begun = time.process_time()
        row[column] = best_channel(rows.T @ rows, epsilon, factor, restarts, known).error
        row[f"seconds_{column.removeprefix('channel_')}"] = time.process_time() - begun
    return row


def settings(names: tuple[str, ...] = NAMES, largest: int = SIZES[-1]) -> list[tuple[str, int, float]]:
    """Return the settings: over n at epsilon = 1, and over epsilon at n = 32; cumulative shares first."""
    over_n = [(name, size, 1.0) for size in SIZES for name in names if size <= largest]
    over_epsilon = [(name, MIDDLE, epsilon) for epsilon in EPSILONS for name in names if epsilon != 1.0]
    found = over_n + (over_epsilon if largest >= MIDDLE else [])
    return sorted(found, key=lambda setting: (setting[0] != NAMES[0], setting[1]))


def shown(row: dict[str, Any]) -> list[str]:
    """Return a row of the table: the bound, and errors divided by it."""
    bound = row["bound"]
    parts = [row.get(column, math.nan) / bound for column in COLUMNS[4:11]]
    texts = ["-" if math.isnan(part) else f"{part:.4f}" for part in parts]
    seconds = [f"{row[column]:.1f}" for column in COLUMNS[11:]]
    return [row["workload"], str(row["n"]), f"{row['epsilon']:g}", f"{bound:.5g}", *texts, *seconds]


def run(quick: bool) -> None:
    """Print errors divided by the bound; up to 16 types, and up to 8 in a first look."""
    lines = [shown(measured(*setting)) for setting in settings(largest=8 if quick else 16)]
    print(table(list(COLUMNS), lines), flush=True)


def main() -> None:
    """Write the result of all settings that it does not have yet, one after the other."""
    done = set()
    if RESULTS.exists():
        with RESULTS.open(encoding="utf-8", newline="") as stream:
            done = {(row["workload"], int(row["n"]), float(row["epsilon"])) for row in csv.DictReader(stream)}
    else:
        RESULTS.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    for setting in settings():
        if setting not in done:
            row = measured(*setting)
            texts = [
                f"{value:.9g}" if isinstance(value, float) and np.isfinite(value) else value
                for value in (row.get(column, "") for column in COLUMNS)
            ]
            with RESULTS.open("a", encoding="utf-8", newline="") as stream:
                csv.writer(stream, lineterminator="\n").writerow(
                    ["" if value != value else value for value in texts]  # NaN differs from itself
                )
            print(*shown(row), flush=True)


if __name__ == "__main__":
    main()
