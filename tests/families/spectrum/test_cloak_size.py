"""The size of a cloak: constants, losses and bounds, each against an integration or a polygon of its own."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.spatial import ConvexHull

import mechdesign as md
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.core.values import changed
from mechdesign.families.spectrum.cloak import SHAPES, hexagon, polygon
from mechdesign.families.spectrum.papers.cloak import shape_lost, widening_lost
from mechdesign.families.spectrum.tiling import Tiling

SECTION = {"price": 0.1, "radius": 5.0, "location_privacy": 0.536173, "protection": 1.0, "density": 0.005}
W = 97 / 112
HEXAGON = np.array([(0, -1), (W, -0.5), (W, 0.5), (0, 1), (-W, 0.5), (-W, -0.5)])


def problem(**changes):
    return md.SpectrumCloakDesign(**{**SECTION, "privacy_cost": 2.0, **changes})


def drawn(seed):
    numbers = (10.0 ** np.random.default_rng(seed).uniform(-1.0, 1.0, size=6)).tolist()
    names = ("price", "privacy_cost", "radius", "location_privacy", "protection", "density")
    shape = ("hexagon", "square", "disc")[seed % 3]
    return md.SpectrumCloakDesign(**dict(zip(names, numbers, strict=True)), shape=shape)


def revenue(p, radius):
    return p.price * math.pi / p.radius * radius * (p.location_privacy + radius) ** 2


# Constants


def test_mean_distances_are_the_integrals():
    total, _ = dblquad(lambda y, x: math.hypot(x, y), 0, W, 0, lambda x: 1 - x / (2 * W), epsabs=1e-12)
    assert SHAPES["hexagon"].distance == pytest.approx(4 * total / (3 * W), rel=1e-10)
    total, _ = dblquad(lambda y, x: math.hypot(x, y), 0, 0.5, 0, 0.5, epsabs=1e-12)
    assert SHAPES["square"].distance == pytest.approx(4 * total, rel=1e-10)
    assert SHAPES["square"].distance == pytest.approx((math.sqrt(2) + math.asinh(1)) / 6, rel=1e-14)
    total, _ = quad(lambda r: 2 * r * r, 0, 1)
    assert SHAPES["disc"].distance == pytest.approx(total, rel=1e-14)


def test_the_regular_hexagon_and_the_rational_one():
    regular, rational = hexagon(math.sqrt(0.75)), SHAPES["hexagon"]
    assert regular.distance == pytest.approx(1 / 3 + math.log(3) / 4, rel=1e-14)
    assert regular.roundness == pytest.approx(math.sqrt(2 * math.sqrt(3) / math.pi), rel=1e-14)
    assert rational.area == pytest.approx(float(Tiling.of(1.0).area), rel=1e-15)
    assert 0 < rational.roundness / regular.roundness - 1 < 6e-10
    assert rational.perimeter / math.sqrt(rational.area) == pytest.approx(3.72241944, abs=1e-8)


def test_the_area_around_a_tile_is_at_most_2504_in_100000_above_that_of_a_disc():
    figure = SHAPES["hexagon"]
    side = math.sqrt(figure.area)
    for shape, most in (("hexagon", 0.02504), ("square", 0.0642)):
        roundness = SHAPES[shape].roundness
        reach = np.geomspace(1e-4, 1e4, 4001) * side
        disc = figure.area + 2 * math.sqrt(math.pi * figure.area) * reach + math.pi * reach**2
        tile = disc + (roundness - 1) * 2 * math.sqrt(math.pi * figure.area) * reach
        excess = tile / disc - 1
        assert most - 2e-5 < excess.max() <= (roundness - 1) / 2 + 1e-15 < most + 2e-5
        assert reach[excess.argmax()] == pytest.approx(side / math.sqrt(math.pi), rel=0.01)


def test_the_best_guess_is_the_center():
    rng = np.random.default_rng(5)
    points = rng.uniform(-1, 1, size=(400_000, 2))
    inside = points[np.abs(points[:, 0]) / (2 * W) + np.abs(points[:, 1]) <= 1]
    inside = inside[np.abs(inside[:, 0]) <= W]
    errors = {place: np.hypot(*(inside - place).T) for place in ((0, 0), (0.15, 0), (0, -0.2), (0.1, 0.1))}
    standard = errors[0, 0].std() / math.sqrt(len(inside))
    assert abs(errors[0, 0].mean() - SHAPES["hexagon"].distance) < 4 * standard  # fails once in 16,000 seeds
    assert min(errors, key=lambda place: errors[place].mean()) == (0, 0)
    median = math.sqrt(SHAPES["hexagon"].area / (2 * math.pi))
    assert np.median(errors[0, 0]) == pytest.approx(median, abs=0.004)


# Areas around a set, and the losses


def around(corners, reach, sides, outer):
    """Return the area of a polygon plus a regular polygon in, or around, the disc of this radius."""
    angles = 2 * math.pi * np.arange(sides) / sides
    radius = reach / math.cos(math.pi / sides) if outer else reach
    ring = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    return ConvexHull((corners[:, None] + ring).reshape(-1, 2)).volume


@pytest.mark.parametrize("reach", [0.1, 1.0, 5.0])
def test_steiners_formula_lies_between_two_polygons(reach):
    figure = SHAPES["hexagon"]
    steiner = figure.area + figure.perimeter * reach + math.pi * reach**2
    low, high = (around(HEXAGON, reach, 400, outer) for outer in (False, True))
    assert low < steiner < high
    assert high / low < 1.0002


@pytest.mark.parametrize("seed", range(10))
def test_no_convex_set_grows_less_than_a_disc(seed):
    rng = np.random.default_rng(seed)
    corners = rng.normal(size=(rng.integers(3, 9), 2)) * rng.uniform(0.1, 4.0, size=2)
    hull = ConvexHull(corners)
    for reach in (0.2, 1.0, 4.0):
        least = (math.sqrt(hull.volume) + math.sqrt(math.pi) * reach) ** 2
        assert around(corners, reach, 400, True) > least
    p = problem()
    assert p.lost(hull.volume, hull.area) > p.least_lost(
        hull.volume
    )  # its area is the perimeter in the plane


def distance_to_hexagon(x, y, side):
    """Return the distances from points to the hexagon, by its twelve half-lines and corners."""
    corners = HEXAGON * side
    found = np.full(x.shape, np.inf)
    inside = np.ones(x.shape, dtype=bool)
    for (a, b), (c, d) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        along = np.clip(((x - a) * (c - a) + (y - b) * (d - b)) / ((c - a) ** 2 + (d - b) ** 2), 0, 1)
        found = np.minimum(found, np.hypot(x - a - along * (c - a), y - b - along * (d - b)))
        inside &= (c - a) * (y - b) - (d - b) * (x - a) >= 0
    return np.where(inside, 0.0, found)


def test_the_revenue_lost_by_a_hexagon_is_the_integral_over_the_plane():
    p, side = problem(), 1.338
    points = (np.arange(700) + 0.5) / 700 * 9.0
    x, y = np.meshgrid(points, points)

    def earned(distance):
        return revenue(p, np.clip(distance - p.protection - p.location_privacy, 0, p.radius))

    lost = earned(np.hypot(x, y)) - earned(distance_to_hexagon(x, y, side))
    total = 4 * p.density * float(lost.sum()) * (9.0 / 700) ** 2
    assert p.lost(SHAPES["hexagon"].area * side**2, SHAPES["hexagon"].perimeter * side) == pytest.approx(
        total, rel=2e-5
    )


def ring(p, inner):
    """Return the revenue lost where users are unserved within ``inner``, then served by the distance."""

    def lost(z):
        return 2 * math.pi * z * (revenue(p, p.radius) - revenue(p, min(max(z - inner, 0.0), p.radius)))

    end = inner + p.radius
    return p.density * (quad(lost, 0, inner)[0] + quad(lost, inner, end)[0])


@pytest.mark.parametrize("seed", range(6))
def test_the_revenue_lost_by_discs_and_widenings_is_the_integral(seed):
    p = drawn(seed)
    inner = p.protection + p.location_privacy
    rho = 0.7
    disc = ring(p, inner + rho) - ring(p, inner)
    assert p.least_lost(math.pi * rho**2) == pytest.approx(disc, rel=1e-9)
    nodes, weights = np.polynomial.laguerre.laggauss(12)  # exact: the loss is quadratic in the widening
    widened = sum(weight * ring(p, inner + rho * x) for x, weight in zip(nodes, weights, strict=True))
    assert widening_lost(p, rho) == pytest.approx(widened - ring(p, inner), rel=1e-9)
    assert widening_lost(p, rho) > p.least_lost(math.pi * rho**2)
    assert widening_lost(p, rho) < p.least_lost(2 * math.pi * rho**2)


def test_the_losses_of_section_66_for_three_sizes():
    p = problem()
    found = [
        (widening_lost(p, L), p.least_lost(math.pi * L * L), shape_lost(p, "hexagon", math.pi * L * L))
        for L in (0.5, 1.0, 2.0)
    ]
    stated = [(0.862, 0.825, 0.864), (1.876, 1.725, 1.803), (4.357, 3.752, 3.909)]
    assert np.abs(np.array(found) - stated).max() < 6e-4


# The optimum


@pytest.mark.parametrize("seed", range(24))
def test_methods_agree_and_nothing_is_below_the_bound(seed):
    p = drawn(seed)
    comparison = md.compare(p)
    assert comparison.agree
    assert len(comparison.runs) == 3
    assert all(not run.broken for run in comparison.runs)
    best = comparison.runs[0]
    sizes = best.variables["cell"] * np.geomspace(0.1, 10, 201)
    assert min(p.cost(float(size)) for size in sizes) >= best.bound
    root = best.variables["cell"] * (1 + 1e-3)
    assert p.cost(root) > best.value
    figures = best.quantities
    assert -1e-12 <= figures["excess"] <= p.figure.roundness - 1 + 1e-12
    assert figures["any_database_value"] <= best.value * (1 + 1e-12)
    assert figures["any_database_value"] >= best.value / p.figure.roundness * (1 - 1e-12)


@pytest.mark.parametrize("area", [0.3, 9.0, 1e4])
def test_a_least_area_is_kept_and_the_bound_is_that_of_the_interval(area):
    p = problem(least_area=area)
    free = md.solve(problem())
    comparison = md.compare(p)
    assert comparison.agree
    best = comparison.runs[0]
    assert all(not run.broken for run in comparison.runs)
    assert Tiling.of(best.variables["cell"]).area >= Fraction(area)
    assert best.variables["area"] == pytest.approx(max(area, free.variables["area"]), rel=1e-9)
    assert best.mechanism().audit().holds


def test_a_region_holds_a_whole_tile_and_its_edge_keeps_half():
    solution = md.solve(problem(region=[0, 0, 20, 20], least_area=3.0))
    assert solution.variables["area"] >= 6.0
    cloak = solution.mechanism()
    assert cloak.audit().holds
    assert cloak.cut.least_area >= 3
    small = md.solve(problem(region=[0, 0, 2, 2]))
    assert small.variables["cell"] == 1.0
    assert not small.broken
    none = md.solve(problem(region=[0, 0, 4, 4], least_area=20))
    assert none.status == "infeasible"
    assert "no hexagon fits: least_area 20 needs one of 40" in none.message
    assert "reduce least_area" in none.message


def test_a_disc_is_no_tile():
    with pytest.raises(MethodError, match="set shape to 'hexagon'"):
        md.solve(problem(shape="disc")).mechanism()


def test_an_area_that_does_not_belong_to_the_cell_is_a_residual():
    solution = md.solve(problem())
    wrong = {**solution.variables, "area": 2 * solution.variables["area"]}
    assert solution.problem.residuals(wrong)["area"] == pytest.approx(1.0)
    unfair = changed(solution, variables=wrong)
    assert [item.property for item in unfair.certificates if not item.holds] == ["isoperimetry"]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"density": 0}, "density: 0 is not positive; give a number above 0"),
        ({"least_area": -1}, "least_area: -1 is outside"),
        ({"region": [0, 0, 1]}, r"region: expected \[x_low, y_low, x_high, y_high\] with low < high"),
        ({"region": [0, 0, 0, 5]}, "region: expected"),
        ({"region": []}, "region: is empty"),
        ({"region": [0, 0, 9, 9], "shape": "disc"}, "region: is for hexagons; omit it"),
        ({"shape": "hexagn"}, "did you mean 'hexagon'"),
    ],
)
def test_bad_input_is_refused_in_one_line(changes, text):
    with pytest.raises(ParameterError, match=text) as caught:
        problem(**changes)
    assert "\n" not in str(caught.value)


def test_a_polygon_may_start_anywhere():
    corners = [tuple(corner) for corner in HEXAGON.tolist()]
    assert polygon(corners[2:] + corners[:2]).distance == pytest.approx(SHAPES["hexagon"].distance, rel=1e-15)
