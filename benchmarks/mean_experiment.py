"""The experiment of Liu and Zhou (2023), section 5, on sensor columns of your own.

    python benchmarks/mean_experiment.py sensors.npz --users 800000 --sets 30

The file is a .npz, whose arrays of floats are the columns, or a .csv[.xz] with columns x, y, z. Columns are
repeated with other rows until there are 36, each scaled to [0, 1], as the paper does for twelve files.
Prints RMSE, mean ranks and Friedman's test for the nine epsilons.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import mechdesign as md
from mechdesign.families.mean import MeanInterval
from mechdesign.families.mean.papers.interval import entrants, errors_on, summary
from mechdesign.families.mean.papers.printed_tables import COMPARED
from mechdesign.show.tables import table
from mechdesign.work.bars import progress

EPSILONS = (0.1, 0.2, 0.5, 0.8, 1.0, 2.0, 5.0, 8.0, 10.0)


def read_columns(path: Path) -> np.ndarray:
    """Return the numeric columns of a file, shape (rows, columns), rows with gaps left out."""
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            found = np.column_stack([arrays[name] for name in arrays if arrays[name].dtype.kind == "f"])
    else:
        import pandas

        frame = pandas.read_csv(path)
        found = frame[[name for name in ("x", "y", "z") if name in frame]].to_numpy()
    values = np.asarray(found, dtype=np.float64)
    return values[np.isfinite(values).all(axis=1)]


def data_set(columns: np.ndarray, attributes: int, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random table of ``attributes`` attributes, each a sample of a column, scaled to [0, 1]."""
    length, width = columns.shape
    picked = [columns[rng.integers(0, length, rows), number % width] for number in range(attributes)]
    sample = np.array(picked).T
    low, high = sample.min(axis=0), sample.max(axis=0)
    return (sample - low) / (high - low)


def main() -> None:
    """Read the arguments, run all data sets, print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--users", type=int, default=800_000)
    parser.add_argument("--sets", type=int, default=30)
    parser.add_argument("--seed", type=int, default=2023)
    options = parser.parse_args()
    columns, rng = read_columns(options.path), np.random.default_rng(options.seed)
    errors: dict[float, dict[str, list[float]]] = {}
    methods = {}
    for epsilon in EPSILONS:
        problem = MeanInterval(epsilon=epsilon, mean=0.5, attributes=36)
        start, end = md.solve(problem).variables["interval"]
        methods[epsilon] = entrants(problem, (start, end))
        errors[epsilon] = {name: [] for name in methods[epsilon]}
    for _ in progress(range(options.sets), options.sets, "data sets"):
        sample = data_set(columns, 36, min(options.users, 20_000), rng)
        for epsilon in EPSILONS:
            for name, error in errors_on(sample, methods[epsilon], options.users, rng).items():
                errors[epsilon][name].append(error)
    found = {epsilon: summary(errors[epsilon]) for epsilon in EPSILONS}
    names = [*COMPARED, "interval"]
    rows = [[f"{e}", *(f"{found[e][f'rmse_{name}']:.6f}" for name in names)] for e in EPSILONS]
    print(table(["epsilon", *(f"rmse {name}" for name in names)], rows))
    rows = [[f"{e}", *(f"{found[e][f'rank_{name}']:.2f}" for name in COMPARED)] for e in EPSILONS]
    print(table(["epsilon", *(f"rank {name}" for name in COMPARED)], rows))
    rows = [[f"{e}", f"{found[e]['friedman']:.2f}", f"{found[e]['p_value']:.3g}"] for e in EPSILONS]
    print(table(["epsilon", "Friedman", "p"], rows))


if __name__ == "__main__":
    main()
