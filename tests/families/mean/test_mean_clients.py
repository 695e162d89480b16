"""Every mean mechanism: unbiased, intervals that cover, sums that merge, files, bad input."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mechdesign.collect import load_mechanism
from mechdesign.core.errors import DataError, MechDesignError, ParameterError
from mechdesign.exact.randomness import SystemSource
from mechdesign.families.mean import (
    CensoringInterval,
    DiscretePiecewise,
    Duchi,
    Hybrid,
    Laplace,
    Piecewise,
    SquareWave,
)
from mechdesign.families.mean.means import MeanAggregator
from mechdesign.families.mean.tally import FloatTally
from tests.support.statistics import ends_are_where_the_reach_ends, reaches, surveys

KINDS = [Laplace, Duchi, Piecewise, Hybrid, SquareWave, DiscretePiecewise, CensoringInterval.symmetric]
RANGES = [(-1.0, 1.0), (0.0, 1.0), (35.0, 42.5)]
TOLD = ("laplace", "piecewise", "hybrid", "square-wave")
"""Whose reports tell the average square of the users' values, so that intervals at hand are not too wide."""

FORMULA = [Laplace, Duchi, Piecewise, Hybrid, SquareWave, DiscretePiecewise]


def users(count, low, high, seed):
    """Values with mass at both ends and a skewed middle."""
    generator = np.random.default_rng(seed)
    values = low + (high - low) * generator.beta(0.5, 1.5, count)
    values[: count // 10] = low
    values[-count // 10 :] = high
    return values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bounds", RANGES)
@pytest.mark.parametrize("epsilon", [0.7, 3.0])
def test_average_of_reports_of_one_value_is_that_value(kind, bounds, epsilon):
    """200 000 users with one value: within 5 exact standard errors, and the spread is the formula."""
    mechanism = kind(epsilon, *bounds)
    for seed, share in enumerate((0.0, 0.37, 1.0)):
        x = bounds[0] + share * (bounds[1] - bounds[0])
        estimate = mechanism.estimate(mechanism.randomize(np.full(200_000, x), rng=seed), population=True)
        predicted = math.sqrt(mechanism.variance(x) / 200_000)
        assert abs(estimate.value - x) < 5 * predicted
        assert estimate.standard_error == pytest.approx(predicted, rel=0.05)


@pytest.mark.parametrize("kind", [Laplace, Piecewise, Hybrid, SquareWave])
@pytest.mark.parametrize("x", [35.0, 38.0, 42.5])
def test_reports_have_the_density_that_is_audited(kind, x):
    """400 000 reports in 60 bins: chi-square below its mean + 6 standard deviations."""
    mechanism = kind(1.5, 35.0, 42.5)
    reports = mechanism.randomize(np.full(400_000, x), rng=12)
    atoms = np.array(getattr(mechanism, "atoms", ()))
    at_atoms = np.array([(reports == atom).sum() for atom in atoms])
    if len(atoms):
        expected = 400_000 * np.exp(mechanism.log_density(np.array([x]), atoms))
        assert (np.abs(at_atoms - expected) < 6 * np.sqrt(expected)).all()
    smooth = reports[~np.isin(reports, atoms)]
    edges = np.quantile(smooth, np.linspace(0.0, 1.0, 61))
    fine = (np.arange(2000) + 0.5) / 2000
    units = mechanism.domain.width if kind is SquareWave else 1.0
    masses = [
        np.exp(mechanism.log_density(np.array([x]), start + fine * (end - start))).mean()
        * (end - start)
        / units
        for start, end in pairwise(edges.tolist())
    ]
    counts = np.histogram(smooth, bins=edges)[0]
    expected = 400_000 * np.array(masses)
    assert ((counts - expected) ** 2 / expected).sum() < 60 + 6 * math.sqrt(120)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("population", [False, True])
def test_intervals_cover(kind, population):
    """200 repetitions at level 0.9: at least 0.9 less 4 standard deviations of a binomial share.

    For the users at hand the interval may be conservative where the reports do not tell enough; else it
    must not be by more than the same 4 standard deviations. The ends of the interval are searched for in a
    few of the repetitions, and are where the test of a hypothesis changes its answer.
    """
    repetitions, count, level = 200, 400, 0.9
    mechanism = kind(1.5, 0.0, 1.0)
    generator = np.random.default_rng(11)
    fixed = users(count, 0.0, 1.0, 3)
    wanted = 0.25 if population else fixed.mean()
    drawn = generator.beta(0.5, 1.5, (repetitions, count)) if population else [fixed] * repetitions
    covered = 0
    for repetition, reports in enumerate(surveys(mechanism, drawn, generator)):
        estimate = mechanism.estimate(reports, population)
        covered += bool(reaches(estimate, wanted, level))
        if repetition % 50 == 0:
            assert ends_are_where_the_reach_ends(estimate, level)
    slack = 4 * math.sqrt(level * (1 - level) / repetitions)
    assert covered / repetitions > level - slack
    if population or mechanism.type in TOLD:
        assert covered / repetitions < level + slack


@pytest.mark.parametrize("kind", KINDS)
def test_merging_in_any_order_gives_the_same_last_bit(kind):
    mechanism = kind(1.0, -1.0, 1.0)
    reports = mechanism.randomize(users(150_000, -1.0, 1.0, 1), rng=2)
    whole = mechanism.estimate(reports)
    order = np.random.default_rng(0).permutation(len(reports))
    parts = [mechanism.aggregator() for _ in range(7)]
    for part, piece in zip(parts, np.array_split(reports[order], 7), strict=True):
        part.update(piece)
    for first in (0, 6):
        merged = mechanism.aggregator()
        for part in parts[first:] + parts[:first]:
            restored = MeanAggregator.from_json(mechanism, json.loads(json.dumps(part.as_json())))
            merged.merge(restored)
        assert merged.users == 150_000
        assert merged.estimate() == whole


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=50), st.floats(-5.0, 5.0))
def test_float_sums_are_exact_for_the_rounded_reports(reports, centre):
    from fractions import Fraction

    tally = FloatTally(1, centre, 10.0)
    tally.add(tally.check(reports))
    step = tally.resolution
    whole = [int(np.rint((report - centre) / float(step))) for report in reports]
    moments = tally.moments()
    assert moments.total == sum(whole) * step
    assert moments.square == sum(number**2 for number in whole) * step**2
    exact = sum((Fraction(report) - Fraction(centre) for report in reports), Fraction(0))
    assert abs(moments.total - exact) <= len(reports) * step


@pytest.mark.parametrize("kind", FORMULA)
def test_files_round_trip_and_draw_the_same_reports(kind, tmp_path):
    mechanism = kind(1.0, 35.0, 42.5)
    path = tmp_path / "m.json"
    mechanism.save(path)
    loaded = load_mechanism(path)
    assert loaded.fingerprint == mechanism.fingerprint
    values = users(1000, 35.0, 42.5, 4)
    assert (loaded.randomize(values, rng=9) == mechanism.randomize(values, rng=9)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_system_source_and_odd_sizes_work(kind):
    mechanism = kind(1.0, 0.0, 1.0)
    assert len(mechanism.randomize([])) == 0
    assert len(mechanism.randomize(np.full(65_537, 0.5))) == 65_537
    reports = mechanism.draw(np.array([0.0, 0.5, 1.0]), SystemSource())
    assert len(mechanism.tally().check(reports)) == 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.01, 60.0, 700.0])
def test_extreme_epsilon_stays_inside_what_the_server_accepts(kind, epsilon):
    mechanism = kind(epsilon, 0.0, 1.0)
    values = users(20_000, 0.0, 1.0, 5)
    estimate = mechanism.estimate(mechanism.randomize(values, rng=6))
    moments = mechanism.tally().moments()
    allowed = 5 * math.sqrt(mechanism.worst_variance() / 20_000) + float(moments.rounding * mechanism.slope)
    assert abs(estimate.value - values.mean()) < allowed
    assert all(certificate.holds for certificate in mechanism.certificates())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.0, 1e-200])
def test_an_epsilon_that_overflows_is_one_clear_line(kind, epsilon):
    with pytest.raises(ParameterError, match="larger epsilon") as caught:
        kind(epsilon, 0.0, 1.0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("epsilon", [701.0, 1e300])
def test_an_epsilon_beyond_all_noise_is_refused_or_runs(epsilon):
    for kind in (Laplace, Piecewise, Hybrid, SquareWave):
        with pytest.raises(ParameterError, match="smaller epsilon"):
            kind(epsilon, 0.0, 1.0)
    for exact in (Duchi(epsilon), DiscretePiecewise(epsilon)):
        assert all(certificate.holds for certificate in exact.certificates())


@pytest.mark.parametrize("kind", KINDS)
def test_bad_values_name_the_row_and_the_remedy(kind):
    mechanism = kind(1.0, 0.0, 1.0)
    cases = {
        "row 2: 1.5 is outside [0, 1]": [0.5, 1.5],
        "row 1: -0.1 is outside [0, 1] (2 such values)": [-0.1, -0.1, 0.5],
        "row 3: NaN": [0.1, 0.2, math.nan],
        "row 2: 'x' is not a number": ["0.5", "x"],
        "2 dimensions": [[0.5]],
        "inf is outside": [math.inf],
    }
    for text, values in cases.items():
        with pytest.raises(DataError) as caught:
            mechanism.randomize(values, rng=1)
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="clip=True"):
        mechanism.randomize([2.0])
    with pytest.raises(DataError, match="NaN"):
        mechanism.randomize([math.nan], clip=True)
    clipped = mechanism.randomize([2.0, -math.inf, 0.3], rng=1, clip=True)
    assert (clipped == mechanism.randomize([1.0, 0.0, 0.3], rng=1)).all()
    assert len(mechanism.randomize(["0.25", "1"], rng=1)) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_bad_reports_and_foreign_sums_are_refused(kind):
    mechanism, other = kind(1.0, 0.0, 1.0), kind(1.25, 0.0, 1.0)
    with pytest.raises(DataError, match="there are none"):
        mechanism.estimate([])
    sums = mechanism.aggregator()
    for reports in ([math.nan], [1e9], ["a"]):
        with pytest.raises(DataError, match="row 1"):
            sums.update(reports)
    assert sums.users == 0
    with pytest.raises(DataError, match="different mechanism"):
        sums.merge(other.aggregator())
    with pytest.raises(DataError, match="different mechanism"):
        MeanAggregator.from_json(other, sums.as_json())
    sums.update(mechanism.randomize([0.2, 0.4], rng=1))
    document = sums.as_json()
    for damage in (-1, 0.5, True):
        document["sums"][0][0] = damage
        with pytest.raises(DataError, match="damaged"):
            MeanAggregator.from_json(mechanism, document)


@pytest.mark.parametrize(
    ("low", "high"), [(1.0, 1.0), (2.0, 1.0), (0.0, math.inf), (-1e308, 1e308), (math.nan, 1.0)]
)
def test_impossible_ranges_are_refused(low, high):
    with pytest.raises(ParameterError, match=r"low|high"):
        Duchi(1.0, low, high)


@pytest.mark.parametrize("seed", [-1, "a", 1.5, True])
def test_impossible_seeds_are_refused(seed):
    with pytest.raises(MechDesignError, match="rng"):
        Duchi(1.0).randomize([0.0], rng=seed)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0, 8.0])
def test_error_at_hand_of_a_grid_is_between_the_truth_and_the_empirical_one(epsilon):
    """A million users: the estimated variance is known to far better than 2 %."""
    mechanism = DiscretePiecewise(epsilon, 0.0, 1.0)
    values = users(1_000_000, 0.0, 1.0, 2)
    reports = mechanism.randomize(values, rng=1)
    at_hand = mechanism.estimate(reports).standard_error ** 2 * 1e6
    empirical = mechanism.estimate(reports, population=True).standard_error ** 2 * 1e6
    truth = mechanism.variance(values).mean()
    assert truth * 0.98 < at_hand <= empirical
    # What the reports cannot tell: where between two knots a value lies, at most (gap/2)^2; and below
    # epsilon = 2 the second moments depend on the value too little to tell its square.
    if epsilon >= 4.0:
        assert at_hand < 1.02 * (truth + (np.diff(mechanism.knots).max() / 2) ** 2)


def test_one_report_has_a_finite_error_where_the_formula_gives_it():
    assert math.isfinite(Duchi(1.0).estimate([1]).standard_error)
    assert Laplace(1.0).estimate([0.3]).standard_error == pytest.approx(math.sqrt(8.0))
    assert Piecewise(1.0).estimate([0.3]).standard_error > 1.0
    agreeing = CensoringInterval.symmetric(1.0).estimate([1] * 10)
    assert agreeing.standard_error > 0.2
    silent = CensoringInterval.from_interval(0.0, 0.1, 0.5, 0.1).estimate([0] * 9)
    assert silent.value == 0.0
    assert silent.standard_error == pytest.approx(math.sqrt(0.1 * 0.9 / 9) / 0.1)


def test_estimates_print_and_become_json():
    estimate = Duchi(1.0).estimate([0, 1, 1, 1])
    assert "4 reports" in str(estimate)
    document = estimate.as_json()
    assert document["low"] < document["value"] < document["high"]
    with pytest.raises(ParameterError, match="level"):
        estimate.interval(1.5)
