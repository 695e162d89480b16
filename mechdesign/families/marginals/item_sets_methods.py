"""The methods of ``item-sets``, the last one an enumeration that checks the formula of the others.

The enumeration knows nothing of hits: every set of overlaps, of those that a reported subset can have with
the user's set, may be the likelier one. That it finds no better set than "at least one" keeps the design
honest.
"""

from __future__ import annotations

import math
from itertools import combinations

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.marginals.item_sets import ItemSets, hashing_fits, hashing_outcome, selection_outcome

MOST_ITEMS, MOST_LENGTH = 40, 4


def run_best(problem: ItemSets) -> Outcome:
    """Take the length and the number of reported items with the least error."""
    return selection_outcome(problem, problem.categories)


def run_short(problem: ItemSets) -> Outcome:
    """Take the better of a subset and of a polynomial that names one, within ``max_report_bits``."""
    outcomes = [run_hashed(problem), run_best(problem)] if hashing_applies(problem) else [run_best(problem)]
    feasible = [each for each in outcomes if each.variables]
    return min(feasible, key=lambda each: problem.objective(each.variables)) if feasible else outcomes[-1]


def why_not_short(problem: ItemSets) -> str | None:
    """Return why there is no choice to make, or None."""
    return "reports may be long: there is no max_report_bits" if problem.max_report_bits is None else None


def run_hashed(problem: ItemSets) -> Outcome:
    """Report a random polynomial whose values name the subset."""
    return hashing_outcome(problem)


def hashing_applies(problem: ItemSets) -> bool:
    """Whether a length exists whose polynomials are short enough."""
    return any(hashing_fits(problem, length) for length in problem.lengths())


def why_not_hashed(problem: ItemSets) -> str | None:
    """Return why set hashing does not apply, or None."""
    if hashing_applies(problem):
        return None
    return f"a polynomial for {problem.most} items has more than max_report_bits = {problem.max_report_bits}"


def run_sampled(problem: ItemSets) -> Outcome:
    """Report one item: padding and sampling, with the k-ary response at the epsilon that sampling allows."""
    return selection_outcome(problem, 1)


def overlap_variance(
    items: int, length: int, size: int, likely: tuple[int, ...], epsilon: float, held: float | None = None
) -> float:
    """Return users times the variance where the subsets with these overlaps are the likely ones.

    By counting: C(l, j) C(N - l, w - j) subsets of w of N = d + l have j of the l items.

    Examples
    --------
    >>> round(overlap_variance(17, 5, 1, (1,), 1.0), 3)
    14.83
    """
    whole = items + length
    ways = [math.comb(length, j) * math.comb(whole - length, size - j) for j in range(min(length, size) + 1)]
    grown = [count * (math.exp(epsilon) if j in likely else 1.0) for j, count in enumerate(ways)]
    total = sum(grown)
    own = sum(weight * j for j, weight in enumerate(grown)) / total / length
    other = sum(weight * (size - j) for j, weight in enumerate(grown)) / total / (whole - length)
    mixed = other + (length if held is None else held) / items * (own - other)
    return math.inf if own <= other else mixed * (1.0 - mixed) / (own - other) ** 2


def run_overlaps(problem: ItemSets) -> Outcome:
    """Try all sets of likely overlaps, all sizes and all lengths."""
    if problem.epsilon == 0.0:
        return selection_outcome(problem, 1)
    best, variables = math.inf, {"length": 0, "size": 0}
    hits = True
    for length in problem.lengths():
        for size in range(1, problem.report_items() + 1):
            overlaps = range(min(length, size) + 1)
            for count in range(1, len(overlaps)):
                for likely in combinations(overlaps, count):
                    each = problem.with_bias(
                        length,
                        overlap_variance(
                            problem.categories, length, size, likely, problem.epsilon, problem.held(length)
                        ),
                    )
                    if each < best * (1.0 - 1e-12):
                        best, variables = each, {"length": length, "size": size}
                        hits = likely == tuple(overlaps)[1:]
    if not hits or not math.isfinite(best):
        return Outcome(status="failed", solver="enumeration", message="other overlaps are likelier")
    return Outcome(
        status="feasible",
        variables=variables,
        bound=problem.lower_bound(),
        bound_source="the information of a private channel about an average set",
        solver="enumeration",
        notes={"enumerated": best},
    )


def why_not_overlaps(problem: ItemSets) -> str | None:
    """Return why the enumeration does not apply, or None."""
    if problem.categories > MOST_ITEMS or max(problem.lengths()) > MOST_LENGTH:
        return f"it enumerates overlaps; at most {MOST_ITEMS} items and {MOST_LENGTH} of a set"
    if problem.report_items() < 1:
        return "a report names at least one item"
    return None


METHODS = (
    Method("short-report", ItemSets, "analytic", "the better of the two below, within max_report_bits",
           run_short, why_not_short),
    Method("set-selection", ItemSets, "analytic", "the best number of reported items", run_best),
    Method("set-hashing", ItemSets, "analytic", "the same by random polynomials: short reports of long lists",
           run_hashed, why_not_hashed),
    Method("sampled-item", ItemSets, "analytic", "padding and sampling: one item is reported", run_sampled),
    Method("overlaps", ItemSets, "numeric", "enumeration of likely overlaps", run_overlaps, why_not_overlaps),
)  # fmt: skip
