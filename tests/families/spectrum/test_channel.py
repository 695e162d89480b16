"""Channels: exact methods against each other and against brute force; refusals and statuses."""

import math

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import ParameterError, UnknownNameError
from mechdesign.families.spectrum.channel import scattered_owner, scattered_users
from tests.support.spectrum import brute_force, random_channel

PAIR = [{"x": -3, "y": 0, "radius": 4, "privacy": 0.5}, {"x": 3, "y": 0, "radius": 4, "privacy": 0.5}]
OWNER = {"x": 0, "y": 0, "protection": 1}


@pytest.mark.parametrize("occupied", [True, False])
@pytest.mark.parametrize("users", [1, 2])
@pytest.mark.parametrize("seed", range(40))
def test_patterns_and_search_tree_agree_and_brute_force_finds_nothing_better(seed, users, occupied):
    problem = random_channel(seed, users, occupied)
    comparison = md.compare(problem, ["piecewise", "enumeration", "greedy"])
    assert comparison.agree, str(comparison)
    best = comparison.runs[0]
    if not best.found:
        assert problem.channel.most <= 0
        return
    assert best.status == "optimal"
    assert all(not run.broken for run in comparison.runs)
    assert all(value == 0.0 for value in best.residuals.values())
    found = brute_force(problem)
    assert found <= best.bound
    assert found >= best.value - 0.02 * problem.objective_scale()


@pytest.mark.parametrize("occupied", [True, False])
@pytest.mark.parametrize("users", [3, 4])
@pytest.mark.parametrize("seed", range(12))
def test_brute_force_finds_nothing_better_than_the_search_tree(seed, users, occupied):
    problem = random_channel(1000 + seed, users, occupied)
    best = md.solve(problem, "enumeration")
    if best.found:
        assert best.status == "optimal"
        assert brute_force(problem, 150) <= best.bound
        assert not best.broken


def test_an_odd_cycle_of_tight_pairs_is_found():
    """Three equal users at the corners of a triangle: with caps that bind, each gets half of the margin.

    No list of users leads there: a list gives its first user more.
    """
    corners = [(0.0, 0.0), (6.0, 0.0), (3.0, 3.0 * math.sqrt(3.0))]
    users = [{"x": x, "y": y, "radius": 2.6, "privacy": 0.5} for x, y in corners]
    problem = md.SpectrumChannel(price=1.0, privacy_cost=1.0, secondary=users)
    best = md.solve(problem)
    lists = brute_force(problem)
    even = problem.objective({"radii": np.full(3, 2.4999999), "privacy": 0.0})
    assert best.bound >= max(lists, even)
    assert best.value == pytest.approx(max(lists, even), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_integer_program_agrees_on_few_users(seed):
    problem = random_channel(seed, 4, occupied=seed % 2 == 0, side=14.0)
    comparison = md.compare(problem, ["enumeration", "milp"])
    assert comparison.agree, str(comparison)
    if comparison.runs[0].found:
        exact, program = comparison.runs
        assert program.notes["stated_bound"] >= exact.value * (1 - 1e-6) - 1e-6
        assert program.value <= exact.bound


def test_local_ascent_from_the_middle_of_two_equal_users_stays_at_the_minimum():
    problem = md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=PAIR)
    published = md.solve(problem, "published")
    assert published.variables["radii"] == pytest.approx([2.5, 2.5])
    assert sorted(md.solve(problem).variables["radii"]) == pytest.approx([1.0, 4.0])
    assert published.value < 0.6 * md.solve(problem).value


def test_the_published_way_is_never_above_the_bound():
    short = 0
    for seed in range(30):
        problem = random_channel(seed, 2)
        best = md.solve(problem)
        if best.found:
            published = md.solve(problem, "published")
            assert published.value <= best.bound
            short += published.value < best.value - 1e-3
    assert short > 0


def test_two_users_of_an_occupied_channel_take_less_than_20_ms():
    users = scattered_users(channel=4, radius=5.0, privacy=0.5)
    problem = md.SpectrumChannel(
        price=0.1, privacy_cost=2.0, secondary=users, primary=scattered_owner(channel=4)
    )
    assert min(md.solve(problem).seconds for _ in range(5)) < 0.02


@pytest.mark.parametrize("method", ["piecewise", "enumeration"])
def test_the_optimum_is_proven_wherever_the_origin_of_the_map_is(method):
    for primary in (None, {**OWNER, "x": 2.0**29}):
        users = [{**user, "x": 2.0**29 + user["x"], "y": 8.0} for user in PAIR]
        far = md.solve(
            md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=users, primary=primary), method
        )
        near = [{**user, "y": 8.0} for user in PAIR]
        here = md.solve(
            md.SpectrumChannel(
                price=0.1, privacy_cost=2.0, secondary=near, primary=OWNER if primary else None
            ),
            method,
        )
        assert (far.status, far.value, far.bound) == ("optimal", here.value, here.bound)


def test_an_owner_that_covers_everybody_is_a_status():
    problem = md.SpectrumChannel(
        price=0.1, privacy_cost=2.0, secondary=PAIR, primary={**OWNER, "protection": 5}
    )
    for run in md.compare(problem).runs:
        assert run.status == "infeasible"
        assert "no user is admitted" in run.message


def test_coincident_users_are_legal_and_one_of_them_is_served():
    twice = [{"x": 5, "y": 0, "radius": 2, "privacy": 0.5}] * 2
    solution = md.solve(md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=twice, primary=OWNER))
    assert solution.status == "optimal"
    assert solution.variables["admitted"].sum() == 1


def test_a_user_on_top_of_the_owner_is_not_served():
    users = [{"x": 0, "y": 0, "radius": 2, "privacy": 0.5}, {"x": 9, "y": 0, "radius": 2, "privacy": 0.5}]
    assert md.solve(
        md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=users, primary=OWNER)
    ).variables["admitted"].tolist() == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"radius": 0}, "secondary 1: radius: 0 is not positive"),
        ({"privacy": -1}, "secondary 1: privacy: -1 is not positive"),
        ({"x": math.nan}, "secondary 1: x: is NaN"),
        ({"y": math.inf}, "secondary 1: y: inf is outside"),
        ({"distance": 7.0}, "secondary 1: distance: 7 contradicts the positions, which are 3 apart"),
    ],
)
def test_bad_users_are_refused_by_name(change, text):
    with pytest.raises(ParameterError) as caught:
        md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=[{**PAIR[0], **change}], primary=OWNER)
    assert str(caught.value).startswith(text)


def test_other_bad_input_is_refused():
    with pytest.raises(ParameterError, match="price: 0 is not positive"):
        md.SpectrumChannel(price=0.0, privacy_cost=2.0, secondary=PAIR)
    with pytest.raises(ParameterError, match="give at least one"):
        md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=[])
    with pytest.raises(UnknownNameError, match="did you mean 'radius'"):
        md.SpectrumChannel(
            price=0.1, privacy_cost=2.0, secondary=[{"x": 0, "y": 0, "radios": 1, "privacy": 1}]
        )
    with pytest.raises(ParameterError, match="'protection' is missing"):
        md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=PAIR, primary={"x": 0, "y": 0})
    assert (
        md.SpectrumChannel(
            price=0.1, privacy_cost=2.0, secondary=[{**PAIR[0], "distance": 3.0}], primary=OWNER
        ).size
        == 1
    )


def test_few_users_do_not_take_the_time_of_many():
    hard = [
        {"x": -4.56, "y": 4.97, "radius": 10.0, "privacy": 1e-06},
        {"x": -3.67, "y": 0.0, "radius": 3.0, "privacy": 0.1},
    ]
    problem = md.SpectrumChannel(
        price=1e-6, privacy_cost=1.0, secondary=hard, primary={"x": 5.81, "y": 0.0, "protection": 1.0}
    )
    found = md.solve(problem, method="cuts")
    assert found.seconds < 15.0, "it stops of itself after 29 s; two users have 4 s"
    assert found.bound >= found.value


def test_rows_that_the_solver_refuses_leave_the_search_and_its_bound():
    users = [
        {"x": -2.99, "y": -3.3, "radius": 1e-06, "privacy": 50.0},
        {"x": 3.39, "y": -0.3, "radius": 0.5, "privacy": 0.5},
        {"x": -1.15, "y": -3.3, "radius": 1.0, "privacy": 0.5},
    ]
    problem = md.SpectrumChannel(
        price=1e6, privacy_cost=0.1, secondary=users, primary={"x": 4.36, "y": 0.0, "protection": 1.0}
    )
    comparison = md.compare(problem, ["milp", "enumeration"])
    assert not comparison.failures, comparison.failures
    assert comparison.agree
