"""Joint distributions from the same one-hot reports: penalized, most likely, EM stopped, and independence.

``python -m benchmarks.joint_estimates [--adult adult.csv.xz] [--cells 60 540] [--users 50000]`` prints mean
variation distances from up to five populations, and processor seconds.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.joint import JointResponse
from mechdesign.families.joint.likelihood import climb
from mechdesign.families.joint.penalized import reference_of
from mechdesign.show.tables import table

Array = NDArray[np.float64]

SIZES = {60: [2, 5, 6], 540: [2, 5, 6, 9], 3780: [2, 5, 6, 9, 7]}
COLUMNS = ("sex", "race", "relationship", "workclass", "marital-status")


def adult(path: str, count: int) -> Array:
    """Return the joint shares of the first columns, flat."""
    with lzma.open(path, "rt") as file:
        rows = list(csv.DictReader(file, skipinitialspace=True))
    names = {key.strip().replace("_", "-").replace(".", "-"): key for key in rows[0]}
    codes = [
        np.unique([row[names[name]] for row in rows], return_inverse=True)[1] for name in COLUMNS[:count]
    ]
    sizes = [int(code.max()) + 1 for code in codes]
    cells = np.ravel_multi_index(codes, sizes)
    return np.bincount(cells, minlength=int(np.prod(sizes))) / len(rows)


def populations(sizes: list[int], rng: np.random.Generator, path: str | None) -> Iterator[tuple[str, Array]]:
    """Yield named distributions."""
    cells = int(np.prod(sizes))
    if path:
        yield "adult", adult(path, len(sizes))
    zipf = np.arange(1.0, cells + 1.0) ** -1.2
    yield "zipf", rng.permutation(zipf / zipf.sum())
    sparse = np.zeros(cells)
    sparse[rng.choice(cells, 8, replace=False)] = rng.dirichlet(np.ones(8))
    yield "sparse", sparse
    mixture = np.zeros(cells)
    for weight in rng.dirichlet(np.ones(6)):
        part = np.ones(1)
        for size in sizes:
            part = np.multiply.outer(part, rng.dirichlet(np.ones(size))).ravel()
        mixture += weight * part
    yield "mixture", mixture
    yield "uniform", np.full(cells, 1.0 / cells)


def distances(sizes: list[int], law: Array, users: int, f: float, rng: np.random.Generator) -> list[float]:
    """Return the distances of most likely, EM, independent and penalized, and seconds of first and last."""
    people = np.column_stack(np.unravel_index(rng.choice(len(law), users, p=law), sizes))
    mechanism = JointResponse.of(sizes, 100.0, redraw=f, keep=0.75, add=0.5)
    estimate = mechanism.estimate(mechanism.randomize(people, rng=rng))
    model, moments = estimate.model, estimate.moments
    start = time.process_time()
    ours = estimate.value.ravel()
    middle = time.process_time()
    likeliest = estimate.by("maximum-likelihood").value.ravel()
    end = time.process_time()
    found = [
        likeliest,
        climb(model, np.full(model.cells, 1.0 / model.cells), 300)[0],
        reference_of(moments, moments.mean(model.counts), "product"),
        ours,
    ]
    apart = [float(np.abs(each - law).sum()) / 2.0 for each in found]
    return [*apart, end - middle, middle - start, estimate.distance or 0.0]


def main() -> None:
    """Print a row for each population, and their mean."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--adult")
    parser.add_argument("--cells", type=int, nargs="+", default=[60, 540], choices=sorted(SIZES))
    parser.add_argument("--users", type=int, default=50_000)
    parser.add_argument("--f", type=float, nargs="+", default=[0.1, 0.5])
    given = parser.parse_args()
    head = ["cells", "f", "population", "likeliest", "EM 300", "independent", "penalized"]
    head += ["likeliest (s)", "penalized (s)", "within"]
    for cells in given.cells:
        for f in given.f:
            rng, rows, found = np.random.default_rng(1), [], []
            for name, law in populations(SIZES[cells], rng, given.adult):
                found.append(distances(SIZES[cells], law, given.users, f, rng))
                rows.append([str(cells), f"{f:g}", name, *(f"{number:.3g}" for number in found[-1])])
            rows.append([str(cells), f"{f:g}", "mean", *(f"{x:.3g}" for x in np.mean(found, axis=0))])
            print(table(head, rows), flush=True)


if __name__ == "__main__":
    main()
