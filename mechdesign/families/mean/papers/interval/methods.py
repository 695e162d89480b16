"""The published methods of ``mean-interval``: never a default, and not counted for agreement."""

from __future__ import annotations

import math

from mechdesign.core.errors import ParameterError
from mechdesign.core.method import Method, Outcome
from mechdesign.core.validation import in_range
from mechdesign.families.mean.interval.problem import MeanInterval


def printed(problem: MeanInterval) -> Outcome:
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
           printed, why_not),
    Method("algorithm-8", MeanInterval, "published",
           "the intervals of theorem 2, by delta_1 and delta_2, as printed: not private",
           algorithm_8, why_not),
    Method("censoring", MeanInterval, "published",
           "the random censoring model without differential privacy: not private", censoring),
)  # fmt: skip
