"""The problem ``mean-channel``: the best mechanism for the mean of a number, whatever its form.

Its bounds hold for every unbiased private mechanism: ``any_mechanism_bound`` by column generation on a grid
of inputs, ``two_input_bound`` by a formula, and ``quick_bound``, the larger one of both in a fraction of a
second. ``figures`` shows the cells of a channel, and its variance over the number (figure 2.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.core.fields import POSITIVE, checked, choice, frozen_problem, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import privacy_epsilon
from mechdesign.families.mean.column_generation import (
    Array,
    ChannelDesign,
    default_inputs,
    largest_output,
    refined,
    symmetric_grid,
)
from mechdesign.families.mean.grid import GridMean

if TYPE_CHECKING:
    import cvxpy

    from mechdesign.show.figure import Figure

LIMITS = (1e-3, 16.0)
"""Between these epsilons linear programs tell the patterns apart."""

QUICK = 9
"""Inputs of the bound that every certificate shows: a fraction of a second."""

ACCURACY = 1e-5
"""Relative accuracy of the lower bound for any mechanism; stopping early only makes it smaller."""


@lru_cache(maxsize=256)
def any_mechanism_bound(
    epsilon: float, criterion: Literal["worst", "average"] = "worst", inputs: int | None = None
) -> float:
    """Return a lower bound of the variance of every unbiased epsilon-private mechanism on [0, 1].

    Outputs may be anything; only the inputs are restricted. "worst": a mechanism for all of [0, 1] is
    one for the grid, and its worst case is at least that over the grid. "average": the middles of equal
    cells, shifted together by u, cover [0, 1] as u runs over a cell; the constraint on the multipliers
    does not depend on where the inputs are; and the bound is linear in u but for the term -x^2, whose
    average is that over [0, 1]. So the bound with the inputs at the middles, and the two ends with weight 0,
    holds for the average.

    Parameters
    ----------
    epsilon : float
        From 0.001 to 16.
    criterion : {"worst", "average"}
    inputs : int, optional
        Number of inputs; more make the bound larger.

    Examples
    --------
    >>> 0.99 < any_mechanism_bound(1.0, inputs=11) < 1.0
    True
    """
    size = default_inputs(epsilon) if inputs is None else inputs

    def design(count: int) -> ChannelDesign:
        if criterion == "worst":
            return ChannelDesign(epsilon, symmetric_grid(count), criterion, between=False)
        grid = np.concatenate([[-1.0], middles(count - 2), [1.0]])
        weights = np.concatenate([[0.0], np.full(count - 2, 1.0 / (count - 2)), [0.0]])
        return ChannelDesign(epsilon, grid, criterion, weights)

    return refined(design, max(size, 3), ACCURACY).bound / 4.0


def middles(size: int) -> Array:
    """Return the middles of equal cells of [-1, 1].

    Examples
    --------
    >>> middles(4)
    array([-0.75, -0.25,  0.25,  0.75])
    """
    steps = np.arange(size, dtype=np.float64)
    result: Array = (steps - steps[::-1]) / size
    return result


@lru_cache(maxsize=256)
def quick_bound(epsilon: float, criterion: Literal["worst", "average"] = "worst") -> float:
    """Return a lower bound for every unbiased epsilon-private mechanism on [0, 1], in a fraction of a second.

    The larger one of :func:`any_mechanism_bound` with few inputs, where it can be had, and
    :func:`two_input_bound`.

    Examples
    --------
    >>> 0.99 < quick_bound(1.0) < 0.998 and quick_bound(50.0) > 0.0
    True
    """
    bound = two_input_bound(epsilon, criterion)
    if LIMITS[0] <= epsilon <= LIMITS[1]:
        try:
            bound = max(bound, any_mechanism_bound(epsilon, criterion, QUICK))
        except MethodError:  # the linear program gave up, which epsilons above 10 can cause
            return bound
    return bound


def two_input_bound(epsilon: float, criterion: Literal["worst", "average"] = "worst") -> float:
    """Return the bound from two inputs alone, for every epsilon.

    The ratio r of the two distributions of a report lies in [1 / E, E], E = e^epsilon, and has the mean 1
    under the second one; so E[(r - 1)^2] <= (E - 1) (1 - 1 / E) = 4 sinh(epsilon / 2)^2. By the inequality
    of Cauchy and Schwarz (Hammersley, Chapman and Robbins), (x - x')^2 <= Var(Y | x') E[(r - 1)^2]. The
    other input is the farther end of [0, 1]; the square of its distance is 7/12 on average.

    Examples
    --------
    >>> round(two_input_bound(1.0), 3), round(two_input_bound(1.0, "average"), 3)
    (0.921, 0.537)
    """
    if epsilon >= 700.0:
        return 0.0
    power = math.expm1(epsilon) * -math.expm1(-epsilon) * (1.0 + 2.0**-48)
    return (1.0 if criterion == "worst" else 7.0 / 12.0) / power * (1.0 - 2.0**-48)


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

    # As a program

    def statement(self) -> cvxpy.Problem:
        """Return a second-order program; on each segment the variance is a parabola, and its peak a minimum.

        With a = its value at the left end, s its slope there and w the width, its maximum over the segment
        is the least a + up + (s w + down' - up)^2 / (4 w^2) over up, down' >= 0.
        """
        import cvxpy as cp

        knots, outputs = self.knots(), self._outputs()
        channel = cp.Variable((len(knots), len(outputs)), name="channel", nonneg=True)
        least = cp.Variable((1, len(outputs)), name="least", nonneg=True)
        below = np.ones((len(knots), 1)) @ least
        rows = [cp.sum(channel, axis=1) == 1, (channel @ outputs == knots).set_label("no bias")]
        rows += [below <= channel, (channel <= np.exp(self.epsilon) * below).set_label("privacy")]
        variance, widths = channel @ outputs**2 - knots**2, np.diff(knots)
        if self.criterion == "average":
            segments = (variance[1:] + variance[:-1]) / 2.0 + widths**2 / 6.0
            return cp.Problem(cp.Minimize(widths @ segments), rows)
        up, down, worst = (
            cp.Variable(len(widths), name="up", nonneg=True),
            cp.Variable(len(widths), name="down", nonneg=True),
            cp.Variable(name="worst"),
        )
        slopes = cp.diff(variance) + widths**2 + down - up
        peaks = variance[:-1] + up + cp.square(cp.multiply(1.0 / (2.0 * widths), slopes))
        return cp.Problem(cp.Minimize(worst), [*rows, (peaks <= worst).set_label("variance")])

    def why_no_statement(self) -> str | None:
        return (
            None
            if self.outputs is not None
            else (
                "any numbers may be outputs: it has infinitely many columns; state outputs for a grid of them"
            )
        )

    def statement_size(self) -> int:
        return len(self.knots()) * (self.outputs or 0)

    def from_statement(self, values: Mapping[str, Any]) -> Variables:
        """Return the channel that would run: repaired, so that it is private and unbiased exactly."""
        outputs = self._outputs()
        channel = np.maximum(np.asarray(values["channel"], dtype=np.float64), 0.0)
        mechanism = self.deployable(channel / channel.sum(axis=1, keepdims=True), outputs)
        return {"channel": mechanism.channel.channel, "output_values": mechanism.outputs}

    def _outputs(self) -> Array:
        """Return the grid of outputs on [0, 1]'s scale."""
        grid = self.output_grid()
        assert grid is not None
        return 0.5 + grid / 2.0

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


def figures(problem: MeanChannel, solution: Solution[Any]) -> list[Figure]:
    """Return figures of the report of each number and of its variance."""
    from mechdesign.show.figure import Figure, Line, Panel

    channel = np.asarray(solution.variables["channel"], dtype=np.float64)
    outputs = np.asarray(solution.variables["output_values"], dtype=np.float64)
    knots = np.asarray(problem.knots(), dtype=np.float64)
    numbers = np.linspace(0.0, 1.0, 201)
    mixed = np.array([np.interp(numbers, knots, column) for column in channel.T]).T
    variance = mixed @ outputs**2 - (mixed @ outputs) ** 2
    order = np.argsort(outputs)
    steps = np.repeat(outputs[order], 2)[1:]
    reported = [
        Line(x=steps, y=np.repeat(np.cumsum(channel[row, order]), 2)[:-1], label=f"number {knots[row]:.3g}")
        for row in (0, len(knots) // 2, len(knots) - 1)
    ]
    panels = [
        Panel(
            "number of a user, in [0, 1]",
            "variance of its report",
            [Line(x=numbers, y=variance, label="solved channel")],
            title="Variance",
        ),
        Panel("value", "probability of a report of at most this", reported, title="Reports"),
    ]
    caption = "Between the inputs of the grid a user is rounded to one of its neighbours at random."
    return [Figure("The best channel for a number", panels, caption)]
