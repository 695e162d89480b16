"""The experiment of Chu, Long and Liu (2022), section 5, on categorical columns of your own.

    python benchmarks/joint_experiment.py adult.csv sex income race relationship --users 4522

For each f: the variation distance from the users' true joint distribution, and seconds, of the most likely
distribution, of EM, LASSO and LREMH as published, and of randomized response on the joint cells with the
epsilon of one report. The estimate of the last one is projected on the simplex.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

import mechdesign as md
from mechdesign.families.joint import JointResponse
from mechdesign.families.joint.one_hot import bits_of
from mechdesign.primitives import KaryResponse
from mechdesign.show.tables import table

METHODS = ("active-set", "printed-em", "lasso", "sparse-lasso", "lremh")
HEADER = ["f", "epsilon", *(f"{name} {what}" for name in METHODS for what in ("AVD", "s")), "direct AVD"]
NO_LIMIT = 1000.0


def read_codes(path: Path, names: list[str]) -> tuple[np.ndarray, list[int]]:
    """Return the numbers of the columns' values, (rows, columns), and the sizes; rows with gaps go."""
    import pandas

    frame = pandas.read_csv(path, skipinitialspace=True, na_values=["?"])[names].dropna()
    columns = [frame[name].astype("category").cat for name in names]
    codes = np.stack([column.codes.to_numpy() for column in columns], axis=1).astype(np.int64)
    return codes, [len(column.categories) for column in columns]


def direct(cells: np.ndarray, number: int, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Return the projected estimate of randomized response on the joint cells."""
    problem = md.RandomizedResponse(prior=[1.0 / number] * number, epsilon=epsilon)
    mechanism = md.solve(problem).mechanism()
    assert isinstance(mechanism, KaryResponse)
    return mechanism.estimate(mechanism.randomize(cells, rng=rng, anyway=True)).projected()


def main() -> None:
    """Read the arguments, run all f, print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("columns", nargs="+")
    parser.add_argument("--users", type=int)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--seed", type=int, default=2022)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    codes, sizes = read_codes(options.path, options.columns)
    number = math.prod(sizes)
    rows = []
    for f in (0.1, 0.3, 0.5, 0.7, 0.9):
        mechanism = JointResponse.of(sizes, NO_LIMIT, redraw=f, keep=0.75, add=0.5)
        epsilon, found = mechanism.audit().one_report, []
        for _ in range(options.repetitions):
            users = min(options.users or len(codes), len(codes))
            values = codes[rng.choice(len(codes), users, replace=False)]
            cells = np.ravel_multi_index(tuple(values.T), tuple(sizes))
            truth = np.bincount(cells, minlength=number) / users
            counter = mechanism.aggregator()
            counter.update(mechanism.randomize(values, rng=rng, anyway=True))
            packed, counts = counter.patterns()
            bits = bits_of(packed, sizes, range(len(sizes))).astype(np.int64)
            problem = md.JointDistribution(
                attributes=sizes, redraw=f, keep=0.75, add=0.5, patterns=bits, counts=counts
            )
            numbers: list[float] = []
            for name in METHODS:
                solution = md.solve(problem, name)
                distance = np.abs(solution.variables["distribution"] - truth).sum() / 2.0
                numbers += [float(distance), solution.seconds]
            numbers.append(float(np.abs(direct(cells, number, epsilon, rng) - truth).sum() / 2.0))
            found.append(numbers)
        rows.append([f"{f}", f"{epsilon:.2f}", *(f"{value:.3f}" for value in np.mean(found, axis=0))])
    print(f"{' x '.join(map(str, sizes))} = {number} cells, {users} users")
    print(table(HEADER, rows))


if __name__ == "__main__":
    main()
