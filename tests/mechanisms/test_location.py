"""Mechanisms of places: what is sampled is what is audited, the distributions, files, and bad input."""

from __future__ import annotations

import json
import math
from collections import Counter
from decimal import Decimal, localcontext

import numpy as np
import pytest

from mechdesign.core.errors import CertificateError, DataError, MechDesignError, ParameterError
from mechdesign.mechanisms import load_mechanism
from mechdesign.mechanisms.location import (
    PlanarLaplace,
    PlanarLattice,
    TruncatedPlanarLaplace,
    planar_quantile,
)
from mechdesign.mechanisms.location.radial import RadialWeights, radial_weights

AREA = [0.0, 0.0, 1.0, 1.0]


class Given:
    """A source of the integers it is given, again from the start when they are used up."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers, self.used = numbers, 0

    def integers(self, count: int) -> np.ndarray:
        """Return the next ones."""
        found = [self.numbers[(self.used + k) % len(self.numbers)] for k in range(count)]
        self.used += count
        return np.array(found, dtype=np.int64)


def test_every_integer_is_drawn_once_and_those_beyond_the_sum_are_drawn_again():
    """Each vector comes up with its weight above the floor, each cell of the rectangle with the floor."""
    table = RadialWeights((0, 1, 2), (1, 4, 4), (9, 5, 2), cells=30)
    assert table.total == 2 * 30 + 7 + 4 * 3
    vectors, cells = table.draw(table.total, Given(list(range(table.total))))
    assert Counter(cells[cells >= 0].tolist()) == dict.fromkeys(range(30), 2)
    drawn = Counter(map(tuple, vectors[cells < 0].tolist()))
    assert drawn == {(0, 0): 7, (0, 1): 3, (0, -1): 3, (1, 0): 3, (-1, 0): 3}
    again, cells = table.draw(1, Given([table.total, 2**62 - 1, table.total - 1]))
    assert cells.tolist() == [-1]
    assert abs(again).sum() == 1


def channel_of(mechanism: PlanarLattice) -> dict[tuple[int, int], Counter]:
    """Count what every place makes of every integer, by enumeration: reports moved into the area."""
    table, reach = mechanism.weights, mechanism.reach
    side = math.isqrt(table.squares[-1]) + 1
    excess = {s: w - table.floor for s, w in zip(table.squares, table.weights, strict=True)}
    found = {}
    for x in range(mechanism.rows):
        for y in range(mechanism.columns):
            counts: Counter = Counter()
            for a in range(-side, side + 1):
                for b in range(-side, side + 1):
                    z = min(max(x + a, 0), mechanism.rows - 1), min(max(y + b, 0), mechanism.columns - 1)
                    counts[z] += excess.get(a * a + b * b, 0)
            for a in range(-reach, mechanism.rows + reach):
                for b in range(-reach, mechanism.columns + reach):
                    z = min(max(a, 0), mechanism.rows - 1), min(max(b, 0), mechanism.columns - 1)
                    counts[z] += table.floor
            found[x, y] = counts
    return found


@pytest.mark.parametrize(("epsilon", "step"), [(4.0, 0.5), (1.5, 0.5), (9.0, 0.34)])
def test_the_channel_of_a_small_area_is_private_entry_by_entry(epsilon, step):
    """Whole numbers of every place and report against e^(epsilon d); and what is drawn against them."""
    mechanism = PlanarLattice(epsilon, AREA, step)
    channel = channel_of(mechanism)
    with localcontext() as context:
        context.prec = 50
        for (x, y), here in channel.items():
            assert sum(here.values()) == mechanism.weights.total
            for (u, v), there in channel.items():
                apart = Decimal((x - u) ** 2 + (y - v) ** 2).sqrt() * Decimal(mechanism.step)
                factor = (Decimal(epsilon) * apart).exp()
                assert all(here[z] <= factor * there[z] for z in here)
    count = 40_000
    place = np.array([[0.0, mechanism.step]])
    reports = np.rint(mechanism.randomize(np.repeat(place, count, axis=0), rng=5) / mechanism.step).astype(
        int
    )
    drawn = Counter(map(tuple, reports.tolist()))
    for z, weight in channel[0, 1].items():
        share = weight / mechanism.weights.total
        assert abs(drawn[z] / count - share) <= 5 * math.sqrt(share * (1 - share) / count)


@pytest.mark.parametrize(
    ("epsilon", "step", "rows"), [(1.0, 0.125, 100), (0.3, 0.1, 700), (5.0, 1.0, 3), (2.0, 3.0, 40)]
)
def test_weights_use_the_bits_and_reach_their_floor(epsilon, step, rows):
    table = radial_weights(epsilon, step, rows, rows)
    assert 0.999 * 2**62 < table.total <= 2**62
    assert table.weights[-2] > table.weights[-1] == table.floor
    assert table.floor * table.cells <= 2.0**-13 * 2**62


def test_the_radius_of_the_lattice_is_the_least_that_keeps_beta():
    mechanism = PlanarLattice(2.0, [0, 0, 30, 20], beta=0.1)
    table, square = mechanism.weights, mechanism._square
    below = table.squares[table.squares.index(square) - 1]
    assert table.beyond(square) <= 0.1 < table.beyond(below)
    middle = np.tile([[15.0, 10.0]], (20_000, 1))
    distance = np.hypot(*(mechanism.randomize(middle, rng=3) - middle).T)
    assert abs((distance > mechanism.noise_radius).mean() - float(table.beyond(square))) < 5 * math.sqrt(
        0.09 / 20_000
    )
    assert abs(distance.mean() - mechanism.mean_distance) < 0.02
    assert mechanism.interference().holds
    assert mechanism.interference().exact


def largest_step(sample: np.ndarray, cumulative) -> float:
    """The Kolmogorov-Smirnov distance."""
    ordered = np.sort(sample)
    expected, count = cumulative(ordered), len(ordered)
    steps = np.arange(count + 1) / count
    return float(max((steps[1:] - expected).max(), (expected - steps[:-1]).max()))


SMALL = 1.95 / math.sqrt(50_000)
"""Exceeded with probability 0.001 by the right distribution."""


@pytest.mark.parametrize("step", [0.5, 0.35])
def test_the_radius_counts_from_the_person_not_from_the_lattice(step):
    """A person in the middle of a cell, or beyond the last line, is farther off than its lattice place."""
    mechanism = PlanarLattice(2.0, [0, 0, 20, 20], step=step)
    last = (mechanism.rows - 1) * step
    rest = 20.0 - last
    assert mechanism.offset >= np.hypot(max(rest, step / 2), max(rest, step / 2))
    people = np.full((40_000, 2), 10.0 // step * step + 0.499 * step)
    found = mechanism.randomize(people, rng=5)
    beyond = (np.hypot(*(found - people).T) > mechanism.radius).mean()
    assert beyond <= 0.05 + 5 * np.sqrt(0.05 * 0.95 / 40_000)  # wrong once in three million runs


def test_planar_laplace_has_its_radius_and_an_even_direction():
    mechanism = PlanarLaplace(0.5)
    noise = mechanism.randomize(np.full((50_000, 2), 7.0), rng=11) - 7.0
    radius = 0.5 * np.hypot(*noise.T)
    assert largest_step(radius, lambda r: 1 - (1 + r) * np.exp(-r)) < SMALL
    assert largest_step(np.arctan2(*noise.T), lambda angle: (angle + math.pi) / (2 * math.pi)) < SMALL
    assert mechanism.mean_distance == 4.0


def test_truncated_noise_has_the_published_radius_and_is_refused():
    noise = TruncatedPlanarLaplace(1.0, 2.0)
    radius = np.hypot(*noise.randomize(np.zeros((50_000, 2)), rng=2).T)
    kept = 1 - 3 * math.exp(-2.0)
    assert largest_step(radius, lambda r: (1 - (1 + r) * np.exp(-r)) / kept) < SMALL
    assert abs(radius.mean() - noise.mean_distance) < 5 * 0.5 / math.sqrt(50_000)
    assert "FAILS (exact)" in str(noise.refusal())
    assert TruncatedPlanarLaplace(1e-3, 2.0).mean_distance == pytest.approx(4 / 3, abs=1e-3)


@pytest.mark.parametrize("beta", [1e-12, 0.01, 0.5, 1 - 1e-9])
def test_the_quantile_solves_its_equation(beta):
    scaled = 3.0 * planar_quantile(3.0, beta)
    assert (1 + scaled) * math.exp(-scaled) == pytest.approx(beta, rel=1e-9)


@pytest.mark.parametrize(
    "make", [lambda: PlanarLattice(8.0, AREA, 0.25), lambda: PlanarLaplace(2.0, 0.1, AREA)]
)
def test_files_give_back_the_same_and_changes_are_refused(make, tmp_path):
    mechanism, path = make(), tmp_path / "place.json"
    mechanism.save(path)
    again = load_mechanism(path)
    assert again.content() == mechanism.content()
    assert (
        again.randomize([[0.5, 0.5]] * 50, rng=1).tolist()
        == mechanism.randomize([[0.5, 0.5]] * 50, rng=1).tolist()
    )
    original = json.loads(path.read_text())
    for key, value in original["content"].items():
        for number in range(len(value)) if isinstance(value, list) else [None]:
            document = json.loads(json.dumps(original))
            place = document["content"] if number is None else document["content"][key]
            old = value if number is None else value[number]
            place[key if number is None else number] = old + 1 if isinstance(old, int) else old + 0.001
            path.write_text(json.dumps(document))
            with pytest.raises(MechDesignError, match="build it anew"):
                load_mechanism(path)


def test_weights_that_are_not_private_are_refused():
    mechanism = PlanarLattice(8.0, AREA, 0.25)
    content = mechanism.content()
    content["weights"][0] += content["weights"][0] // 100
    content["weights"] = [weight // 2 for weight in content["weights"]]
    with pytest.raises(CertificateError, match="not private as promised"):
        PlanarLattice.from_content(content)


@pytest.mark.parametrize(
    ("points", "text"),
    [
        ([[0.5, math.nan]], "row 1: y is nan"),
        ([[0.5, 0.5], [math.inf, 0.5]], "row 2: x is inf"),
        ([[0.5, 0.5], [0.5, 1.5]], r"row 2: (0.5, 1.5) is outside \[0, 1\] x \[0, 1\]"),
        ([[0.5, 0.5, 0.5]], "3 coordinates"),
        ([0.5, 0.5], "1 dimension"),
        ([[0.5, 0.5], [0.5]], "different lengths"),
        ([["a", 0.5]], "is not a number"),
    ],
)
@pytest.mark.parametrize(
    "make", [lambda: PlanarLattice(8.0, AREA, 0.25), lambda: PlanarLaplace(2.0, 0.1, AREA)]
)
def test_bad_points_are_named(make, points, text):
    with pytest.raises(DataError, match=text.replace("(0.5, 1.5)", r"\(0.5, 1.5\)")):
        make().randomize(points)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"epsilon": 0.0}, "epsilon: is 0"),
        ({"epsilon": -1.0}, "epsilon: -1 is negative"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"beta": 0.0}, "beta: 0 is outside"),
        ({"beta": 1.0}, "beta: 1 is outside"),
        ({"beta": math.nan}, "beta"),
        ({"area": [0, 0, 0, 1]}, "area: "),
        ({"area": [0, 0, 1]}, "area: "),
        ({"area": [0, 0, math.nan, 1]}, "area: "),
    ],
)
@pytest.mark.parametrize("kind", [PlanarLattice, PlanarLaplace])
def test_impossible_parameters_are_refused(kind, options, text):
    with pytest.raises(ParameterError, match=text):
        kind(**{"epsilon": 2.0, "beta": 0.1, "area": AREA, **options})


@pytest.mark.parametrize(("step", "text"), [(0.0, "step"), (1e-4, "too fine"), (2.0, "larger than a side")])
def test_impossible_steps_are_refused(step, text):
    with pytest.raises(ParameterError, match=text):
        PlanarLattice(2.0, AREA, step)


def test_clipping_moves_points_into_the_area_and_reports_stay_in_it():
    for mechanism in (PlanarLattice(8.0, AREA, 0.25), PlanarLaplace(2.0, 0.1, AREA)):
        reports = mechanism.randomize([[9.0, -9.0]] * 1000, rng=1, clip=True)
        assert reports.shape == (1000, 2)
        assert ((reports >= 0) & (reports <= 1)).all()
        assert mechanism.randomize(np.zeros((0, 2))).shape == (0, 2)
