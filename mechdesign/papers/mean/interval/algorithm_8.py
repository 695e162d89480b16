"""Algorithm 8 of the paper: any delta_1 and delta_2 of theorem 2, by default delta_1 = 1/2.

The interval is [(1 + delta_2)/(E + 1), (E + delta_1)/(E + 1)] with E = e^eps, delta_1 in (0, 1] and delta_2
in [delta_1/E, delta_1]. Report 0 has the ratio (E - delta_2)/(1 - delta_1) > E, so none of them is private;
with delta_1 = 1 and delta_2 = 1/E it is the method ``published``.
"""

from __future__ import annotations

import math

from mechdesign.core.errors import ParameterError
from mechdesign.core.method import Method, Outcome
from mechdesign.core.validation import in_range
from mechdesign.papers.mean.interval.published import why_not
from mechdesign.problems.mean.interval.problem import MeanInterval


def run(problem: MeanInterval, first: float = 0.5, second: float | None = None) -> Outcome:
    """Return the interval of theorem 2.

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
            f"second: {second:g} is outside [first/e^epsilon, first] = [{least:g}, {first:g}]; "
            "choose a number inside"
        )
    part = math.exp(-problem.epsilon)  # numerator and denominator divided by E: no overflow
    interval = [(1.0 + second) * part / (1.0 + part), min(1.0, (1.0 + first * part) / (1.0 + part))]
    return Outcome(
        status="feasible",
        variables={"interval": interval},
        solver="algorithm 8 as printed",
        notes={"source": "theorem 2, algorithm 8", "first": first, "second": second},
    )


METHOD = Method(
    name="algorithm-8",
    problem=MeanInterval,
    kind="published",
    preference=91,
    summary="the intervals of theorem 2, by delta_1 and delta_2, as printed: not private",
    run=run,
    why_not=why_not,
)
