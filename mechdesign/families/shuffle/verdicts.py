"""Certificates of central epsilons: what is proven at them, and how far they are from what is attacked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mechdesign.audit.shuffle_sums import MOST_USERS
from mechdesign.core.certificate import Certificate, optimality as closeness
from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.exact import exact_delta, why_not_exact
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
