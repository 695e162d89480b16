"""Coverage of the oracles' 95 % intervals where normal ones fail: rare reports, everybody alike, few users.

Every test repeats the estimate with a fixed seed and asks for as many hits as a binomial count with chance
0.93 has at least, with error 1e-5: a program that keeps the promise of 0.93 fails less often than that.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mechdesign.families.marginals.oracles import (
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    SubsetSelection,
    UnaryEncoding,
)
from mechdesign.families.marginals.oracles.support import SupportEstimator
from tests.support.statistics import binomial_limits

REPETITIONS = 100
ENOUGH = binomial_limits(REPETITIONS, 0.93, 2e-5)[0]

ORACLES = {
    "optimised unary": lambda epsilon: UnaryEncoding.optimised(5, epsilon),
    "symmetric unary": lambda epsilon: UnaryEncoding.symmetric(5, epsilon),
    "subset": lambda epsilon: SubsetSelection.of(9, epsilon, 2),
    "hashing": lambda epsilon: LocalHashing.of(9, epsilon, 5),
    "hadamard": lambda epsilon: HadamardResponse.of(9, epsilon),
    "projective": lambda epsilon: ProjectiveGeometry.of(9, epsilon, 5),
}


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize(
    ("epsilon", "users", "population"), [(6.0, 300, False), (6.0, 300, True), (1.0, 30, False)]
)
def test_categories_that_all_or_none_or_few_have_are_covered(name, epsilon, users, population):
    """The intervals of all repetitions are found at once; now and then the whole way gives the same."""
    oracle = ORACLES[name](epsilon)
    rng = np.random.default_rng(11)
    shares = np.array([0.9, 0.0, 0.1])
    supports, some = [], {}
    for repetition in range(REPETITIONS):
        answers = (
            rng.choice(3, users, p=shares)
            if population
            else np.repeat(np.arange(3), (shares * users).astype(int))
        )
        reports = oracle.randomize(answers, rng=rng)
        server = oracle.aggregator()
        server.update(reports)
        supports.append(oracle.supports(server.counts, users)[:3])
        if repetition % 50 == 0:
            some[repetition] = oracle.estimate(reports, population).interval()
    counts = np.array(supports).ravel()
    names = tuple(map(str, range(len(counts))))
    together = SupportEstimator(*oracle.support_shares()).estimate(counts, users, names, population)
    low, high = (ends.reshape(REPETITIONS, 3) for ends in together.interval())
    for repetition, ends in some.items():
        assert (low[repetition], high[repetition]) == (pytest.approx(ends[0][:3]), pytest.approx(ends[1][:3]))
    hits = ((low - 1e-12 <= shares) & (shares <= high + 1e-12)).sum(axis=0)
    assert (hits >= ENOUGH).all(), hits


def test_reports_of_another_mechanism_are_noted():
    oracle = UnaryEncoding.optimised(4, 3.0)
    estimate = oracle.estimate(np.full((500, 1), 0b11110000, dtype=np.uint8))
    assert "are these its reports?" in str(estimate)
    assert not oracle.estimate(oracle.randomize(np.arange(400) % 4, rng=1)).notes
    assert "fewer than 30 users" in str(oracle.estimate(oracle.randomize([0], rng=1)))


def test_the_moments_of_a_score_are_those_of_its_two_values():
    """At p = 3/4 and q = 1/4 a report scores 3/2 or -1/2."""
    own, other = SupportEstimator(Fraction(3, 4), Fraction(1, 4))._moments
    assert own.tolist() == [1.75, 2.5, 3.8125]  # (3 * 9/4 + 1/4) / 4, (3 * 27/8 - 1/8) / 4, (3 * 81 + 1) / 64
    assert other.tolist() == [0.75, 0.75, 1.3125]
