"""Column generation for the best mean mechanism: the master program, its cuts, and the loop that solves it.

The master chooses how much of each pair (output, pattern) to use. By symmetry (a
mechanism may be averaged with its mirror image) a column stands for (t, w) and (-t, w reversed), and only the
inputs x >= 0 need rows. A value between two inputs is rounded to one of them at random, so the second
moment is interpolated linearly and the variance at any point p of [-1, 1] is

    (1 - u) S_i + u S_(i+1) - p^2    between the inputs i and i + 1;

the worst case over all p is approached by cutting planes at the p where it is exceeded.

``generate_columns`` adds the cheapest columns and the violated cuts and proves a bound on the way;
``refined`` starts from the solution on a coarser grid of inputs.

**Columns, their prices, and the lower bounds that prices prove.** A column of an epsilon-private channel has
entries within a factor e^eps of each other, so it is a sum of columns theta w with w_x in {q, 1}, q = e^-eps:
the two-valued patterns are the extreme rays. A mechanism is a measure over pairs (output value t, pattern w)
that satisfies, for every input x of a grid on [-1, 1],

    sum theta w_x = 1,    sum theta t w_x = x,    S_x = sum theta t^2 w_x    (second moment).

For multipliers l_x, s_x and weights c_x of the second moments, let f_x(t) = c_x t^2 - s_x t - l_x and

    F(t) = sum_x min(f_x(t), q f_x(t)),

the price of the cheapest pattern at t. If F >= 0 for every t that may be reported, then, by adding up,

    sum_x c_x S_x >= sum_x (l_x + s_x x)

for every mechanism. Between the roots of the f_x, F is a parabola, so its minimum over all real t is
found exactly: the bound holds for any output values, not only for those of a grid, and for any
output alphabet (report a number, a text, a sketch: only the estimate t made of it matters).

The grids of inputs and of output values that the programs start from are here as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError

if TYPE_CHECKING:
    from mechdesign.solvers.linear import LinearProgram, LinearResult

Array = NDArray[np.float64]

FEWEST, MOST = 21, 41
"""Limits of the default number of inputs: half a second and a few seconds. 61 take half a minute."""


def default_inputs(epsilon: float) -> int:
    """Return an odd number of inputs, 21 to 41, for which rounding costs about a percent up to epsilon = 5.

    Rounding costs at most h^2/4 for a step h, and the best variance falls about like e^(-3 eps/4) (measured),
    so the number grows like e^(3 eps/8) from epsilon = 3.

    Examples
    --------
    >>> [default_inputs(epsilon) for epsilon in (0.5, 3.0, 4.0, 5.0, 10.0)]
    [21, 21, 31, 41, 41]
    """
    steps = (FEWEST - 1) * math.exp(min(3.0, 3.0 / 8.0 * max(0.0, epsilon - 3.0)))
    return min(MOST, 2 * math.ceil(steps / 2.0 - 0.25) + 1)


def symmetric_grid(size: int) -> Array:
    """Return evenly spaced numbers from -1 to 1, symmetric to the last bit.

    Examples
    --------
    >>> symmetric_grid(3)
    array([-1.,  0.,  1.])
    """
    steps = np.arange(size, dtype=np.float64)
    grid: Array = (steps - steps[::-1]) / (size - 1)
    return grid


def largest_output(epsilon: float) -> float:
    """Return the larger of Duchi's and the piecewise mechanism's largest output, on the scale of [-1, 1]."""
    return 1.0 / math.tanh(epsilon / 4.0)


Patterns = NDArray[np.bool_]

UNIT = 2.0**-53
STEPS = 4
"""Newton steps towards the least shift; each squares the error, and the last is safeguarded."""


@dataclass(frozen=True)
class PatternPrices:
    """Multipliers of the inputs: ``level`` of sums, ``slope`` of means, ``curve`` of second moments.

    Mirrored, as the multipliers of a symmetric program are: level and curve are the same for x and -x, slope
    changes its sign. Then F(-t) = F(t), and outputs t >= 0 are enough.
    """

    level: Array
    slope: Array
    curve: Array

    def shifted(self, amount: float) -> PatternPrices:
        """Return the prices with every level lowered, which raises F by at least n q times the amount."""
        return PatternPrices(self.level - amount, self.slope, self.curve)


@dataclass(frozen=True)
class Priced:
    """The cheapest patterns (k, n) at some outputs t >= 0, their prices F(t), and the rounding errors."""

    outputs: Array
    patterns: Patterns
    values: Array
    errors: Array


def cheapest(prices: PatternPrices, small: float, outputs: Array | None = None) -> Priced:
    """Return the cheapest pattern at each output, or at the minimum of every parabola piece of F.

    Parameters
    ----------
    prices : PatternPrices
    small : float
        q = e^-eps.
    outputs : (k,) array, optional
        The outputs t >= 0 that may be reported; every real number by default.

    Examples
    --------
    >>> prices = PatternPrices(np.array([1.0, 1.0]), np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
    >>> priced = cheapest(prices, 0.5)
    >>> round(float(priced.values.min()), 6), round(float(priced.outputs[priced.values.argmin()]), 6)
    (-2.0, 0.0)
    """
    if outputs is None:
        edges = _edges(prices)
        middles = np.append((edges[:-1] + edges[1:]) / 2.0, edges[-1] + 1.0)
        patterns = _values(prices, middles) < 0.0
        weights = np.where(patterns, 1.0, small)
        curve, slope = weights @ prices.curve, weights @ prices.slope
        with np.errstate(divide="ignore", invalid="ignore"):
            lowest = np.where(curve > 0.0, slope / (2.0 * curve), edges)
        points = np.clip(lowest, edges, np.append(edges[1:], np.inf))
    else:
        points = outputs
        patterns = _values(prices, points) < 0.0
        weights = np.where(patterns, 1.0, small)
    values = np.einsum("kn,kn->k", weights, _values(prices, points))
    return Priced(points, patterns, values, _errors(prices, points))


def _values(prices: PatternPrices, points: Array) -> Array:
    """Return f_x(t), shape (points, inputs)."""
    column = points[:, None]
    return (prices.curve * column - prices.slope) * column - prices.level


def _errors(prices: PatternPrices, points: Array) -> Array:
    """Return bounds of the rounding errors of F, those of the roots included.

    A root is computed with a backward error of a few units, so f_x there is a few units of the sum of
    the magnitudes of its terms; and where the sign of f_x is taken wrongly, |f_x| is no larger than that.
    """
    level, slope, curve = (np.abs(part).sum() for part in (prices.level, prices.slope, prices.curve))
    sizes = curve * points**2 + slope * points + level
    bounds: Array = (64.0 + len(prices.level)) * UNIT * sizes
    return bounds


def _edges(prices: PatternPrices) -> Array:
    """Return 0 and the positive roots of all f_x in increasing order."""
    level, slope, curve = prices.level, prices.slope, prices.curve
    root = np.sqrt(np.maximum(slope**2 + 4.0 * curve * level, 0.0))
    half = (slope + np.copysign(root, slope)) / 2.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        roots = np.concatenate([half / curve, -level / half])
    roots = roots[np.isfinite(roots) & (roots > 0.0)]
    return np.unique(np.append(roots, 0.0))


def proven_lower(prices: PatternPrices, grid: Array, small: float, outputs: Array | None = None) -> float:
    """Return a lower bound of sum_x c_x S_x over every private unbiased mechanism, rounding errors included.

    Where F is negative somewhere, all levels are lowered by the least amount that lifts it, found by
    Newton's method; what is left is lifted with F's slope in the amount, which is at least n q.
    """
    count = len(grid)
    priced = cheapest(prices, small, outputs)
    amount = 0.0
    for _ in range(STEPS):
        masses = small * count + (1.0 - small) * priced.patterns.sum(axis=1)
        more = float((-priced.values / masses).max())
        if more <= 0.0:
            break
        amount += more
        priced = cheapest(prices.shifted(amount), small, outputs)
    short = max(0.0, float((priced.errors - priced.values).max()))
    amount += short / (count * small)
    terms = np.concatenate([prices.level - amount, prices.slope * grid])
    slack = (len(terms) + 8) * 2.0 * UNIT * float(np.abs(terms).sum() + abs(amount) * count)
    return float(terms.sum()) - slack


SAFETY = 2.0**-47
"""More than the roundings of the weights of the cuts, relative."""


@dataclass
class ChannelDesign:
    """The program to solve, on [-1, 1], and what is known about it so far.

    Parameters
    ----------
    epsilon : float
    grid : (n,) array
        Inputs, symmetric about 0 and increasing.
    criterion : {"worst", "average"}
    weights : (n,) array, optional
        For "average": the weight of each input's second moment.
    between : bool
        Whether the worst case is over all of [-1, 1], rounding included, or over the grid alone.
    outputs : (k,) array, optional
        Output values t >= 0 to choose from; every real number by default.
    """

    epsilon: float
    grid: Array
    criterion: Literal["worst", "average"]
    weights: Array | None = None
    between: bool = True
    outputs: Array | None = None
    values: Array = field(default_factory=lambda: np.zeros(0))
    patterns: Patterns = field(default_factory=lambda: np.zeros((0, 0), dtype=np.bool_))
    points: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.small = math.exp(-self.epsilon)
        self.scale = (1.0 + self.small) / -math.expm1(-self.epsilon)  # Duchi's output value
        size = len(self.grid)
        self.odd = size % 2
        self.right = np.arange(size // 2, size)
        self.half = self.grid[self.right]
        self.patterns = np.zeros((0, size), dtype=np.bool_)
        self.points = self.half.tolist() if self.criterion == "worst" else []

    @property
    def constant(self) -> float:
        """Constant of the average criterion: the mean of p^2 over [-1, 1], which is subtracted."""
        return 1.0 / 3.0 if self.criterion == "average" else 0.0

    # Columns

    def add(self, values: Array, patterns: Patterns) -> int:
        """Add the columns that are new (with outputs of the grid, where there is one); return how many."""
        before = len(self.values)
        rows = np.column_stack([np.concatenate([self.values, values]), np.vstack([self.patterns, patterns])])
        _, first = np.unique(rows, axis=0, return_index=True)
        order = np.sort(first)
        self.values = np.concatenate([self.values, values])[order]
        self.patterns = np.vstack([self.patterns, patterns])[order]
        return len(order) - before

    def snapped(self, value: float) -> float:
        """Return the output itself, or the least one of the grid that is not below it."""
        if self.outputs is None:
            return value
        place = min(int(np.searchsorted(self.outputs, value)), len(self.outputs) - 1)
        return float(self.outputs[place])

    # The master program

    def program(self) -> LinearProgram:
        """Return the master: maximise minus the criterion over (S, z, theta), outputs in units of ``scale``.

        Means are divided by 1 - q and moments by scale^2, which keeps every coefficient near 1.
        """
        from mechdesign.solvers.linear import LinearProgram

        outputs = self.values / self.scale
        high = self.patterns[:, self.right].T.astype(np.float64)
        low = self.patterns[:, ::-1][:, self.right].T.astype(np.float64)
        sums = 2.0 * self.small + (1.0 - self.small) * (high + low)
        means = (high - low)[self.odd :] * outputs
        inputs = len(self.half)
        first = inputs + 1  # of the columns, which come last: a solver can go on when there are more of them
        count = first + len(outputs)
        equal = np.zeros((inputs + len(means), count))
        equal[:inputs, first:], equal[inputs:, first:] = sums, means
        from scipy.sparse import csr_array  # takes longer to import than the module

        upper = np.zeros((inputs + len(self.points), count))
        upper[:inputs, :inputs] = -np.eye(inputs)
        upper[:inputs, first:] = sums * outputs**2
        upper[inputs:, :inputs] = self.shares()
        upper[inputs:, inputs] = -1.0
        costs = np.zeros(count)
        if self.criterion == "worst":
            costs[inputs] = -1.0
        else:
            costs[:inputs] = -self.halved()
        return LinearProgram(
            objective=costs,
            upper_rows=csr_array(upper),
            upper_limits=np.concatenate([np.zeros(inputs), np.square(self.points) / self.scale**2]),
            equal_rows=csr_array(equal),
            equal_limits=np.concatenate([np.ones(inputs), self.half[self.odd :] / (1.0 + self.small)]),
            low=np.zeros(count),
            high=np.repeat([1.0 + float(outputs.max()) ** 2, 0.5 / self.small], [first, len(outputs)]),
        )

    def halved(self) -> Array:
        """Return the weights of the right half of the inputs, those of the left half added."""
        assert self.weights is not None
        folded = self.weights[self.right] + self.weights[::-1][self.right]
        if self.odd:
            folded[0] /= 2.0
        return folded

    def shares(self) -> Array:
        """Return, for every cut point, the weights of the two inputs it is rounded to."""
        points = np.asarray(self.points, dtype=np.float64)
        left, right_share = self.place(points)
        rows = np.arange(len(points))
        shares = np.zeros((len(points), len(self.half)))
        shares[rows, left] = 1.0 - right_share
        between = right_share > 0.0
        shares[rows[between], left[between] + 1] = right_share[between]
        return shares

    def place(self, points: Array) -> tuple[npt.NDArray[np.intp], Array]:
        """Return the inputs to the left of points >= 0 and the shares of their right neighbours.

        Between the two inputs around 0 the moment is constant: all of it is the first input's.
        """
        if len(self.half) == 1:
            return np.zeros(len(points), dtype=np.intp), np.zeros(len(points))
        left = (np.searchsorted(self.half, points, side="right") - 1).clip(0, len(self.half) - 2)
        share = (points - self.half[left]) / (self.half[left + 1] - self.half[left])
        return left, np.where(points <= self.half[0], 0.0, share)

    # Prices and bounds

    def multipliers(self, result: LinearResult) -> Array:
        """Return the multipliers of sums, means and cuts in one vector, in units of [-1, 1]."""
        inputs, square = len(self.half), self.scale**2
        levels = -result.equal_multipliers[:inputs] * square
        slopes = -result.equal_multipliers[inputs:] * self.scale / -math.expm1(-self.epsilon)
        return np.concatenate([levels, slopes, result.upper_multipliers[inputs:]])

    def prices(self, multipliers: Array) -> tuple[PatternPrices, float]:
        """Return mirrored prices for any vector of multipliers, and the constant of their bound."""
        inputs = len(self.half)
        slopes = np.concatenate([np.zeros(self.odd), multipliers[inputs : 2 * inputs - self.odd]])
        if self.criterion == "average":
            curve, constant = self.halved(), self.constant
        else:
            cuts = np.zeros(len(self.points))
            weights = multipliers[2 * inputs - self.odd :]
            cuts[: len(weights)] = np.maximum(weights, 0.0)
            cuts /= cuts.sum()
            curve, constant = cuts @ self.shares(), float(cuts @ np.square(self.points))
        return self._mirrored(multipliers[:inputs], slopes, curve), constant

    def _mirrored(self, level: Array, slope: Array, curve: Array) -> PatternPrices:
        """Spread the multipliers of the right half over all inputs, half of each on either side."""

        def spread(half: Array, sign: float) -> Array:
            whole = np.empty(len(self.grid))
            whole[: len(self.half)] = sign * half[::-1] / 2.0
            whole[self.right] = half / 2.0
            if self.odd:
                whole[self.right[0]] = half[0]
            return whole

        return PatternPrices(spread(level, 1.0), spread(slope, -1.0), spread(curve, 1.0))

    def bound(self, multipliers: Array) -> float:
        """Return the lower bound of the criterion that the multipliers prove."""
        prices, constant = self.prices(multipliers)
        lower = proven_lower(prices, self.grid, self.small, self.outputs)
        return lower - constant - SAFETY * (abs(lower) + abs(constant))

    # Where to begin

    def begin(self) -> None:
        """Add the increasing patterns at Duchi's and the piecewise mechanism's largest output: feasible."""
        size = len(self.grid)
        increasing = np.array([np.arange(size) >= step for step in range(size + 1)])
        for value in (self.scale, 1.0 / math.tanh(self.epsilon / 4.0)):
            self.add(np.full(size + 1, self.snapped(value)), increasing)

    def begin_from(self, grid: Array, values: Array, patterns: Patterns) -> None:
        """Add the columns of a solution on a coarser grid: each input takes the entries of its neighbours."""
        left = np.clip(np.searchsorted(grid, self.grid, side="right") - 1, 0, len(grid) - 2)
        nearest = np.where(self.grid - grid[left] <= grid[left + 1] - self.grid, left, left + 1)
        for places in (left, left + 1, nearest):
            self.add(values, patterns[:, places])


SMOOTHING = 0.5
"""Part of the best multipliers so far in the ones that are priced: it halves the rounds (measured)."""

NEW = 20
"""Most columns added for one set of multipliers."""

ROUNDS = 400

COARSEST = 11
"""Grids of more inputs are started from the solution on one of half as many."""

COARSE = 1e-4
"""Relative accuracy of the solutions that only start others."""


@dataclass(frozen=True)
class Generated:
    """An optimal design: amounts of the columns in use, criterion reached, proven bound, work done.

    ``prices`` are those of the last master program, and ``constant`` is what the criterion subtracts; a
    solution that was stored has none.
    """

    outputs: Array
    patterns: Patterns
    amounts: Array
    value: float
    bound: float
    rounds: int
    solver: str
    prices: PatternPrices | None = None
    constant: float = 0.0


def refined(make: Callable[[int], ChannelDesign], size: int, accuracy: float) -> Generated:
    """Solve on ever finer grids, each started from the one before; the last one has the requested size.

    Parameters
    ----------
    make : callable
        The design with a given number of inputs.
    size : int
    accuracy : float
        Relative, of the last grid.
    """
    sizes = [size]
    while sizes[0] > COARSEST:
        sizes.insert(0, (sizes[0] + 1) // 2)
    before: tuple[Array, Generated] | None = None
    for number in sizes:
        design = make(number)
        design.begin()
        if before is not None:
            design.begin_from(before[0], before[1].outputs, before[1].patterns)
        generated = generate_columns(design, accuracy if number == size else max(accuracy, COARSE))
        before = (design.grid, generated)
    return generated


def generate_columns(design: ChannelDesign, accuracy: float) -> Generated:
    """Add columns and cuts until criterion and bound agree to a relative accuracy.

    Raises
    ------
    MethodError
        When the linear program fails.
    """
    from mechdesign.solvers.sensitivity import kept_starts

    best, anchor, rounds = -math.inf, None, 0
    starts: dict[Any, Any] = {}
    while True:
        rounds += 1
        is_cold = not starts
        with kept_starts(starts):
            result = _solved(design.program())
        inputs = len(design.half)
        amounts, moments = result.variables[inputs + 1 :], result.variables[:inputs] * design.scale**2
        count = len(amounts)
        reached = _reached(design, moments, float(result.variables[inputs]))
        added = 0
        last = design.multipliers(result)
        tried = [last] if anchor is None else [_smoothed(anchor, last), last]
        for multipliers in tried:
            bound = design.bound(multipliers)
            if bound > best:
                best, anchor = bound, multipliers
            prices, constant = design.prices(multipliers)
            priced = cheapest(prices, design.small, design.outputs)
            order = np.argsort(priced.values)[:NEW]
            order = order[priced.values[order] < 0.0]
            added += design.add(priced.outputs[order], priced.patterns[order])
        cuts = _cuts(design, moments, reached, accuracy)
        design.points += cuts
        closed = reached - best <= accuracy * reached and not cuts
        is_done = closed or (added == 0 and not cuts)
        if (is_done and is_cold) or rounds >= ROUNDS:
            break
        if is_done or _purge(design, amounts, count):
            starts.clear()  # the last program is solved from nothing: a kept basis may be a little off
    used = amounts > 0.0
    outputs, patterns = design.values[:count], design.patterns[:count]
    columns = (outputs[used], patterns[used], amounts[used])
    return Generated(*columns, reached, best, rounds, result.solver, prices, constant)


def _solved(program: LinearProgram) -> LinearResult:
    """Solve the master by the simplex; by an interior-point method where that gives up."""
    from mechdesign.solvers.linear import solve_linear

    result = solve_linear(program)
    if result.status != "optimal":
        result = solve_linear(program, "interior-point")
    if result.status != "optimal":
        raise MethodError(
            "mean-channel",
            f"the linear program failed ({result.message})",
            "give fewer inputs, or an epsilon below 10",
        )
    return result


def _smoothed(anchor: Array, last: Array) -> Array:
    """Return a mixture of two vectors of multipliers; cuts that the first did not know count as 0 there."""
    padded = np.zeros(len(last))
    padded[: len(anchor)] = anchor
    mixed: Array = SMOOTHING * padded + (1.0 - SMOOTHING) * last
    return mixed


def _peaks(design: ChannelDesign, moments: Array) -> tuple[Array, Array]:
    """Return, for every segment of the right half, the point with the largest variance, and that variance."""
    slopes = np.diff(moments) / np.diff(design.half)
    points = np.clip(slopes / 2.0, design.half[:-1], design.half[1:])
    variances = moments[:-1] + slopes * (points - design.half[:-1]) - points**2
    if design.odd:
        return points, variances
    return np.append(points, 0.0), np.append(variances, moments[0])  # between the two inputs around 0


def _reached(design: ChannelDesign, moments: Array, level: float) -> float:
    """Return the criterion of the master's solution, over all points where the design asks for that."""
    if design.criterion == "average":
        return float(design.halved() @ moments) - design.constant
    if not design.between:
        return level * design.scale**2
    return float(_peaks(design, moments)[1].max())


def _cuts(design: ChannelDesign, moments: Array, reached: float, accuracy: float) -> list[float]:
    """Return the peaks that exceed the variance allowed by the cuts so far."""
    if design.criterion == "average" or not design.between:
        return []
    points, variances = _peaks(design, moments)
    allowed = float((design.shares() @ moments - np.square(design.points)).max())
    exceeded = variances > allowed + accuracy * reached / 4.0
    return [point for point in points[exceeded].tolist() if point not in design.points]


def _purge(design: ChannelDesign, amounts: Array, count: int) -> bool:
    """Drop old columns that are not in use once there are many; the last added ones always stay."""
    size = len(design.grid)
    if count <= 6 * size:
        return False
    useful = np.ones(len(design.values), dtype=np.bool_)
    idle = np.flatnonzero(amounts == 0.0)
    useful[idle[: len(idle) - 2 * size]] = False
    design.values, design.patterns = design.values[useful], design.patterns[useful]
    return True
