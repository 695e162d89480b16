"""Attacks on owners: exact without noise, like L / N with a widening, no nearer than a tile allows."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

import mechdesign as md
from mechdesign.core.errors import CertificateError, DataError
from mechdesign.families.spectrum import SpectrumCloak, SpectrumDatabase
from mechdesign.families.spectrum.papers.attack import attack_errors, least, locate, locate_known
from mechdesign.families.spectrum.papers.primary import SpectrumWidening
from mechdesign.solvers.linear import LinearProgram, solve_linear


@pytest.mark.parametrize("seed", range(10))
def test_four_answers_without_noise_locate_the_owner(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-10, 10, size=(2, 5))
    owner, ring = rng.uniform(-3, 3, size=2), rng.uniform(0.1, 1.0)
    found = locate(x, y, np.hypot(x - owner[0], y - owner[1]) - ring)
    assert np.abs(found - [*owner, ring]).max() < 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_small_programs_are_solved_as_by_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 3))
    limits = rows @ rng.normal(size=3) - rng.exponential(size=40)
    cost = rows.T @ rng.uniform(size=40)
    found = least(cost, rows, limits, 100.0)
    box, none = np.full(3, 100.0), csr_array((0, 3))
    program = LinearProgram(-cost, csr_array(-rows), -limits, none, np.zeros(0), -box, box)
    solved = solve_linear(program)
    assert cost @ found == pytest.approx(cost @ solved.variables, rel=1e-9, abs=1e-9)
    assert (rows @ found - limits).min() > -1e-9


def test_one_widening_for_all_queries_hides_nothing_of_the_place():
    rng = np.random.default_rng(1)
    assert attack_errors(2.0, rng, draw="none").max() < 1e-6
    assert attack_errors(2.0, rng, draw="common").max() < 1e-6


def test_with_a_draw_for_each_place_the_error_grows_with_the_level_and_falls_like_the_number_of_queries():
    """Medians of 100 and 40 attacks with fixed seeds; 2.5 L / N, within a third."""
    levels = [0.1, 0.3, 1.0, 3.0]
    errors = [np.median(attack_errors(level, np.random.default_rng(2), repetitions=100)) for level in levels]
    assert errors == sorted(errors)
    assert 0.25 < errors[2] < 0.6
    for queries, attacks in ((100, 100), (1000, 40)):
        many = np.median(attack_errors(1.0, np.random.default_rng(3), queries, attacks))
        assert many * queries == pytest.approx(2.5, rel=1 / 3)


def test_the_mean_of_the_feasible_polygon_is_as_near():
    """A second way, for an attacker who knows the radius: the same order of error, on the same answers."""
    ways = [np.median(attack_errors(1.0, np.random.default_rng(4), 200, 60, known=known)) for known in (0, 1)]
    assert 0.5 < ways[0] / ways[1] < 2.0


def test_the_published_widening_fails_its_audit_and_is_refused_with_the_error_of_the_attack():
    published = SpectrumWidening(2.0, 1.0)
    assert not published.audit().holds
    assert published.audit().witness["median_error"] < 0.05 * 2.0
    with pytest.raises(CertificateError, match=r"cloak: FAILS.*median_error = .*spectrum-cloak; register"):
        raise published.refusal()
    for level in (1e-12, 1.0, 1e12):  # the attack has no unit of length: its error is the same part of L
        audit = SpectrumWidening(level, level).audit()
        assert not audit.holds
        assert audit.witness["median_error"] == pytest.approx(0.02363 * level, rel=1e-3)
    angle = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    spots = np.column_stack([9.0 * np.cos(angle) + 3.0, 9.0 * np.sin(angle) - 1.0])
    found = locate_known(*spots.T, published.edges(spots, (3.0, -1.0), rng=5), 1.0)
    assert np.hypot(*(found - [3.0, -1.0])) < 0.5


def test_every_optimal_widening_says_that_the_owner_is_found():
    problem = md.SpectrumPrimary(price=0.1, privacy_cost=2.0, radius=5.0, location_privacy=0.5, distance=15.0)
    for run in md.compare(problem).runs:
        (cloak,) = run.broken
        assert cloak.property == "cloak"
        assert cloak.witness["median_error"] == pytest.approx(0.02363 * run.variables["privacy"], rel=1e-3)
        with pytest.raises(CertificateError, match="spectrum-cloak"):
            run.mechanism()


def edges(base, places, users, step):
    """Return what users learn who wish for more than they get: distances to the edge of what is protected.

    One in ``step`` places by an answer of the database; to save time, the rest by the room it answers with.
    """
    rooms = np.array([base.room("tv", x, y) for x, y in places])
    for number, (x, y) in list(enumerate(places))[::step]:
        report = {"x": x, "y": y, "radius": 1e6, "privacy": 0.5, "epsilon": 1e-7}
        assert base.query(f"spy{number % users}", "tv", **report).radius + 0.5 == pytest.approx(rooms[number])
    return rooms


@pytest.mark.parametrize(("count", "users", "step"), [(100, 1, 2), (1000, 10, 20)])
def test_from_the_database_an_attacker_learns_the_tile_and_no_more_however_many_ask(count, users, step):
    """Owners anywhere in a tile: one and the same guess, so the errors are those of the tile, for ever."""
    rng = np.random.default_rng(6)
    cloak = SpectrumCloak(cell=2.0, protection=1.0)
    middle = np.array([float(part) for part in cloak.tiling.center((1, 1))])
    angle, far = rng.uniform(0.0, 2.0 * np.pi, count), rng.uniform(6.0, 12.0, count)
    places = np.column_stack([middle[0] + far * np.cos(angle), middle[1] + far * np.sin(angle)])
    owners = middle + rng.uniform(-2.0, 2.0, size=(400, 2))
    owners = np.array([owner for owner in owners if cloak.tiling.tile_of(*owner) == (1, 1)])
    channels = [cloak.register([{"name": "tv", "x": x, "y": y}])["tv"].as_json() for x, y in owners]
    assert all(channel == channels[0] for channel in channels)  # all that the database has of an owner
    base = SpectrumDatabase([{"name": "tv", **channels[0]}], 0.1, cell=2.0)
    told = edges(base, places, users, step)
    least_median = math.sqrt(float(cloak.tiling.area) / (2.0 * math.pi))
    for guess in (locate(*places.T, told)[:2], locate_known(*places.T, told, 1.0)):
        assert np.hypot(*(guess - middle)) < 1.0  # the attack does find the tile
        assert np.median(np.hypot(*(owners - guess).T)) > 0.9 * least_median


def test_three_queries_are_too_few():
    with pytest.raises(DataError, match="ask from 4 places"):
        locate([0, 1, 2], [0, 1, 0], [1, 1, 1])
