"""What shuffled reports of a local mechanism are proven to keep, and how little local privacy is enough.

All users have the same randomizer and none sees the reports of others. Known of it is its epsilon, and it
may be known that it is a k-ary response or which finite channel it is; the smallest bound counts. The proofs
are in docs/families/shuffle.md.

Searches by yes and no whose outcome is foreseen: what they find, with few of their questions asked.

A bisection only learns on which side of a number a curve is. The values of the curve tell more: a few of them
say nearly where it has the level. The bisection is then gone through as if it were there, and only the last
two numbers that it would ask about are looked at. Where they are as foreseen, they are what it finds.

What a protocol promises: epsilon and delta for the shuffled messages of the users who follow it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import permutations
from typing import Any, TypeVar

from mechdesign.audit.mass import UNIT
from mechdesign.collect.base import Randomizer, Row
from mechdesign.core.errors import MechDesignError, ParameterError
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.validation import in_range, integer, number, one_of
from mechdesign.core.values import changed, frozen_value, value_field
from mechdesign.families.shuffle.kary_divergence import BinaryDivergence, LatticeDivergence, atoms_of
from mechdesign.families.shuffle.sum_divergence import MOST_USERS, Divergence, kary_law

Number = TypeVar("Number", int, float)

ROUNDS = 12
"""Looks that may foresee nothing before the known numbers are halved."""

MOST_ROUNDS = 100
"""Looks that may foresee nothing before the search asks for itself."""

MOST_POINTS = 4
"""Number of values that say where the curve has the level."""

FAR = 4.0
"""Nothing is foreseen further out than this multiple of the distance of the known values."""


def foreseen(
    search: Callable[[Callable[[Number], bool]], tuple[Number, Number]],
    curve: Callable[[Number], float],
    level: float,
    near: Sequence[Number],
    rising: bool,
) -> tuple[Number, Number]:
    """Return the result of a search by yes and no on a monotone curve, from few of its values.

    Parameters
    ----------
    search : callable
        Handed a function that tells of a number whether it is enough, it returns the last one that is and
        next to it one that is not. It has to ask about them, or to know them without.
    curve : callable
        At least 0; a number is enough where the curve is at most the level.
    level : float
        Above 0.
    near : sequence of float
        Two numbers or more that the level is near to, within the range of the curve.
    rising : bool
        Whether the curve rises, so that small numbers are enough; else large ones are.

    Returns
    -------
    (float, float)
        What the search returns. At both, where it asked about them, the curve has been evaluated.

    Examples
    --------
    >>> from itertools import count
    >>> def halved(enough):
    ...     low, high = 0.0, 1024.0
    ...     while high - low > 1e-9:
    ...         middle = (low + high) / 2.0
    ...         low, high = (middle, high) if enough(middle) else (low, middle)
    ...     return low, high
    >>> calls = count()
    >>> curve = lambda x: math.exp(x) + 0 * next(calls)
    >>> low, high = foreseen(halved, curve, 1e9, (20.0, 21.0), rising=True)
    >>> math.exp(low) <= 1e9 < math.exp(high), next(calls)
    (True, 4)
    >>> (low, high) == halved(lambda x: math.exp(x) <= 1e9)
    True
    """
    seen: dict[Number, float] = {}

    def enough(place: Number) -> bool:
        if place not in seen:
            seen[place] = curve(place)
        return seen[place] <= level

    for known in near:
        enough(known)
    for turn in range(MOST_ROUNDS):
        guess = _crossing(seen, level, rising, turn < ROUNDS)
        if guess is None:
            break
        place, doubt = guess
        supposed = _Supposed(place, rising)
        last, beyond = search(supposed)
        numbers = supposed.numbers
        unknown = beyond in numbers and beyond not in seen
        # The number that is enough is looked at last: callers look at it again.
        if beyond != last and beyond in numbers and enough(beyond):
            continue
        if unknown and doubt > abs(beyond - last):
            continue
        if last not in numbers or enough(last):
            return last, beyond
    return search(enough)


def bisection(
    enough: Callable[[float], bool], low: float, high: float, precision: float = 0.0, rounds: int = 2000
) -> tuple[float, float]:
    """Return two numbers next to each other between which a statement begins to hold, by halving.

    Parameters
    ----------
    enough : callable
        Whether it holds at a number; at ``high`` and beyond it is taken to hold, at ``low`` not to.
    low, high : float
    precision : float
        The search ends when they are within this part of ``high``; at the latest at neighbouring doubles.
    rounds : int
        The most numbers that are looked at.

    Examples
    --------
    >>> bisection(lambda number: number >= 0.3, 0.0, 1.0, rounds=2)
    (0.25, 0.5)
    """
    for _ in range(rounds):
        middle = low + (high - low) / 2.0
        if high - low <= precision * high or not low < middle < high:
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    return low, high


class _Supposed:
    """Answers as if the curve had the level at a place, and the numbers that they are about."""

    def __init__(self, place: float, rising: bool) -> None:
        self.place, self.rising = place, rising
        self.numbers: set[float] = set()

    def __call__(self, number: float) -> bool:
        self.numbers.add(number)
        return (number <= self.place) == self.rising


def _crossing(
    seen: Mapping[Number, float], level: float, rising: bool, smooth: bool
) -> tuple[float, float] | None:
    """Return where the curve has the level, by what has been seen of it, and how doubtful that is."""
    below = [number for number, value in seen.items() if (value <= level) == rising]
    above = [number for number, value in seen.items() if (value <= level) != rising]
    reach = FAR * (max(seen) - min(seen))
    least = float(max(below)) if below else min(seen) - reach
    most = float(min(above)) if above else max(seen) + reach
    if not least < most:
        return None
    place, doubt = _interpolated(seen, level) if smooth else (math.nan, math.inf)
    return (place, doubt) if least < place < most else ((least + most) / 2.0, math.inf)


def _interpolated(seen: Mapping[Number, float], level: float) -> tuple[float, float]:
    """Return the number as a polynomial of the curve's logarithm at the level, by Neville's scheme."""
    logs = [(math.log(value / level), float(number)) for number, value in seen.items() if value > 0.0]
    points = sorted(logs, key=lambda point: abs(point[0]))[:MOST_POINTS]
    table, before = [number for _, number in points], math.nan
    for order in range(1, len(points)):
        pairs = [(points[at][0], points[at + order][0]) for at in range(len(points) - order)]
        if any(left == right for left, right in pairs):
            break
        before = table[0]
        table = [
            (right * table[at] - left * table[at + 1]) / (right - left)
            for at, (left, right) in enumerate(pairs)
        ]
    return (table[0], abs(table[0] - before)) if table else (math.nan, math.inf)


MOST_INPUTS = 12
"""Channels with more inputs have too many pairs, and are bounded by their epsilon alone."""

MOST_LOCAL = 20.0
"""Channels with a larger epsilon have few reports in common, and are bounded by that epsilon alone."""

LEAST_LOCAL = 1e-6
"""Smaller local epsilons are looked at as this one: what is private with less is private with more."""

LARGEST_LOCAL = 100.0

PRECISION = 1e-6
"""To which part of it the largest local epsilon is found; always from below."""

MARGIN = 1e-9
"""Part of delta that searches stay below it, so that another processor's rounding does not refuse them."""


def channel_curve(rows: Sequence[Row], users: int, delta: float) -> Callable[[float], float]:
    """Return the bound of delta of a finite channel, the largest over all pairs of inputs."""
    laws = {atoms_of(rows, one, two) for one, two in permutations(range(len(rows)), 2)}
    curves = [LatticeDivergence(users, law, delta) for law in laws]
    return lambda epsilon: max(curve(epsilon) for curve in curves)


def delta_bounds(
    users: int, randomizer: Randomizer, epsilon: float, delta: float
) -> Iterator[tuple[str, float]]:
    """Yield proven bounds of delta with where they come from, the quickest first."""
    local = max(randomizer.epsilon, LEAST_LOCAL)
    yield "any randomizer of this epsilon", Divergence(users, kary_law(local, 2), delta)(epsilon)
    if randomizer.size > 2:
        law = kary_law(local, randomizer.size)
        yield f"{randomizer.size}-ary response", Divergence(users, law, delta)(epsilon)
    if randomizer.size == 2:
        yield "binary response", BinaryDivergence(users, local, delta)(epsilon)
    if 2 <= len(randomizer.rows) <= MOST_INPUTS and local <= MOST_LOCAL:
        yield "this channel", channel_curve(randomizer.rows, users, delta)(epsilon)


def profile(users: int, randomizer: Randomizer, tail: float) -> Callable[[float], float]:
    """Return a proven bound of delta as a function of the central epsilon, for both orders of every pair.

    What is costly is done once; channels and binary responses are bounded by their epsilon alone, as sums for
    them take long at each epsilon.

    Parameters
    ----------
    users : int
        The honest ones.
    randomizer : Randomizer
    tail : float
        The delta that matters: sums leave out a small part of it.

    Examples
    --------
    >>> bound = profile(1_000_000, Randomizer(4.0), 1e-6)
    >>> bound(0.035) <= 1e-6, bound(4.0)
    (True, 0.0)
    """
    local, count = max(randomizer.epsilon, LEAST_LOCAL), min(users, MOST_USERS)
    divergences: list[Callable[[float], float]] = [Divergence(count, kary_law(local, 2), tail)]
    if randomizer.size > 2:
        divergences.append(Divergence(count, kary_law(local, randomizer.size), tail))

    def bound(epsilon: float) -> float:
        return 0.0 if epsilon >= local else min(one(epsilon) for one in divergences)

    return bound


@lru_cache(maxsize=256)
def proven(users: int, randomizer: Randomizer, epsilon: float, delta: float) -> tuple[float, str]:
    """Return a bound of delta that is proven for shuffled reports, and what it was proven for.

    Bounds are tried until one is at most the delta that is wanted.

    Parameters
    ----------
    users : int
        The honest ones, at least 1. More than 10^9 are looked at as 10^9.
    randomizer : Randomizer
    epsilon : float
        The central epsilon.
    delta : float
        What is wanted.

    Examples
    --------
    >>> bound, text = proven(1_000_000, Randomizer(4.0), 0.035, 1e-6)
    >>> bound <= 1e-6, text
    (True, 'any randomizer of this epsilon')
    """
    if epsilon >= randomizer.epsilon:
        return 0.0, "each report by itself"
    best, text = 1.0, "nothing"
    for source, bound in delta_bounds(min(users, MOST_USERS), randomizer, epsilon, delta):
        if bound < best:
            best, text = bound, source
        if best <= delta:
            break
    return best, text


@lru_cache(maxsize=256)
def largest_local(users: int, epsilon: float, delta: float) -> float:
    """Return a local epsilon that is proven to be enough for any randomizer, next to the largest one.

    Parameters
    ----------
    users : int
        The honest ones.
    epsilon, delta : float
        What the shuffled reports have to keep.

    Examples
    --------
    >>> round(largest_local(1_000_000, 0.5, 1e-9), 3)
    8.341
    """
    target = delta * (1.0 - MARGIN)

    def bound(local: float) -> float:
        return proven(users, Randomizer(local), epsilon, target)[0]

    start, end = epsilon, LARGEST_LOCAL
    step = 0.5
    while start + step < end:  # from below: what is far too large takes longer to look at
        if bound(start + step) > target:
            end = start + step
            break
        start, step = start + step, 2.0 * step

    def search(enough: Callable[[float], bool]) -> tuple[float, float]:
        return bisection(lambda local: not enough(local), start, end, PRECISION)

    near = end if end < LARGEST_LOCAL else (start + end) / 2.0
    return foreseen(search, bound, target, (start, near), rising=True)[0] * (1.0 - 4.0 * UNIT)


USERS_LIMIT = 1_000_000_000
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


def honest_users(users: int, honest: float) -> int:
    """Return the least number of honest users: the fraction of all, rounded up.

    A fraction such as 0.1 is the decimal that is written, or the double next to it, whichever gives fewer.

    Examples
    --------
    >>> honest_users(1000, 0.1), honest_users(7, 0.5)
    (100, 4)
    """
    if honest == 1.0:  # asked for thousands of times in a calibration
        return users
    return math.ceil(min(Fraction(honest), Fraction(repr(honest))) * users)


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

    users: int = value_field(partial(integer, low=2, high=USERS_LIMIT))
    epsilon: float = value_field(partial(in_range, low=LEAST_EPSILON, high=LARGEST_EPSILON))
    delta: float = value_field(checked_delta)
    honest: float = value_field(partial(in_range, low=0.0, high=1.0, low_open=True), default=1.0)

    @property
    def honest_users(self) -> int:
        """The users whose noise counts: honest N, rounded up, as at least that fraction follows it."""
        return honest_users(self.users, self.honest)

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
    return halved(passes, fails, holds, digits, end, deadline)[0]


def halved(
    passes: Callable[[int], bool],
    fails: int,
    holds: int,
    digits: int,
    end: int | None,
    deadline: float = math.inf,
) -> tuple[int, int]:
    """Return the ends of the bracket at which :func:`least_passing` stops, the one that passes first."""
    while holds - fails > max(1, min(holds, (end or 2 * holds) - holds) >> digits):
        if time.process_time() > deadline:
            break
        middle = (fails + holds) // 2
        if passes(middle):
            holds = middle
        else:
            fails = middle
    return holds, fails


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
        USERS_LIMIT,
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
        more = "many more users, or " if 2 * promise.users < USERS_LIMIT else ""
        return f"give {more}a much larger epsilon"
    return "no number of users and no epsilon would do"


def half_of(promise: Promise) -> Promise:
    """Return the guarantee for each of two counts."""
    if promise.epsilon < 2.0 * LEAST_EPSILON or promise.delta < 2.0 * LEAST_DELTA:
        raise ParameterError(
            "epsilon", "half of it, or of delta, is too small for a count", "give larger ones"
        )
    return changed(promise, epsilon=promise.epsilon / 2.0, delta=promise.delta / 2.0)
