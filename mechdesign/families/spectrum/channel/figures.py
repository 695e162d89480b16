"""Picture of a channel: who is served, how far, and where the owner is safe (figure 6.14)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.spectrum.channel.problem import SpectrumChannel
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Circles, Mark


def figures(problem: SpectrumChannel, solution: Solution[Any]) -> list[Figure]:
    """Return the map of the channel."""
    channel = problem.channel
    radii, level = np.asarray(solution.variables["radii"]), float(solution.variables["privacy"])
    served = radii > 0
    names = np.array([str(user) for user in range(problem.size)])
    marks: list[Mark] = []
    for label, radius, series in (
        ("where the user may be", channel.privacy, 0),
        ("where it may send", channel.privacy + radii, 2),
    ):
        if served.any():
            x, y = channel.x[served], channel.y[served]
            shown = names[served].tolist() if series == 0 else ()
            marks.append(Circles(x=x, y=y, radius=radius[served], names=shown, label=label, series=series))
    if (~served).any():
        out = ~served
        marks.append(
            Circles(
                x=channel.x[out],
                y=channel.y[out],
                radius=channel.privacy[out],
                names=names[out].tolist(),
                filled=False,
                label="user that is not served",
                series=6,
            )
        )
    if problem.owner is not None:
        owner = problem.owner
        for label, one, series in (
            ("the owner's receivers are protected", owner.protection, 1),
            ("no user sends here: protection and widening", owner.protection + level, 3),
        ):
            marks.append(Circles(x=[owner.x], y=[owner.y], radius=[one], label=label, series=series))
    panel = Panel("x (units of distance)", "y (units of distance)", marks, equal_aspect=True)
    caption = (
        f"{int(served.sum())} of {problem.size} users are served; circles of users who send do not overlap."
    )
    return [Figure("Users served, and their radii", [panel], caption)]
