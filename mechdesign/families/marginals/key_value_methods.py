"""The methods of ``key-value``; the last one counts subsets one by one, to check the formula."""

from __future__ import annotations

import math
from itertools import combinations

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.values import changed
from mechdesign.families.marginals.key_value import KeyValue, pair_outcome

MOST_SUBSETS = 20_000


def run_best(problem: KeyValue) -> Outcome:
    """Take the number of reported keys with ends with the least sum of the variances."""
    return pair_outcome(problem, 2 * problem.categories - 1)


def run_sampled(problem: KeyValue) -> Outcome:
    """Report one key with an end: padding and sampling, with the k-ary response that sampling allows."""
    return pair_outcome(problem, 1)


def counted_variance(keys: int, length: int, size: int, epsilon: float) -> float:
    """Return the sum of the variances of a share and of a difference, subset by subset.

    Items 2 k and 2 k + 1 are the ends of a key. For users whose set is the low ends of the first l keys, and
    for the first key and the last, the law of what is reported is summed up over all subsets.

    Examples
    --------
    >>> from mechdesign.families.marginals.key_value import pair_variances
    >>> import numpy as np
    >>> formula = pair_variances(4, 2, np.array([3]), 1.0)
    >>> abs(counted_variance(4, 2, 3, 1.0) - float(formula[0][0] + formula[1][0])) < 1e-9
    True
    """
    whole = 2 * keys + length
    held = {2 * key for key in range(length)}
    total = own = other = mine = theirs = 0.0
    far = 2 * (keys - 1)  # a key that the user does not have
    for subset in combinations(range(whole), size):
        weight = math.exp(epsilon) if held & set(subset) else 1.0
        total += weight
        own += weight * (0 in subset)
        other += weight * (far in subset)
        mine += weight * (0 in subset and 1 in subset)
        theirs += weight * (far in subset and far + 1 in subset)
    p, q, both, neither = (number / total for number in (own, other, mine, theirs))
    gain, share = p - q, length / keys
    square = {
        sign: share * (p + q + 2 * sign * both) + (1.0 - share) * (2 * q + 2 * sign * neither)
        for sign in (1, -1)
    }
    mean = share * (p + q) + (1.0 - share) * 2 * q
    return (square[1] - mean**2 + square[-1]) / gain**2


def run_counted(problem: KeyValue) -> Outcome:
    """Count all subsets of every size."""
    outcome = pair_outcome(problem, 2 * problem.categories - 1)
    if not outcome.variables:
        return outcome
    sums = {
        size: counted_variance(problem.categories, problem.length, size, problem.epsilon)
        for size in range(1, min(problem.report_items(), 2 * problem.categories - 1) + 1)
    }
    size = min(sums, key=lambda each: sums[each])
    notes = {**outcome.notes, "counted": sums[size]}
    return changed(
        outcome, variables={"length": problem.length, "size": size}, solver="enumeration", notes=notes
    )


def why_not_counted(problem: KeyValue) -> str | None:
    """Return why counting does not apply, or None."""
    whole = 2 * problem.categories + problem.length
    if 1 << whole > MOST_SUBSETS * 8 or problem.length >= problem.categories:
        return "it counts all subsets of keys and ends; give fewer than about 8 keys, and a length below"
    return None


METHODS = (
    Method("set-selection", KeyValue, "analytic", "the best number of reported keys with ends", run_best),
    Method("sampled-pair", KeyValue, "analytic", "padding and sampling: one key with an end", run_sampled),
    Method("counted", KeyValue, "numeric", "all subsets one by one", run_counted, why_not_counted),
)
