"""Divergences of shuffled reports: proven bounds above, and attacks below, every exact enumeration."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.exact.randomness import exp_lower, exp_upper
from mechdesign.families.shuffle.enumeration import (
    exact_hockey_stick,
    kary_rows,
    law_of_counts,
    shuffled_divergence,
)
from mechdesign.families.shuffle.judge import Kinds, ShuffleAttack, channel_attacks, kary_attacks
from mechdesign.families.shuffle.kary_divergence import (
    BinaryDivergence,
    LatticeDivergence,
    atoms_of,
    cells,
    kary_atoms,
)
from mechdesign.families.shuffle.papers.theorems import clones_law
from mechdesign.families.shuffle.sum_divergence import Divergence, kary_law
from tests.support.enumeration import worst_divergence

VECTORS = [
    # size, users, local, central, blanket delta: computed by other code
    (2, 20, 1.0, 0.3, 2.469582e-2),
    (3, 9, 1.0, 0.3, 5.217813e-2),
    (3, 30, 2.0, 1.0, 1.623413e-2),
    (4, 5, 2.0, 1.0, 2.209943e-1),
    (10, 20, 1.0, 0.3, 1.754711e-3),
]


def random_channel(rng: np.random.Generator, inputs: int, reports: int, local: float) -> list[list[Fraction]]:
    """Return a channel whose columns have ratios of at most e^local, exactly, often at the extremes."""
    grown = exp_lower(local)
    while True:
        ends = rng.integers(0, 3, size=(inputs, reports))
        base = [Fraction(int(value), 16) for value in rng.integers(1, 9, size=reports)]
        middle = (1 + grown) / 2
        rows = [[base[y] * (1, middle, grown)[ends[x, y]] for y in range(reports)] for x in range(inputs)]
        totals = [sum(row) for row in rows]
        rows = [[entry / total for entry in row] for row, total in zip(rows, totals, strict=True)]
        if all(max(column) <= grown * min(column) for column in zip(*rows, strict=True)):
            return rows


@pytest.mark.parametrize(("size", "users", "local", "central", "delta"), VECTORS)
def test_the_blanket_has_the_values_of_other_code(size, users, local, central, delta):
    assert Divergence(users, kary_law(local, size), 1e-9)(central) == pytest.approx(delta, rel=1e-6)
    atoms = kary_atoms(exp_upper(local), size)
    assert LatticeDivergence(users, atoms, 1e-9)(central) == pytest.approx(delta, rel=1e-4)


def test_clones_and_exact_attacks_have_the_values_of_other_code():
    assert Divergence(10, clones_law(1.0), 1e-9)(0.5) == pytest.approx(5.2189156670e-2, rel=1e-9)
    assert Divergence(10, kary_law(1.0, 2), 1e-9)(0.5) == pytest.approx(2.7755329217e-2, rel=1e-9)
    assert Divergence(1000, clones_law(2.0), 1e-9)(0.3) == pytest.approx(6.1099292408e-4, rel=1e-4)
    assert Divergence(1000, kary_law(2.0, 2), 1e-9)(0.3) == pytest.approx(4.1689971277e-5, rel=1e-4)
    first = kary_attacks(1.0, 2)[1]
    assert ShuffleAttack(10, first, 1e-9)(0.5) == pytest.approx(1.8111648917e-2, rel=1e-9)
    assert ShuffleAttack(1000, kary_attacks(2.0, 2)[1], 1e-9)(0.3) == pytest.approx(2.9310158379e-6, rel=1e-8)


def test_small_divergences_are_the_fractions_found_by_hand():
    rows = kary_rows(Fraction(3), 3)
    assert shuffled_divergence(rows, (0, 1, 1), (1, 2), Fraction(2)) == Fraction(33, 625)
    assert shuffled_divergence(rows, (1, 1, 1), (1, 2), Fraction(5, 2)) == Fraction(27, 1250)
    half = [(Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))]
    assert law_of_counts(half) == {(2, 0): Fraction(3, 16), (1, 1): Fraction(10, 16), (0, 2): Fraction(3, 16)}
    assert exact_hockey_stick({(0,): Fraction(1)}, {}, Fraction(5)) == 1


def test_symmetry_of_the_inputs_loses_no_data():
    rows = kary_rows(Fraction(5, 2), 3)
    for grown in (Fraction(1), Fraction(3, 2), Fraction(2)):
        assert (
            worst_divergence(rows, 4, grown, symmetric=True).delta == worst_divergence(rows, 4, grown).delta
        )


def test_kary_bounds_and_attacks_enclose_every_enumeration():
    rng = np.random.default_rng(3)
    for _ in range(120):
        size = int(rng.integers(2, 5))
        users = int(rng.integers(1, {2: 12, 3: 6, 4: 4}[size]))
        local = float(rng.uniform(0.02, 3.5))
        central = float(rng.uniform(0.0, local))
        worst = worst_divergence(kary_rows(exp_lower(local), size), users, exp_upper(central), True).delta
        most = worst_divergence(kary_rows(exp_upper(local), size), users, exp_lower(central), True).delta
        for kinds in kary_attacks(local, size):
            assert ShuffleAttack(users, kinds, 1e-6)(central) <= most
        bounds = [Divergence(users, kary_law(local, size), 1e-6)]
        bounds += [Divergence(users, kary_law(local, 2), 1e-6), Divergence(users, clones_law(local), 1e-6)]
        bounds.append(LatticeDivergence(users, kary_atoms(exp_upper(local), size), 1e-6))
        if size == 2:
            bounds.append(BinaryDivergence(users, local, 1e-6))
        for bound in bounds:
            assert bound(central) >= worst, (size, users, local, central)


def test_binary_data_are_bounded_tightly():
    """For few users no data are put together, so that the bound is the exact divergence but for rounding."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        users, local = int(rng.integers(2, 14)), float(rng.uniform(0.05, 3.0))
        central = float(rng.uniform(0.0, local))
        exact = worst_divergence(kary_rows(exp_upper(local), 2), users, exp_lower(central), True).delta
        bound = BinaryDivergence(users, local, 1e-6)(central)
        assert exact <= Fraction(bound) <= exact * Fraction(1 + 1e-8) + Fraction(1e-12)


@pytest.mark.parametrize("others", [1, 2, 127, 128, 129, 1000, 12345])
def test_ranges_of_binary_data_leave_nothing_out(others):
    """Every number of ones among the others has at least the ones and the zeros of some kept pair."""
    kept = list(cells(others))
    covered = [False] * (others + 1)
    for ones, zeros in kept:
        assert ones >= 0
        assert zeros >= 0
        for number in range(ones, others - zeros + 1):
            covered[number] = True
    assert all(covered)


def test_no_randomizer_is_worse_than_the_bound_for_any():
    """Theorem A on random channels with entries at the extremes, every data set, in rational arithmetic."""
    rng = np.random.default_rng(5)
    closest = 0.0
    for _ in range(60):
        local = float(rng.uniform(0.1, 2.5))
        rows = random_channel(rng, int(rng.integers(2, 4)), int(rng.integers(2, 4)), local)
        users = int(rng.integers(1, 5))
        central = float(rng.uniform(0.0, local))
        exact = worst_divergence(rows, users, exp_upper(central)).delta
        bound = Divergence(users, kary_law(local, 2), 1e-6)(central)
        assert exact <= bound
        closest = max(closest, float(exact) / bound)
        inputs = range(len(rows))
        curves = [
            LatticeDivergence(users, atoms_of(rows, x, y), 1e-6) for x in inputs for y in inputs if x != y
        ]
        blanket = max(curve(central) for curve in curves)
        assert exact <= blanket <= bound * (1.0 + 1e-3) + 1e-9
        lower = worst_divergence(rows, users, exp_lower(central)).delta
        for kinds in channel_attacks(rows):
            assert ShuffleAttack(users, kinds, 1e-6)(central) <= lower + Fraction(1, 10**15)
    assert closest > 0.5  # the instances are not all far from it


@pytest.mark.parametrize("local", [1e-12, 1e-6, 9.0, 20.0, 30.0, 40.0, 60.0, 100.0])
@pytest.mark.parametrize("users", [1, 3, 24])
def test_bounds_hold_where_doubles_have_nothing_left_to_say(local, users):
    """A part e^-local of the reports carries all the weight; what is cut off has to be paid for in full."""
    central = max(local - 0.002, 0.5 * local)
    rows = kary_rows(exp_lower(local), 2)
    data = (0,) * (users - 1)  # all others have the first input
    exact = shuffled_divergence(rows, data, (0, 1), exp_upper(central))
    most = worst_divergence(kary_rows(exp_upper(local), 2), min(users, 3), exp_lower(central), True).delta
    for delta in (1e-12, 0.0019, 0.5):
        assert exact <= Divergence(users, kary_law(local, 2), delta)(central)
        assert exact <= LatticeDivergence(users, kary_atoms(exp_upper(local), 2), delta)(central)
        assert exact <= BinaryDivergence(users, local, delta)(central)
        for kinds in kary_attacks(local, 2):
            assert ShuffleAttack(users, kinds, delta)(central) <= most


def test_two_evaluations_of_the_blanket_agree_for_many_users():
    """Binomial sums and convolution share no code; both are upper bounds of the same number."""
    for users, local, central in ((10**4, 1.0, 0.04), (10**6, 4.0, 0.0338), (10**8, 1.0, 0.000222)):
        sums = Divergence(users, kary_law(local, 3), 1e-6)(central)
        lattice = LatticeDivergence(users, kary_atoms(exp_upper(local), 3), 1e-6)(central)
        assert sums == pytest.approx(lattice, rel=2e-2)
        third = ShuffleAttack(users, kary_attacks(local, 3)[-1], 1e-6)(central)
        assert 0.9 * sums < third < min(sums, lattice)


def test_the_attack_is_the_divergence_of_its_counts():
    for size, users, local, central in ((3, 5, 1.0, 0.4), (5, 4, 2.0, 1.0)):
        rows = kary_rows(Fraction(math.exp(local)), size)
        merged = [[row[0], row[1], sum(row[2:])] for row in rows]
        exact = shuffled_divergence(merged, (2,) * (users - 1), (0, 1), Fraction(math.exp(central)))
        found = ShuffleAttack(users, kary_attacks(local, size)[-1], 1e-9)(central)
        assert found == pytest.approx(float(exact), rel=1e-9)


def test_near_the_local_epsilon_others_with_the_victims_value_are_the_strongest_attack():
    found = [ShuffleAttack(60, kinds, 1e-9)(1.7) for kinds in kary_attacks(2.0, 3)]
    assert found[1] == max(found)
    assert found[1] == pytest.approx(3.96e-6, rel=1e-2)  # by enumeration; more than the variation ratio says


def test_attacks_on_reports_that_tell_nothing_reach_nothing():
    same = Kinds((0.5, 0.25, 0.25), (0.5, 0.25, 0.25), (0.5, 0.25, 0.25), "all alike")
    assert ShuffleAttack(100, same, 1e-6)(0.0) == 0.0
    assert ShuffleAttack(10**11, kary_attacks(1.0, 3)[0], 1e-6)(0.0) == 0.0
