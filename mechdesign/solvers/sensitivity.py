"""What a parameter is worth: the slope of the optimum, the multipliers behind it, constraints in conflict.

Let x be the variables of a convex program and y the multipliers of its constraints. When a parameter moves,
the optimum moves at the rate of the Lagrangian L(x, y), both held fixed (the envelope theorem). So a method
that proves a bound by multipliers hands them on as :class:`Prices`, which return L for the problem with
another parameter; nothing is solved again. The slopes to the left and to the right come from solving again
nearby; they check the first, and they are all there is for a closed form. Where the two sides differ the
optimum has a kink, and no single number is its derivative: then both are reported.

An infeasible problem has a set of constraints that conflict, of which dropping any resolves it.

In a series of nearby problems a solver of linear programs starts from the basis in which the last one ended.
Bounds are proven from the multipliers as always, so nothing rests on where it started. Where a program has
several optima, another one of them may be returned; so series are for values, or by request.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mechdesign.core.certificate import format_figure
from mechdesign.core.errors import MechDesignError, counted
from mechdesign.core.fields import replace_parameters
from mechdesign.core.problem import Problem
from mechdesign.core.values import encode

if TYPE_CHECKING:
    from mechdesign.core.solution import Solution


@dataclass(frozen=True)
class Binding:
    """A constraint, or a group of equal ones, that the optimum pays for.

    Attributes
    ----------
    name : str
    price : float
        How much better the optimum becomes per unit by which the constraint is relaxed; the sum over a group.
    rows : int
        How many constraints of the group have a price.
    unit : str
        What it is relaxed in, where that is not the unit of its sides.

    Examples
    --------
    >>> print(Binding("privacy of report 0", 0.25, 3))
    privacy of report 0 (3 rows): 0.25 per unit
    >>> print(Binding("privacy of type 0", 0.25, unit="e^epsilon"))
    privacy of type 0: 0.25 per unit of e^epsilon
    """

    name: str
    price: float
    rows: int = 1
    unit: str = ""

    def __str__(self) -> str:
        count = f" ({counted(self.rows, 'row')})" if self.rows > 1 else ""
        unit = f" of {self.unit}" if self.unit else ""
        return f"{self.name}{count}: {format_figure(self.price)} per unit{unit}"


class PricedSolution(Protocol):
    """The multipliers of a solution, with the variables they were found with."""

    def lagrangian(self, problem: Problem[Any]) -> float | None:
        """Return the Lagrangian of a problem with another parameter, variables and multipliers kept.

        None where the other problem has other constraints, so that these multipliers are not for it.
        """

    def binding(self) -> Sequence[Binding]:
        """Return the constraints with a price, the most expensive first."""


def most_expensive(bindings: Sequence[Binding], part: float = 1e-7) -> list[Binding]:
    """Return the constraints whose price is above this part of the largest, the most expensive first.

    Examples
    --------
    >>> [item.name for item in most_expensive([Binding("a", 1e-12), Binding("b", 1.0), Binding("c", 2.0)])]
    ['c', 'b']
    """
    largest = max((item.price for item in bindings), default=0.0)
    dearest = [item for item in bindings if item.price > part * largest]
    return sorted(dearest, key=lambda item: -item.price)


def conflicting(problem: Problem[Any], infeasible: Callable[[Problem[Any]], bool]) -> tuple[str, ...]:
    """Return constraints that conflict, each needed for it, by a deletion filter.

    One constraint after the other is dropped; where the rest is still infeasible it stays dropped. What is
    left is irreducible: without any one of its members the problem can be solved. Constraints that a problem
    cannot drop are part of the problem and are not named.

    Parameters
    ----------
    problem : Problem
        An infeasible one.
    infeasible : callable
        Whether a problem is infeasible.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.PrivacyContract(
    ...     types=[1, 2], counts=[10, 10], budget=30.0, epsilon_min=1.0, participation_cost=0.1)
    >>> conflicting(problem, lambda other: md.solve(other).status == "infeasible")
    ('budget', 'epsilon_min')
    """
    core = list(problem.droppable())
    for name in problem.droppable():
        rest = [other for other in core if other != name]
        if is_still(problem, rest, infeasible):
            core = rest
    return tuple(core)


def is_still(problem: Problem[Any], names: Iterable[str], infeasible: Callable[[Problem[Any]], bool]) -> bool:
    """Whether the problem is infeasible with only these of its constraints; not where it cannot be stated."""
    dropped = [name for name in problem.droppable() if name not in set(names)]
    try:
        return infeasible(problem.without(dropped))
    except MechDesignError:
        return False


_KEPT: ContextVar[dict[Any, Any] | None] = ContextVar("kept", default=None)


@contextmanager
def kept_starts(store: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
    """Let solvers keep in this store where they end, and start from there.

    Parameters
    ----------
    store : dict
        Empty for a new series; it is changed.

    Examples
    --------
    >>> with kept_starts({}) as store:
    ...     current_starts() is store
    True
    >>> current_starts() is None
    True
    """
    token = _KEPT.set(store)
    try:
        yield store
    finally:
        _KEPT.reset(token)


def current_starts() -> dict[Any, Any] | None:
    """Return the store of the series that is being solved; None outside of one."""
    return _KEPT.get()


SECONDS = 20.0
"""For how long a solution is solved again nearby, all parameters together."""

NEAR, FAR = 1e-3, 0.05
"""How far away it is solved again, as a part of the parameter: between these, by the gap of the solution."""

FIRST = 1e-4
"""How far the data are moved for the derivative of the Lagrangian, as a part of the parameter."""

ZERO = 0.1
"""What a parameter at 0 is moved by parts of."""

CLEAR = 4.0
"""Difference of the sides over their errors at a kink: where the optimum jumps, errors are large."""

NOTHING = 1e-7
"""A smaller change, relative to the optimum, counts as zero: solutions are not more accurate."""

ALIKE = 0.01
"""Sides that differ by a smaller part are reported as one derivative."""

SHOWN = 8
"""Binding constraints that are printed."""


@dataclass(frozen=True)
class Side:
    """The derivative to one side, from optima that were found nearby, and how far it may be off.

    ``error`` is what the gaps of the optima leave open and how much the estimate still changed when the
    distance was halved.
    """

    slope: float
    error: float


@dataclass(frozen=True)
class Worth:
    """Worth of one parameter.

    Attributes
    ----------
    parameter : str
    at : float
        Its value.
    slope : float or None
        The derivative of the optimum from the multipliers; None where the method has none for it.
    left, right : Side or None
        One-sided derivatives from solving again; None where that was not done or there is no optimum.
    optimum : float
    sense, of : str
        ``max`` or ``min``, and what the optimum is.
    """

    parameter: str
    at: float
    slope: float | None
    left: Side | None
    right: Side | None
    optimum: float
    sense: str
    of: str

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that are known."""
        return tuple(side for side in (self.left, self.right) if side is not None)

    @property
    def is_kink(self) -> bool:
        """Whether the derivatives of the two sides are known to differ.

        Multipliers have a slope between them at a kink. Where it is not, the sides are less accurate than
        they look: kinks nearby spoil differences.
        """
        if self.left is None or self.right is None:
            return False
        low, high = sorted((self.left.slope, self.right.slope))
        if self.slope is not None and not low - self._rounding <= self.slope <= high + self._rounding:
            return False
        unclear = CLEAR * (self.left.error + self.right.error)
        return high - low > max(unclear, ALIKE * max(abs(low), abs(high)))

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest derivative: one number twice where the optimum is smooth."""
        if self.is_kink or self.slope is None:
            slopes = [side.slope for side in self.sides] or [math.nan]
            return min(slopes), max(slopes)
        return self.slope, self.slope

    @property
    def agrees(self) -> bool | None:
        """Whether the multipliers and what was solved again agree; None where one of them is missing."""
        if self.slope is None or not self.sides:
            return None
        low = min(side.slope - side.error for side in self.sides)
        high = max(side.slope + side.error for side in self.sides)
        return low - self._rounding <= self.slope <= high + self._rounding

    @property
    def _rounding(self) -> float:
        """Return the most that rounding can change a slope from multipliers."""
        return 1e-6 * max(abs(self.slope or 0.0), abs(self.optimum) * 1e-6)

    @property
    def step(self) -> float:
        """A round step: the largest power of ten that is at most a fifth of the parameter.

        Examples
        --------
        >>> [Worth("epsilon", at, 1.0, None, None, 1.0, "max", "").step for at in (1.0, 0.5, 1000.0, 0.0)]
        [0.1, 0.1, 100.0, 0.01]
        """
        if self.at == 0.0:
            return ZERO * ZERO
        return float(f"1e{math.floor(math.log10(abs(self.at) / 5.0) + 1e-9)}")

    def __str__(self) -> str:
        return f"{self.parameter} = {format_figure(self.at)}: {self.sentence()}"

    def sentence(self) -> str:
        """Return the effect of a step of the parameter, in plain words.

        Examples
        --------
        >>> print(Worth("epsilon", 1.0, 0.25, None, None, 0.7, "max", "expected utility").sentence())
        raising epsilon by 0.1 raises the expected utility by 0.025
        """
        if self.slope is None and not self.sides:
            return "not known: the method has no multipliers for it, and nothing was solved again"
        if not self.is_kink:
            side = "less" if self.right is None and self.left is not None else "more"
            unclear = [item.error for item in self.sides if self.slope is None]
            if unclear and max(unclear) > abs(self.range[0]) / 2.0:
                most = self.step * max(abs(item.slope) + item.error for item in self.sides)
                if most <= NOTHING * abs(self.optimum):
                    return f"{self._stepped(side)} changes nothing"
                return f"{self._stepped(side)} changes the optimum by at most {most:.3g}"
            return self._bought(self.range[0], side)
        assert self.left is not None
        assert self.right is not None
        both = self._bought(self.right.slope, "more"), self._bought(self.left.slope, "less")
        return "; ".join(both) + "; the optimum has a kink here"

    def _bought(self, slope: float, side: str) -> str:
        change = slope * self.step * (1.0 if side == "more" else -1.0)
        if abs(change) <= 1e-12 * abs(self.optimum):
            return f"{self._stepped(side)} changes nothing"
        verb = "raises" if change > 0.0 else "lowers"
        return f"{self._stepped(side)} {verb} the {self.of} by {abs(change):.3g}"

    def _stepped(self, side: str) -> str:
        return f"{'raising' if side == 'more' else 'lowering'} {self.parameter} by {self.step:g}"

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        low, high = self.range
        return {
            "parameter": self.parameter,
            "at": self.at,
            "slope": encode(self.slope),
            "low": encode(low),
            "high": encode(high),
            "left": None if self.left is None else vars(self.left),
            "right": None if self.right is None else vars(self.right),
            "agrees": self.agrees,
            "sentence": self.sentence(),
        }


@dataclass(frozen=True)
class Sensitivity:
    """Worth of a solution's parameters, and its constraints that bind or that conflict.

    ``reason`` states in one line why there is none of these.
    """

    worths: tuple[Worth, ...] = ()
    binding: tuple[Binding, ...] = ()
    conflict: tuple[str, ...] = ()
    reason: str = ""

    def __getitem__(self, parameter: str) -> Worth:
        for worth in self.worths:
            if worth.parameter == parameter:
                return worth
        raise KeyError(parameter)

    def __str__(self) -> str:
        if len(self.conflict) == 1:
            return f"this cannot be kept: {self.conflict[0]}"
        if self.conflict:
            return f"these conflict, and dropping any of them resolves it: {', '.join(self.conflict)}"
        lines = [str(worth) for worth in self.worths]
        lines += [f"binding: {item}" for item in self.binding[:SHOWN]]
        if len(self.binding) > SHOWN:
            lines.append(f"binding: {len(self.binding) - SHOWN} more")
        return "\n".join(lines) or self.reason

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            "parameters": [worth.as_dict() for worth in self.worths],
            "binding": [encode(vars(item)) for item in self.binding],
            "conflict": list(self.conflict),
        }


def sensitivity(solution: Solution[Any], seconds: float = SECONDS) -> Sensitivity:
    """Return the worth of a solution's parameters; of an infeasible problem, the conflicting ones.

    Parameters
    ----------
    solution : Solution
    seconds : float
        For how long it may be solved again nearby; with 0 the multipliers alone are used.
    """
    problem = solution.problem
    if solution.status == "infeasible":
        again = solution.again
        nothing = Sensitivity(reason="no constraint of this problem can be dropped; see the message above")
        if again is None or not problem.droppable():
            return nothing
        conflict = conflicting(problem, lambda other: again(other).status == "infeasible")
        return Sensitivity(conflict=conflict) if conflict else nothing
    if not solution.found:
        return Sensitivity(reason=f"nothing is worth anything: the solution is {solution.status}")
    names = [name for name in problem.levers if isinstance(getattr(problem, name), float)]
    end = time.monotonic() + seconds
    with kept_starts({}):  # the problems are near to each other, and their values alone are used
        worths = tuple(_worth(solution, name, end) for name in names if _moves(problem, name))
    binding = () if solution.prices is None else tuple(most_expensive(solution.prices.binding()))
    reason = (
        f"the optimum of {problem.name} has no parameter whose derivative is computed; compare with a sweep"
    )
    return Sensitivity(worths, binding, reason="" if worths else reason)


def _worth(solution: Solution[Any], name: str, end: float) -> Worth:
    problem = solution.problem
    at = float(getattr(problem, name))
    slope = None if solution.prices is None else _slope(problem, name, at, solution.prices)
    left, right = (_side(solution, name, at, sign, end) for sign in (-1.0, 1.0))
    return Worth(name, at, slope, left, right, solution.value, problem.sense, problem.value_label())


def _moved(problem: Problem[Any], name: str, value: float) -> Problem[Any] | None:
    """Return the problem with another value of a parameter; None where that is not allowed."""
    try:
        return replace_parameters(problem, {name: value})
    except MechDesignError:
        return None


def _moves(problem: Problem[Any], name: str) -> bool:
    """Whether another value of the parameter is allowed at all, next to the others."""
    at = float(getattr(problem, name))
    near = FIRST * (abs(at) or ZERO)
    return any(_moved(problem, name, at + step) is not None for step in (-near, near))


def _slope(problem: Problem[Any], name: str, at: float, prices: PricedSolution) -> float | None:
    """Return the derivative of the Lagrangian, by the data's differences: the optimum is not found again."""

    def at_point(value: float) -> float | None:
        moved = _moved(problem, name, value)
        return None if moved is None else prices.lagrangian(moved)

    step = FIRST * (abs(at) or ZERO)
    low, middle, high, further = (at_point(at + step * count) for count in (-1, 0, 1, 2))
    if middle is None or high is None:
        return None
    if low is not None:
        return (high - low) / (2.0 * step)
    return None if further is None else (4.0 * high - 3.0 * middle - further) / (2.0 * step)


def _side(solution: Solution[Any], name: str, at: float, sign: float, end: float) -> Side | None:
    """Return the derivative to one side from three optima, by Richardson's extrapolation."""
    gap = solution.gap if math.isfinite(solution.gap) else 0.0
    part = min(max(4.0 * (gap / abs(solution.value)) ** (1.0 / 3.0), NEAR), FAR) if solution.value else NEAR
    step = part * (abs(at) or ZERO)
    slopes, noises = [], []
    for divisor in (1.0, 2.0, 4.0):
        if time.monotonic() + 2.0 * solution.seconds > end:
            return None
        moved = _moved(solution.problem, name, at + sign * step / divisor)
        other = None if moved is None or solution.again is None else _solved(solution.again, moved)
        if other is None:
            return None
        noise = other.gap if math.isfinite(other.gap) else 0.0
        slopes.append(sign * (other.value - solution.value) * divisor / step)
        noises.append((noise + gap) * divisor / step)
    first, second = _extrapolated(slopes)
    return Side(second, abs(second - first) + 2.0 * noises[2] + noises[1])


def _extrapolated(slopes: Sequence[float]) -> tuple[float, float]:
    return 2.0 * slopes[1] - slopes[0], 2.0 * slopes[2] - slopes[1]


def _solved(again: Callable[[Problem[Any]], Any], problem: Problem[Any]) -> Any | None:
    try:
        other = again(problem)
    except MechDesignError:
        return None
    return other if other.found else None
