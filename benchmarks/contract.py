"""Figure 4.3 on real columns, and the speed of each method. Not part of the tests.

    python benchmarks/contract.py adult.csv.xz capital-gain hours-per-week

A CSV file (compressed or not) and the names of numeric columns; without arguments only the speeds.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

import mechdesign as md
from mechdesign.families.contract import PrivacyContract
from mechdesign.families.contract.noise import NOISES

TITLE = "Contracts that buy privacy: seconds of each method"

ROWS, REPETITIONS, FREE_EPSILON = 10_000, 100, 0.5
BUDGETS = (1_000, 5_000, 10_000, 20_000, 30_000, 50_000)
TYPES = 100


def normalised_errors(values, randomize):
    """Mean and standard deviation of |estimate - truth| / range over the repetitions; values in [-1, 1]."""
    errors = [abs(randomize(values).mean() - values.mean()) / 2 for _ in range(REPETITIONS)]
    return float(np.mean(errors)), float(np.std(errors))


def same_epsilon(epsilon, noise, rng):
    return lambda values: NOISES[noise].randomize(values, epsilon, rng)


def menu_for(budget, noise, information):
    types = (np.arange(TYPES) + 0.5) / TYPES
    problem = PrivacyContract(
        types=types, counts=ROWS, budget=budget, noise=noise, information=information, data_range=2
    )
    return md.solve(problem).mechanism()


def by_menu(menu, rng):
    def randomize(values):
        theta = rng.permutation(np.repeat(menu.terms.types, ROWS // TYPES))
        return menu.randomize(values, menu.choose(theta), low=-1.0, rng=rng)

    return randomize


def column_study(name, column, rng):
    column = column[np.isfinite(column)]
    sample = rng.choice(column, size=min(ROWS, len(column)), replace=len(column) < ROWS)
    low, high = float(column.min()), float(column.max())
    values = 2 * (sample - low) / (high - low) - 1
    print(
        f"\n{name}: {ROWS} rows, mean {sample.mean():.4g} in [{low:g}, {high:g}], normalised absolute error"
    )
    for noise in NOISES:
        mean, spread = normalised_errors(values, same_epsilon(FREE_EPSILON, noise, rng))
        print(f"  free, epsilon {FREE_EPSILON}: {noise:10s} {mean:.5f} +- {spread:.5f}")
    for budget in BUDGETS:
        cells = [normalised_errors(values, same_epsilon(budget / (0.5 * ROWS), "laplace", rng))]
        cells += [
            normalised_errors(values, by_menu(menu_for(budget, "laplace", i), rng))
            for i in ("complete", "incomplete")
        ]
        cells.append(normalised_errors(values, by_menu(menu_for(budget, "duchi", "incomplete"), rng)))
        cells.append(normalised_errors(values, by_menu(menu_for(budget, "piecewise", "incomplete"), rng)))
        names = ("as in the thesis", "known types", "private types", "private, duchi", "private, piecewise")
        print(
            f"  B = {budget:6d}: " + ", ".join(f"{n} {m:.5f}" for n, (m, _) in zip(names, cells, strict=True))
        )


def run(quick):
    """Print the speeds; real columns need a file, see the first lines of this module."""
    speeds(np.random.default_rng(0), 10**5 if quick else 10**6)


def speeds(rng, largest=10**6):
    print("speed, seconds (method, types)")
    for method, size in (("closed-form", largest), ("reduced-program", 500), ("full-program", 60)):
        types = np.sort(rng.uniform(1, 10, size))
        problem = PrivacyContract(types=types, counts=rng.integers(1, 9, size), budget=float(size))
        md.solve(PrivacyContract(types=[1, 2], counts=[1, 1], budget=1), method=method)  # load what it needs
        start = time.perf_counter()
        solution = md.solve(problem, method=method)
        gap = (solution.value - solution.bound) / solution.value
        print(f"  {method:16s} {size:8d}  {time.perf_counter() - start:6.2f}  relative gap {gap:.1e}")
    assert math.isfinite(gap)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", help="CSV file with numeric columns")
    parser.add_argument("columns", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    speeds(rng)
    if arguments.data:
        import pandas

        frame = pandas.read_csv(arguments.data)
        for name in arguments.columns:
            column_study(name, pandas.to_numeric(frame[name], errors="coerce").to_numpy(dtype=float), rng)


if __name__ == "__main__":
    main()
