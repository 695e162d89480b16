"""The problem ``mean-channel``: the best mechanism for the mean of a number, whatever its form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import POSITIVE, checked, choice, frozen_problem, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import privacy_epsilon
from mechdesign.families.mean import GridMean
from mechdesign.families.mean.channel.any_mechanism import quick_bound
from mechdesign.families.mean.optimal.grids import default_inputs, largest_output, symmetric_grid

Array = NDArray[np.float64]

CRITERIA = ("worst", "average")

MAX_GRID = 100_000
"""The largest number of inputs or of outputs; programs of that size are far beyond any solver."""


def _epsilon(field: str, value: Any) -> float:
    epsilon = privacy_epsilon(value, field)
    if 0.0 < epsilon < 1e-100:
        raise ParameterError(
            field,
            f"{epsilon:g} is so small that the variance is beyond double precision",
            "give a larger one",
        )
    return epsilon


@frozen_problem(eq=False)
class MeanChannel(Problem[GridMean]):
    """The best unbiased epsilon-private report of one number x in [0, 1].

    minimize    max over x in [0, 1] of Var(Y | x)       (or its average over x)
    subject to  E[Y | x] = x,   p(y | x) <= e^eps p(y | x')

    over channels from a grid of inputs to output values; an x between two inputs is rounded to one of
    them at random, unbiased, and the variance of that is part of the value. The value is thus what
    the deployed mechanism guarantees for every x, not for the grid alone.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.MeanChannel(epsilon=1.0, inputs=11))
    >>> round(4 * solution.value, 3)  # Duchi 4.683, piecewise 5.224, hybrid 4.289 on [-1, 1]
    3.995
    """

    name: ClassVar[str] = "mean-channel"
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 1.0}
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon",)
    value_name: ClassVar[str] = "variance of one report"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "the best mechanism for the mean of a number, by linear programming"
    optimal_within: ClassVar[float] = 1e-5
    """A solution is certified optimal when its proven gap is below this part of its value."""

    epsilon: float = checked("> 0 and finite.", _epsilon, limits=POSITIVE, form="float")
    inputs: int | None = whole(
        "Number of evenly spaced inputs; by default 21 to 41, more for a larger epsilon.",
        low=2,
        high=MAX_GRID,
        default=None,
    )
    outputs: int | None = whole(
        "Number of evenly spaced output values, from minus to plus the larger of Duchi's and the "
        "piecewise mechanism's largest output (for the range [-1, 1]); by default any real numbers "
        "are allowed and the best ones are found.",
        low=2,
        high=MAX_GRID,
        default=None,
    )
    criterion: Literal["worst", "average"] = choice(
        "The largest variance over x, or the average over x uniform on [0, 1].", CRITERIA, default="worst"
    )

    # Grids

    def knots(self) -> Array:
        """Return the inputs in [0, 1]."""
        return np.linspace(0.0, 1.0, default_inputs(self.epsilon) if self.inputs is None else self.inputs)

    def grid(self) -> Array:
        """Return the inputs on [-1, 1], the range the methods work on."""
        return symmetric_grid(len(self.knots()))

    def output_grid(self) -> Array | None:
        """Return the output values on [-1, 1]'s scale, or None when any are allowed."""
        if self.outputs is None:
            return None
        return largest_output(self.epsilon) * symmetric_grid(self.outputs)

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        """Return the criterion in squared units of [0, 1], from ``channel`` and ``output_values``.

        On a segment of the grid the squared error E[(Y - x)^2] of the mechanism that rounds its input is
        a parabola in x, so its maximum and its integral are exact. For an unbiased channel it is the
        variance.
        """
        channel = np.asarray(variables["channel"], dtype=np.float64)
        outputs = np.asarray(variables["output_values"], dtype=np.float64) - 0.5
        knots = self.knots() - 0.5
        means, moments = channel @ outputs, channel @ outputs**2
        return criterion_value(knots, means, moments, self.criterion)

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the largest violations of row sums, signs, privacy and unbiasedness (in floating point)."""
        channel = np.asarray(variables["channel"], dtype=np.float64)
        outputs = np.asarray(variables["output_values"], dtype=np.float64)
        power = math.exp(min(self.epsilon, 700.0))
        return {
            "row_sums": float(np.abs(channel.sum(axis=1) - 1.0).max()),
            "signs": max(0.0, -float(channel.min())),
            "privacy": max(0.0, float((channel.max(axis=0) - power * channel.min(axis=0)).max())),
            "bias": float(np.abs(channel @ outputs - self.knots()).max()),
        }

    # From a solution to something that runs

    def deployable(self, channel: Array, outputs: Array) -> GridMean:
        """Return the exactly private mechanism of a solver's channel, for values in [0, 1]."""
        return GridMean.from_floats(channel, self.knots(), outputs, self.epsilon)

    def mechanism(self, solution: Solution[Any]) -> GridMean:
        """Return the mechanism for values in [0, 1]: integers, audited, inputs rounded at random."""
        return self.deployable(solution.variables["channel"], solution.variables["output_values"])

    def among(self) -> str:
        """Return the set of channels among which an optimum is one: its grid is part of it."""
        outputs = "any outputs" if self.outputs is None else f"{self.outputs} outputs"
        return f"unbiased epsilon-private channels on the grid of {len(self.knots())} inputs with {outputs}"

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return privacy and bias of the mechanism that would run, and optimality of the value.

        ``any_mechanism`` is a proven lower bound for unbiased epsilon-private mechanisms of any form, on any
        grid or none; ``above_any`` by which part the value exceeds it.
        """
        mechanism = solution.mechanism()
        least = quick_bound(self.epsilon, self.criterion)
        figures: dict[str, Any] = {
            "gap": solution.gap,
            "any_mechanism": least,
        }
        if least > 0.0:
            figures["above_any"] = solution.value / least - 1.0
        if self.criterion == "worst":
            figures["deployed_value"] = mechanism.worst_variance()
        return (*mechanism.certificates(), self.optimality(solution, figures=figures, unproven=figures))


def criterion_value(knots: Array, means: Array, moments: Array, criterion: str) -> float:
    """Return the worst or average squared error between the first and the last knot.

    Parameters
    ----------
    knots : (n,) array
    means, moments : (n,) array
        E[Y] and E[Y^2] at the knots; both are interpolated linearly in between.
    criterion : {"worst", "average"}

    Examples
    --------
    >>> criterion_value(np.array([-0.5, 0.5]), np.array([-0.5, 0.5]), np.array([1.0, 1.0]), "worst")
    1.0
    """
    widths = np.diff(knots)
    first = moments[:-1] - 2.0 * knots[:-1] * means[:-1] + knots[:-1] ** 2
    last = moments[1:] - 2.0 * knots[1:] * means[1:] + knots[1:] ** 2
    bend = widths**2 - 2.0 * widths * np.diff(means)  # second-order coefficient over the unit segment
    if criterion == "average":
        return float((widths * (first + last - bend / 3.0)).sum() / 2.0 / widths.sum())
    slope = last - first - bend
    with np.errstate(divide="ignore", invalid="ignore"):
        peak = np.where(bend < 0.0, -slope / (2.0 * bend), 0.0)
    inside = np.clip(peak, 0.0, 1.0)
    return float(np.max([first, last, first + slope * inside + bend * inside**2]))
