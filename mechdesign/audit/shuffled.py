"""What shuffled reports of a local mechanism are proven to keep, and how little local privacy is enough.

All users have the same randomizer and none sees the reports of others. Known of it is its epsilon, and it
may be known that it is a k-ary response or which finite channel it is; the smallest bound counts. The proofs
are in docs/families/shuffle.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from mechdesign.audit.shuffle_binary import BinaryDivergence
from mechdesign.audit.shuffle_lattice import LatticeDivergence, atoms_of
from mechdesign.audit.shuffle_sums import MOST_USERS, Divergence, kary_law
from mechdesign.collect.reporting import Randomizer, Row
from mechdesign.exact.binomials import UNIT
from mechdesign.exact.foreseen import foreseen

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


def channel_bound(rows: tuple[Row, ...], users: int, delta: float, epsilon: float) -> float:
    """Return the bound of delta of a finite channel, the largest over all pairs of inputs."""
    inputs = range(len(rows))
    laws = {atoms_of(rows, one, two) for one in inputs for two in inputs if one != two}
    return max(LatticeDivergence(users, law, delta)(epsilon) for law in laws)


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
        yield "this channel", channel_bound(randomizer.rows, users, delta, epsilon)


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
    found: list[Callable[[float], float]] = [Divergence(count, kary_law(local, 2), tail)]
    if randomizer.size > 2:
        found.append(Divergence(count, kary_law(local, randomizer.size), tail))

    def bound(epsilon: float) -> float:
        return 0.0 if epsilon >= local else min(one(epsilon) for one in found)

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
    for source, found in delta_bounds(min(users, MOST_USERS), randomizer, epsilon, delta):
        if found < best:
            best, text = found, source
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
    wanted = delta * (1.0 - MARGIN)

    def bound(local: float) -> float:
        return proven(users, Randomizer(local), epsilon, wanted)[0]

    start, end = epsilon, LARGEST_LOCAL
    step = 0.5
    while start + step < end:  # from below: what is far too large takes longer to look at
        if bound(start + step) > wanted:
            end = start + step
            break
        start, step = start + step, 2.0 * step

    def search(enough: Callable[[float], bool]) -> tuple[float, float]:
        low, high = start, end
        while high - low > PRECISION * high:
            middle = low + (high - low) / 2.0
            low, high = (middle, high) if enough(middle) else (low, middle)
        return low, high

    near = end if end < LARGEST_LOCAL else (start + end) / 2.0
    return foreseen(search, bound, wanted, (start, near), rising=True)[0] * (1.0 - 4.0 * UNIT)
