"""Marginals from the same reports by several estimates, with mbi (private-pgm) where it is installed.

::

    python -m benchmarks.marginals_estimates [--folder FOLDER] [--mbi STEPS]

A row a setting: squared errors summed over the cells of a triple, means over the same random triples and over
collections (other users, triples and noise), and processor seconds in brackets; then mbi's error over that of
both penalties (above 1: mbi's is larger) and in how many collections it is larger; last the errors that are
foreseen, of both and without the penalty. ``FOLDER`` has the data of :mod:`benchmarks.marginals_data`;
without it people are simulated. JAX_ENABLE_X64=1 makes mbi compute with doubles.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.marginals import correlated
from benchmarks.marginals_data import People, read
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.estimates import ReleasedMarginals
from mechdesign.families.marginals.marginal_table import MarginalEstimate
from mechdesign.families.marginals.papers.rivals import (
    make_consistent,
    maximum_entropy,
    non_negative,
    true_marginal,
)
from mechdesign.families.marginals.papers.rivals.entropy import constraints_of
from mechdesign.show.tables import table

WANTED = 50
LINEAR, PAIRWISE, FIXED, CROSSED, MBI = NAMES = ("linear", "pairwise", "penalty 30", "CV", "mbi")
FORESEEN = {FIXED: "foreseen 30", CROSSED: "foreseen CV"}
WITHOUT = "without penalty"
COLUMNS = ("data", "d", "log2 n", "epsilon", *NAMES, "mbi / 30", "mbi / CV", *FORESEEN.values(), WITHOUT)

View = tuple[int, ...]


def people_of(name: str, folder: Path | None, attributes: int, users: int, seed: int) -> People:
    """Return the given numbers of users and attributes of a data set."""
    rng = np.random.default_rng(seed)
    if name == "correlated":
        names = tuple(map(str, range(attributes)))
        return People(correlated(users, attributes, rng), (2,) * attributes, names)
    if folder is None:
        raise SystemExit(f"--data {name}: give the folder with the data by --folder")
    everybody = read(folder, name)
    if len(everybody.sizes) < attributes:
        raise SystemExit(f"--data {name}: has {len(everybody.sizes)} attributes; give fewer by --attributes")
    return everybody.first(attributes).sampled(users, rng)


def views_of(attributes: int) -> list[View]:
    """Return 14 views of 4 of 8 attributes, some 57 of 4 of 12, or 10 of 6 of 16."""
    if attributes == 8:
        return [tuple(view) for view in combinations(range(8), 4) if np.bitwise_xor.reduce(view) == 0]
    size, count = (4, 60) if attributes == 12 else (6, 10)
    rng = np.random.default_rng(2)
    drawn = (rng.choice(attributes, size, replace=False) for _ in range(count))
    return sorted({tuple(sorted(int(item) for item in view)) for view in drawn})


def pairwise(found: ReleasedMarginals) -> Callable[[View], Any]:
    """Return CALM's own estimate: pairwise consistent non-negative views, then maximum entropy."""
    sizes = found.attributes.sizes
    tables = non_negative(found.views, found.unbiased, sizes, found.precision.tolist(), 1.0).tables

    def answer(wanted: View) -> Any:
        places = [place for _, place in constraints_of(wanted, found.views)]
        return maximum_entropy(wanted, [found.views[p] for p in places], [tables[p] for p in places], sizes)

    return answer


def by_mbi(found: ReleasedMarginals, wanted: list[View], steps: int) -> list[Any]:
    """Return the marginals of the model that mbi fits."""
    from mbi import estimation

    domain, measurements = found.to_mbi()
    model = estimation.MirrorDescent().estimate(domain, measurements, known_total=1.0, iters=steps)
    return [np.asarray(model.project(tuple(map(str, places))).datavector()) for places in wanted]


def mean_error(tables: Sequence[Any], people: People, wanted: Sequence[View]) -> float:
    """Return the mean over marginals of the sum of squared errors."""
    return float(
        np.mean(
            [
                ((np.ravel(value) - true_marginal(people.codes, people.sizes, one).ravel()) ** 2).sum()
                for value, one in zip(tables, wanted, strict=True)
            ]
        )
    )


def tables_of(found: ReleasedMarginals, wanted: Sequence[View]) -> list[Any]:
    """Return the tables of the one distribution that a release estimates."""
    made = [found.marginal(one) for one in wanted]
    return [one.value for one in made if isinstance(one, MarginalEstimate)]


def linear_error(found: ReleasedMarginals, people: People, wanted: Sequence[View]) -> float:
    """Return the error of the unbiased average where a view has the marginal; NaN where none has any."""
    made = make_consistent(found.views, found.unbiased, people.sizes, found.precision.tolist(), 1.0)
    inside = [
        (one, place) for one in wanted for place, view in enumerate(found.views) if set(one) <= set(view)
    ]
    if len({one for one, _ in inside}) < len(set(wanted)) / 2:
        return float("nan")
    sums = [
        made[place].sum(axis=tuple(axis for axis, item in enumerate(found.views[place]) if item not in one))
        for one, place in inside
    ]
    return mean_error(sums, people, [one for one, _ in inside])


def case(people: People, epsilon: float, seed: int, steps: int) -> dict[str, tuple[float, float]]:
    """Return the error and the seconds of every estimate from one collection."""
    attributes, rng = len(people.sizes), np.random.default_rng(seed)
    wanted = [tuple(sorted(rng.choice(attributes, 3, replace=False).tolist())) for _ in range(WANTED)]
    release = MarginalRelease.of(list(people.sizes), views_of(attributes), epsilon)
    reports = release.randomize(people.codes, rng=seed)
    found = release.estimate(reports)
    crossed = release.estimate(reports, penalty="cross-validated")
    methods: dict[str, Callable[[], list[Any]]] = {
        PAIRWISE: lambda: list(map(pairwise(found), wanted)),
        FIXED: lambda: tables_of(found, wanted),
        CROSSED: lambda: tables_of(crossed, wanted),
    }
    if steps:
        methods[MBI] = lambda: by_mbi(found, wanted, steps)
        methods[MBI]()  # what it compiles is not counted
    errors = {LINEAR: (linear_error(found, people, wanted), 0.0)}
    for name, make in methods.items():
        start = time.process_time()
        tables = make()
        seconds = time.process_time() - start
        errors[name] = mean_error(tables, people, wanted), seconds
    for name, estimate in ((FIXED, found), (CROSSED, crossed)):
        tables = [estimate.marginal(one) for one in wanted]
        errors[FORESEEN[name]] = float(np.mean([t.predicted_error**2 * t.value.size for t in tables])), 0.0  # type: ignore[union-attr, operator]
    errors[WITHOUT] = float(np.mean([found.observed.error(one) for one in wanted])), 0.0
    return errors


def row_of(cases: Sequence[dict[str, tuple[float, float]]]) -> list[str]:
    """Return means over collections, and in how many of them mbi's error is the larger one."""
    shown = []
    for name in NAMES:
        found = np.array([each[name] for each in cases if name in each])
        error, seconds = found.mean(axis=0) if len(found) else (np.nan, 0.0)
        shown.append("-" if np.isnan(error) else f"{error:.3g}" + f" ({seconds:.2g})" * int(seconds > 0.0))
    for name in (FIXED, CROSSED):
        pairs = np.array([(each[MBI][0], each[name][0]) for each in cases if MBI in each])
        wins = f", {(pairs[:, 0] > pairs[:, 1]).sum()} of {len(pairs)}" if len(pairs) else ""
        shown.append(f"{pairs[:, 0].mean() / pairs[:, 1].mean():.2f}{wins}" if len(pairs) else "-")
    predicted = (*FORESEEN.values(), WITHOUT)
    return [*shown, *(f"{np.mean([each[name][0] for each in cases]):.3g}" for name in predicted)]


def main() -> None:
    """Print a row a setting."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--data", nargs="+", default=["correlated"])
    parser.add_argument("--mbi", type=int, default=0, help="steps of mbi; 0 leaves it out")
    parser.add_argument("--attributes", type=int, nargs="+", default=[8, 12, 16], choices=[8, 12, 16])
    parser.add_argument("--users", type=int, nargs="+", default=[1 << 16])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.5, 1.0, 2.0])
    parser.add_argument("--seeds", type=int, default=10, help="collections")
    given = parser.parse_args()
    rows = []
    for attributes in given.attributes:
        for users in given.users:
            for name in given.data:
                for epsilon in given.epsilons:
                    cases = []
                    for seed in range(1, given.seeds + 1):
                        people = people_of(name, given.folder, attributes, users, seed)
                        cases.append(case(people, epsilon, seed, given.mbi))
                    head = [name, str(attributes), f"{np.log2(users):g}", f"{epsilon:g}"]
                    rows.append(head + row_of(cases))
                    print("|", " | ".join(rows[-1]), "|", flush=True)
    print()
    print(table(COLUMNS, rows))


if __name__ == "__main__":
    main()
