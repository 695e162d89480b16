"""Estimates from one-hot reports: honest errors, marginals, conditionals, the bootstrap, linked reports."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from mechdesign.collect.intervals import tail_of
from mechdesign.core.errors import DataError, EstimationError, ParameterError
from mechdesign.families.joint import JointResponse, JointTable
from mechdesign.families.joint.repeated import sequence_chances
from tests.support.statistics import surveys

SIZES = [2, 3]


def small(**options) -> JointResponse:
    given = {"epsilon": 8.0, "redraw": 0.25, "keep": 0.75, "add": 0.25, "reports_per_user": 3, **options}
    return JointResponse.of(given.pop("sizes", SIZES), given.pop("epsilon"), **given)


def people(users: int) -> np.ndarray:
    """Return values of two attributes that depend on each other."""
    return np.tile([[0, 0], [0, 0], [0, 1], [1, 1], [1, 2]], (users // 5, 1))


QUICK = {"penalty": 100.0, "reference": "uniform"}
"""For tests of the unbiased shares, which no penalty changes: choosing one for each survey takes longest."""

TRUTH = np.array([[0.4, 0.2, 0.0], [0.0, 0.2, 0.2]])


def outside(table: JointTable, truth: np.ndarray, level: float) -> np.ndarray:
    """Return where the intervals of a level miss the truth, without searching for their ends."""
    return ~table.limits.reach(truth - table.unbiased, tail_of(level))


def rightly_often(events: list[np.ndarray], chance: float) -> bool:
    """Return whether each event, and all of them together, are as frequent as their chance.

    Each count may be off by 4 standard errors of its own. The average over all events is known better: its
    standard error is that of the averages of the repetitions.
    """
    rows = np.array(events, dtype=float).reshape(len(events), -1)
    each = 4 * math.sqrt(chance * (1 - chance) / len(rows))
    together = 4 * rows.mean(axis=1).std(ddof=1) / math.sqrt(len(rows))
    return bool((np.abs(rows.mean(axis=0) - chance) < each).all() and abs(rows.mean() - chance) < together)


def test_intervals_of_joint_cells_and_conditionals_cover():
    """Of unbiased estimates: 120 simulations of six cells each."""
    mechanism, values, rng = small(epsilon=12.0, redraw=0.1), people(1500), np.random.default_rng(3)
    repetitions = 120
    misses, given_misses, values_found = [], [], []
    for reports in surveys(mechanism, [values] * repetitions, rng):
        estimate = mechanism.estimate(reports, **QUICK)
        table = estimate.marginal([0, 1])
        misses.append(outside(table, TRUTH, 0.9))
        values_found.append(table.unbiased)
        given_misses.append(outside(estimate.conditional([0], [1]), TRUTH / TRUTH.sum(axis=0), 0.9))
    low, high = table.interval(0.9)
    assert (outside(table, TRUTH, 0.9) == ((low > TRUTH) | (high < TRUTH))).all()
    assert rightly_often(misses, 0.1)
    assert rightly_often(given_misses, 0.1)
    errors = np.std(values_found, axis=0, ddof=1) / math.sqrt(repetitions)
    assert (np.abs(np.mean(values_found, axis=0) - TRUTH) < 4.5 * errors).all()


def test_the_bootstrap_covers_inside_and_is_rough_at_the_border():
    """Normal intervals from bootstrap errors of likeliest shares that are well above 0."""
    mechanism, values, rng = small(epsilon=12.0, redraw=0.1), people(1500), np.random.default_rng(4)
    repetitions, hits = 25, []
    for reports in surveys(mechanism, [values] * repetitions, rng):
        table = mechanism.estimate(reports).marginal([0, 1], bootstrap=30)
        hits.append((np.abs(table.value - TRUTH) < 1.645 * table.spread)[TRUTH > 0])
    inside = np.array(hits)
    assert inside.mean(axis=0).min() > 0.9 - 4 * math.sqrt(0.1 * 0.9 / repetitions)
    together = inside.mean(axis=1).std(ddof=1) / math.sqrt(repetitions)
    assert inside.mean() > 0.9 - 4 * together


def test_likeliest_is_closer_than_unbiased_and_both_near():
    mechanism, values, rng = small(epsilon=12.0, redraw=0.1), people(2000), np.random.default_rng(5)
    distances = []
    for _ in range(20):
        table = mechanism.estimate(mechanism.randomize(values, rng=rng)).marginal([0, 1])
        distances.append([np.abs(found - TRUTH).sum() / 2 for found in (table.value, table.unbiased)])
    likeliest, unbiased = np.mean(distances, axis=0)
    assert likeliest < unbiased < 0.2


def test_marginals_and_conditionals_are_those_of_the_joint_table():
    mechanism = JointResponse.of([2, 3, 2], 15.0, redraw=0.1, keep=0.75, add=0.25, names=["a", "b", "c"])
    rng = np.random.default_rng(1)
    estimate = mechanism.estimate(mechanism.randomize(rng.integers(0, 2, (3000, 3)), rng=1))
    joint = estimate.value
    assert joint.sum() == pytest.approx(1.0)
    assert estimate.marginal(["c", "a"]).value == pytest.approx(joint.sum(axis=1).T)
    given = estimate.conditional(["b"], ["c"]).value
    assert given == pytest.approx(joint.sum(axis=0) / joint.sum(axis=(0, 1)))
    fewer = estimate.over(["b", "c"])
    assert fewer.value.shape == (3, 2)
    assert fewer.marginal(["b", "c"]).unbiased == pytest.approx(estimate.marginal(["b", "c"]).unbiased)
    with pytest.raises(ParameterError, match="attribute 'b' is asked for and given"):
        estimate.conditional(["b"], ["b"])
    with pytest.raises(EstimationError, match="attribute 'a' is not among b, c"):
        fewer.marginal(["a"])


# Several reports of the same users


def test_linked_reports_have_the_likelihood_of_the_definition():
    """Every sequence of two reports of three bits, in every cell."""
    mechanism = JointResponse.of([3], 8.0, redraw=0.25, keep=0.75, add=0.125, reports_per_user=2)
    rng = np.random.default_rng(1)
    tables = [np.packbits(rng.integers(0, 2, (40, 3)).astype(np.uint8), axis=1) for _ in range(2)]
    estimate = mechanism.estimate_linked(tables)
    point = np.array([0.2, 0.5, 0.3])
    h, share = 0.125, {1: 0.75, 0: 0.125}
    total = 0.0
    for rows in zip(*(np.unpackbits(table, axis=1, count=3) for table in tables), strict=True):
        chance = 0.0
        for cell, weight in enumerate(point):
            likely = weight
            for place in range(3):
                both = 0.0
                for kept in (0, 1):
                    noise = 1 - h if kept == (place == cell) else h
                    both += noise * math.prod(share[kept] if row[place] else 1 - share[kept] for row in rows)
                likely *= both
            chance += likely
        total -= math.log(chance) / 40
    assert estimate.model.value(estimate.model.densities(point)) == pytest.approx(total, rel=1e-12)
    sums = [
        sum(chances[sum(bits)] for bits in product((0, 1), repeat=2))
        for chances in sequence_chances(mechanism.weights, 2)
    ]
    assert sums == pytest.approx([1.0, 1.0])


def test_linked_reports_are_unbiased_with_honest_errors_and_better_than_one():
    mechanism, values, rng = small(epsilon=12.0, redraw=0.1), people(1000), np.random.default_rng(6)
    repetitions, misses, found, single = 80, [], [], []
    for _ in range(repetitions):
        clients = mechanism.remember(values, rng=rng)
        tables = [clients.report(rng=rng) for _ in range(3)]
        table = mechanism.estimate_linked(tables, **QUICK).marginal([0, 1])
        misses.append(outside(table, TRUTH, 0.9))
        found.append(table.unbiased)
        single.append(mechanism.estimate(tables[0], **QUICK).marginal([0, 1]).unbiased)
    assert rightly_often(misses, 0.1)
    errors = np.std(found, axis=0, ddof=1)
    assert (np.abs(np.mean(found, axis=0) - TRUTH) < 4.5 * errors / math.sqrt(repetitions)).all()
    assert (errors < 0.8 * np.std(single, axis=0, ddof=1)).all()


def test_linked_tables_that_do_not_belong_together_are_refused():
    mechanism = small()
    one, two = (mechanism.randomize([[0, 0]] * users, rng=1) for users in (5, 6))
    with pytest.raises(DataError, match="table 2 has 6 users, the first 5"):
        mechanism.estimate_linked([one, two])
    with pytest.raises(DataError, match="there are none"):
        mechanism.estimate_linked([])
    kept = JointResponse.of(
        [2, 3], 8.0, redraw=0.5, keep=1.0, add=0.0, reports_per_user=5
    )  # every report is what is kept
    with pytest.raises(DataError, match="contradict each other"):
        kept.estimate_linked([["x88"] * 3, ["x88", "x90", "x88"]])
    reports, likeliest = ["x88"] * 300 + ["x48"] * 100, {"estimator": "maximum-likelihood"}
    twice = kept.estimate_linked([reports] * 2, **likeliest)  # no more than the first report says
    assert twice.value == pytest.approx(kept.estimate(reports, **likeliest).value, abs=1e-4)


@pytest.mark.parametrize("population", [False, True])
def test_errors_are_those_of_the_users_at_hand_or_of_the_population(population):
    """With little noise the draw of the users is most of the variance.

    In 90 repetitions each variance, and their sum, whose error is that of the sums of squares.
    """
    mechanism, rng = (
        small(epsilon=16.0, redraw=0.0, keep=0.98, add=0.02, reports_per_user=1),
        np.random.default_rng(8),
    )
    values, repetitions = people(500), 90
    joint, given, errors = [], [], []
    drawn = rng.integers(0, len(values), (repetitions, len(values)))
    asked = values[drawn] if population else [values] * repetitions
    for reports in surveys(mechanism, asked, rng):
        estimate = mechanism.estimate(reports, population, **QUICK)
        tables = estimate.marginal([0, 1]), estimate.conditional([0], [1])
        joint.append(tables[0].unbiased)
        given.append(tables[1].unbiased)
        errors.append([table.standard_error**2 for table in tables])
    slack = 4.5 * math.sqrt(2.0 / repetitions)
    for found, claimed in zip((joint, given), np.mean(errors, axis=0), strict=True):
        measured = np.var(found, axis=0, ddof=1)
        places = (TRUTH > 0) & (TRUTH.sum(axis=0) > TRUTH)  # where a conditional share is neither 0 nor 1
        assert (np.abs(claimed / measured - 1.0)[places] < slack).all()
        squares = ((np.array(found) - np.mean(found, axis=0)) ** 2)[:, places].sum(axis=1)
        together = 4.5 * squares.std(ddof=1) / squares.mean() / math.sqrt(repetitions)
        assert abs(claimed[places].sum() / measured[places].sum() - 1.0) < together


def test_a_note_says_when_reports_do_not_tell_all_cells_apart():
    mechanism = JointResponse.of([3, 3], 8.0, redraw=0.2, keep=0.75, add=0.25)
    likeliest = {"estimator": "maximum-likelihood"}
    few = mechanism.estimate(["xd8"] * 5, **likeliest)  # of each attribute, the bits of two values
    assert few.unique is False
    assert "other joint distributions are as likely" in str(few.marginal([0, 1]))
    assert few.as_json()["unique"] is False
    many = mechanism.estimate(mechanism.randomize([[0, 0], [1, 1], [2, 2]] * 2000, rng=1), **likeliest)
    assert many.unique is True
    assert "as likely" not in str(many)


def test_a_joint_distribution_is_the_grid_of_its_marginal():
    """Also of attributes in another order, with the names of their values."""
    labels = [["no", "yes"], ["Graz", "Linz", "Wien"]]
    mechanism = small(names=["smoker", "city"], labels=labels)
    answers = [[labels[0][own], labels[1][other]] for own, other in people(500).tolist()]
    estimate = mechanism.estimate(mechanism.randomize(answers, rng=3), **QUICK)
    for names in (["smoker", "city"], ["city", "smoker"]):
        joint = estimate.over(names)
        assert joint.grids() == joint.marginal(names).grids()
        assert joint.labels == joint.marginal(names).labels
    assert list(estimate.grid()) == ["smoker", "city: Graz", "city: Linz", "city: Wien"]
