"""What a protocol promises: epsilon and delta for the shuffled messages of the users who follow it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from mechdesign.core.errors import MechDesignError, ParameterError
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.validation import in_range, integer, number, one_of
from mechdesign.core.values import changed, frozen_value, value_field
from mechdesign.families.shuffle.amplification_bounds import foreseen

MOST_USERS = 1_000_000_000
"""More users are refused: the certificates' sums would take minutes."""

LEAST_DELTA = 1e-30
"""Below this the certificates' tails are no longer small against delta."""

LEAST_EPSILON = 2.0**-20
LARGEST_EPSILON = 40.0

PATIENCE = 0.5
"""Seconds of this process for which a remedy is looked for: it is a courtesy next to the answer."""

CALIBRATIONS = ("exact", "published")
"""Noise by the protocol's own divergence, or by the constants of its paper."""


def checked_delta(field: str, value: Any) -> float:
    """Return a delta from 1e-30 to below 1, or say what is asked for in place of 0."""
    delta = number(field, value)
    if delta == 0.0:
        raise ParameterError(
            field,
            "is 0; give a small one, such as 1e-6",
            "a count, a histogram or a sum that keeps 0 is asked for by pure = true",
        )
    return in_range(field, delta, LEAST_DELTA, 1.0, high_open=True)


@frozen_value()
class Promise:
    """Neighbouring data sets differ in one user's value; the number of users is public.

    Parameters
    ----------
    users : int
        N, at least 2. The protocol is for exactly N users.
    epsilon : float
        From 2**-20 to 40, of the shuffled messages of the honest users.
    delta : float
        From 1e-30 to below 1.
    honest : float
        In (0, 1]: at least ceil(honest N) users follow the protocol, whatever the others do.

    Examples
    --------
    >>> Promise(1000, 1.0, 1e-6, 0.7).honest_users
    700
    """

    users: int = value_field(partial(integer, low=2, high=MOST_USERS))
    epsilon: float = value_field(partial(in_range, low=LEAST_EPSILON, high=LARGEST_EPSILON))
    delta: float = value_field(checked_delta)
    honest: float = value_field(partial(in_range, low=0.0, high=1.0, low_open=True), default=1.0)

    @property
    def honest_users(self) -> int:
        """The users whose noise counts: honest N, rounded up, as at least that fraction follows it.

        A decimal such as 0.7 is a double a little below or above; the smaller of both counts.
        """
        return math.ceil(min(Fraction(self.honest), Fraction(repr(self.honest))) * self.users)

    @property
    def guarantee(self) -> Guarantee:
        """The same as a guarantee: of what is seen after the shuffler."""
        covers = f"shuffled messages of {self.honest_users} honest users"
        return Guarantee(self.epsilon, self.delta, "central", covers=covers)

    def proof(self, delta: float, exact: bool = False) -> Proof | None:
        """Return what a proven delta proves; None where it is not a number."""
        if math.isnan(delta):
            return None
        return Proof(self.guarantee, None, min(1.0, delta), exact=exact)

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers by their names."""
        return {"users": self.users, "epsilon": self.epsilon, "delta": self.delta, "honest": self.honest}


def calibration_name(value: Any) -> str:
    """Return the checked name of a calibration."""
    return one_of("calibration", value, CALIBRATIONS)


def least_passing(
    passes: Callable[[int], bool],
    low: int,
    high: int,
    digits: int = 12,
    end: int | None = None,
    patience: float = math.inf,
) -> int | None:
    """Return about the least whole number that passes; None when the largest one does not.

    Parameters
    ----------
    passes : callable
        Of a whole number; what it returns is believed for the number that is returned, no monotony is
        needed for that.
    low, high : int
        Where to look.
    digits : int
        The search stops when the bracket is below 2**-digits of the number,
    end : int, optional
        and of its distance from this one, at which the error would be infinite.
    patience : float, optional
        Seconds of this process after which the search ends with what has passed by then, or None.

    Examples
    --------
    >>> least_passing(lambda number: number >= 77, 1, 1 << 62)
    77
    """
    fails, holds, deadline = low - 1, low, time.process_time() + patience
    while not passes(holds):  # in steps from below: what passes by far may take far longer to look at
        if holds >= high or time.process_time() > deadline:
            return None
        fails, holds = holds, min(high, 4 * holds + 1)
    return _halved(passes, fails, holds, digits, end, deadline)[0]


def _halved(
    passes: Callable[[int], bool],
    fails: int,
    holds: int,
    digits: int,
    end: int | None,
    deadline: float = math.inf,
) -> tuple[int, int]:
    while holds - fails > max(1, min(holds, (end or 2 * holds) - holds) >> digits):
        if time.process_time() > deadline:
            break
        middle = (fails + holds) // 2
        if passes(middle):
            holds = middle
        else:
            fails = middle
    return holds, fails


def least_within(
    curve: Callable[[int], float],
    level: float,
    low: int,
    high: int,
    digits: int = 12,
    end: int | None = None,
) -> int | None:
    """Return the result of :func:`least_passing` for a falling curve and a level, from few of its values.

    Examples
    --------
    >>> least_within(lambda number: math.exp(-number / 1e6), 1e-9, 1, 1 << 62)
    20727125
    >>> least_passing(lambda number: math.exp(-number / 1e6) <= 1e-9, 1, 1 << 62)
    20727125
    """
    values: dict[int, float] = {}

    def looked(number: int) -> float:
        if number not in values:
            values[number] = curve(number)
        return values[number]

    fails, holds = low - 1, low
    while looked(holds) > level:
        if holds >= high:
            return None
        fails, holds = holds, min(high, 4 * holds + 1)
    if holds - fails == 1:
        return holds
    return foreseen(
        lambda passes: _halved(passes, fails, holds, digits, end),
        looked,
        level,
        tuple(values)[-3:],
        rising=False,
    )[0]


class OutOfReachError(MechDesignError, ValueError):
    """A protocol cannot keep a promise; the text says what would do. Methods turn it into ``infeasible``."""


def remedy(promise: Promise, possible: Callable[[Promise], bool], digits: int = 40) -> str:
    """Return a number of users and an epsilon that would be enough; the least, where that is soon found.

    Parameters
    ----------
    promise : Promise
        One that is not possible.
    possible : callable
        Whether a promise is; monotone in users and epsilon.
    digits : int
        Fewer are for what takes long to look at.

    Examples
    --------
    >>> remedy(Promise(10, 1.0, 1e-6), lambda other: other.users * other.epsilon >= 50.0)
    'give at least 50 users, or an epsilon of at least 5.000'
    """
    start, unknown = time.process_time(), False

    def known_possible(other: Promise) -> bool:
        nonlocal unknown
        try:
            return possible(other)
        except ParameterError:  # too large to be looked at
            unknown = True
            return False

    users = least_passing(
        lambda count: known_possible(changed(promise, users=count)),
        promise.users,
        MOST_USERS,
        digits,
        patience=PATIENCE,
    )
    scale = 1000
    steps = least_passing(
        lambda count: known_possible(changed(promise, epsilon=count / scale)),
        max(1, math.floor(promise.epsilon * scale)),
        int(LARGEST_EPSILON * scale),
        digits,
        patience=PATIENCE,
    )
    ways = [] if users is None else [f"at least {users} users"]
    ways += [] if steps is None else [f"an epsilon of at least {steps / scale:.3f}"]
    if ways:
        return f"give {', or '.join(ways)}"
    if unknown or time.process_time() - start > PATIENCE:
        more = "many more users, or " if 2 * promise.users < MOST_USERS else ""
        return f"give {more}a much larger epsilon"
    return "no number of users and no epsilon would do"
