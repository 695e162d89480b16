"""What a cloak hides and costs, next to what any database loses and to the widening of the thesis."""

from __future__ import annotations

import math
from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.spectrum.cloak import SHAPES, SpectrumCloakDesign
from mechdesign.families.spectrum.length import positive_root


def quantities(problem: SpectrumCloakDesign, solution: Solution[Any]) -> dict[str, Any]:
    """Return the attacker's errors, the two losses, and the losses of others.

    ``side`` is the root of the area. ``mean_error`` and ``median_error`` are those of the best guess of a
    place uniform in the cloak. ``revenue_lost`` and ``privacy_lost`` add up to the value. ``any_database`` is
    the least revenue lost by any database whose posterior density is at most 1 / area, ``excess`` how much
    more the cloak loses, as a part of it. ``any_database_value`` is a lower bound of revenue and privacy lost
    together, for all databases and areas, where an area is priced as for this shape: privacy_cost / e.
    ``tile_hexagon``, ``tile_square`` and ``random_disc`` are the revenues that cloaks of this area and of
    these shapes lose; ``widening`` is what an exponential widening loses whose mean is the radius of the
    disc; many queries undo it, so it hides nothing for long.
    """
    area = float(solution.variables["area"])
    cell = float(solution.variables["cell"])
    own, least = problem.lost(area, problem.figure.perimeter * cell), problem.least_lost(area)
    privacy = problem.privacy_cost / (problem.figure.distance * cell)
    widening = widening_lost(problem, math.sqrt(area / math.pi))
    return {
        "side": math.sqrt(area),
        "mean_error": problem.figure.distance * cell,
        "median_error": math.sqrt(area / (2.0 * math.pi)),
        "revenue_lost": own,
        "privacy_lost": privacy,
        "any_database": least,
        "excess": own / least - 1.0,
        "any_database_value": _least_value(problem),
        "tile_hexagon": shape_lost(problem, "hexagon", area),
        "tile_square": shape_lost(problem, "square", area),
        "random_disc": least,
        "widening": widening,
        "widening_over_disc": widening / least,
    }


def _least_value(problem: SpectrumCloakDesign) -> float:
    """Return the least loss of revenue of any database plus the price of the area, over all areas allowed."""
    root = math.sqrt(problem.figure.area)
    rate = problem.privacy_cost / problem.figure.distance * root
    density, around = problem.density, 2.0 * math.sqrt(math.pi)
    best = positive_root(2.0 * density * problem.revenue, density * around * problem.moment, rate)
    low, high = (root * limit for limit in problem.limits)
    side = min(max(best, low), high)
    return problem.least_lost(side**2) + rate / side


def shape_lost(problem: SpectrumCloakDesign, shape: str, area: float) -> float:
    """Return the revenue that a cloak of another shape and of this area loses."""
    figure = SHAPES[shape]
    return problem.lost(area, figure.perimeter * math.sqrt(area / figure.area))


def widening_lost(problem: SpectrumCloakDesign, mean: float) -> float:
    """Return the revenue that an exponential widening X of the protection radius loses.

    A user within r + s + R + X gets less than R, so the area grows by E[2 pi (r + s + R) X + pi X^2], where
    E[X^2] = 2 L^2: the loss is density (2 pi L^2 T + 2 pi L M).
    """
    return problem.lost(2.0 * math.pi * mean**2, 2.0 * math.pi * mean)
