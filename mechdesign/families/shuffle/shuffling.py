"""What the problems of amplification share: their parameters, and certificates of central epsilons.

A certificate states the least delta that is proven at a central epsilon, whoever computed the epsilon, and
how far it is from one that an attack refutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from mechdesign.core.certificate import Certificate, optimality as closeness
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import checked, frozen_problem, real, whole
from mechdesign.core.solution import Solution
from mechdesign.core.validation import in_range, number
from mechdesign.families.shuffle.enumeration import exact_delta, why_not_exact
from mechdesign.families.shuffle.judge import (
    Curve,
    Setting,
    attacked,
    binary,
    blanket,
    lattice,
    why_no_lattice,
    why_not_binary,
)
from mechdesign.families.shuffle.randomizers import frozen_parameter
from mechdesign.families.shuffle.sum_divergence import MOST_USERS
from mechdesign.families.shuffle.theorems import LARGEST

MOST = 10**15
"""The most users."""


def delta_of(value: Any) -> float:
    """Return delta in (0, 1); 0 is refused, as shuffling amplifies nothing then."""
    if number("delta", value) == 0.0:
        raise ParameterError(
            "delta", "is 0", "shuffled reports have no smaller epsilon than local ones then, give a delta > 0"
        )
    return in_range("delta", value, 0.0, 1.0, low_open=True, high_open=True)


def epsilon_of(field: str, value: Any) -> float:
    """Return an epsilon in [0, 100]."""
    return in_range(field, value, 0.0, LARGEST)


def honest_users(users: int, honest: float) -> int:
    """Return the least number of honest users: the fraction of all, rounded up.

    A fraction such as 0.1 is the decimal that is written, or the double next to it, whichever gives fewer.

    Examples
    --------
    >>> honest_users(1000, 0.1), honest_users(7, 0.5)
    (100, 4)
    """
    return math.ceil(min(Fraction(honest), Fraction(repr(honest))) * users)


@frozen_problem()
class Shuffling:
    """Base of the problems of shuffled reports of one randomizer."""

    users: int = whole("Number of users who report, at least 2.", low=2, high=MOST)
    delta: float = checked(
        "From above 0 to below 1.",
        lambda _, delta: delta_of(delta),
        limits={"exclusiveMinimum": 0, "exclusiveMaximum": 1},
        form="float",
    )
    randomizer: str | Mapping[str, Any] = checked(
        "What is known of the randomizer, the same for all: nothing but its epsilon; ``{name = "
        '"k-ary", size = k}``, randomized response on k values; or ``{name = "channel", channel = '
        "[[...], ...]}``, a row of probabilities of reports for each input. It has its own "
        "local epsilon.",
        lambda _, randomizer: frozen_parameter(randomizer),
        form='"any" or mapping',
        default="any",
    )
    honest: float = real(
        "The least fraction of users who follow the protocol, in (0, 1]; all others may help the attacker.",
        low=0.0,
        high=1.0,
        low_open=True,
        default=1.0,
    )


BOUNDS: tuple[tuple[Callable[[Setting], str | None], Callable[[Setting], Curve]], ...] = (
    (lambda setting: None, blanket),
    (why_not_binary, binary),
    (why_no_lattice, lattice),
    (why_not_exact, lambda setting: lambda epsilon: exact_delta(setting, epsilon)),
)
"""Bounds of delta that are proven, the quickest first: why not, and the bound."""

ATTACK_WITHIN = 0.01
"""An epsilon is called optimal when an attack comes within this part of it."""


def proven_delta(setting: Setting, epsilon: float) -> float:
    """Return a proven bound of delta: the first one that is small enough, or the smallest."""
    if epsilon >= setting.local_epsilon:
        return 0.0
    best = 1.0
    for why_not, curve in BOUNDS:
        if best > setting.delta and why_not(setting) is None:
            best = min(best, curve(setting)(epsilon))
    return best


def central_privacy(setting: Setting, epsilon: float) -> Certificate:
    """Return whether delta is proven at a central epsilon, whoever found it; and the delta of an attack."""
    bound = proven_delta(setting, epsilon)
    reached, text = attacked(setting, epsilon)
    return Certificate(
        "central_privacy",
        bound <= setting.delta,
        False,
        {"proven_delta": bound, "attacked_delta": reached, "delta": setting.delta, "users": setting.users},
        {"attack": text} if reached > setting.delta else {},
        limits_of(setting, epsilon),
    )


def limits_of(setting: Setting, epsilon: float) -> str:
    """Return what is not computed at a setting, so that its epsilon is larger than need be; else nothing."""
    if 0.0 < setting.local_epsilon <= epsilon:
        return "not amplified: no smaller epsilon is proven for this delta and number of users"
    if setting.users > MOST_USERS:
        return f"proven for {MOST_USERS} users, which more users keep as well; attacks are not computed"
    return ""


def attack_certificate(solution: Solution[Any]) -> Certificate:
    """Return whether an exact attack leaves less than a hundredth of the epsilon open."""
    part = solution.gap / solution.value if solution.value > 0 else solution.gap
    figures = {"gap": solution.gap, "relative_gap": part}
    unknown, within = "no attack is known", ATTACK_WITHIN
    return closeness(solution, part, 1.0, within=within, figures=figures, unproven=figures, unknown=unknown)
