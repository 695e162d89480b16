"""Many attributes: sampling, both estimators, composition, and tables that do not fit."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mechdesign.collect import load_mechanism
from mechdesign.core.errors import CertificateError, DataError, ModelFileError, ParameterError
from mechdesign.core.validation import as_written
from mechdesign.exact.randomness import bit_source
from mechdesign.families.mean import (
    AttributeAggregator,
    AttributeSampling,
    CensoringInterval,
    DiscretePiecewise,
    Duchi,
    Harmony,
    Hybrid,
    Laplace,
    Piecewise,
    SquareWave,
)
from mechdesign.families.mean.attribute_tables import draw_attributes
from mechdesign.families.mean.attributes import epsilon_share

KINDS = [Laplace, Duchi, Piecewise, Hybrid, SquareWave, DiscretePiecewise]


def data(users, attributes, seed=0):
    generator = np.random.default_rng(seed)
    return generator.uniform(-1, 1, (users, attributes)) * np.linspace(0.2, 1.0, attributes)


@pytest.mark.parametrize(("attributes", "per_user"), [(1, 1), (5, 1), (5, 2), (5, 5), (7, 3)])
def test_every_subset_is_equally_likely(attributes, per_user):
    drawn = draw_attributes(60_000, attributes, per_user, bit_source(1))
    assert all(len(set(row)) == per_user for row in drawn[:500].tolist())
    sets, counts = np.unique((1 << drawn).sum(axis=1), return_counts=True)
    number = math.comb(attributes, per_user)
    assert len(sets) == number
    if number == 1:
        return
    expected = 60_000 / number
    chi_square = ((counts - expected) ** 2 / expected).sum()
    degrees = number - 1
    assert chi_square < degrees + 5 * math.sqrt(2 * degrees)


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-3, 50.0), st.integers(1, 50))
def test_the_share_of_epsilon_is_the_largest_that_adds_up(epsilon, parts):
    share = epsilon_share(epsilon, parts)
    above = math.nextafter(share, math.inf)
    assert all(read(share) * parts <= read(epsilon) for read in (Fraction, as_written))
    assert any(read(above) * parts > read(epsilon) for read in (Fraction, as_written))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("per_user", [1, 3])
@pytest.mark.parametrize("estimator", ["self-normalized", "scaled"])
def test_means_of_all_columns_are_within_their_errors(kind, per_user, estimator):
    values = data(60_000, 6)
    mechanism = AttributeSampling.of(kind, 3.0, 6, per_user, estimator=estimator)
    found = mechanism.estimate(mechanism.randomize(values, rng=3))
    scores = (found.value - values.mean(axis=0)) / found.standard_error
    assert np.abs(scores).max() < 4.5
    assert found.users == 60_000
    assert found.reports.sum() == 60_000 * per_user


@pytest.mark.parametrize("estimator", ["self-normalized", "scaled"])
@pytest.mark.parametrize("kind", [Duchi, CensoringInterval.symmetric, DiscretePiecewise])
def test_spread_over_repetitions_is_the_predicted_variance(estimator, kind):
    """300 repetitions: the variance is known to 4 sqrt(2/300) = 33 % at four standard deviations."""
    users, size, x = 600, 4, 0.3
    mechanism = AttributeSampling(kind(1.0), size, estimator=estimator)
    generator = np.random.default_rng(8)
    values = np.full((users, size), x)
    found = [mechanism.estimate(mechanism.randomize(values, rng=generator)) for _ in range(75)]
    spread = np.array([estimate.value for estimate in found])
    predicted = mechanism.variance(x, users)
    assert spread.var() == pytest.approx(predicted, rel=0.35)
    assert spread.mean() == pytest.approx(x, abs=4 * math.sqrt(predicted / 300))
    errors = np.array([estimate.standard_error for estimate in found])
    assert (errors**2).mean() == pytest.approx(predicted, rel=0.1)


def test_scaled_interval_is_the_formula_of_the_paper():
    """Algorithm 6 scales counts: n Var = (mu + a)(m(1 + a + b) - mu - a)."""
    single = CensoringInterval.from_interval(0.2, 0.7, 2.0)
    mechanism = AttributeSampling(single, 36, estimator="scaled")
    a, b, mu = 0.4, 0.6, 0.5
    assert mechanism.variance(mu, 1) == pytest.approx((mu + a) * (36 * (1 + a + b) - mu - a), rel=1e-9)
    normalized = AttributeSampling(single, 36)
    assert normalized.variance(mu, 1) == pytest.approx(36 * (mu + a) * (1 - mu + b), rel=1e-9)


def test_the_private_interval_beats_the_published_optimum_at_the_papers_size():
    """Notes: m = 36, mu = 1/2, self-normalised; the published one has a = 1/(e^eps - 1), b = 0, scaled."""
    for epsilon in (0.1, 0.5, 1.0, 2.0, 5.0):
        mechanism = AttributeSampling(CensoringInterval.symmetric(epsilon), 36)
        a = 1 / math.expm1(epsilon)
        published = (0.5 + a) * (36 * (1 + a) - 0.5 - a)
        assert mechanism.variance(0.5, 1) < published


def test_harmony_is_duchi_times_m():
    mechanism = Harmony(1.0, 5)
    size = 1 / math.tanh(0.5)
    reports = mechanism.randomize(data(40_000, 5), rng=1)
    found = mechanism.estimate(reports)
    for column in range(5):
        signs = 2.0 * reports["report"][reports["attribute"] == column] - 1.0
        assert found.value[column] == pytest.approx(5 * size * signs.sum() / 40_000, rel=1e-9)
    assert mechanism.variance(0.2, 10) == pytest.approx((5 * size**2 - 0.04) / 10, rel=1e-9)


def test_columns_with_ranges_of_their_own():
    low, high = [0.0, -5.0, 100.0], [1.0, 5.0, 300.0]
    generator = np.random.default_rng(0)
    values = generator.uniform(low, high, (50_000, 3))
    mechanism = AttributeSampling(Duchi(3.0), ["a", "b", "c"], low=low, high=high)
    found = mechanism.estimate(mechanism.randomize(values, rng=1))
    assert (np.abs(found.value - values.mean(axis=0)) < 4.5 * found.standard_error).all()
    assert found.standard_error[2] / found.standard_error[0] == pytest.approx(200.0, rel=0.1)


def test_privacy_composes_over_the_reports_of_a_user():
    mechanism = AttributeSampling.of(DiscretePiecewise, 1.0, 9, 3)
    privacy, bias = mechanism.certificates()
    assert privacy.holds
    assert privacy.exact
    assert privacy.figures["true_epsilon"] <= 1.0
    assert privacy.figures["true_epsilon"] > 0.999
    assert bias.property == "unbiased"
    too_much = AttributeSampling(Duchi(0.5), 9, 3, epsilon=1.0)
    assert not too_much.certificates()[0].holds


def test_a_file_that_promises_too_much_is_refused(tmp_path):
    path = tmp_path / "m.json"
    AttributeSampling(Duchi(0.5), 9, 3, epsilon=1.0).save(path)
    with pytest.raises(CertificateError, match="privacy: FAILS"):
        load_mechanism(path)


@pytest.mark.parametrize(
    "mechanism",
    [
        Harmony(1.0, ["a", "b"], 0.0, [1.0, 2.0]),
        AttributeSampling.of(Piecewise, 4.0, 3, 2, estimator="scaled"),
    ],
)
def test_files_and_sums_round_trip(mechanism, tmp_path):
    path = tmp_path / "m.json"
    mechanism.save(path)
    loaded = load_mechanism(path)
    assert type(loaded) is type(mechanism)
    values = np.abs(data(500, mechanism.size))
    reports = loaded.randomize(values, rng=2)
    assert (reports == mechanism.randomize(values, rng=2)).all()
    whole = mechanism.estimate(reports)
    half = len(reports) // 2
    merged = mechanism.aggregator()
    for part in (reports[half:], reports[:half]):
        sums = loaded.aggregator()
        sums.update(part)
        merged.merge(AttributeAggregator.from_json(mechanism, json.loads(json.dumps(sums.as_json()))))
    assert (merged.estimate().value == whole.value).all()
    assert (merged.estimate().standard_error == whole.standard_error).all()
    with pytest.raises(DataError, match="different mechanism"):
        merged.merge(Harmony(2.0, 2).aggregator())


def test_an_attribute_that_nobody_reported_has_the_whole_range_and_a_note():
    mechanism = AttributeSampling(Duchi(1.0), ["steps", "pulse", "sleep"], low=0.0, high=[1.0, 5.0, 2.0])
    reports = mechanism.randomize(np.abs(data(300, 3)), rng=1)
    found = mechanism.estimate(reports[reports["attribute"] != 1])
    low, high = found.interval()
    assert (found.value[1], found.standard_error[1], low[1], high[1]) == (2.5, 2.5, 0.0, 5.0)
    assert found.notes == ("no user reported 'pulse': the interval is the whole range, the value its middle",)
    assert "note: no user reported 'pulse'" in str(found)
    assert found.as_json()["notes"] == list(found.notes)
    whole = mechanism.estimate(reports)
    assert whole.notes == ()
    assert (found.value[[0, 2]] == whole.value[[0, 2]]).all()
    with pytest.raises(DataError, match="there are none"):
        mechanism.estimate(reports[:0])


def test_tables_that_do_not_fit():
    mechanism = AttributeSampling(Duchi(1.0), ["steps", "pulse"])
    good = data(5, 2)
    cases = {
        "3 columns for 2 attributes": data(5, 3),
        "1 dimension": [0.5, 0.5],
        "row 4, column 'pulse': NaN": np.where(np.arange(10).reshape(5, 2) == 7, np.nan, good),
        "row 2, column 'steps': 3 is outside [-1, 1]": np.where(np.arange(10).reshape(5, 2) == 2, 3.0, good),
        "row 1: 'x' is not a number": [["x", 1.0]],
    }
    for text, values in cases.items():
        with pytest.raises(DataError) as caught:
            mechanism.randomize(values, rng=1)
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)
    far = np.where(np.arange(10).reshape(5, 2) == 2, 3.0, good)
    assert len(mechanism.randomize(far, rng=1, clip=True)) == 5


def test_a_bad_row_far_down_is_found_whoever_reports_it():
    values = data(20_000, 3)
    values[17_000, 1] = 1.5
    for seed in range(3):
        with pytest.raises(DataError, match="row 17001, column '1'"):
            AttributeSampling(Duchi(1.0), 3).randomize(values, rng=seed)


def test_reports_that_are_none():
    mechanism = AttributeSampling.of(Duchi, 1.0, 3, 2)
    reports = mechanism.randomize(data(10, 3), rng=1)
    sums = mechanism.aggregator()
    with pytest.raises(DataError, match="fields 'attribute' and 'report'"):
        sums.update([0, 1])
    with pytest.raises(DataError, match="not 2 for each user"):
        sums.update(reports[:3])
    reports["attribute"][0] = 3
    with pytest.raises(DataError, match="attribute: row 1"):
        sums.update(reports)
    assert sums.users == 0


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: AttributeSampling(Duchi(1.0), 3, 4), "per_user"),
        (lambda: AttributeSampling(Duchi(1.0), 0), "attributes"),
        (lambda: AttributeSampling(Duchi(1.0), ["a", "a"]), "appears twice"),
        (lambda: AttributeSampling(Duchi(1.0), 2, low=[0.0], high=1.0), "give one for each"),
        (lambda: AttributeSampling(Duchi(1.0), 2, low=1.0, high=[2.0, 0.5]), "low < high"),
        (lambda: AttributeSampling(Duchi(1.0), 2, estimator="best"), "estimator"),
        (lambda: AttributeSampling("duchi", 2), "inner"),
    ],
)
def test_impossible_designs_are_refused(build, text):
    with pytest.raises(ParameterError, match=text):
        build()


def test_an_inner_mechanism_of_unknown_type_is_a_damaged_file(tmp_path):
    path = tmp_path / "m.json"
    AttributeSampling(Duchi(1.0), 2).save(path)
    document = json.loads(path.read_text())
    document["content"]["inner"]["type"] = "nothing"
    path.write_text(json.dumps(document))
    with pytest.raises((CertificateError, ModelFileError)):
        load_mechanism(path)


def test_estimates_print_and_become_json():
    mechanism = AttributeSampling(Duchi(1.0), ["steps", "pulse"])
    found = mechanism.estimate(mechanism.randomize(data(400, 2), rng=1))
    assert "pulse" in str(found)
    assert found.as_json()["attributes"] == ["steps", "pulse"]
    narrow, wide = found.interval(0.9), found.interval(0.9, simultaneous=True)
    assert (wide[1] > narrow[1]).all()
