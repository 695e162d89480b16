"""The offsets of an interval, both readings of its variance, and what the paper prints about its kind."""

from __future__ import annotations

import math
from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.mean.interval import offsets
from mechdesign.families.mean.interval.problem import MeanInterval
from mechdesign.families.mean.papers.interval import printed, printed_errors, printed_rows, widened
from mechdesign.families.mean.papers.interval.ranks import friedman_p_value

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
    least = offsets.least_offset(problem.epsilon) if problem.epsilon > 0 else math.inf
    found = {
        "a": a,
        "b": b,
        "true_epsilon": audit.true_epsilon,
        "least_delta": audit.least_delta,
        "published_value": offsets.worst_value(least, 0.0, means, m, True),
        "baseline_value": offsets.worst_value(least, least, means, m, True),
        "pure_value": offsets.worst_value(0.0, 0.0, means, m, True),
        "share_of_ones": [start + (end - start) * mean for mean in means],
    }
    if means[0] == means[1]:
        found["given_users_value"] = solution.value - means[0] * (1.0 - means[0])
        found |= _theorem_2(problem, means[0])
    if problem.epsilon == printed_rows.EPSILON:
        found |= _rows()
    if problem.epsilon in printed.PRINTED_RANKS:
        found |= _tables(problem.epsilon)
    return found


def _rows() -> dict[str, Any]:
    """Return figures of tables 4 and 5 and of the error without privacy, which no parameter changes."""
    low, high = printed_rows.no_dp_ends()
    return {
        "table_5_rows": printed_rows.rows_that_follow(),
        "table_4_and_5_means": printed_rows.means_repeated(),
        "no_dp_least": low,
        "no_dp_most": high,
        "no_dp_mean": printed_rows.no_dp_mean(),
    }


def _theorem_2(problem: MeanInterval, mean: float) -> dict[str, float]:
    if not 0.0 < problem.epsilon <= 700.0:
        return {}
    second = HALF_WAY * math.exp(-problem.epsilon)
    by_first, by_second = widened.slopes(problem.epsilon, HALF_WAY, second, mean)
    a, b = widened.offsets_of(problem.epsilon, HALF_WAY, second)
    widened_value = offsets.value_at(a, b, mean, 1, True)
    least = offsets.least_offset(problem.epsilon)
    return {
        "widened_value": widened_value,
        "widened_gain": offsets.value_at(least, least, mean, 1, True) - widened_value,
        "widened_epsilon": widened.true_epsilon(problem.epsilon, HALF_WAY, second),
        "widened_slope_1": by_first,
        "widened_slope_2": by_second,
    }


def _tables(epsilon: float) -> dict[str, Any]:
    """Return figures of the tables of the paper at one of its epsilons."""
    row, data_sets = printed.PRINTED_RANKS[epsilon], printed.PAPER_DATA_SETS
    sums = printed.rank_sums(row, data_sets)
    fitting = printed.repairs(epsilon)
    found: dict[str, Any] = {
        "possible_ranks": printed.possible_ranks(row, data_sets),
        "friedman_p_value": friedman_p_value(printed.PRINTED_STATISTICS[epsilon], len(row)),
        "single_repairs": len(fitting),
        "variance_degrees": printed.residual_degrees(),
        "variance_p_value": printed.variance_analysis(data_sets)[1],
    }
    if sums is not None:
        found["rank_total"] = sum(sums)
        found["friedman_of_ranks"] = printed.statistic_of(sums, data_sets)
    if len(fitting) == 1:
        found["repaired_rank"] = fitting[0][1]
    for reading in printed_errors.READINGS:
        ending = "" if reading == printed_errors.CENTRED else f"_{reading}"
        outside = printed_errors.errors_outside(epsilon, reading)
        found |= {f"table_8_{name}{ending}": abs(number) for name, number in outside.items()}
        found[f"table_8_possible{ending}"] = printed_errors.possible_cells(reading)
    return found
