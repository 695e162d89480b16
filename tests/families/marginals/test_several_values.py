"""Several values a user: the variances behind the model, from the integers that oracles draw by."""

from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.marginals.oracles import UnaryEncoding


def per_user(own, other, chance):
    """Return the variance of a debiased support that comes with ``own`` in a part ``chance`` of all cases."""
    support = chance * own + (1 - chance) * other
    return support * (1 - support) / (own - other) ** 2


def both_ways(epsilon, values, has):
    """Return users times the variance: of all values with a part of epsilon each, and of one with all."""
    each = UnaryEncoding.optimised(64, epsilon / values).support_shares()
    whole = UnaryEncoding.optimised(64, epsilon).support_shares()
    split = has * per_user(*each, 1) + (values - has) * per_user(*each, 0)
    return float(split), float(values**2 * per_user(*whole, Fraction(has, values)))


@pytest.mark.parametrize(("epsilon", "values"), [(0.3, 2), (1.0, 4), (3.0, 3), (6.0, 4), (12.0, 2)])
def test_for_a_rare_category_one_value_is_better_always(epsilon, values):
    split, one = both_ways(epsilon, values, 0)
    assert split / one >= values * (1 - 1e-9)  # sinh(m t) >= m sinh t: V falls by m^2 at least


@pytest.mark.parametrize(("epsilon", "one_is_better"), [(5.0, True), (6.0, False)])
def test_for_a_category_that_everybody_has_it_depends_on_epsilon(epsilon, one_is_better):
    split, one = both_ways(epsilon, 4, 1)

    def rare(part):
        return md.solve(md.FrequencyOracle(categories=64, epsilon=part)).quantities["optimised_unary"]

    assert split == pytest.approx(4 * rare(epsilon / 4) + 1, rel=1e-9)
    assert one == pytest.approx(16 * rare(epsilon) + 7, rel=1e-9)
    assert (one < split) == one_is_better


def test_the_variance_of_one_of_several_values_is_measured():
    """Within 4 standard errors of a variance of normal numbers, sqrt(2/400) of it (fixed seed)."""
    oracle, rng = UnaryEncoding.optimised(64, 3.0), np.random.default_rng(5)
    users, found = 500, []
    for _ in range(400):
        chosen = rng.integers(0, 3, users)  # everybody has the values 0, 1 and 2
        counts = oracle.count(oracle.randomize(chosen, rng=rng))
        own, other = map(float, oracle.support_shares())
        found.append(3 * (counts[0] / users - other) / (own - other))
    measured = users * np.var(found, ddof=1)
    _, expected = both_ways(3.0, 3, 1)
    assert abs(measured / expected - 1.0) < 4 * (2 / 400) ** 0.5
    assert abs(np.mean(found) - 1.0) < 4 * (expected / users / 400) ** 0.5
