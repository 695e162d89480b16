"""What Liu and Zhou (2023) publish about ``mean-interval``: methods, numbers for claims, the experiment.

The published methods are never a default and do not count for agreement. ``quantities`` are the offsets of
an interval, both readings of its variance, and what the paper prints about its kind.

**Theorem 2**: intervals between the symmetric one and the printed optimum. With E = e^eps the interval is
[(1 + delta_2)/(E + 1), (E + delta_1)/(E + 1)], where delta_1 is in (0, 1] and delta_2 in [delta_1/E,
delta_1]; D = E - 1 + delta_1 - delta_2 is E + 1 times its width.

**Section 5**: five methods on many data sets, root mean squared errors, ranks, Friedman test. Each user
reports one of the m attributes, drawn at random, at the full epsilon. All five published methods multiply
by m/n, as algorithm 6 does: the two intervals with bits 0 and 1, Duchi's mechanism and Harmony (which are
one and the same then) with bits -D and D, the piecewise mechanism with its numbers. The interval of the
solution joins them with the estimator of the problem.

The sensor data of the paper are replaced by generated columns; any others can be given to
:func:`errors_on`. A data set is a table whose rows are repeated among the users, so that its means are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.core.validation import in_range
from mechdesign.families.mean import Piecewise
from mechdesign.families.mean.interval import MeanInterval, least_offset, value_at, worst_value
from mechdesign.families.mean.means import MeanMechanism
from mechdesign.families.mean.papers import (
    printed_tables,
)
from mechdesign.families.mean.papers.printed_tables import (
    COMPARED,
    Array,
    friedman,
    friedman_p_value,
    mean_ranks,
)
from mechdesign.families.mean.variance import duchi_value


def printed_interval(problem: MeanInterval) -> Outcome:
    """Return the printed interval as it is: c = 1/e^eps, c + d = 1 (theorem 2, corollaries 1 and 2).

    An input 1 never reports 0, an input 0 does with probability 1 - e^-eps. Whoever sees a 0 knows that the
    input is not 1: the true epsilon is infinite, and delta must be at least 1 - e^-eps. The paper checked the
    ratio for the report 1 only, eq. (11); so did every interval between the symmetric one and this.
    """
    return Outcome(
        status="feasible",
        variables={"interval": [math.exp(-problem.epsilon), 1.0]},
        solver="closed form as printed",
        notes={"source": "theorem 2, corollaries 1 and 2"},
    )


def why_not(problem: MeanInterval) -> str | None:
    """Return why the printed formula does not apply, or None."""
    if problem.delta > 0.0:
        return "the paper's formula is for delta = 0"
    if problem.epsilon == 0.0:
        return "at epsilon = 0 its interval has no width"
    return None


def algorithm_8(problem: MeanInterval, first: float = 0.5, second: float | None = None) -> Outcome:
    """Return the interval of theorem 2 for any delta_1 and delta_2, by default delta_1 = 1/2.

    The interval is [(1 + delta_2)/(E + 1), (E + delta_1)/(E + 1)] with E = e^eps, delta_1 in (0, 1] and
    delta_2 in [delta_1/E, delta_1]. Report 0 has the ratio (E - delta_2)/(1 - delta_1) > E, so none of them
    is private; with delta_1 = 1 and delta_2 = 1/E it is the method ``published``.

    Parameters
    ----------
    problem : MeanInterval
    first : float
        delta_1, in (0, 1].
    second : float, optional
        delta_2, in [delta_1/e^eps, delta_1]; by default the least, which theorem 2 recommends.

    Raises
    ------
    ParameterError
        For a number outside these ranges.
    """
    first = in_range("first", first, 0.0, 1.0, low_open=True)
    least = first * math.exp(-problem.epsilon)
    second = least if second is None else in_range("second", second, 0.0, 1.0)
    if not least <= second <= first:
        raise ParameterError(
            "second",
            f"{second:g} is outside [first/e^epsilon, first] = [{least:g}, {first:g}]",
            "choose a number inside",
        )
    part = math.exp(-problem.epsilon)  # numerator and denominator divided by E: no overflow
    interval = [(1.0 + second) * part / (1.0 + part), min(1.0, (1.0 + first * part) / (1.0 + part))]
    return Outcome(
        status="feasible",
        variables={"interval": interval},
        solver="algorithm 8 as printed",
        notes={"source": "theorem 2, algorithm 8", "first": first, "second": second},
    )


def censoring(problem: MeanInterval) -> Outcome:
    """Return the interval [0, 1], whatever epsilon is: eqs. (3) to (8), an unbiased mean and no privacy.

    A user draws y uniformly in [a, a + b] and reports whether x >= y. The share Z of ones has the expectation
    (E X - a)/b, so b Z + a is unbiased, and for given users n times its variance is the mean of
    (x - a)(a + b - x), at most (mu - a)(a + b - mu) by Jensen's inequality: eqs. (3) to (7). The ratio x/x'
    of the probabilities of a one has no bound, eq. (8). It is the protocol that the source calls pure, or
    No-DP.
    """
    return Outcome(
        status="feasible",
        variables={"interval": [0.0, 1.0]},
        solver="the random censoring model",
        notes={"source": "eqs. (3) to (8); theorems 3 and 4"},
    )


METHODS = (
    Method("published", MeanInterval, "published", "c = 1/e^eps, c + d = 1 as printed: not private",
           printed_interval, why_not),
    Method("algorithm-8", MeanInterval, "published",
           "the intervals of theorem 2, by delta_1 and delta_2, as printed: not private",
           algorithm_8, why_not),
    Method("censoring", MeanInterval, "published",
           "the random censoring model without differential privacy: not private", censoring),
)  # fmt: skip


def offsets_of(epsilon: float, first: float, second: float) -> tuple[float, float]:
    """Return a = (1 + delta_2)/D and b = (1 - delta_1)/D."""
    width = math.expm1(epsilon) + first - second
    return (1.0 + second) / width, (1.0 - first) / width


def true_epsilon(epsilon: float, first: float, second: float) -> float:
    """Return the privacy of such an interval: the larger log ratio of the two reports.

    Examples
    --------
    >>> round(true_epsilon(1.0, 0.5, 0.5 / math.e), 4), true_epsilon(1.0, 1.0, 1.0 / math.e)
    (1.6231, inf)
    """
    power = math.exp(epsilon)
    one = math.log((power + first) / (1.0 + second))
    zero = math.log((power - second) / (1.0 - first)) if first < 1.0 else math.inf
    return max(one, zero)


def slopes(epsilon: float, first: float, second: float, mean: float) -> tuple[float, float]:
    """Return the derivatives of n G_2 = (mu + a)(1 - mu + b) by delta_1 and by delta_2.

    da/d delta_1 = -(1 + delta_2)/D^2, db/d delta_1 = -(E - delta_2)/D^2, da/d delta_2 = (E + delta_1)/D^2,
    db/d delta_2 = (1 - delta_1)/D^2.

    Examples
    --------
    >>> step = 1e-6
    >>> def bound(first, second):
    ...     a, b = offsets_of(1.0, first, second)
    ...     return (0.3 + a) * (0.7 + b)
    >>> by_first = (bound(0.5 + step, 0.3) - bound(0.5 - step, 0.3)) / (2 * step)
    >>> abs(slopes(1.0, 0.5, 0.3, 0.3)[0] - by_first) < 1e-8
    True
    """
    power = math.exp(epsilon)
    a, b = offsets_of(epsilon, first, second)
    square = (math.expm1(epsilon) + first - second) ** 2
    left, right = mean + a, 1.0 - mean + b
    by_first = -((1.0 + second) * right + (power - second) * left) / square
    by_second = ((power + first) * right + (1.0 - first) * left) / square
    return by_first, by_second


HALF_WAY = 0.5
"""The delta_1 at which theorem 2 is looked at; delta_2 = delta_1 / e^epsilon, the best one it states."""


def quantities(problem: MeanInterval, solution: Solution[Any]) -> dict[str, Any]:
    """Return offsets, true epsilon, the variance for given users, and figures of the paper, for claims.

    ``given_users_value`` is n times the variance for given users whose values are 0 or 1 and have the
    problem's mean: the variance mu (1 - mu) of the values does not count for them. ``pure_value`` is
    m mu - mu^2, theorems 3 and 4. ``widened_...`` are about theorem 2 at delta_1 = 1/2,
    delta_2 = delta_1 / e^eps. At the paper's nine epsilons there are figures of its tables 6, 7, 8 and 10.
    """
    start, end = (float(number) for number in solution.variables["interval"])
    audit, means, m = problem.audit(solution.variables), problem.means, problem.attributes
    a, b = start / (end - start), (1.0 - end) / (end - start)
    least = least_offset(problem.epsilon) if problem.epsilon > 0 else math.inf
    numbers = {
        "a": a,
        "b": b,
        "true_epsilon": audit.true_epsilon,
        "least_delta": audit.least_delta,
        "published_value": worst_value(least, 0.0, means, m, True),
        "baseline_value": worst_value(least, least, means, m, True),
        "pure_value": worst_value(0.0, 0.0, means, m, True),
        "share_of_ones": [start + (end - start) * mean for mean in means],
    }
    if means[0] == means[1]:
        numbers["given_users_value"] = solution.value - means[0] * (1.0 - means[0])
        numbers |= _theorem_2(problem, means[0])
    if problem.epsilon == printed_tables.EPSILON:
        numbers |= _rows()
    if problem.epsilon in printed_tables.PRINTED_RANKS:
        numbers |= _tables(problem.epsilon)
    return numbers


def _rows() -> dict[str, Any]:
    """Return figures of tables 4 and 5 and of the error without privacy, which no parameter changes."""
    low, high = printed_tables.no_dp_ends()
    return {
        "table_5_rows": printed_tables.rows_that_follow(),
        "table_4_and_5_means": printed_tables.means_repeated(),
        "no_dp_least": low,
        "no_dp_most": high,
        "no_dp_mean": printed_tables.no_dp_mean(),
    }


def _theorem_2(problem: MeanInterval, mean: float) -> dict[str, float]:
    if not 0.0 < problem.epsilon <= 700.0:
        return {}
    second = HALF_WAY * math.exp(-problem.epsilon)
    by_first, by_second = slopes(problem.epsilon, HALF_WAY, second, mean)
    a, b = offsets_of(problem.epsilon, HALF_WAY, second)
    widened_value = value_at(a, b, mean, 1, True)
    least = least_offset(problem.epsilon)
    return {
        "widened_value": widened_value,
        "widened_gain": value_at(least, least, mean, 1, True) - widened_value,
        "widened_epsilon": true_epsilon(problem.epsilon, HALF_WAY, second),
        "widened_slope_1": by_first,
        "widened_slope_2": by_second,
    }


def _tables(epsilon: float) -> dict[str, Any]:
    """Return figures of the tables of the paper at one of its epsilons."""
    row, data_sets = printed_tables.PRINTED_RANKS[epsilon], printed_tables.PAPER_DATA_SETS
    sums = printed_tables.rank_sums(row, data_sets)
    fitting = printed_tables.repairs(epsilon)
    numbers: dict[str, Any] = {
        "possible_ranks": printed_tables.possible_ranks(row, data_sets),
        "friedman_p_value": friedman_p_value(printed_tables.PRINTED_STATISTICS[epsilon], len(row)),
        "single_repairs": len(fitting),
        "variance_degrees": printed_tables.residual_degrees(),
        "variance_p_value": printed_tables.variance_analysis(data_sets)[1],
    }
    if sums is not None:
        numbers["rank_total"] = sum(sums)
        numbers["friedman_of_ranks"] = printed_tables.statistic_of(sums, data_sets)
    if len(fitting) == 1:
        numbers["repaired_rank"] = fitting[0][1]
    for reading in printed_tables.READINGS:
        ending = "" if reading == printed_tables.CENTRED else f"_{reading}"
        outside = printed_tables.errors_outside(epsilon, reading)
        numbers |= {f"table_8_{name}{ending}": abs(number) for name, number in outside.items()}
        for name in printed_tables.COMPARED:
            least, largest = printed_tables.possible_errors(name, epsilon, reading)
            numbers |= {f"table_8_{name}_least{ending}": least, f"table_8_{name}_largest{ending}": largest}
        numbers[f"table_8_possible{ending}"] = printed_tables.possible_cells(reading)
    return numbers


Codes = NDArray[np.int64]
Entrant = Callable[[Codes, Array, np.random.Generator], Array]
"""From drawn attributes, their values in [0, 1] and a generator to the estimated means."""

ROWS = 2_000
"""Different users in a generated data set."""


def interval_bits(start: float, end: float, attributes: int, self_normalized: bool) -> Entrant:
    """Return randomized censoring with the interval [start, end], private or not, as an entrant."""

    def run(attribute_of: Codes, values: Array, rng: np.random.Generator) -> Array:
        bits = rng.random(len(values)) < start + (end - start) * values
        ones = np.bincount(attribute_of[bits], minlength=attributes)
        counts = np.bincount(attribute_of, minlength=attributes)
        divisor = counts if self_normalized else len(values) / attributes
        shares = np.divide(ones, divisor, dtype=np.float64)
        means: Array = (shares - start) / (end - start)
        return means

    return run


def duchi_bits(epsilon: float, attributes: int) -> Entrant:
    """Return Duchi's mechanism on [-1, 1] times m, which is Harmony, as an entrant."""
    size = float(duchi_value(epsilon))

    def run(attribute_of: Codes, values: Array, rng: np.random.Generator) -> Array:
        bits = rng.random(len(values)) < 0.5 + (2.0 * values - 1.0) / (2.0 * size)
        signed = np.bincount(attribute_of, weights=np.where(bits, size, -size), minlength=attributes)
        return _from_sums(signed, attributes, len(values))

    return run


def numbers(mechanism: MeanMechanism, attributes: int) -> Entrant:
    """Return a mechanism on [-1, 1] whose reports are unbiased numbers, times m, as an entrant."""

    def run(attribute_of: Codes, values: Array, rng: np.random.Generator) -> Array:
        reports = mechanism.randomize(2.0 * values - 1.0, rng=rng)
        sums = np.bincount(attribute_of, weights=reports, minlength=attributes)
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
        attribute_of = rng.integers(0, attributes, users)
        estimate = run(attribute_of, table[owners, attribute_of], rng)
        errors[name] = float(np.sqrt(np.mean((estimate - truth) ** 2)))
    return errors


def summary(errors: Mapping[str, list[float]]) -> dict[str, float]:
    """Return mean errors, mean ranks and Friedman's test of the five methods of the paper."""
    results = {f"rmse_{name}": float(np.mean(values)) for name, values in errors.items()}
    table = np.array([errors[name] for name in COMPARED]).T
    ranks = mean_ranks(table)
    results |= {f"rank_{name}": float(rank) for name, rank in zip(COMPARED, ranks, strict=True)}
    statistic = friedman(ranks, len(table))
    return {**results, "friedman": statistic, "p_value": friedman_p_value(statistic, len(COMPARED))}


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
