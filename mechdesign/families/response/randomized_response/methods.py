"""The methods of ``randomized-response``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.response.randomized_response import (
    closed_form,
    convex,
    extreme_points,
    geometric,
    interior_point,
    linear_program,
    planar_noise,
    staircase,
)
from mechdesign.families.response.randomized_response.problem import RandomizedResponse

METHODS = (
    Method("closed-form", RandomizedResponse, "analytic",
           "keep the k most likely answers, k by the n-ary formula", closed_form.run, closed_form.why_not),
    Method("geometric", RandomizedResponse, "analytic",
           "truncated geometric channel and its best remap, for metric privacy on a line",
           geometric.run, geometric.why_not),
    Method("staircase", RandomizedResponse, "numeric",
           "exact maximum of the mutual information by a linear program over staircase columns",
           staircase.run, staircase.why_not),
    Method("interior-point", RandomizedResponse, "numeric",
           "metric privacy on hundreds of places, column by column, bound by weak duality",
           interior_point.run, interior_point.why_not, defers=interior_point.defers),
    Method("lp", RandomizedResponse, "numeric", "compact linear program through HiGHS, bound by weak duality",
           linear_program.run, linear_program.why_not),
    Method("convex", RandomizedResponse, "numeric",
           "declarative cvxpy model, accepts custom convex constraints and concave utilities",
           convex.run, convex.why_not),
    Method("extreme-points", RandomizedResponse, "numeric",
           "all extreme points of the polytope of channels, n <= 4",
           extreme_points.run, extreme_points.why_not),
    Method("planar-remapped", RandomizedResponse, "heuristic",
           "planar Laplace noise, each observed point mapped to the best report",
           planar_noise.remapped, planar_noise.why_no_noise),
    Method("planar-laplace", RandomizedResponse, "heuristic",
           "planar Laplace noise, each observed point moved to the nearest location",
           planar_noise.nearest, planar_noise.why_not_nearest),
)  # fmt: skip
