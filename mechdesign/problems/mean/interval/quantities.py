"""The offsets of an interval, and what the paper's own intervals give for the same parameters."""

from __future__ import annotations

import math
from typing import Any

from mechdesign.core.problem import Candidate
from mechdesign.problems.mean.interval import offsets
from mechdesign.problems.mean.interval.problem import MeanInterval
from mechdesign.problems.mean.interval.ranks import PAPER_DATA_SETS, PAPER_USERS, PRINTED_RANKS, friedman


def quantities(problem: MeanInterval, solution: Candidate) -> dict[str, Any]:
    """Return offsets, true epsilon, and the published figures for the same parameters, for claims.

    ``published_value`` and ``baseline_value`` are the paper's two intervals with the paper's (scaled)
    estimator; ``theorem_4`` is its "lower bound of all mechanisms", m mu - mu^2; ``rmse_of_paper`` the
    root mean squared error for its 800 000 users. At the paper's nine epsilons
    ``friedman_of_printed_ranks`` is eq. (23) of the mean ranks in its table 6.
    """
    start, end = (float(number) for number in solution.variables["interval"])
    audit, means, m = problem.audit(solution.variables), problem.means, problem.attributes
    least = offsets.least_offset(problem.epsilon) if problem.epsilon > 0 else math.inf
    published = offsets.worst_value(least, 0.0, means, m, True)
    found = {
        "a": start / (end - start),
        "b": (1.0 - end) / (end - start),
        "true_epsilon": audit.true_epsilon,
        "least_delta": audit.least_delta,
        "published_value": published,
        "baseline_value": offsets.worst_value(least, least, means, m, True),
        "theorem_4": offsets.worst_value(0.0, 0.0, means, m, True),
        "part_of_published": solution.value / published if published > 0.0 else math.nan,
        "rmse_of_paper": math.sqrt(solution.value / PAPER_USERS),
    }
    if problem.epsilon in PRINTED_RANKS:
        found["friedman_of_printed_ranks"] = friedman(PRINTED_RANKS[problem.epsilon], PAPER_DATA_SETS)
    return found
