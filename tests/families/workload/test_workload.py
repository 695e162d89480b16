"""The mechanism of a workload: what is drawn, what is estimated, quantiles, files."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.values import changed
from mechdesign.data.intake import Intake
from mechdesign.exact.randomness import TOTAL, exp_lower
from mechdesign.families.workload import PatternWeights, WorkloadRelease
from mechdesign.families.workload.weights import DIGITS, RESERVE, audit_patterns, blank_weights

PREFIX = md.LinearQueries(workload={"name": "prefix", "size": 6}, epsilon=1.0)


@pytest.fixture(scope="module")
def mechanism() -> WorkloadRelease:
    return md.solve(PREFIX).mechanism()


def test_the_rows_are_exact_and_private(mechanism):
    rows = np.array([mechanism.weights.row(kind) for kind in range(6)], dtype=object)
    assert rows.sum(axis=1).tolist() == [TOTAL] * 6
    assert all(Fraction(int(row.max()), int(row.min())) <= exp_lower(1.0) for row in rows.T)
    audit = mechanism.audit()
    assert audit.holds
    assert audit.true_epsilon <= 1.0
    assert mechanism.weights.blank.max() < (RESERVE + 2.0 ** (1 - DIGITS)) * TOTAL
    assert mechanism.average_error == pytest.approx(13.58373302, rel=1e-7)


def test_a_weight_that_is_too_large_is_refused(mechanism):
    high = mechanism.weights.high.copy()
    high[0] += 2**40
    low = mechanism.weights.low.copy()
    low[0] -= 2**40
    damaged = PatternWeights(mechanism.weights.sets, low, high)
    with pytest.raises(md.CertificateError):
        WorkloadRelease(PREFIX.queries, 1.0, damaged)
    assert not audit_patterns(low, high, mechanism.weights.blank, 1.0).holds
    with pytest.raises(md.CertificateError, match="more than"):
        blank_weights(mechanism.weights.sets, low * 2, high * 2)


def test_estimates_are_unbiased_and_have_the_stated_error(mechanism):
    """160 surveys of 2000 users; the mean of the errors within 4 standard errors of 0 (8 comparisons)."""
    rng = np.random.default_rng(7)
    answers = rng.choice(6, size=2000, p=[0.3, 0.05, 0.1, 0.25, 0.2, 0.1])
    truth = mechanism.workload.rows @ np.bincount(answers, minlength=6) / 2000
    found = np.array(
        [mechanism.estimate(mechanism.draw(answers, mechanism.source(rng))).value for _ in range(160)]
    )
    error = mechanism.estimate(mechanism.draw(answers, mechanism.source(rng))).standard_error
    assert (np.abs(found.mean(axis=0) - truth) < 4 * error / np.sqrt(160)).all()
    ratio = found.var(axis=0) / error**2
    assert (np.abs(ratio - 1.0) < 4 * np.sqrt(2 / 160) + 0.1).all()


def test_intervals_cover(mechanism):
    """Binomial with 150 x 5 intervals at 95 %: below 0.92 has a chance under 4e-4 for each query alone."""
    rng = np.random.default_rng(11)
    answers = rng.integers(0, 6, size=1000)
    truth = mechanism.workload.rows @ np.bincount(answers, minlength=6) / 1000
    hits = 0
    for _ in range(150):
        low, high = mechanism.estimate(mechanism.draw(answers, mechanism.source(rng))).interval()
        hits += int(((low <= truth) & (truth <= high)).sum())
    assert 0.92 < hits / 750 < 0.98


def test_quantiles_cover_and_the_distribution_is_monotone(mechanism):
    """Woodruff intervals are conservative: of 100, fewer than 88 would have a chance below 5e-3."""
    rng = np.random.default_rng(3)
    answers = rng.choice(6, size=3000, p=[0.1, 0.1, 0.2, 0.3, 0.2, 0.1])
    median = int(np.median(answers))
    hits = 0
    for _ in range(100):
        estimate = mechanism.estimate(mechanism.draw(answers, mechanism.source(rng)))
        found = estimate.quantile(0.5)
        hits += int(found.low) <= median <= int(found.high)
        cdf = estimate.distribution()
        assert (np.diff(cdf) >= 0).all()
        assert cdf[0] >= 0.0
        assert cdf[-1] == 1.0
    assert hits >= 88


def test_the_projection_is_a_distribution_and_never_worse(mechanism):
    rng = np.random.default_rng(5)
    answers = np.zeros(400, dtype=int)
    truth = np.bincount(answers, minlength=6) / 400
    rows = mechanism.workload.rows
    for _ in range(50):
        estimate = mechanism.estimate(mechanism.draw(answers, mechanism.source(rng)))
        shares = estimate.projected()
        assert shares.min() >= 0.0
        assert shares.sum() == pytest.approx(1.0, abs=1e-12)
        better = np.sum((rows @ (shares - truth)) ** 2)
        assert better <= np.sum((rows @ (estimate.shares - truth)) ** 2) * (1 + 1e-6) + 1e-9


def test_numbers_of_a_range_fall_into_bins(mechanism):
    binned = mechanism.for_data(Intake(("salary",)), [(0.0, 600.0)])
    assert binned.codec.codes(np.array([0.0, 99.9, 100.0, 599.0, 600.0])).tolist() == [0, 0, 1, 5, 5]
    with pytest.raises(md.DataError, match="601"):
        binned.randomize(np.array([601.0]), rng=1)
    found = binned.estimate(binned.randomize(np.full(4000, 250.0), rng=1)).quantile(0.5)
    assert found.low <= 250.0 <= found.high
    assert found.estimate == 250.0


def test_a_query_with_one_answer_for_all_is_no_reason_to_collect_more():
    """The range of all types: its answer is known, and no error can be compared with its range of 0."""
    ranges = md.solve(md.LinearQueries(workload={"name": "ranges", "size": 4}, epsilon=1.0)).mechanism()
    assert ranges.forecast(10_000).possible
    few = ranges.forecast(2)
    assert not few.possible
    assert "e+" not in few.reason


def test_forecast_and_users(mechanism):
    users = mechanism.users_for(0.02)
    forecast = mechanism.forecast(users)
    assert forecast.possible
    assert forecast.largest * 1.959964 <= 0.02
    assert not mechanism.forecast(2).possible
    assert mechanism.forecast(users - 1000).largest * 1.959964 > 0.02


def test_a_draw_of_one_user_is_that_of_many(mechanism):
    """The pass over all reports and the search in the sums agree, report by report."""
    answers = np.arange(300) % 6
    together = mechanism.draw(answers, mechanism.source(9))
    alone = mechanism.source(9)
    single = [int(mechanism.draw(answers[i : i + 1], alone)[0]) for i in range(300)]
    assert together.tolist() == single


@pytest.mark.parametrize(
    "workload",
    [
        {"name": "ranges", "size": 6},
        {"name": "cyclic-ranges", "size": 9},
        {"name": "parities", "bits": 3, "order": 2},
    ],
)
def test_the_order_of_the_patterns_does_not_matter(workload):
    """Patterns in another order, one of them in two halves, and a last digit that differs: the same bytes."""
    problem = md.LinearQueries(workload=workload, epsilon=1.0)
    solution = md.solve(problem)
    sets, amounts = (np.array(solution.variables[name]) for name in ("patterns", "weights"))
    order = np.random.default_rng(4).permutation(len(sets))
    halves = np.append(amounts[order], amounts[order[0]] / 2.0)
    halves[0] /= 2.0
    other = dict(solution.variables)
    other |= {"patterns": np.vstack([sets[order], sets[order[:1]]]), "weights": halves * (1.0 + 2.0**-50)}
    assert len(sets) > 2
    assert problem.mechanism(changed(solution, variables=other)).content() == solution.mechanism().content()


def test_many_users_and_a_single_one_get_the_report_whose_integers_include_the_drawn_one():
    """At the first and the last integer of each report: what is drawn by chance misses one of 2^62."""
    weights = (
        md.solve(md.LinearQueries(workload={"name": "prefix", "size": 4}, epsilon=1.0)).mechanism().weights
    )
    for kind in range(4):
        row = weights.row(kind)
        ends = np.cumsum(row)
        reports = np.flatnonzero(row)
        edges = np.concatenate([ends[reports] - row[reports], ends[reports] - 1])
        wanted = np.tile(reports, 2)
        single = [int(weights.draw(np.array([kind]), edges[[place]])[0]) for place in range(len(edges))]
        many = weights.draw(np.full(100 * len(edges), kind), np.tile(edges, 100))
        assert single == wanted.tolist()
        assert many.tolist() == 100 * wanted.tolist()
