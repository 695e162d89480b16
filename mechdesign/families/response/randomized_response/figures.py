"""Pictures of a channel: for two answers the polygon of private channels (figures 1 and 5), and its cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.figures import MOST_HEAT, channel_figures
from mechdesign.core.solution import Solution
from mechdesign.families.response.randomized_response.extreme_points import extreme_points, why_not
from mechdesign.families.response.randomized_response.problem import RandomizedResponse
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Line, Points, Polygon

Array = NDArray[np.float64]


def figures(problem: RandomizedResponse, solution: Solution[Any]) -> list[Figure]:
    """Return the polygon with the optimum and its level line where it is one, and the channel as cells."""
    if max(problem.size, problem.reports) > MOST_HEAT:
        return []
    channel = np.asarray(solution.variables["channel"], dtype=np.float64)
    answers = [str(number) for number in range(problem.size)] if problem.labels is None else problem.labels
    reports = [str(number) for number in range(problem.reports)]
    if problem.report_labels is not None:
        reports = list(problem.report_labels)
    elif problem.labels is not None and problem.reports == problem.size:
        reports = list(problem.labels)
    cells = channel_figures(channel, answers, reports)
    is_polygon = (problem.size, problem.reports) == (2, 2) and problem.is_linear and not problem.is_extended
    return [_polygon(problem, channel), *cells] if is_polygon and why_not(problem) is None else cells


def _polygon(problem: RandomizedResponse, channel: Array) -> Figure:
    corners = extreme_points(problem)[:, [0, 1], [0, 1]]
    middle = corners.mean(axis=0)
    order = np.argsort(np.arctan2(corners[:, 1] - middle[1], corners[:, 0] - middle[0]))
    x, y = corners[order].T
    best = np.array([channel[0, 0], channel[1, 1]])
    weights = problem.weights()
    slope = np.array([weights[0, 0] - weights[0, 1], weights[1, 1] - weights[1, 0]])
    marks = [
        Polygon(x=x, y=y, label="private channels", series=0),
        Points(x=x, y=y, label="corners", series=0),
        *_level_line(slope, best, solution_value(weights, channel)),
        Points(x=[best[0]], y=[best[1]], label="chosen channel", series=3),
    ]
    panel = Panel(
        "probability of a true report, first answer",
        "probability of a true report, second answer",
        marks,
        x_limits=(-0.03, 1.03),
        y_limits=(-0.03, 1.03),
        equal_aspect=True,
    )
    caption = (
        f"All channels for two answers that are private at epsilon = {problem.epsilon:g}, delta = "
        f"{problem.delta:g}. Along the line expected utility is the same; no private channel is beyond it."
    )
    return Figure("The private channels for two answers", [panel], caption)


def solution_value(weights: Array, channel: Array) -> float:
    """Return the expected utility of a channel."""
    return float((weights * channel).sum())


def _level_line(slope: Array, best: Array, value: float) -> list[Line]:
    """Return the channels in the unit square that are as good as the chosen one; none where all are."""
    if not slope.any():
        return []
    along = np.array([-slope[1], slope[0]]) / np.hypot(*slope)
    steps = []
    for place, direction in zip(best, along, strict=True):
        if direction:
            steps.append(sorted(((0.0 - place) / direction, (1.0 - place) / direction)))
    low, high = max(step[0] for step in steps), min(step[1] for step in steps)
    ends = np.array([best + low * along, best + high * along])
    return [Line(x=ends[:, 0], y=ends[:, 1], label=f"expected utility {value:.4g}", series=1)]
