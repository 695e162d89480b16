"""What is measured of ``event-counts``: its bound, and k-ary response over the states."""

from __future__ import annotations

from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.workload.event_counts import EventCounts
from mechdesign.families.workload.event_decodings import kary_response, why_not_kary


def quantities(problem: EventCounts, solution: Solution[Any]) -> dict[str, Any]:
    """Return further numbers that claims may name.

    ``bound`` is proven for all private reports, or for all of a class; ``left`` the part by which the value
    exceeds it; ``states`` their number; ``kary`` the variance of k-ary response over the states with its best
    unbiased decoding, and ``kary_ratio`` that over the value.
    """
    numbers: dict[str, Any] = {"states": float(problem.states.size)}
    if solution.bound:
        numbers |= {"bound": solution.bound, "left": solution.value / solution.bound - 1.0}
    if why_not_kary(problem) is None:
        other = problem.objective(kary_response(problem).variables)
        numbers |= {"kary": other, "kary_ratio": other / solution.value}
    return numbers
