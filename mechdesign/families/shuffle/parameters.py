"""The parameters that the problems of amplification share, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import checked, frozen_problem, real, whole
from mechdesign.core.validation import in_range, number
from mechdesign.families.shuffle.randomizers import frozen_parameter
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
