"""Continuous types: exact uniform case, convergence, densities, bounds, and the printed formula."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import isotonic_regression

import mechdesign as md
from mechdesign.catalog.sweeping import simulate
from mechdesign.families.contract import PrivacyContractContinuous
from mechdesign.families.contract.population import density_of
from mechdesign.families.contract.privacy_contract_continuous import ironed_virtual_cost, minorant

RNG = np.random.default_rng(3)
SAMPLE = np.concatenate([RNG.normal(2, 0.3, 200), RNG.normal(6, 0.4, 200)]).clip(0.5).tolist()
DENSITIES = {
    "uniform": {"name": "uniform", "low": 5.0, "high": 15.0},
    "uniform from 0": {"name": "uniform", "low": 0.0, "high": 1.0},
    "normal": {"name": "truncated-normal", "low": 1.0, "high": 9.0, "mean": 4.0, "deviation": 1.5},
    "beta 2 2": {"name": "beta", "a": 2.0, "b": 2.0, "low": 1.0, "high": 3.0},
    "beta 0.5 3": {"name": "beta", "a": 0.5, "b": 3.0, "low": 1.0, "high": 3.0},
    "beta 0.5 0.5": {"name": "beta", "a": 0.5, "b": 0.5, "low": 1.0, "high": 3.0},
    "beta 3 0.4": {"name": "beta", "a": 3.0, "b": 0.4, "low": 1.0, "high": 3.0},
    "histogram": {"name": "histogram", "edges": [1.0, 2.0, 3.0, 4.0], "shares": [0.6, 0.05, 0.35]},
    "sample": {"name": "empirical", "sample": SAMPLE, "bins": 12},
    "kernel": {"name": "empirical", "sample": SAMPLE, "method": "kernel"},
}
EXACT_UNIFORM = (0.03 * (25 ** (5 / 3) - 5 ** (5 / 3))) ** 3 / 25


@pytest.mark.parametrize("name", DENSITIES)
def test_densities_are_consistent(name):
    density = density_of(DENSITIES[name])
    inside = density.low + (density.high - density.low) * np.linspace(0.03, 0.97, 23)
    assert np.allclose(density.quantile(density.cdf(inside)), inside, rtol=1e-9)
    assert density.cdf(np.array([density.low]))[0] == 0.0
    assert density.cdf(np.array([density.high]))[0] == pytest.approx(1.0, abs=1e-15)
    if "edges" not in dir(density):
        area = quad(lambda t: float(density.pdf(np.array([t]))[0]), inside[3], inside[-4])[0]
        assert area == pytest.approx(float(np.diff(density.cdf(inside[[3, -4]]))[0]), rel=1e-7)


@pytest.mark.parametrize("name", DENSITIES)
def test_curve_has_the_stated_shape_on_every_piece(name):
    density = density_of(DENSITIES[name])
    for piece in density.pieces():
        width = piece.high - piece.low
        inside = np.linspace(piece.low + 1e-6 * width, piece.high - 1e-6 * width, 400)
        steps = np.diff(density.virtual_cost(inside))
        tolerance = 1e-9 * np.abs(density.virtual_cost(inside)[:-1])
        assert ((steps if piece.shape == "convex" else -steps) >= -tolerance).all()


@pytest.mark.parametrize("name", DENSITIES)
def test_minorant_is_below_the_curve_and_convex(name):
    density = density_of(DENSITIES[name])
    costs = minorant(density, 500)
    assert (np.diff(costs.prices) >= 0).all()
    start = 1.0 - costs.weights.sum()  # the cheapest users may cost nothing
    ends = np.minimum(start + np.cumsum(costs.weights), 1.0)
    heights = np.cumsum(costs.weights * costs.prices)
    assert (heights <= ends * density.quantile(ends) * (1 + 1e-9)).all()


LIMITED = {"noise": "duchi", "epsilon_min": 0.05, "epsilon_max": 3.0, "participation_cost": 0.3}


@pytest.mark.parametrize(
    ("name", "extra"),
    [(name, {}) for name in DENSITIES]
    + [(name, LIMITED) for name in ("uniform from 0", "beta 0.5 0.5", "histogram", "kernel")],
)
def test_methods_agree_and_certificates_hold(name, extra):
    comparison = md.compare(
        PrivacyContractContinuous(density=DENSITIES[name], budget=5.0, cells=500, **extra)
    )
    assert comparison.agree, comparison
    for run in comparison.runs:
        if run.kind != "published":
            assert all(certificate.holds for certificate in run.certificates), comparison
            assert run.bound <= run.value


def test_uniform_density_is_exact():
    problem = PrivacyContractContinuous(density=DENSITIES["uniform"], budget=5.0)
    solution = md.solve(problem)
    assert solution.bound <= EXACT_UNIFORM <= solution.value
    assert solution.value == pytest.approx(EXACT_UNIFORM, rel=1e-6)
    assert solution.bound == pytest.approx(EXACT_UNIFORM, rel=1e-8)
    assert np.allclose(problem.ironed_virtual_cost([5, 10, 15]), [5, 15, 25])


def test_discretisation_converges_quadratically_from_above():
    problem = PrivacyContractContinuous(density=DENSITIES["uniform"], budget=5.0)
    excess = [md.solve(problem, method="discretized", cells=n).value - EXACT_UNIFORM for n in (20, 80, 320)]
    assert min(excess) > 0
    for coarse, fine in pairwise(excess):
        assert coarse / fine > 10  # four times the items: a sixteenth of the excess, nearly


@pytest.mark.parametrize("method", ["full-program", "reduced-program", "closed-form"])
def test_every_finite_method_serves_the_discretisation(method):
    problem = PrivacyContractContinuous(density=DENSITIES["beta 0.5 0.5"], budget=5.0)
    solution = md.solve(problem, method="discretized", cells=30, method_for_finite=method)
    assert solution.value == pytest.approx(0.33906, rel=1e-2)
    assert solution.bound <= solution.value


def test_ironed_interval_of_a_polarised_density_is_flat_to_the_top():
    density = density_of(DENSITIES["beta 0.5 0.5"])
    values = ironed_virtual_cost(density, np.linspace(1.0, 3.0, 400)[1:-1])
    assert (np.diff(values) >= -1e-3).all()
    assert values[-1] == values[-50] > values[100]


def test_random_menus_do_not_beat_the_bound():
    problem = PrivacyContractContinuous(density=DENSITIES["normal"], budget=5.0)
    bound, rng = md.solve(problem).bound, np.random.default_rng(0)
    for size in (1, 2, 5, 50):
        ends = np.append(np.sort(rng.uniform(1, 9, size)), 9.0)
        people = problem.population(ends)
        epsilon = np.sort(rng.exponential(1.0, len(people.types)))[::-1]
        cost = float(np.diff(np.cumsum(people.counts) * people.types, prepend=0.0) @ epsilon)
        assert float(people.counts @ (epsilon * 5.0 / cost) ** -2.0) >= bound


def test_printed_signs_are_wrong():
    uniform = md.solve(
        PrivacyContractContinuous(density=DENSITIES["uniform"], budget=5.0), method="published"
    )
    bought = uniform.variables["epsilon"]  # theta - H/h is constant for uniform types, up to rounding
    assert np.ptp(bought) <= 1e-10 * bought.max()
    verdicts = {certificate.property: certificate for certificate in uniform.certificates}
    assert not verdicts["individual_rationality"].holds
    assert verdicts["individual_rationality"].witness["theta"] == 15.0
    normal = md.solve(PrivacyContractContinuous(density=DENSITIES["normal"], budget=5.0), method="published")
    assert normal.notes["c2_in_c1"] == -1.0  # with c2 = 0 the root is of a negative number from 5.6 on
    theta, epsilon = (normal.variables[name] for name in ("types", "epsilon"))
    left = normal.quantities["surplus_of_highest"]  # minus the integral of epsilon, here by trapezoids
    assert left == pytest.approx(-np.trapezoid(epsilon, theta) - epsilon[0] * (theta[0] - 1.0), rel=2e-3)


def test_posted_menu_serves_types_drawn_from_the_density():
    problem = PrivacyContractContinuous(density=DENSITIES["beta 2 2"], budget=5.0, users=400, cells=50)
    measured = simulate(md.solve(problem), 2000, 60, np.random.default_rng(1))
    assert measured["stayed_out"] == 0.0
    assert measured["paid"] == pytest.approx(5.0, rel=5e-3)
    assert measured["rmse"] == pytest.approx(measured["predicted_rmse"], rel=0.25)


def test_small_budgets_are_infeasible_with_the_least_that_would_do():
    for extra in ({"epsilon_min": 0.7}, {"epsilon_min": 0.7, "participation_cost": 0.5}):
        answers = md.compare(PrivacyContractContinuous(density=DENSITIES["normal"], budget=1.0, **extra)).runs
        assert {answer.status for answer in answers} == {"infeasible"}
        least = answers[0].notes["least_budget"]
        assert least == pytest.approx(9 * 0.7 + extra.get("participation_cost", 0.0))
        again = PrivacyContractContinuous(density=DENSITIES["normal"], budget=least * (1 + 1e-12), **extra)
        assert md.solve(again).found


@pytest.mark.parametrize(
    ("density", "text"),
    [
        ("uniform", "density: expected a table"),
        ({"name": "unifrom"}, "density: 'unifrom' is not a choice; did you mean 'uniform'"),
        ({"name": "uniform", "low": 1}, "density: 'uniform': .*high"),
        ({"name": "uniform", "low": 3, "high": 2}, r"density\.high: 2 is outside"),
        ({"name": "uniform", "low": -1, "high": 2}, r"density\.low: -1 is outside"),
        ({"name": "beta", "a": 0, "b": 1}, r"density\.a: 0 is outside"),
        (
            {"name": "truncated-normal", "low": 1, "high": 2, "mean": 50, "deviation": 1},
            r"density\.mean: is more than 5",
        ),
        (
            {"name": "histogram", "edges": [1, 2], "shares": [0.5, 0.5]},
            r"density\.edges: 2 edges for 2 shares",
        ),
        (
            {"name": "histogram", "edges": [1, 2, 3], "shares": [0.5, 0]},
            r"density\.shares: entry 1 is not positive",
        ),
        ({"name": "empirical", "sample": [1, 1]}, r"density\.sample: needs at least two different values"),
    ],
)
def test_bad_densities_name_the_field(density, text):
    with pytest.raises(md.MechDesignError, match=text):
        PrivacyContractContinuous(density=density, budget=1.0)


def optimum_of_cells(edges, shares, budget, parts):
    """Return an upper bound of the optimum for Laplace noise: bins cut up, each part of its upper end's type.

    Virtual costs are sums of positive numbers here, so bins of any size keep their digits.
    """
    ends = [np.linspace(low, high, parts + 1)[1:] for low, high in pairwise(edges)]
    types, counts = np.concatenate(ends), np.repeat(shares / shares.sum() / parts, parts)
    below = np.cumsum(counts) - counts
    costs = types + np.diff(types, prepend=0.0) * below / counts
    ironed = isotonic_regression(costs, weights=counts).x
    return float(counts @ ironed ** (2 / 3)) ** 3 / budget**2


@pytest.mark.parametrize("rarest", [1e-2, 1e-6, 1e-9, 1e-11])
def test_bound_and_value_enclose_the_optimum_where_bins_are_nearly_empty(rarest):
    rng = np.random.default_rng(3)
    for _ in range(4):
        edges = np.cumsum(rng.uniform(0.5, 1.5, 41))
        shares = np.exp(rng.uniform(math.log(rarest), 0.0, 40))
        density = {"name": "histogram", "edges": edges, "shares": shares}
        solution = md.solve(PrivacyContractContinuous(density=density, budget=5.0, cells=3000))
        fine = optimum_of_cells(edges, shares, 5.0, 400)
        assert solution.bound <= fine
        assert solution.bound <= solution.value
        assert solution.value >= fine - (optimum_of_cells(edges, shares, 5.0, 200) - fine)


def test_a_kernel_density_with_an_empty_middle_has_a_valid_bound():
    sample = [1.3100667, 0.474811, 1.1266156, 0.9557554, 3.1111443, 0.972880]
    density = {"name": "empirical", "sample": sample, "method": "kernel", "bins": 13}
    problem = PrivacyContractContinuous(density=density, budget=22.0, cells=5000)
    solution = md.solve(problem)
    assert solution.bound <= optimum_of_cells(problem.types.edges, problem.types.shares, 22.0, 300)
    curve = minorant(problem.types)
    assert float(curve.weights @ curve.prices) <= problem.types.high


def test_a_normal_density_keeps_its_digits_above_the_mean():
    far = density_of({"name": "truncated-normal", "low": 5.0, "high": 6.0, "mean": 0.5, "deviation": 1.0})
    near = density_of({"name": "truncated-normal", "low": 5.0, "high": 6.0, "mean": 10.5, "deviation": 1.0})
    theta = np.linspace(5.0, 6.0, 11)
    assert np.allclose(far.cdf(theta), 1.0 - near.cdf(11.0 - theta), rtol=0.0, atol=2.0**-50)
    assert np.allclose(far.quantile(far.cdf(theta)), theta, rtol=1e-12, atol=0.0)
    with pytest.raises(md.MechDesignError, match=r"density\.deviation: is more than 10000 times the width"):
        density_of({"name": "truncated-normal", "low": 0.0, "high": 1e-9, "mean": 0.0, "deviation": 1.0})
