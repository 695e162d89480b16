"""The trade-off that every collection makes: privacy against error, and the users that an error takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from mechdesign.collect import CollectingMechanism
from mechdesign.collect.intervals import normal_quantile
from mechdesign.core.errors import NORMAL, CertificateError, MethodError, ParameterError, counted, margin_text
from mechdesign.core.fields import fields_of, replace_parameters
from mechdesign.core.problem import Problem
from mechdesign.core.validation import in_range
from mechdesign.core.values import SHARES, USERS, Forecast
from mechdesign.solvers.solve import solve
from mechdesign.work.bars import progress

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

EPSILONS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)

FEWER = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Where the mechanism is made again for each number of users, which takes its time."""

ERRORS = (0.05, 0.02, 0.01)

STANDARD = "standard error"
"""What forecasts say."""

MOST_USERS = 10**12
"""Nobody asks for errors that take more."""

MOST_PLANNED = 10**9
"""Largest number of users that a mechanism is made for, where it is made for a number of users."""

STEPS = 60


def error_for_difference(difference: float, power: float = 0.8, part: float = 0.5) -> float:
    """Return the standard error of one share, of all users, at which a difference of two groups is found.

    The difference of the groups of n r and n (1 - r) users has the variance v/(n r) + v/(n (1 - r)) with v/n
    that of a share of all. A two-sided test at 5 % finds it with the power where it is z_0.975 + z_power
    standard errors.

    Examples
    --------
    >>> round(error_for_difference(0.1), 5)
    0.01785
    """
    gap = in_range("difference", difference, 0.0, 1.0, low_open=True)
    chance = in_range("power", power, 0.05, 1.0, low_open=True, high_open=True)
    share = in_range("part", part, 0.0, 1.0, low_open=True, high_open=True)
    places = normal_quantile(0.975) + normal_quantile(chance)
    return float(gap / places * math.sqrt(share * (1.0 - share)))


@dataclass(frozen=True)
class TradeoffRow:
    """Result at one epsilon.

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
    """Standard errors over epsilon, and the users that requested errors take.

    Attributes
    ----------
    problem : Problem or None
        None for a mechanism, whose epsilon is settled.
    users : int
    errors : tuple of float
    quantity : str
        What is estimated.
    measure : str
        What its error is.
    rows : tuple of TradeoffRow
    targets : tuple of str
        What the users of each row are needed for, where that is not an error.
    """

    problem: Problem | None
    users: int
    errors: tuple[float, ...]
    quantity: str
    measure: str
    rows: tuple[TradeoffRow, ...]
    targets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        name = "a mechanism" if self.problem is None else self.problem.name
        return (
            f"Tradeoff({name}, {counted(self.users, 'user')}, {counted(len(self.rows), 'value')} of epsilon)"
        )

    @property
    def is_of_shares(self) -> bool:
        """Whether errors are those of shares, or of means over the width of their range."""
        return "share" in self.quantity or self.quantity in SHARES

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return header and rows as text."""
        header = [
            "epsilon",
            f"{self.measure} with {counted(self.users, 'user')}",
            "margin of error",
            *(self.targets or (f"users for {error:g}" for error in self.errors)),
        ]
        lines = [
            [
                f"{row.epsilon:g}",
                "-" if row.error is None else f"{row.error:.4g}",
                "-" if row.error is None else margin_text(NORMAL * row.error, self.is_of_shares),
                *("-" if users is None else str(users) for users in row.needed),
            ]
            for row in self.rows
        ]
        return header, lines

    def for_difference(self, difference: float, power: float, part: float) -> Tradeoff:
        """Return the table of the users that show a difference, from that of :func:`error_for_difference`.

        The users are a draw of the population: as many are added as their own variance, at most 1/4, takes.
        """
        if not self.is_of_shares:
            what = f"is of shares, and errors here are those of: {self.quantity}"
            raise ParameterError("difference", what, "use the command for a question with categories")
        more = math.ceil(0.25 / self.errors[0] ** 2)
        rows = tuple(
            replace(row, needed=tuple(None if users is None else users + more for users in row.needed))
            for row in self.rows
        )
        groups = "halves" if part == 0.5 else f"parts of {part:g} and {1 - part:g}"
        target = f"users to see {difference:g} between {groups} (power {power:g})"
        return replace(self, rows=rows, targets=(target,))

    def figures(self) -> list[Figure]:
        """Return both curves over epsilon."""
        from mechdesign.show.figure import Figure, Line, Panel

        there = [row for row in self.rows if row.error is not None]
        x = [row.epsilon for row in there]
        error = Line(x=x, y=[row.error for row in there], label=counted(self.users, "user"), dots=True)
        panels = [Panel("epsilon", f"{self.measure}, at most ({self.quantity})", [error], y_scale="log")]
        curves = []
        for place, target in enumerate(self.errors):
            points = [(row.epsilon, row.needed[place]) for row in there if row.needed[place]]
            if points:
                y = [users for _, users in points]
                curves.append(Line(x=[one for one, _ in points], y=y, label=f"error {target:g}", dots=True))
        if curves:
            panels.append(Panel("epsilon", "users needed", curves, y_scale="log"))
        caption = "Twice the users, or a larger epsilon: both buy a smaller error."
        return [Figure("Privacy against error", panels, caption)]


def tradeoff(
    problem: Problem,
    users: int | None = None,
    errors: Sequence[float] = ERRORS,
    epsilons: Sequence[float] | None = None,
) -> Tradeoff:
    """Return the standard error over epsilon, and how many users requested errors take.

    Parameters
    ----------
    problem : Problem
        One with an ``epsilon`` whose mechanism estimates something. Where the mechanism is made for a number
        of users, as in the shuffle model, it is made again for each; its error is then one of a share or a
        mean, and the users that it takes are found to 1 %.
    users : int, optional
        By default those that the problem plans with, else 10 000.
    errors : sequence of float
        Wanted standard errors, > 0.
    epsilons : sequence of float, optional

    Raises
    ------
    ParameterError
        When the problem has no epsilon, or nothing can be estimated at any.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)
    >>> curve = tradeoff(problem, errors=[0.01], epsilons=[0.5, 1.0])
    >>> [row.needed for row in curve.rows]
    [(39177,), (9207,)]
    """
    if "epsilon" not in {field.name for field in fields_of(problem)}:
        raise ParameterError(problem.name, "has no epsilon to trade for an error", "see its sweep")
    _require_errors(errors)
    count = next(number for number in (users, problem.planned_users, USERS) if number is not None)
    rows, quantity, measure = [], "", STANDARD
    is_planned = type(problem).planned_error is not Problem.planned_error
    values = (FEWER if is_planned else EPSILONS) if epsilons is None else epsilons
    for epsilon in progress(values, len(values), "epsilon"):
        errors_of = _errors_of(replace_parameters(problem, {"epsilon": float(epsilon)}))
        prospect = errors_of(count)
        if prospect is None:
            rows.append(TradeoffRow(float(epsilon), None, (None,) * len(errors)))
            continue
        search = partial(_nearly_needed, start=count) if is_planned else _needed
        needed = tuple(search(errors_of, error) for error in errors)
        rows.append(TradeoffRow(float(epsilon), prospect.error, needed))
        quantity, measure = prospect.quantity, prospect.measure
    if not quantity:
        error = "error" if is_planned else STANDARD
        raise ParameterError(
            problem.name,
            f"has no {error} for {counted(count, 'user')} at any of these epsilons",
            "see its sweep",
        )
    return Tradeoff(problem, count, tuple(errors), quantity, measure, tuple(rows))


def mechanism_tradeoff(
    mechanism: CollectingMechanism, users: int | None = None, errors: Sequence[float] = ERRORS
) -> Tradeoff:
    """Return the standard error of a mechanism that is built, and the users that requested errors take.

    Its epsilon is settled, so there is one row; the model that it was built from gives other epsilons.

    Raises
    ------
    ParameterError
        When it estimates nothing, or is made for one number of users only.

    Examples
    --------
    >>> from mechdesign.families.mean import Duchi
    >>> [row.needed for row in mechanism_tradeoff(Duchi(1.0), errors=[0.05]).rows]
    [(1874,)]
    """
    _require_errors(errors)
    count = USERS if users is None else users
    prospect = _forecast(mechanism, count)
    if prospect is None:
        raise ParameterError(
            mechanism.type,
            f"has no {STANDARD} for {counted(count, 'user')}",
            "name the model that it was built from",
        )
    needed = tuple(_needed(partial(_forecast, mechanism), error) for error in errors)
    row = TradeoffRow(mechanism.audit().epsilon, prospect.error, needed)
    return Tradeoff(None, count, tuple(errors), prospect.quantity, prospect.measure, (row,))


def _require_errors(errors: Sequence[float]) -> None:
    if any(not error > 0 for error in errors):
        raise ParameterError("error", f"{min(errors):g} is not > 0", "give a target standard error")


@dataclass(frozen=True)
class _Error:
    """The largest error with some users, what kind of error it is, and of what."""

    error: float
    measure: str
    quantity: str


def _errors_of(problem: Problem) -> Callable[[int], _Error | None]:
    """Return the error as a function of the number of users; None where nothing can be estimated."""
    if type(problem).planned_error is Problem.planned_error:
        mechanism = _mechanism(problem)
        return lambda users: None if mechanism is None else _forecast(mechanism, users)
    return cache(lambda users: _planned(problem, users))


def _planned(problem: Problem, users: int) -> _Error | None:
    """Return the error of the mechanism that is made for ``users`` users; None where there is none."""
    try:
        changed = replace_parameters(problem, {"users": users})
        solution = solve(changed)
    except (MethodError, ParameterError):  # too few or too many users
        return None
    planned = changed.planned_error(solution) if solution.found else None
    return None if planned is None or not math.isfinite(planned[0]) else _Error(*planned)


def _mechanism(problem: Problem) -> Any:
    solution = solve(problem)
    try:
        return solution.mechanism() if solution.found else None
    except (CertificateError, MethodError):
        return None


def _forecast(mechanism: Any, users: int) -> _Error | None:
    """Return the forecast error for exactly this number of users; None where no forecast is possible."""
    prospect: Forecast | None = mechanism.forecast(users)
    if prospect is None or prospect.largest is None or not prospect.possible or prospect.users != users:
        return None
    return _Error(prospect.largest, STANDARD, prospect.quantity)


def _needed(errors_of: Callable[[int], _Error | None], target: float) -> int | None:
    """Return the fewest users whose largest error is at most this; None where none are enough."""

    def enough(users: int) -> bool:
        prospect = errors_of(users)
        return prospect is not None and prospect.error <= target

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


def _nearly_needed(errors_of: Callable[[int], _Error | None], target: float, start: int) -> int | None:
    """Return a number of users that is enough, where 1 % fewer are not; None where none are enough."""
    low, high, users = 0, MOST_PLANNED + 1, start
    exponent, before = -1.0, (0, 0.0)
    for step in range(STEPS):
        prospect = errors_of(users)
        if prospect is not None and prospect.error <= target:
            high = users
        else:
            low = users
        if high - low <= max(1, high // 100):
            return high if high <= MOST_PLANNED else None
        guess = 2.0 * users
        if prospect is not None and prospect.error > 0:
            # errors are nearly powers of the number of users; a little beyond, to have it from both sides
            if before[0] not in (0, users) and before[1] != prospect.error:
                exponent = math.log(prospect.error / before[1]) / math.log(users / before[0])
            guess = users * (target / prospect.error) ** (1.0 / min(exponent, -0.25))
            guess *= 0.995 if high == users else 1.005
            before = users, prospect.error
        if step % 4 == 3:  # errors with steps mislead the guesses
            guess = math.sqrt(low * high) if low > 0 else high / 2.0
        users = min(max(math.ceil(guess), low + 1), high - 1)
    return None
