"""The trade-off that every collection makes: privacy against error, and the users that an error takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mechdesign.core.errors import CertificateError, MethodError, ParameterError
from mechdesign.core.figure import Figure, Panel
from mechdesign.core.forecast import USERS, Forecast
from mechdesign.core.marks import Line
from mechdesign.core.parameters import replace_parameters
from mechdesign.core.problem import Problem
from mechdesign.core.solve import solve

EPSILONS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)

ERRORS = (0.05, 0.02, 0.01)

MOST_USERS = 10**12
"""Nobody asks for errors that take more."""


@dataclass(frozen=True)
class TradeoffRow:
    """What one epsilon gives.

    Attributes
    ----------
    epsilon : float
    error : float or None
        The largest standard error with the wanted number of users; None where nothing can be estimated.
    needed : tuple of int or None
        The fewest users for each wanted error.
    """

    epsilon: float
    error: float | None
    needed: tuple[int | None, ...]


@dataclass(frozen=True, repr=False)
class Tradeoff:
    """Standard errors over epsilon, and the users that wanted errors take.

    Attributes
    ----------
    problem : Problem
    users : int
    errors : tuple of float
    quantity : str
        What is estimated.
    rows : tuple of TradeoffRow
    """

    problem: Problem
    users: int
    errors: tuple[float, ...]
    quantity: str
    rows: tuple[TradeoffRow, ...]

    def __repr__(self) -> str:
        return f"Tradeoff({self.problem.name}, {self.users} users, {len(self.rows)} values of epsilon)"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return header and rows as text."""
        header = [
            "epsilon",
            f"error with {self.users} users",
            *(f"users for {error:g}" for error in self.errors),
        ]
        lines = [
            [
                f"{row.epsilon:g}",
                "-" if row.error is None else f"{row.error:.4g}",
                *("-" if users is None else str(users) for users in row.needed),
            ]
            for row in self.rows
        ]
        return header, lines

    def figures(self) -> list[Figure]:
        """Return both curves over epsilon."""
        there = [row for row in self.rows if row.error is not None]
        x = [row.epsilon for row in there]
        error = Line(x=x, y=[row.error for row in there], label=f"{self.users} users", dots=True)
        panels = [Panel("epsilon", f"standard error at most ({self.quantity})", [error], y_scale="log")]
        curves = []
        for place, wanted in enumerate(self.errors):
            found = [(row.epsilon, row.needed[place]) for row in there if row.needed[place]]
            if found:
                y = [users for _, users in found]
                curves.append(Line(x=[one for one, _ in found], y=y, label=f"error {wanted:g}", dots=True))
        if curves:
            panels.append(Panel("epsilon", "users needed", curves, y_scale="log"))
        caption = "Twice the users, or a larger epsilon: both buy a smaller error."
        return [Figure("Privacy against error", panels, caption)]


def tradeoff(
    problem: Problem,
    users: int | None = None,
    errors: Sequence[float] = ERRORS,
    epsilons: Sequence[float] = EPSILONS,
) -> Tradeoff:
    """Return the standard error over epsilon, and how many users wanted errors take.

    Parameters
    ----------
    problem : Problem
        One with an ``epsilon`` whose mechanism estimates something.
    users : int, optional
        By default those that the problem plans with, else 10 000.
    errors : sequence of float
        Wanted standard errors, > 0.
    epsilons : sequence of float

    Raises
    ------
    ParameterError
        When the problem has no epsilon, or nothing can be estimated at any.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)
    >>> found = tradeoff(problem, errors=[0.01], epsilons=[0.5, 1.0])
    >>> [row.needed for row in found.rows]
    [(39177,), (9207,)]
    """
    if "epsilon" not in {field.name for field in dataclasses.fields(problem)}:
        raise ParameterError(f"{problem.name}: has no epsilon to trade for an error; see its sweep")
    if any(not error > 0 for error in errors):
        raise ParameterError(f"error: {min(errors):g} is not > 0; give a wanted standard error")
    count = next(number for number in (users, problem.planned_users, USERS) if number is not None)
    rows, quantity = [], ""
    for epsilon in epsilons:
        mechanism = _mechanism(replace_parameters(problem, {"epsilon": float(epsilon)}))
        forecast = None if mechanism is None else _error(mechanism, count)
        if forecast is None:
            rows.append(TradeoffRow(float(epsilon), None, (None,) * len(errors)))
            continue
        quantity = forecast.quantity
        needed = tuple(_needed(mechanism, error) for error in errors)
        rows.append(TradeoffRow(float(epsilon), forecast.largest, needed))
    if not quantity:
        raise ParameterError(
            f"{problem.name}: has no standard error for {count} users at any of these epsilons; see its sweep"
        )
    return Tradeoff(problem, count, tuple(errors), quantity, tuple(rows))


def _mechanism(problem: Problem) -> Any:
    solution = solve(problem)
    try:
        return solution.mechanism() if solution.found else None
    except (CertificateError, MethodError):
        return None


def _error(mechanism: Any, users: int) -> Forecast | None:
    """Return the forecast where one is possible for just so many users."""
    found: Forecast | None = mechanism.forecast(users)
    usable = found is not None and found.possible and found.users == users and found.largest is not None
    return found if usable else None


def _needed(mechanism: Any, wanted: float) -> int | None:
    """Return the fewest users whose largest standard error is at most this; None where none are enough."""

    def enough(users: int) -> bool:
        found = _error(mechanism, users)
        return found is not None and found.largest is not None and found.largest <= wanted

    high = 1
    while not enough(high):
        high *= 2
        if high > MOST_USERS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
