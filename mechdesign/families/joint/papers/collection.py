"""What the sources state of ``joint-collection``: their choice, their epsilons, and simulated users."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.exact.bits import member_counts
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.joint.collection import JointCollection, coordinates, impossible
from mechdesign.families.joint.collection_methods import value_lower_bound
from mechdesign.families.joint.repeated import RepeatedBits
from mechdesign.families.joint.response import JointResponse

KEEP, ADD = 0.75, 0.5


def published_choice(problem: JointCollection) -> Outcome:
    """Return the least redraw that keeps the promises with keep = 0.75, add = 0.5; it claims no optimum."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="formula", message=reason)
    x, y = coordinates(KEEP, ADD)
    flip = float(problem.least_flip(np.float64(x), np.float64(y)))
    return Outcome(
        status="feasible", variables={"redraw": 2.0 * flip, "keep": KEEP, "add": ADD}, solver="formula"
    )


METHODS = (
    Method("paper", JointCollection, "published",
           "the paper's keep = 0.75 and add = 0.5 with the least redraw that meets the guarantees",
           published_choice),
)  # fmt: skip


MOST_EXPONENT = 300.0


def quantities(problem: JointCollection, solution: Solution[Any]) -> dict[str, Any]:
    """Return exact privacy losses, the paper's, and sums of variances over all joint cells.

    ``one_report``, ``all_reports`` and ``any_number`` are the least epsilons, exactly from the weights;
    ``printed_permanent`` is 2 d ln((2-f)/f), ``printed_report`` ln(q*(1-p*)/(p*(1-q*))) as printed, and
    ``printed_sum`` their sum. ``printed_debiasing_is_exact`` says, in fractions, whether line 4 of algorithm
    2 subtracts the mean of a 0 and divides by the difference to that of a 1. ``joint_variance`` is users
    times the variance of the unbiased estimates from one report, summed over all joint cells;
    ``direct_response`` and ``direct_unary`` are the same for randomized response and for optimised unary
    encoding on the joint cells, at the epsilon of one report. ``singles_variance`` is users times the
    variance of the unbiased shares of single attributes at frequency 0, summed over their values, from one
    report; ``singles_direct`` what the better of the direct reports has for it, as sums of joint cells. All
    unbiased estimates from bits use that the bits of an attribute, or of the joint cells, are to sum to 1.
    What is printed is of one-hot bits: a mechanism with one bit for two values does not have it.
    """
    mechanism: JointResponse = solution.mechanism()
    audit, d = mechanism.audit(), len(problem.attributes)
    cells = math.prod(problem.attributes)
    budget = d * math.log(problem.report_ratio)
    joint, direct = mechanism.joint_variance(), direct_response(cells, budget)
    singles = sum(bits.size * bits.spreads()[1] for bits in mechanism.attribute_bits)
    return {
        "one_report": audit.one_report,
        "all_reports": audit.true_epsilon,
        "any_number": audit.any_reports,
        **({} if mechanism.one_bit else _printed(mechanism)),
        "bits": mechanism.bits,
        "excess": solution.value / value_lower_bound(problem) - 1.0,
        "joint_variance": joint,
        "direct_response": direct,
        "direct_unary": direct_unary(cells, budget),
        "joint_over_direct": joint / direct,
        "singles_direct": singles_direct(problem.attributes, budget),
        "singles_variance": singles,
        "singles_over_direct": singles / singles_direct(problem.attributes, budget),
        "joint_is_better": joint < direct,
        "standard_error_at_10000": math.sqrt(solution.value / sum(problem.attributes) / 10_000),
    }


def _printed(mechanism: JointResponse) -> dict[str, Any]:
    """Return what the paper prints for one-hot bits, and whether it holds."""
    audit, half = mechanism.audit(), mechanism.weights.flip / TOTAL
    own, other = (float(share) for share in mechanism.shares)
    count = mechanism.attributes.count
    permanent = math.inf if half == 0.0 else 2.0 * count * math.log((1.0 - half) / half)
    report = math.log(own * (1.0 - other) / (other * (1.0 - own)))
    return {
        "printed_permanent": permanent,
        "printed_report": report,
        "printed_sum": permanent + report,
        "printed_report_covers_a_report": audit.one_report <= report * (1.0 + 1e-12),
        "printed_sum_covers_any_number": audit.any_reports <= (permanent + report) * (1.0 + 1e-12),
        "printed_sum_is_attained": math.isclose(audit.any_reports, permanent + report, rel_tol=1e-9),
        "printed_debiasing_is_exact": printed_debiasing_is_exact(mechanism.weights),
    }


def printed_debiasing_is_exact(weights: RepeatedBits) -> bool:
    """Return whether p + f q/2 - f p/2 is p*, and (1 - f)(q - p) is q* - p*, exactly.

    Examples
    --------
    >>> printed_debiasing_is_exact(RepeatedBits(8, 1, 6, 2))
    True
    """
    f, q, p = (Fraction(weight, weights.total) for weight in (2 * weights.flip, weights.keep, weights.add))
    offset, gain = p + f * q / 2 - f * p / 2, (1 - f) * (q - p)
    return offset == weights.other and gain == weights.own - weights.other


def direct_response(cells: int, epsilon: float) -> float:
    """Return users times the variance of randomized response on the joint cells, summed over all cells.

    Examples
    --------
    >>> round(direct_response(2, math.log(3.0)), 12)  # 2 * (3/4)(1/4) / (1/2)^2
    1.5
    """
    w = math.exp(-min(epsilon, MOST_EXPONENT))
    own = 1.0 / (1.0 + (cells - 1) * w)
    other = w * own
    return (own * (1.0 - own) + (cells - 1) * other * (1.0 - other)) / (own - other) ** 2


def singles_direct(sizes: Sequence[int], epsilon: float) -> float:
    """Return users times the variances of all shares of single attributes, from a report of the joint cell.

    At frequency 0: randomized response has q (1 - q) / (p - q)^2 with the share q of the reports that fall
    into a value's cells by chance. With unary encoding a value is a sum of bits, and the sums of an attribute
    are brought to the sum 1. The better one counts.

    Examples
    --------
    >>> round(singles_direct([2, 2], math.log(3.0)), 12)  # 4 bits, each (1/3)(2/3)/(1/3)^2 = 2
    8.0
    """
    cells = math.prod(sizes)
    w = math.exp(-min(epsilon, MOST_EXPONENT))
    own = 1.0 / (1.0 + (cells - 1) * w)
    chances = [w * own * (cells // size) for size in sizes]
    gain = (own * (1.0 - w)) ** 2
    response = sum(size * share * (1.0 - share) / gain for size, share in zip(sizes, chances, strict=True))
    one, zero = _unary(epsilon)
    unary = 0.0
    for size in sizes:
        summed = cells // size
        other = summed * zero
        apart = (1.0 - 1.0 / size) ** 2 * other + (one + (summed - 1) * zero + (size - 2) * other) / size**2
        unary += size * apart
    return min(response, unary)


def direct_unary(cells: int, epsilon: float) -> float:
    """Return the same for optimised unary encoding: the user's bit with 1/2, others with 1/(e^epsilon + 1).

    Examples
    --------
    >>> round(direct_unary(2, math.log(3.0)), 12)  # half of (1/4 + 3/16) / (1/4)^2
    3.5
    """
    one, zero = _unary(epsilon)
    return (1.0 - 1.0 / cells) * (one + (cells - 1) * zero)


def _unary(epsilon: float) -> tuple[float, float]:
    """Return the variances of a debiased bit of optimised unary encoding, for a true 1 and a true 0."""
    other = 1.0 / (math.exp(min(epsilon, MOST_EXPONENT)) + 1.0)
    return 0.25 / (0.5 - other) ** 2, other * (1.0 - other) / (0.5 - other) ** 2


def simulation(
    problem: JointCollection, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return users times the measured mean squared error of values of frequency 0, scaled to all values.

    Everybody has the first value of every attribute. ``standard_error`` is that of the measured value.
    """
    mechanism = solution.mechanism()
    values = np.zeros((users, len(problem.attributes)), dtype=np.int64)
    squares = []
    for _ in range(repetitions):
        client = mechanism.remember(values, rng=rng)
        counts = sum(
            member_counts(client.report(rng=rng), mechanism.bits) for _ in range(problem.reports_per_user)
        )
        shares = np.asarray(counts)[None] / (users * problem.reports_per_user)
        total = 0.0
        for alone in (False, True):
            same = [bits for bits in mechanism.attribute_bits if bits.alone == alone]
            errors = [bits.debiased(shares)[0, 1:] for bits in same]
            if same:
                square = float(np.mean(np.concatenate(errors) ** 2))
                total += sum(bits.size for bits in same) * square
        squares.append(users * total)
    spread = float(np.std(squares, ddof=1)) / math.sqrt(repetitions) if repetitions > 1 else math.nan
    return {"measured_value": float(np.mean(squares)), "standard_error": spread}
