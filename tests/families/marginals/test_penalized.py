"""Marginals as sums of one penalized distribution: consistency, errors, clusters, choice of the penalty."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.papers.rivals import make_consistent, maximum_entropy, non_negative
from mechdesign.families.marginals.penalized import PENALTIES, TIED, PenalizedTables, read_penalty
from mechdesign.families.marginals.views import Observed, effect_errors

SIZES = [2, 3, 2, 2]
VIEWS = [(0, 1), (1, 2), (2, 3), (0, 3)]


def people(users: int, sizes: list[int], seed: int) -> np.ndarray:
    """Return values that go together: a hidden trait shifts all of them."""
    rng = np.random.default_rng(seed)
    trait = rng.random(users)
    return np.column_stack(
        [np.minimum((0.6 * trait + 0.4 * rng.random(users)) * size, size - 1).astype(int) for size in sizes]
    )


def truth(data: np.ndarray, places: tuple[int, ...], sizes: list[int]) -> np.ndarray:
    shape = [sizes[place] for place in places]
    cells = np.ravel_multi_index(data[:, places].T, shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape) / len(data)


def test_all_marginals_are_sums_of_one_positive_table():
    release = MarginalRelease.of(SIZES, VIEWS, 1.5)
    found = release.estimate(release.randomize(people(4000, SIZES, 1), rng=1))
    whole = found.marginal([0, 1, 2, 3]).value
    assert whole.min() > 0.0
    for count in (1, 2, 3):
        for places in combinations(range(4), count):
            rest = tuple(axis for axis in range(4) if axis not in places)
            assert found.marginal(places).value == pytest.approx(whole.sum(axis=rest), abs=1e-12)
    turned = found.marginal([2, 0])
    assert turned.value == pytest.approx(found.marginal([0, 2]).value.T)
    assert not turned.contained
    assert [item.property for item in found.certificates()] == ["estimate", "distribution", "consistency"]
    assert all(item.holds for item in found.certificates())
    assert found.synthetic.links[0].chances.ravel() == pytest.approx(whole.ravel())


def test_the_estimate_is_closer_than_tables_that_agree_in_pairs():
    """Mean squared error of triples of six attributes, three collections with fixed seeds.

    Few users and strong dependence: the default penalty is too strong here, and cross-validation finds that.
    """
    sizes, views = [2] * 6, list(combinations(range(6), 3))[::2]
    release, errors = MarginalRelease.of(sizes, views, 1.0), []
    for seed in range(3):
        data = people(6000, sizes, seed)
        found = release.estimate(release.randomize(data, rng=seed), penalty="cross-validated")
        assert found.marginal([0, 1]).penalty < 30.0
        tables = non_negative(found.views, found.unbiased, sizes, found.precision.tolist(), 1.0).tables
        for places in combinations(range(6), 3):
            exact = truth(data, places, sizes)
            pair = (found.marginal(places).value, maximum_entropy(places, found.views, tables, sizes))
            errors.append([float(((each - exact) ** 2).sum()) for each in pair])
    ours, pairwise = np.mean(errors, axis=0)
    assert ours < 0.8 * pairwise


def test_weighted_squares_of_errors_are_bounded_by_those_of_the_averages_and_the_penalty():
    """|E(p - t)|^2 <= |E t - y|^2 + 2 lambda KL(t || q) for the truth t, in every collection."""
    release = MarginalRelease.of(SIZES, VIEWS, 2.0)
    for seed in range(20):
        data = people(500, SIZES, seed)
        found = release.estimate(release.randomize(data, rng=seed), penalty=5.0)
        whole, exact = found.marginal([0, 1, 2, 3]).value.ravel(), truth(data, (0, 1, 2, 3), SIZES).ravel()
        transform, origin = found.observed.within((0, 1, 2, 3))
        mass, said = found.observed.mass[origin], found.observed.values[origin]
        reference, inside = found.observed.reference(range(4)), exact > 0.0
        entropy = float((exact[inside] * np.log(exact[inside] / reference[inside])).sum())
        apart = float(mass @ transform.forward(whole - exact) ** 2)
        noise = float(mass @ (transform.forward(exact) - said) ** 2)
        assert apart <= noise + 10.0 * entropy + 1e-6


def test_without_noise_and_penalty_views_keep_their_tables():
    rng = np.random.default_rng(3)
    law = rng.dirichlet(np.ones(24)).reshape(SIZES)
    tables = [law.sum(axis=tuple(axis for axis in range(4) if axis not in view)) for view in VIEWS]
    said = Observed(VIEWS, tables, SIZES, np.full(4, 1e9))
    for view, table in zip(VIEWS, tables, strict=True):
        assert PenalizedTables(said, 1e-3).marginal(view)[0] == pytest.approx(table, abs=1e-4)
    strong = PenalizedTables(said, 1e15).marginal((0, 1))[0]
    assert strong == pytest.approx(np.outer(law.sum(axis=(1, 2, 3)), law.sum(axis=(0, 2, 3))), abs=1e-4)


def test_averages_are_the_best_linear_ones():
    """Those of the pass over shared sets, which has no code in common."""
    release = MarginalRelease.of(SIZES, VIEWS, 1.0, shares=[1, 2, 3, 4])
    found = release.estimate(release.randomize(people(3000, SIZES, 2), rng=2))
    linear = make_consistent(found.views, found.unbiased, SIZES, found.precision.tolist(), 1.0)
    for place in (1, 2):
        assert found.observed.single(place) == pytest.approx(
            linear[1].sum(axis=1 if place == 1 else 0), abs=1e-12
        )


def test_too_many_attributes_are_fitted_in_clusters():
    sizes = [2] * 20
    views = [tuple(range(start, start + 4)) for start in range(0, 17, 2)]
    release = MarginalRelease.of(sizes, views, 4.0)
    data = people(20_000, sizes, 5)
    found = release.estimate(release.randomize(data, rng=5))
    assert not found.fitted.whole
    first, second = found.marginal([0, 1]), found.marginal([0, 1, 2])
    assert len(first.together) <= 12
    assert set(second.attributes) <= set(second.together)
    assert "too many to be fitted at once" in str(first)
    assert np.abs(first.value - truth(data, (0, 1), sizes)).max() < 0.05
    assert first.value == pytest.approx(second.value.sum(axis=2), abs=0.05)  # up to their errors
    rows = found.sample(500, rng=1)
    assert rows.shape == (500, 20)
    assert [item.property for item in found.certificates()] == ["estimate", "distribution"]


def test_cross_validation_penalizes_independent_answers_more():
    sizes, views = [2] * 6, list(combinations(range(6), 3))
    release, rng = MarginalRelease.of(sizes, views, 3.0), np.random.default_rng(6)
    alone, tied = rng.integers(0, 2, (20_000, 6)), np.repeat(rng.integers(0, 2, (20_000, 1)), 6, axis=1)
    found = [
        release.estimate(release.randomize(data, rng=6), penalty="cross-validated") for data in (alone, tied)
    ]
    chosen = [each.marginal([0, 1, 2]).penalty for each in found]
    assert chosen == [pytest.approx(300.0, rel=0.2), pytest.approx(10.0, rel=0.5)]
    assert found[0].marginal([0, 1, 2, 3]).penalty == 30.0  # in no view: not more than the default
    counters = [release.aggregator() for _ in range(3)]
    reports = release.randomize(tied, rng=6)
    counters[0].update(reports)
    for part, rows in zip(counters[1:], (slice(0, 9000), slice(9000, None)), strict=True):
        part.update(reports[rows])
    chosen_by_halves = counters[0].estimate(penalty="cross-validated", parts=counters[1:])
    assert chosen_by_halves.marginal([0, 1]).penalty == pytest.approx(10.0, rel=0.5)
    with pytest.raises(DataError, match="needs the counts of parts"):
        counters[0].estimate(penalty="cross-validated")
    with pytest.raises(DataError, match="do not make up the users"):
        counters[0].estimate(penalty="cross-validated", parts=counters[1:] * 2)


def test_a_spread_is_that_of_repeated_collections_near_the_estimate():
    """At even data, where penalized estimates are not biased: 100 collections, spread within 20 %."""
    release, rng = MarginalRelease.of([2, 2, 3], [(0, 1), (1, 2)], 2.0), np.random.default_rng(7)
    values, spreads = [], []
    for seed in range(100):
        data = np.column_stack([rng.integers(0, size, 2000) for size in (2, 2, 3)])
        found = release.estimate(release.randomize(data, rng=rng)).marginal([0, 1], spread=60 * (seed < 10))
        values.append(found.value)
        if seed < 10:
            spreads.append(found.spread)
            assert "spread" in str(found)
    measured = np.std(values, axis=0).mean()
    assert np.mean(spreads) == pytest.approx(measured, rel=0.2)


@pytest.mark.parametrize("given", [0, -1.0, "much", float("nan"), True, 1e12])
def test_a_penalty_that_is_none_is_refused(given):
    with pytest.raises(ParameterError, match="penalty: "):
        read_penalty(given)


@pytest.mark.parametrize(("seed", "epsilon"), [(1, 0.5), (2, 1.0), (3, 3.0), (4, 6.0)])
def test_the_penalty_that_is_chosen_is_among_those_that_predict_best(seed, epsilon):
    """By exact fits for every penalty, each from the beginning; the choice goes downhill by rough ones."""
    release = MarginalRelease.of(SIZES, VIEWS, epsilon)
    found = release.estimate(
        release.randomize(people(20_000, SIZES, seed), rng=seed), penalty="cross-validated"
    )
    scores = []
    for penalty in PENALTIES:
        total = 0.0
        for others, own in found.parts:
            table = PenalizedTables(others.observed, penalty).marginal((0, 1, 2, 3))[0]
            transform, origin = own.observed.within((0, 1, 2, 3))
            missed = transform.forward(table.ravel()) - own.observed.values[origin]
            total += float(own.observed.mass[origin] @ missed**2)
        scores.append(total)
    alike = [penalty for penalty, score in zip(PENALTIES, scores, strict=True) if score < min(scores) + TIED]
    assert min(alike) <= found.marginal((0, 1)).penalty <= max(alike)
    best = PENALTIES[int(np.argmin(scores))]
    assert abs(np.log(found.marginal((0, 1)).penalty / best)) < np.log(3.4) / 2.0 + 1e-9


def test_what_a_part_says_in_effects_numbered_already_is_what_it_says_by_itself():
    release = MarginalRelease.of(SIZES, VIEWS, 1.0, shares=[1, 2, 3, 4])
    found = release.estimate(release.randomize(people(3000, SIZES, 2), rng=2), penalty="cross-validated")
    for fold, (others, own) in zip(found.fitted.folds, found.parts, strict=True):
        for said, part in ((fold.others, others), (fold.own, own)):
            assert said is not part.observed
            assert np.array_equal(said.values, part.observed.values)
            assert np.array_equal(said.mass, part.observed.mass)


def test_the_error_of_averaged_effects_is_that_of_the_views():
    """From masses of coordinates, and from the views' precisions; the attributes in any order."""
    release = MarginalRelease.of(SIZES, VIEWS, 1.0, shares=[1, 2, 3, 4])
    found = release.estimate(release.randomize(people(3000, SIZES, 2), rng=2))
    for places in [(0,), (1, 0), (0, 2), (3, 1, 2), (0, 1, 2, 3)]:
        expected = effect_errors(sorted(places), found.views, SIZES, found.precision.tolist())
        assert found.observed.error(places) == pytest.approx(expected, rel=1e-12)
