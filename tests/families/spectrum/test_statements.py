"""The quantities by which statements of the source are judged, each against a second way to compute it."""

import math
import re

import attrs
import numpy as np
import pytest

import mechdesign as md
from mechdesign.catalog.shipped import models_folder
from mechdesign.core.solution import Quantities
from mechdesign.families.spectrum.papers.primary import attack_medians, printed_slope, stationary_points


def numbers(seed, count, low=-0.7, high=0.7):
    return (10.0 ** np.random.default_rng(seed).uniform(low, high, size=count)).tolist()


@pytest.mark.parametrize("seed", range(12))
def test_the_printed_slope_is_the_difference_quotient(seed):
    price, cost, radius, privacy, room = numbers(seed, 5)
    problem = md.SpectrumPrimary(
        price=price, privacy_cost=cost, radius=radius, location_privacy=privacy, distance=privacy + room
    )
    low, high = map(float, problem.limits)
    level, step = (low + high) / 2.0, (high - low) * 1e-3

    def difference(h):
        return (problem.utility(level + h) - problem.utility(level - h)) / (2.0 * h)

    # the error of either quotient falls with the square of its step
    better = (4.0 * difference(step / 2.0) - difference(step)) / 3.0
    error = abs(difference(step) - difference(step / 2.0))
    assert abs(printed_slope(problem, level) - better) <= error + 1e-9 * abs(better)


@pytest.mark.parametrize("seed", range(40))
def test_real_roots_are_counted_as_the_companion_matrix_has_them(seed):
    price, cost, radius, privacy, room = numbers(seed, 5)
    problem = md.SpectrumPrimary(
        price=price, privacy_cost=cost, radius=radius, location_privacy=privacy, distance=privacy + room
    )
    far, s = problem.distance, problem.location_privacy
    quartic = [-3.0, 6.0 * far - 2.0 * s, 2.0 * s * far - 3.0 * far**2, 0.0, cost / problem.factor]
    found = np.roots(quartic)
    real = np.sort(found.real[np.abs(found.imag) < 1e-7 * np.abs(found)])
    low, high = map(float, problem.limits)
    inside = int(((real > low) & (real <= high)).sum())
    assert stationary_points(problem) == (len(real), inside)
    assert len(real) in (2, 4)
    assert inside <= 2


def test_both_fixed_is_the_utility_with_the_levels_one_and_two():
    problem = md.SpectrumPrimary(price=0.1, privacy_cost=2.0, radius=5.0, location_privacy=0.5, distance=10.0)
    found = md.solve(problem).quantities
    assert found["both_fixed_utility"] == pytest.approx(0.1 * math.pi * 49.0 - 2.0, rel=1e-14)
    assert found["fixed_utility"] == pytest.approx(0.1 * math.pi * 5.5**2 - 2.0, rel=1e-14)
    assert found["full_payment"] == pytest.approx(found["revenue"], rel=1e-14)
    users = [{"x": -9, "y": 0, "radius": 5, "privacy": 0.5}, {"x": 9, "y": 0, "radius": 5, "privacy": 0.5}]
    channel = md.SpectrumChannel(
        price=0.1, privacy_cost=2.0, secondary=users, primary={"x": 0, "y": 0, "protection": 1}
    )
    found = md.solve(channel).quantities
    assert found["both_fixed_utility"] == pytest.approx(0.2 * math.pi * 49.0 - 2.0, rel=1e-14)


@pytest.mark.parametrize("seed", range(8))
def test_curvature_and_ends_of_two_idle_users(seed):
    r1, r2, s1, s2, part = numbers(seed, 5)
    margin = (r1 + r2) * part / 6.0
    users = [
        {"x": 0.0, "y": 0.0, "radius": r1, "privacy": s1},
        {"x": s1 + s2 + margin, "y": 0.0, "radius": r2, "privacy": s2},
    ]
    found = md.solve(md.SpectrumChannel(price=0.3, privacy_cost=1.0, secondary=users)).quantities
    low, high = max(0.0, margin - r2), min(r1, margin)
    middle, k = (low + high) / 2.0, 0.3 * math.pi
    curvature = k / r1 * (4 * s1 + 6 * middle) + k / r2 * (4 * s2 + 6 * (margin - middle))
    printed = 4 * k / r1 * (s1 + middle) + 2 * k / r2 * (margin - middle)
    assert found["curvature"] == pytest.approx(curvature, rel=1e-9)
    assert found["printed_curvature"] == pytest.approx(printed, rel=1e-12)
    assert found["middle_over_chord"] < 0.0
    revenue = [
        k / r1 * x * (s1 + x) ** 2 + k / r2 * (margin - x) * (s2 + margin - x) ** 2
        for x in np.linspace(low, high, 200)
    ]
    assert found["best_end"] == pytest.approx(max(revenue), rel=1e-12)


def test_the_largest_candidate_is_judged_with_the_best_radii_for_it():
    users = [
        {"x": -7.0, "y": -4.0, "radius": 4.0, "privacy": 0.5},
        {"x": -2.0, "y": -10.0, "radius": 3.0, "privacy": 0.5},
    ]
    problem = md.SpectrumChannel(
        price=0.1, privacy_cost=2.0, secondary=users, primary={"x": 0.0, "y": 0.0, "protection": 1.0}
    )
    published = md.solve(problem, "published")
    level = published.notes["printed_privacy"]
    rooms = [math.hypot(user["x"], user["y"]) - 1.5 - level for user in users]
    caps = [min(max(room, 0.0), user["radius"]) for room, user in zip(rooms, users, strict=True)]
    margin = math.hypot(5.0, 6.0) - 1.0
    best = -math.inf
    for first in np.linspace(0.0, caps[0], 2001):
        second = min(caps[1], margin - first) if first > 0 else caps[1]
        paid = sum(
            0.1 * math.pi * radius / user["radius"] * (0.5 + radius) ** 2
            for radius, user in zip((first, max(second, 0.0)), users, strict=True)
        )
        best = max(best, paid - 2.0 / level)
    assert published.notes["printed_utility"] == pytest.approx(best, rel=1e-9)
    assert published.notes["printed_utility"] < published.value


def test_attacks_find_the_owner_unless_noise_differs_from_place_to_place():
    small, large = (Quantities(attack_medians(level)) for level in (0.5, 2.0))
    assert max(small["plain_attack_error"], small["common_attack_error"]) < 1e-9
    assert small["attack_error_of_100"] < small["attack_error"] < large["attack_error"]


def test_a_cost_of_buying_above_the_income_is_one_cause_of_a_negative_utility():
    problem = md.SpectrumSecondary(price=0.1, reward=0.2, privacy_cost=1.0, radius=3.0)
    for radius in (1.0, 3.0):
        changed = attrs.evolve(problem, radius=radius)
        solution = md.solve(changed)
        level = solution.variables["privacy"]
        wanted = 0.5 * (1.0 + level / radius) ** 2
        assert solution.quantities["bought_over_income"] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    ("slug", "radius", "places"),
    [
        ("zhang2019_figure6_13a", 5.0, 9),
        ("zhang2019_figure6_13b", 5.0, 9),
        ("zhang2019_figure6_13c", 5.0, 9),
        ("zhang2019_figure6_13a_far", 5.0, 6),
        ("zhang2019_figure6_13a_far", 10.0, 6),
        ("zhang2019_figure6_14", 5.0, 6),
    ],
)
def test_models_of_the_owner_name_the_radius_that_is_best_for_the_user(slug, radius, places):
    """Models cannot refer to each other's results: the digits that they state are solved for here."""
    best = md.solve(md.SpectrumSecondary(price=0.1, reward=0.2, privacy_cost=1.0, radius=radius)).variables[
        "privacy"
    ]
    text = (models_folder() / "spectrum" / f"{slug}.toml").read_text(encoding="utf-8")
    assert re.search(rf"(location_)?privacy = {best:.{places}f}\b", text)
