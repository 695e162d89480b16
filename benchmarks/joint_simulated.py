"""The experiment of Chu, Long and Liu (2022) on as many simulated users as its NLTCS sample has.

    python benchmarks/joint_simulated.py --populations 5

The NLTCS itself is not in this package. For each number of attributes and each f: the variation distance from
the users' true joint distribution, and milliseconds, averaged over populations; each is a mixture of six
classes in which the attributes are independent.
"""

from __future__ import annotations

import argparse

import numpy as np

import mechdesign as md
from mechdesign.show.tables import table

METHODS = ("active-set", "printed-em", "lasso", "sparse-lasso", "lremh")
USERS = 4315


def row(k: int, f: float, populations: int) -> list[str]:
    """Return a row: distances with milliseconds in brackets, and the steps of EM and LREMH."""
    distances, seconds, steps = [], [], []
    for seed in range(1, populations + 1):
        given = {"name": "simulated", "distribution": "mixture", "users": USERS, "seed": seed}
        problem = md.JointDistribution(attributes=[2] * k, redraw=f, keep=0.75, add=0.5, reports=given)
        _ = problem.model, problem.debiased
        found = [md.solve(problem, name) for name in METHODS]
        distances.append([solution.quantities["variation_distance"] for solution in found])
        seconds.append([solution.seconds for solution in found])
        steps.append([found[place].notes["steps"] for place in (1, 4)])
    shown = zip(np.mean(distances, axis=0), 1e3 * np.mean(seconds, axis=0), strict=True)
    counts = [f"{number:.0f}" for number in np.mean(steps, axis=0)]
    return [str(k), f"{f}", *(f"{distance:.2f} ({time:.0f})" for distance, time in shown), *counts]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--populations", type=int, default=5)
    options = parser.parse_args()
    rows = [row(k, f, options.populations) for k in range(2, 7) for f in (0.1, 0.3, 0.5, 0.7, 0.9)]
    print(table(["k", "f", *METHODS, "EM steps", "LREMH steps"], rows))


if __name__ == "__main__":
    main()
