"""Laws with proven errors against exact fractions, and the divergences that certificates rest on."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from mechdesign.audit.mass import Mass, binomial_mass
from mechdesign.core.errors import ParameterError
from mechdesign.exact.randomness import exp_lower
from mechdesign.families.shuffle.divergence import (
    hockey_stick,
    mixture,
    pair_divergence,
    shift_divergence,
    sorted_excess,
)
from mechdesign.families.shuffle.fair_coins import blanket_divergence, coins_divergence

CASES = [
    (1, Fraction(1, 2)),
    (7, Fraction(1, 3)),
    (40, Fraction(99, 100)),
    (400, Fraction(1, 7)),
    (500, Fraction(1, 100)),
    (600, Fraction(1, 2)),
]


def exact_binomial(trials: int, chance: Fraction) -> dict[int, Fraction]:
    return {j: comb(trials, j) * chance**j * (1 - chance) ** (trials - j) for j in range(trials + 1)}


def exact_divergence(first: dict, second: dict, epsilon: float) -> Fraction:
    bound = exp_lower(epsilon)
    return sum(
        (max(Fraction(0), share - bound * second.get(key, 0)) for key, share in first.items()), Fraction(0)
    )


@pytest.mark.parametrize(("trials", "chance"), CASES)
def test_every_probability_is_within_its_proven_error_and_nothing_is_missing(trials, chance):
    law, exact = binomial_mass(trials, chance), exact_binomial(trials, chance)
    upper, lower = law.upper().tolist(), law.lower().tolist()
    for place, (high, low) in enumerate(zip(upper, lower, strict=True)):
        assert Fraction(low) <= exact[law.low + place] <= Fraction(high)
    outside = 1 - sum(exact[law.low + place] for place in range(len(upper)))
    assert outside <= Fraction(law.tail)
    assert law.error < 1e-10
    assert law.tail < 1e-30


def test_a_law_at_the_ends_of_its_range_is_sure():
    assert (
        binomial_mass(5, Fraction(0)).low,
        binomial_mass(5, Fraction(1)).low,
        binomial_mass(0, Fraction(1, 2)).low,
    ) == (
        0,
        5,
        0,
    )
    with pytest.raises(ParameterError, match="out of range"):
        binomial_mass(5, Fraction(3, 2))
    with pytest.raises(ParameterError, match="out of range"):
        binomial_mass(1 << 51, Fraction(1, 2))
    with pytest.raises(ParameterError, match="spread too far"):
        binomial_mass(1 << 50, Fraction(1, 2))
    law = binomial_mass(100_000, Fraction(1, 2))
    with pytest.raises(ParameterError, match="too many"):
        pair_divergence((law.shifted(10**6), law), (law, law.shifted(10**6)), 1.0)


def test_terms_that_underflow_are_accounted_for():
    law = binomial_mass(1000, Fraction(1, 1 << 62))
    assert float(law.mass[-1]) == 0.0
    assert law.tail >= 1e-280


@pytest.mark.parametrize(("trials", "chance"), CASES)
@pytest.mark.parametrize("epsilon", [0.1, 0.9, 2.0])
def test_the_divergence_of_a_shift_is_rounded_up_and_hardly_so(trials, chance, epsilon):
    law, exact = binomial_mass(trials, chance), exact_binomial(trials, chance)
    moved = {key + 1: share for key, share in exact.items()}
    wanted = max(exact_divergence(exact, moved, epsilon), exact_divergence(moved, exact, epsilon))
    found = shift_divergence(law, epsilon)
    assert wanted <= Fraction(found)
    assert found <= float(wanted) * (1 + 1e-9) + 1e-25


def test_one_direction_alone_is_not_enough():
    """Noise that is nearly always full: leaving it out betrays more than adding to it."""
    law = binomial_mass(3, Fraction(9, 10))
    forth, back = hockey_stick(law.shifted(1), law, 1.0), hockey_stick(law, law.shifted(1), 1.0)
    assert forth > 2 * back
    assert shift_divergence(law, 1.0) == max(forth, back)


@pytest.mark.parametrize("coins", [0, 1, 5, 60])
@pytest.mark.parametrize("own", [(1, 0), (Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 10))])
def test_one_message_among_coins(coins, own):
    law = exact_binomial(coins, Fraction(1, 2))
    top = {j: own[0] * law.get(j - 1, 0) + own[1] * law.get(j, 0) for j in range(coins + 2)}
    bottom = {j: own[1] * law.get(j - 1, 0) + own[0] * law.get(j, 0) for j in range(coins + 2)}
    wanted = exact_divergence(top, bottom, 0.5)
    assert wanted == exact_divergence(bottom, top, 0.5)
    found = coins_divergence(coins, Fraction(own[0]), Fraction(own[1]), 0.5)
    assert wanted <= Fraction(found) <= wanted + Fraction(1, 10**12)


def shuffled_responses(values: tuple[int, ...], flip: Fraction) -> dict[int, Fraction]:
    """The exact law of the number of ones among randomized responses."""
    law = {0: Fraction(1)}
    for value in values:
        one = 1 - flip if value else flip
        step: dict[int, Fraction] = {}
        for ones, share in law.items():
            step[ones + 1] = step.get(ones + 1, 0) + share * one
            step[ones] = step.get(ones, 0) + share * (1 - one)
        law = step
    return law


@pytest.mark.parametrize("users", [2, 3, 5, 8])
@pytest.mark.parametrize("flip", [Fraction(1, 10), Fraction(1, 4), Fraction(2, 5)])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_the_blanket_is_above_every_composition_of_the_others(users, flip, epsilon):
    found = blanket_divergence(users - 1, 2 * flip, 1 - flip, flip, epsilon)
    worst = Fraction(0)
    for ones in range(users):
        others = (1,) * ones + (0,) * (users - 1 - ones)
        with_one, with_none = shuffled_responses((1, *others), flip), shuffled_responses((0, *others), flip)
        worst = max(
            worst,
            exact_divergence(with_one, with_none, epsilon),
            exact_divergence(with_none, with_one, epsilon),
        )
    assert worst <= Fraction(found)
    assert float(worst) >= found / 4  # and not far above: a bound of 1 would pass otherwise


@pytest.mark.parametrize(
    ("users", "local", "epsilon", "stated"),
    [(10, 1.0, 0.5, 2.7755329217e-2), (1000, 2.0, 0.3, 4.1689971277e-5), (20, 1.0, 0.3, 2.469582e-2)],
)
def test_the_blanket_has_the_values_of_the_literature(users, local, epsilon, stated):
    """Balle, Bell, Gascon, Nissim (2019), lemma 5.3, evaluated by others for binary responses."""
    flip = Fraction(1 / (np.exp(local) + 1.0))
    found = blanket_divergence(users - 1, 2 * flip, 1 - flip, flip, epsilon)
    assert found == pytest.approx(stated, rel=0.02)  # numbers of coins are grouped
    assert found >= stated * (1 - 1e-6)


def test_a_response_private_by_itself_needs_no_crowd():
    assert blanket_divergence(0, Fraction(1), Fraction(5, 8), Fraction(3, 8), 0.6) == 0.0
    assert blanket_divergence(0, Fraction(1), Fraction(5, 8), Fraction(3, 8), 0.5) > 0.0


def test_two_counts_together():
    q, epsilon = Fraction(1, 3), 0.7
    exact = exact_binomial(6, q)
    more = {key + 1: share for key, share in exact.items()}
    top = {(a, b): more[a] * exact[b] for a, b in product(more, exact)}
    bottom = {(a, b): exact[a] * more[b] for a, b in product(exact, more)}
    wanted = exact_divergence(top, bottom, epsilon)
    law = binomial_mass(6, q)
    moved = law.shifted(1)
    found = pair_divergence((moved, law), (law, moved), epsilon)
    assert wanted <= Fraction(found) <= wanted + Fraction(1, 10**12)


def laws(rng, size):
    """Return two rows of chances with zeros, equal quotients and chances too small for their quotients."""
    rows = rng.random((2, size)) * rng.choice([0.0, 1.0, 1.0, 1e-12, 1e-150, 1e-299], size=(2, size))
    rows[1, ::3] = rows[0, ::3] / 2.0
    return rows


@pytest.mark.parametrize("seed", [*range(40), 1393, 1567])
def test_sorted_quotients_bound_every_pair_from_above_and_closely(seed):
    rng = np.random.default_rng(seed)
    top, bottom = laws(rng, int(rng.integers(1, 12)))
    top2, bottom2 = laws(rng, int(rng.integers(1, 12)))
    factor = float(rng.choice([1.0, 4.0, 1.0 + 2.0**-50, 700.0]))
    exact = sum(
        max(Fraction(0), Fraction(a) * Fraction(c) - Fraction(factor) * Fraction(b) * Fraction(d))
        for a, b in zip(top, bottom, strict=True)
        for c, d in zip(top2, bottom2, strict=True)
    )
    scale = Fraction(top.sum()) * Fraction(top2.sum())
    found = Fraction(sorted_excess(top, bottom, top2, bottom2, factor))
    assert exact <= found <= exact + scale * Fraction(1, 10**13) + Fraction(1, 10**250)


def test_both_ways_of_looking_at_pairs_agree(monkeypatch):
    law = binomial_mass(20_000, Fraction(1, 2))
    moved = law.shifted(1)
    found = pair_divergence((moved, law), (law, moved), 0.1)
    monkeypatch.setattr("mechdesign.families.shuffle.divergence.FEW_CELLS", 0)
    assert found <= pair_divergence((moved, law), (law, moved), 0.1) * (1 + 1e-9)
    assert pair_divergence((moved, law), (law, moved), 0.1) <= found * (1 + 1e-9)


def test_sums_and_mixtures_keep_their_bounds():
    first, second = binomial_mass(50, Fraction(1, 3)), binomial_mass(70, Fraction(1, 5))
    total = first.convolved(second)
    a, b = exact_binomial(50, Fraction(1, 3)), exact_binomial(70, Fraction(1, 5))
    for number in (0, 10, 30, 60, 100):
        wanted = sum(a[i] * b[number - i] for i in a if number - i in b)
        place = number - total.low
        assert Fraction(total.lower()[place]) <= wanted
        assert wanted <= Fraction(total.upper()[place]) + Fraction(total.tail)
    half = mixture([(Fraction(1, 2), first), (Fraction(1, 2), first.shifted(3))])
    assert Fraction(half.upper()[3 - half.low + 5]) >= (a[8] + a[5]) / 2


def test_missing_mass_counts_against_privacy():
    law = Mass(0, np.array([0.5, 0.5]))
    assert hockey_stick(Mass(0, np.array([0.5, 0.5]), tail=0.25), law, 1.0) >= 0.25
