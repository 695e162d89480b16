"""Penalized likelihood: its certificate against other distributions, another solver, and the choice."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import ParameterError
from mechdesign.families.joint import JointResponse
from mechdesign.families.joint.likelihood import EffectMoments
from mechdesign.families.joint.one_hot import unbiased
from mechdesign.families.joint.penalized import best_penalty, judged_penalized, penalized_likelihood

SIZES = [2, 3, 2]


def estimate_of(users: int = 3000, seed: int = 1, **options):
    mechanism = JointResponse.of(SIZES, 20.0, redraw=0.3, keep=0.75, add=0.25)
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.full(12, 0.5))
    cells = rng.choice(12, users, p=law)
    people = np.column_stack(np.unravel_index(cells, SIZES))
    return mechanism.estimate(mechanism.randomize(people, rng=seed), **options), law


@pytest.mark.parametrize("reference", ["uniform", "product"])
@pytest.mark.parametrize("penalty", [300.0, 10.0, 1.0])
def test_an_interior_point_solver_finds_the_same_minimum(penalty, reference):
    reports = {"name": "simulated", "distribution": "mixture", "users": 2000, "seed": 3}
    problem = md.JointDistribution(
        attributes=SIZES,
        redraw=0.3,
        keep=0.75,
        add=0.25,
        reports=reports,
        penalty=penalty,
        reference=reference,
    )
    ours, theirs = md.solve(problem, "proximal-newton"), md.solve(problem, "convex")
    slack = ours.gap + theirs.gap + 1e-12
    assert abs(ours.value - theirs.value) <= slack
    tau = penalty / problem.users
    apart = np.abs(ours.variables["distribution"] - theirs.variables["distribution"]).sum() / 2.0
    assert apart <= 2.0 * math.sqrt(max(ours.gap, theirs.gap, 1e-14) / (2.0 * tau))
    assert md.solve(problem).method == "proximal-newton"


def test_no_distribution_is_below_the_bound_and_the_bound_is_tight_at_the_minimum():
    estimate, _ = estimate_of()
    model, reference = estimate.model, np.full(12, 1.0 / 12.0)
    found = penalized_likelihood(model, reference, 10.0, distance=1e-4)
    assert 0.0 < found.gap < 1e-10
    rng = np.random.default_rng(2)
    for _ in range(200):
        share = rng.random() ** 3
        other = (1.0 - share) * found.distribution + share * rng.dirichlet(np.ones(12))
        judged = judged_penalized(model, other, reference, 10.0)
        assert judged.value >= found.value - found.gap
        assert judged.value - judged.gap <= found.value  # its own bound is below the minimum
        apart = np.abs(other - found.distribution).sum() / 2.0
        assert judged.distance >= apart - found.distance


def test_a_penalty_that_vanishes_gives_the_most_likely_distribution():
    estimate, _ = estimate_of()
    likeliest = estimate.by("maximum-likelihood")
    assert likeliest.distance is None
    found = penalized_likelihood(estimate.model, np.full(12, 1.0 / 12.0), 1e-3, distance=1e-2)
    assert found.distribution == pytest.approx(likeliest.value.ravel(), abs=5e-3)
    strong = estimate.by("penalized-likelihood", 1e8, "uniform").value
    assert strong == pytest.approx(np.full(SIZES, 1.0 / 12.0), abs=1e-4)


def test_effects_are_those_of_the_unbiased_table():
    """Means by two parts, against the products of all bits; variances against those over users."""
    estimate, _ = estimate_of(users=500)
    moments, model = EffectMoments(estimate.model), estimate.model
    own, other = (float(share) for share in estimate.mechanism.shares)
    table = unbiased(estimate._ones(estimate.view), estimate.counts, SIZES, own, other).ravel()
    assert moments.mean(model.counts) == pytest.approx(moments.transform.forward(table), abs=1e-10)
    single = [unbiased(row[None], np.ones(1, dtype=int), SIZES, own, other).ravel()
              for row in estimate._ones(estimate.view)]  # fmt: skip
    scores = np.array([moments.transform.forward(row) for row in single])
    spread = estimate.counts @ scores**2 / 500 - (estimate.counts @ scores / 500) ** 2
    assert (np.abs(moments.variance / spread - 1.0) < 0.05).all()


def test_users_who_were_left_out_choose_strong_penalties_without_dependence_and_weak_ones_with_it():
    mechanism = JointResponse.of([2, 2, 2], 20.0, redraw=0.2, keep=0.75, add=0.25)
    rng = np.random.default_rng(4)
    alone = rng.integers(0, 2, (4000, 3))
    tied = np.repeat(alone[:, :1], 3, axis=1)
    found = [mechanism.estimate(mechanism.randomize(people, rng=5)).choice for people in (alone, tied)]
    assert found[0].penalty >= 100.0
    assert found[1].penalty <= 30.0


def test_the_default_is_closer_than_the_most_likely_distribution_where_cells_are_many():
    """Mean variation distance over five populations of 60 cells, mixtures of three products (fixed seeds)."""
    sizes, users, distances = [3, 4, 5], 3000, []
    mechanism = JointResponse.of(sizes, 20.0, redraw=0.5, keep=0.75, add=0.25)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        laws = [[rng.dirichlet(np.ones(size)) for size in sizes] for _ in range(3)]
        law = sum(np.einsum("a,b,c->abc", *parts).ravel() for parts in laws) / 3.0
        people = np.column_stack(np.unravel_index(rng.choice(60, users, p=law), sizes))
        estimate = mechanism.estimate(mechanism.randomize(people, rng=seed))
        pair = estimate, estimate.by("maximum-likelihood")
        distances.append([np.abs(each.value.ravel() - law).sum() / 2.0 for each in pair])
    ours, likeliest = np.mean(distances, axis=0)
    assert ours < 0.6 * likeliest
    assert estimate.distance < 1e-3


def test_what_is_printed_names_its_penalty_and_claims_no_error_for_it():
    estimate, _ = estimate_of(penalty=30, reference="product")
    table = estimate.marginal([0, 1], bootstrap=5)
    text = str(table)
    assert "penalty 30 towards independence, within" in text
    assert "spread" in text.splitlines()[1]
    assert (table.spread > 0.0).all()
    document = table.as_json()
    assert (document["penalty"], document["reference"]) == (30.0, "product")
    assert "likeliest" in str(estimate.by("maximum-likelihood").marginal([0]))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"penalty": 0}, "penalty: 0 is outside"),
        ({"penalty": "much"}, "neither a number nor 'cross-validated'"),
        ({"reference": "even"}, "reference: 'even' is not a choice"),
        ({"estimator": "likeliest"}, "estimator: 'likeliest' is not a choice"),
        ({"estimator": "maximum-likelihood", "penalty": 3}, "penalty: the most likely distribution has none"),
    ],
)
def test_bad_options_are_refused(options, text):
    with pytest.raises(ParameterError, match=text):
        estimate_of(users=50, **options)


def test_cross_validation_needs_a_part_of_users_each():
    estimate, _ = estimate_of(users=3)
    assert best_penalty(estimate.model, estimate.moments).penalty == 1000.0
