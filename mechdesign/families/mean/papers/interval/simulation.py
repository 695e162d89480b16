"""Section 5 of the paper: the five methods on many data sets, root mean squared errors, ranks, Friedman test.

Each user reports one of the m attributes, drawn at random, at the full epsilon. All five published
methods multiply by m/n, as algorithm 6 does: the two intervals with bits 0 and 1, Duchi's mechanism and
Harmony (which are one and the same then) with bits -D and D, the piecewise mechanism with its numbers. The
interval of the solution joins them with the estimator of the problem.

The sensor data of the paper are replaced by generated columns; any others can be given to
:func:`errors_on`. A data set is a table whose rows are repeated among the users, so that its means are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.means import MeanMechanism
from mechdesign.core.errors import ParameterError
from mechdesign.core.solution import Solution
from mechdesign.families.mean import Piecewise
from mechdesign.families.mean.interval.problem import MeanInterval
from mechdesign.families.mean.papers.interval.printed import COMPARED
from mechdesign.families.mean.papers.interval.ranks import Array, friedman, friedman_p_value, mean_ranks
from mechdesign.families.mean.variance import duchi_value

Codes = NDArray[np.int64]
Entrant = Callable[[Codes, Array, np.random.Generator], Array]
"""From drawn attributes, their values in [0, 1] and a generator to the estimated means."""

ROWS = 2_000
"""Different users in a generated data set."""


def interval_bits(start: float, end: float, attributes: int, self_normalized: bool) -> Entrant:
    """Return randomized censoring with the interval [start, end], private or not, as an entrant."""

    def run(drawn: Codes, values: Array, rng: np.random.Generator) -> Array:
        bits = rng.random(len(values)) < start + (end - start) * values
        ones = np.bincount(drawn[bits], minlength=attributes)
        counts = np.bincount(drawn, minlength=attributes)
        divisor = counts if self_normalized else len(values) / attributes
        shares = np.divide(ones, divisor, dtype=np.float64)
        means: Array = (shares - start) / (end - start)
        return means

    return run


def duchi_bits(epsilon: float, attributes: int) -> Entrant:
    """Return Duchi's mechanism on [-1, 1] times m, which is Harmony, as an entrant."""
    size = float(duchi_value(epsilon))

    def run(drawn: Codes, values: Array, rng: np.random.Generator) -> Array:
        bits = rng.random(len(values)) < 0.5 + (2.0 * values - 1.0) / (2.0 * size)
        signed = np.bincount(drawn, weights=np.where(bits, size, -size), minlength=attributes)
        return _from_sums(signed, attributes, len(values))

    return run


def numbers(mechanism: MeanMechanism, attributes: int) -> Entrant:
    """Return a mechanism on [-1, 1] whose reports are unbiased numbers, times m, as an entrant."""

    def run(drawn: Codes, values: Array, rng: np.random.Generator) -> Array:
        reports = mechanism.randomize(2.0 * values - 1.0, rng=rng)
        sums = np.bincount(drawn, weights=reports, minlength=attributes)
        return _from_sums(sums, attributes, len(values))

    return run


def _from_sums(sums: NDArray[Any], attributes: int, users: int) -> Array:
    """Return means on [0, 1] from sums of unbiased numbers on [-1, 1], multiplied by m/n as published."""
    means: Array = (np.asarray(sums, dtype=np.float64) * (attributes / users) + 1.0) / 2.0
    return means


def entrants(problem: MeanInterval, interval: tuple[float, float]) -> dict[str, Entrant]:
    """Return the five methods by name, ``"no_dp"`` without privacy, and ``"interval"``, the solution's."""
    epsilon, m = problem.epsilon, problem.attributes
    if epsilon == 0.0:
        raise ParameterError("epsilon", "the compared methods need epsilon > 0", "give a larger one")
    low = math.exp(-epsilon) / (1.0 + math.exp(-epsilon))
    return {
        "opt": interval_bits(math.exp(-epsilon), 1.0, m, False),
        "baseline": interval_bits(low, 1.0 - low, m, False),
        "duchi": duchi_bits(epsilon, m),
        "piecewise": numbers(Piecewise(epsilon), m),
        "harmony": duchi_bits(epsilon, m),
        "no_dp": interval_bits(0.0, 1.0, m, False),
        "interval": interval_bits(*interval, m, not problem.scaled),
    }


def generated_columns(attributes: int, rng: np.random.Generator) -> Array:
    """Return a table like normalised sensor readings: bells of many shapes, each column scaled to [0, 1].

    Examples
    --------
    >>> table = generated_columns(3, np.random.default_rng(1))
    >>> table.shape, float(table.min()), float(table.max())
    ((2000, 3), 0.0, 1.0)
    """
    tails, skews = rng.uniform(3.0, 30.0, attributes), rng.uniform(-1.0, 1.0, attributes)
    noise = rng.standard_t(tails, (ROWS, attributes)) + skews * rng.exponential(1.0, (ROWS, attributes))
    low, high = noise.min(axis=0), noise.max(axis=0)
    table: Array = (noise - low) / (high - low)
    return table


def errors_on(
    table: Array, methods: Mapping[str, Entrant], users: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return the root mean squared error of every method on one data set, eq. (21).

    Parameters
    ----------
    table : (rows, m) array
        Values in [0, 1]; user i has row i modulo the number of rows.
    methods : mapping of names to entrants
    users : int
    rng : numpy Generator
    """
    rows, attributes = table.shape
    owners = np.arange(users) % rows
    truth = (np.bincount(owners, minlength=rows) @ table) / users
    errors = {}
    for name, run in methods.items():
        drawn = rng.integers(0, attributes, users)
        estimate = run(drawn, table[owners, drawn], rng)
        errors[name] = float(np.sqrt(np.mean((estimate - truth) ** 2)))
    return errors


def summary(errors: Mapping[str, list[float]]) -> dict[str, float]:
    """Return mean errors, mean ranks and Friedman's test of the five methods of the paper."""
    found = {f"rmse_{name}": float(np.mean(values)) for name, values in errors.items()}
    table = np.array([errors[name] for name in COMPARED]).T
    ranks = mean_ranks(table)
    found |= {f"rank_{name}": float(rank) for name, rank in zip(COMPARED, ranks, strict=True)}
    statistic = friedman(ranks, len(table))
    return {**found, "friedman": statistic, "p_value": friedman_p_value(statistic, len(COMPARED))}


def simulation(
    problem: MeanInterval, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Run all methods on generated data sets, as many as repetitions, and summarise.

    Returns
    -------
    dict
        ``rmse_...`` and ``rank_...`` by method, ``friedman`` and its ``p_value``; ``rmse_predicted`` for the
        solution's interval by the formula, at the worst mean.
    """
    start, end = (float(number) for number in solution.variables["interval"])
    methods = entrants(problem, (start, end))
    errors: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(repetitions):
        table = generated_columns(problem.attributes, rng)
        for name, error in errors_on(table, methods, users, rng).items():
            errors[name].append(error)
    return {**summary(errors), "rmse_predicted": math.sqrt(solution.value / users)}
