"""Marginals from noisy views: collection and reconstruction, and the package mbi on the same views."""

from __future__ import annotations

import time
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MissingPackageError
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.estimates import ReleasedMarginals
from mechdesign.show.tables import table

TITLE = "Release of marginals: collection, consistency and reconstruction, epsilon = 1"

WANTED, EPSILON = 50, 1.0
ITERATIONS = 1000


def correlated(users: int, attributes: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return binary answers that depend on four hidden traits."""
    traits = rng.normal(size=(users, 4)) @ rng.normal(size=(4, attributes))
    noise = rng.normal(size=(users, attributes))
    return (traits + noise > rng.normal(size=attributes)).astype(np.int64)


def squared_error(value: NDArray[Any], data: NDArray[np.int64], wanted: list[int]) -> float:
    """Return the sum of squared errors of a marginal."""
    cells = data[:, wanted] @ (1 << np.arange(len(wanted))[::-1])
    truth = np.bincount(cells, minlength=1 << len(wanted)) / len(data)
    return float(((np.ravel(value) - truth) ** 2).sum())


def by_mbi(found: ReleasedMarginals, wanted: list[list[int]]) -> list[NDArray[Any]]:
    """Return the marginals of the graphical model that mbi fits to the same noisy views."""
    from mbi import estimation

    domain, measurements = found.to_mbi()
    model = estimation.MirrorDescent().estimate(domain, measurements, known_total=1.0, iters=ITERATIONS)
    return [np.asarray(model.project(tuple(map(str, places))).datavector()) for places in wanted]


def case(
    attributes: int, order: int, users: int, views: list[tuple[int, ...]], rival: bool
) -> list[list[str]]:
    """Return the rows of one setting."""
    rng = np.random.default_rng(1)
    data = correlated(users, attributes, rng)
    wanted = [sorted(rng.choice(attributes, order, replace=False).tolist()) for _ in range(WANTED)]
    setting = f"d = {attributes}, k = {order}, {users} users, {len(views)} views of {len(views[0])}"
    start = time.perf_counter()
    release = MarginalRelease.of([2] * attributes, views, EPSILON)
    reports = release.randomize(data, rng=1)
    collected = time.perf_counter()
    found = release.estimate(reports)
    marginals = [found.marginal(places).value for places in wanted]
    done = time.perf_counter()
    errors = [squared_error(value, data, places) for value, places in zip(marginals, wanted, strict=True)]
    even = [squared_error(np.full(1 << order, 0.5**order), data, places) for places in wanted]
    rows = [
        [setting, "collection", f"{collected - start:.2f}", ""],
        ["", "mechdesign", f"{done - collected:.2f}", f"{np.mean(errors):.5f}"],
        ["", "even table", "", f"{np.mean(even):.5f}"],
    ]
    if rival:
        start = time.perf_counter()
        try:
            made = by_mbi(found, wanted)
        except (ImportError, MissingPackageError):
            return [*rows, ["", "mbi", "not installed", ""]]
        taken = time.perf_counter() - start
        errors = [squared_error(value, data, places) for value, places in zip(made, wanted, strict=True)]
        rows.append(["", f"mbi, {ITERATIONS} steps", f"{taken:.2f}", f"{np.mean(errors):.5f}"])
    return rows


def run(quick: bool) -> None:
    """Print seconds, and the mean of squared errors over the requested marginals."""
    rng = np.random.default_rng(2)
    triples = [tuple(view) for view in combinations(range(8), 4) if np.bitwise_xor.reduce(view) == 0]
    rows = case(8, 3, 1 << 16, triples, rival=True)
    count, users = (60, 1 << 14) if quick else (262, 1 << 18)
    for size in (4, 6):
        drawn = (tuple(sorted(rng.choice(32, size, replace=False).tolist())) for _ in range(count))
        neighbours = (tuple(range(start, start + size)) for start in range(0, 32 - size + 1, 2))
        spread = sorted({*drawn, *neighbours})
        rows += case(32, 6, users, spread, rival=False)
    print(table(["setting", "step", "seconds", "squared error"], rows))
    print("mbi is compared where its junction trees are small; its approximations are not measured")
