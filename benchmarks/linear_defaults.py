"""Linear queries of many types: the default's error next to its bound and to the other methods."""

from __future__ import annotations

import csv
import itertools
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import mechdesign as md
from mechdesign.core.errors import MechDesignError
from mechdesign.families.workload.simple_reports import best_subset
from mechdesign.show.tables import table

TITLE = "Linear queries of 129 types and more: the default next to its bound and to other methods"

EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
OTHERS = ("field", "tree", "subset", "haar")
COLUMNS = ("workload", "n", "epsilon", "error", "bound", "error/bound", *OTHERS, "seconds")


def workloads(size: int) -> dict[str, Any]:
    """Return workloads about this many types: named ones, and own queries about random sets of types."""
    rng = np.random.default_rng(size)
    own = (rng.random((size // 2, size)) < 0.3).astype(float).tolist()
    side = math.isqrt(size)
    return {
        "prefix": {"name": "prefix", "size": size},
        "ranges": {"name": "ranges", "size": size},
        "own": own,
        "grid": {"name": "grid-prefix", "sizes": [side, side + 1]},
    }


def measured(name: str, workload: Any, epsilon: float) -> dict[str, Any]:
    """Return one row: other methods by their errors as parts of the default's."""
    problem = md.LinearQueries(workload=workload, epsilon=epsilon)
    begun = time.process_time()
    solution = md.solve(problem)
    row: dict[str, Any] = {"workload": name, "n": problem.queries.size, "epsilon": epsilon}
    row |= {"seconds": time.process_time() - begun, "error": solution.value, "bound": solution.bound}
    for method in OTHERS:
        try:
            row[method] = md.solve(problem, method).value / solution.value
        except MechDesignError:
            row[method] = math.nan
    row["subset"] = best_subset(problem)[1] / solution.value
    return row


RESULTS = Path(__file__).parent / "results" / "linear_defaults.csv"
SAVED = ("workload", "n", "epsilon", "method", "error", "bound", "ratio", "reports", "seconds")


def save(size: int, name: str, epsilon: float) -> None:
    """Measure the default alone and replace its row in the file of results."""
    problem = md.LinearQueries(workload=workloads(size)[name], epsilon=epsilon)
    begun = time.process_time()
    solution = md.solve(problem)
    seconds = time.process_time() - begun
    ratio = solution.value / solution.bound if solution.bound else math.nan
    figures = [f"{solution.value:.6g}", f"{solution.bound:.6g}", f"{ratio:.4f}"]
    reports = str(len(solution.variables["patterns"]))
    row = [name, str(size), f"{epsilon:g}", solution.method, *figures, reports, f"{seconds:.1f}"]
    rows = []
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            rows = [line for line in list(csv.reader(file))[1:] if line[:3] != row[:3]]
    rows = sorted([*rows, row], key=lambda line: (line[0], int(line[1]), float(line[2])))
    with RESULTS.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([SAVED, *rows])
    print("  ".join(row), flush=True)


def shown(row: dict[str, Any]) -> list[str]:
    """Return a row of the table."""
    bound = row["bound"]
    ratio = f"{row['error'] / bound:.3f}" if bound else "-"
    others = ["-" if math.isnan(row[name]) else f"{row[name]:.3f}" for name in OTHERS]
    figures = [f"{row['error']:.5g}", f"{bound:.5g}", ratio, *others, f"{row['seconds']:.1f}"]
    return [row["workload"], str(row["n"]), f"{row['epsilon']:g}", *figures]


def run(quick: bool, sizes: tuple[int, ...] = (129, 256), names: tuple[str, ...] = ()) -> None:
    """Print the table; at three epsilons in a first look."""
    lines = []
    for size in sizes[:1] if quick else sizes:
        for name, workload in workloads(size).items():
            for epsilon in EPSILONS[1::3] if quick else EPSILONS:
                if not names or name in names:
                    lines.append(shown(measured(name, workload, epsilon)))
                    print("  ".join(lines[-1]), file=sys.stderr, flush=True)
    print(table(list(COLUMNS), lines), flush=True)


if __name__ == "__main__" and sys.argv[1] == "save":
    for size, name, epsilon in itertools.product(
        map(int, sys.argv[2].split(",")), sys.argv[3].split(","), map(float, sys.argv[4].split(","))
    ):
        save(size, name, epsilon)
elif __name__ == "__main__":
    run(False, tuple(map(int, sys.argv[1].split(","))), tuple(sys.argv[2:]))
