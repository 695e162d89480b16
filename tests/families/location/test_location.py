"""Mechanisms of places: what is sampled is what is audited, the distributions, files, and bad input."""

from __future__ import annotations

import json
import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.collect import load_mechanism
from mechdesign.core.errors import CertificateError, DataError, MechDesignError, ParameterError
from mechdesign.exact.randomness import bit_source
from mechdesign.families.location import PlanarLaplace, PlanarLattice, planar_quantile
from mechdesign.families.location.lattice_noise import RadialWeights, radial_weights, spline_rounding
from tests.support.mechanism_files import opened

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


def kernel(distance: Fraction) -> Fraction:
    """The density of the sum of three uniform numbers less 3/2."""
    parts = [
        math.comb(3, k) * (-1) ** k * max(distance + Fraction(3, 2) - k, Fraction(0)) ** 2 for k in range(4)
    ]
    return sum(parts, Fraction(0)) / 2


def chances(mechanism: PlanarLattice, place: tuple[float, float]) -> dict[tuple[int, int], Fraction]:
    """The probability of every report from a place of the area, by enumeration of all there is to draw."""
    table, reach = mechanism.weights, mechanism.reach
    rows, columns = mechanism.rows, mechanism.columns
    excess = {s: w - table.floor for s, w in zip(table.squares, table.weights, strict=True)}
    side = math.isqrt(table.squares[-1]) + 1
    s = [
        (Fraction(place[axis]) - Fraction(mechanism.area[axis])) / Fraction(mechanism.step) for axis in (0, 1)
    ]
    parts = {
        (x, y): kernel(s[0] - x) * kernel(s[1] - y)
        for x in range(math.floor(s[0]) - 1, math.floor(s[0]) + 3)
        for y in range(math.floor(s[1]) - 1, math.floor(s[1]) + 3)
    }
    one = math.lcm(*(part.denominator for part in parts.values()))
    found: dict[tuple[int, int], int] = Counter()  # in units of 1/(one * table.total)

    def clipped(x: int, y: int) -> tuple[int, int]:
        return min(max(x, 0), rows - 1), min(max(y, 0), columns - 1)

    for (x, y), part in parts.items():
        whole = int(part * one)
        for a in range(-side, side + 1) if whole else ():
            for b in range(-side, side + 1):
                found[clipped(x + a, y + b)] += whole * excess.get(a * a + b * b, 0)
    for x in range(-reach, rows + reach):
        for y in range(-reach, columns + reach):
            found[clipped(x, y)] += one * table.floor
    return {report: Fraction(weight, one * table.total) for report, weight in found.items()}


PLACES = [
    (0.0, 0.0),
    (0.5, 0.0),
    (0.25, 0.75),
    (0.3, 0.3),
    (0.3, 0.3000001),
    (1.0, 1e-300),
    (0.49999, 0.25),
    (1, 1),
]


@pytest.mark.parametrize(("epsilon", "step"), [(4.0, 0.5), (2.5, 0.5), (9.0, 0.34), (3.0, 1.0)])
def test_the_channel_of_a_small_area_is_private_for_places_off_the_lattice(epsilon, step):
    """Fractions of every report from real places against e^(epsilon d); and what is drawn against them."""
    mechanism = PlanarLattice(epsilon, AREA, step)
    channel = {place: chances(mechanism, place) for place in PLACES}
    with localcontext() as context:
        context.prec = 50
        for (x, y), here in channel.items():
            assert sum(here.values()) == 1
            for (u, v), there in channel.items():
                square = (Fraction(x) - Fraction(u)) ** 2 + (Fraction(y) - Fraction(v)) ** 2
                apart = (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()
                factor = (Decimal(epsilon) * apart).exp()
                for report, chance in here.items():
                    ratio = chance / there[report]
                    assert Decimal(ratio.numerator) / Decimal(ratio.denominator) <= factor * (
                        1 + Decimal("1e-45")
                    )
    count = 40_000
    for place in (PLACES[2], PLACES[6]):
        reports = mechanism.randomize(np.repeat([place], count, axis=0), rng=5)
        drawn = Counter(map(tuple, np.ceil(reports / mechanism.step - 1e-9).astype(int).tolist()))
        for report, chance in channel[place].items():
            share = float(chance)
            assert abs(drawn[report] / count - share) <= 5 * math.sqrt(share * (1 - share) / count)


@pytest.mark.parametrize(("epsilon", "step"), [(2.0, 5.0), (4.0, 1.7), (1.0, 0.125), (0.5, 10.0)])
def test_two_people_next_to_each_other_report_alike(epsilon, step):
    """On both sides of a border between lattice places a ten-thousandth apart: no report tells them apart."""
    mechanism, count = PlanarLattice(epsilon, [0, 0, 10, 10], step), 20_000
    border = step / 2
    seen = []
    for number, place in enumerate((border - 1e-4, border + 1e-4)):
        reports = mechanism.randomize(np.full((count, 2), place), rng=number)
        seen.append(Counter(map(tuple, np.rint(reports / step).astype(int).tolist())))
    for report in set(seen[0]) | set(seen[1]):
        one, other = seen[0][report], seen[1][report]
        assert abs(one - other) <= 5.5 * math.sqrt(one + other)


@pytest.mark.parametrize("place", [0.0, 0.3, 0.5, 0.75, 1.0, 2.0 - 2.0**-40])
def test_rounding_has_the_weights_of_the_spline(place):
    count = 60_000
    moved = spline_rounding(np.full((count, 2), place), np.zeros(2), 1.0, bit_source(3))
    drawn = Counter(moved.ravel().tolist())
    for k in range(-2, 5):
        share = float(kernel(Fraction(place) - k))
        assert abs(drawn[k] / (2 * count) - share) <= 5 * math.sqrt(share * (1 - share) / (2 * count)) + 1e-12


def test_rounding_is_decided_by_fractions_where_doubles_leave_it_open():
    """Two numbers of 31 bits just short of a border: the next bits decide, and the last bit of the place."""
    half, top = 1 << 31, (1 << 31) - 1
    place, low, step = 0.1, 0.0, 0.1  # 0.1 / 0.1 - 1/2 + (top + top) / 2^31 is a hair below 5/2
    for word, wanted in (((half // 2 - 2, 0), 0), ((half // 2, 0), 1)):
        source = Given([word[0] << 31 | word[1]] * 2 + [0])
        assert spline_rounding(np.array([[place, place]]), np.full(2, low), step, source).tolist() == [
            [wanted] * 2
        ]
    least = (half // 2 - 1) << 31  # one unit of 2^-31 is missing to the border: what comes next decides
    for more, wanted in ((0, 0), (top << 31, 0), (top << 31 | 1, 1), (top << 31 | top, 1)):
        source = Given([least, 5 << 31, more])
        assert spline_rounding(np.array([[place, place]]), np.full(2, low), step, source)[0, 0] == wanted
    third = np.nextafter(
        1.0, 2.0
    )  # the place is an ulp beyond: it decides, far below the bits that are drawn
    for point, wanted in ((third, 1), (1.0, 1), (np.nextafter(1.0, 0.0), 0)):
        source = Given([(half // 2) << 31, 5 << 31, 0])
        assert spline_rounding(np.array([[point, 1.0]]), np.zeros(2), 1.0, source)[0, 0] == wanted


@pytest.mark.parametrize(
    ("epsilon", "step", "rows"), [(1.0, 0.125, 100), (0.3, 0.1, 700), (5.0, 1.0, 3), (2.0, 3.0, 40)]
)
def test_weights_use_the_bits_and_reach_their_floor(epsilon, step, rows):
    table = radial_weights(epsilon, step, rows, rows)
    assert 0.999 * 2**62 < table.total <= 2**62
    assert table.weights[-2] > table.weights[-1] == table.floor
    assert table.floor * table.cells <= 2.0**-13 * 2**62


@pytest.mark.parametrize(
    ("epsilon", "beta", "step", "tight"),
    [(2.0, 0.1, None, 0.9), (2.0, 0.3, 1.0, 0.4), (5.0, 0.01, 0.11, 0.7)],
)
def test_the_radius_is_exceeded_about_as_often_as_beta(epsilon, beta, step, tight):
    """By people on the lattice, between its places and on the border; on fine ones hardly less."""
    mechanism, most = PlanarLattice(epsilon, [0, 0, 20.3, 20.3], step, beta), 0.0
    count = 40_000
    for number, part in enumerate((0.0, 0.25, 0.5)):
        middle = round(10 / mechanism.step)
        people = np.tile([[(middle + part) * mechanism.step, middle * mechanism.step]], (count, 1))
        distance = np.hypot(*(mechanism.randomize(people, rng=number) - people).T)
        most = max(most, (distance > mechanism.radius).mean())
        error = 5 * distance.std() / math.sqrt(count)
        assert mechanism.mean_distance * 0.9 - error <= distance.mean() <= mechanism.mean_distance + error
    assert most <= beta + 5 * math.sqrt(beta / count)  # wrong once in three million runs
    assert most >= tight * beta - 5 * math.sqrt(beta / count)
    corner = np.full((count, 2), 20.3)
    distance = np.hypot(*(mechanism.randomize(corner, rng=9) - corner).T)
    assert (distance > mechanism.radius).mean() <= beta + 5 * math.sqrt(beta / count)
    (interference,) = (c for c in mechanism.certificates() if c.property == "interference")
    assert interference.holds
    assert interference.exact


@pytest.mark.parametrize("beta", [1e-3, 1e-9])
def test_a_radius_that_the_even_part_exceeds_is_that_of_the_area(beta):
    mechanism = PlanarLattice(2.0, [0, 0, 3, 3], beta=beta)
    assert mechanism.interference().holds
    if beta < 2.0**-15:
        assert mechanism.radius >= math.hypot(3, 3)


def test_distances_bound_what_is_enumerated():
    """The bound for all places against the probabilities of some, in fractions."""
    mechanism = PlanarLattice(3.0, [0, 0, 4, 4], 1.0)
    for place in ((2.0, 2.0), (2.3, 1.9), (2.5, 2.5), (1.5, 2.25)):
        for radius in (0.75, 1.5, 2.2):
            far = sum(
                chance
                for (x, y), chance in chances(mechanism, place).items()
                if math.hypot(x - place[0], y - place[1]) > radius
            )
            assert far <= mechanism._distances.beyond(radius)


def largest_step(sample: np.ndarray, cumulative) -> float:
    """The Kolmogorov-Smirnov distance."""
    ordered = np.sort(sample)
    expected, count = cumulative(ordered), len(ordered)
    steps = np.arange(count + 1) / count
    return float(max((steps[1:] - expected).max(), (expected - steps[:-1]).max()))


SMALL = 1.95 / math.sqrt(50_000)
"""Exceeded with probability 0.001 by the right distribution."""


def test_planar_laplace_has_its_radius_and_an_even_direction():
    mechanism = PlanarLaplace(0.5)
    noise = mechanism.randomize(np.full((50_000, 2), 7.0), rng=11) - 7.0
    radius = 0.5 * np.hypot(*noise.T)
    assert largest_step(radius, lambda r: 1 - (1 + r) * np.exp(-r)) < SMALL
    assert largest_step(np.arctan2(*noise.T), lambda angle: (angle + math.pi) / (2 * math.pi)) < SMALL
    assert mechanism.mean_distance == 4.0


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
    original = opened(path)
    for key, value in original["content"].items():
        for number in range(len(value)) if isinstance(value, list) else [None]:
            document = json.loads(json.dumps(original))
            place = document["content"] if number is None else document["content"][key]
            old = value if number is None else value[number]
            place[key if number is None else number] = old + 1 if isinstance(old, int) else old + 0.001
            path.write_text(json.dumps(document))
            with pytest.raises(MechDesignError, match="rebuild it"):
                load_mechanism(path)


def test_weights_that_are_not_private_are_refused():
    mechanism = PlanarLattice(8.0, AREA, 0.25)
    content = mechanism.content()
    content["weights"][1] += content["weights"][1] // 10
    content["weights"] = [weight // 2 for weight in content["weights"]]
    with pytest.raises(CertificateError, match="not private as stated"):
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


@pytest.mark.parametrize(("step", "text"), [(0.0, "step"), (1e-4, "too fine"), (2.0, "give at most 1")])
def test_impossible_steps_are_refused(step, text):
    with pytest.raises(ParameterError, match=text):
        PlanarLattice(2.0, AREA, step)


def test_clipping_moves_points_into_the_area_and_reports_stay_in_it():
    for mechanism in (PlanarLattice(8.0, AREA, 0.25), PlanarLaplace(2.0, 0.1, AREA)):
        reports = mechanism.randomize([[9.0, -9.0]] * 1000, rng=1, clip=True)
        assert reports.shape == (1000, 2)
        assert ((reports >= 0) & (reports <= 1)).all()
        assert mechanism.randomize(np.zeros((0, 2))).shape == (0, 2)
