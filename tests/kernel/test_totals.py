"""Totals by the audited channel, against enumeration of all outcomes in exact fractions."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import mechdesign as md
from mechdesign.audit.losses import LossCurve, composed_epsilon, pure_part
from mechdesign.collect.totals import Collected, total_of
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.exact.randomness import TOTAL, exp_lower, exp_upper
from mechdesign.families.marginals.oracles import LocalHashing, SubsetSelection, UnaryEncoding
from mechdesign.families.mean import AttributeSampling, Duchi
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.ledger.ledger import collected_of, entry_of, load_ledger, open_ledger, record_collection
from mechdesign.ledger.renyi_filter import pure_cost, used
from mechdesign.primitives import KaryResponse

Atoms = list[tuple[Fraction, Fraction]]

SKEWED = np.array([[10, 5, 1], [5, 10, 1], [6, 6, 4]], dtype=np.int64) * (TOTAL // 16)
"""No pair of rows dominates: the last report has the largest ratio."""


def atoms_of(first: Sequence[int], second: Sequence[int]) -> Atoms:
    """Return the probabilities of the reports of two inputs, those of equal ratios together."""
    whole, joined = Fraction(sum(first)), dict[Fraction, tuple[Fraction, Fraction]]()
    for one, two in zip(first, second, strict=True):
        before = joined.get(Fraction(one, two), (Fraction(0), Fraction(0)))
        joined[Fraction(one, two)] = (before[0] + one / whole, before[1] + two / whole)
    return list(joined.values())


def repeated(atoms: Atoms, times: int) -> Atoms:
    """Return the atoms of several reports by multinomials: how often each ratio occurs."""
    found = []
    for chosen in combinations_with_replacement(range(len(atoms)), times):
        counts = [chosen.count(number) for number in range(len(atoms))]
        ways = math.factorial(times) // math.prod(map(math.factorial, counts))
        sides = (
            math.prod(
                (atom[side] ** count for atom, count in zip(atoms, counts, strict=True)), start=Fraction(ways)
            )
            for side in (0, 1)
        )
        found.append((next(sides), next(sides)))
    return found


def together(*parts: Atoms) -> Atoms:
    """Return the atoms of independent reports."""
    return [
        (math.prod((atom[0] for atom in chosen), start=Fraction(1)),
         math.prod((atom[1] for atom in chosen), start=Fraction(1)))
        for chosen in product(*parts)
    ]  # fmt: skip


def delta_between(atoms: Atoms, epsilon: float) -> tuple[float, float]:
    """Return bounds of the delta of atoms at an epsilon."""
    upper, lower = (
        sum((max(Fraction(0), one - grown * two) for one, two in atoms), Fraction(0))
        for grown in (exp_lower(epsilon), exp_upper(epsilon))
    )
    return float(lower), float(upper)


def kary(size: int, epsilon: float) -> tuple[KaryResponse, Atoms]:
    mechanism = KaryResponse.of(size, epsilon=epsilon)
    rows = [mechanism.kernel.row(code).tolist() for code in (0, 1)]
    return mechanism, atoms_of(*rows)


@pytest.mark.parametrize(
    ("size", "epsilon", "reports", "delta"), [(5, 1.0, 20, 1e-6), (3, 0.5, 30, 1e-4), (100, 2.0, 12, 1e-5)]
)
def test_a_total_is_next_to_the_least_epsilon_by_enumeration(size, epsilon, reports, delta):
    mechanism, atoms = kary(size, epsilon)
    found = mechanism.total(reports, delta)
    assert found.by == "distribution of the total loss"
    assert found.composed < found.epsilon
    many = repeated(atoms, reports)
    assert delta_between(many, found.composed)[0] <= delta, "an upper bound"
    assert delta_between(many, found.composed * (1.0 - 2e-4))[1] > delta, "and next to the least one"


def test_twenty_reports_of_five_categories():
    found = KaryResponse.of(5, epsilon=1.0).total(reports=20, delta=1e-6)
    assert str(found).endswith("epsilon = 17.74, delta = 1e-06 (distribution of the total loss)")


def test_mechanisms_of_different_kinds_add_up_by_their_own_channels():
    (five, atoms_five), (three, atoms_three) = kary(5, 1.0), kary(3, 0.4)
    sets = SubsetSelection.of(6, 0.8, size=2)
    pair = [each for each in sets._report_classes() if each.count]
    atoms_sets = atoms_of([c.count * c.weight for c in pair], [c.count * c.other for c in pair])
    parts = [collected_of(five, "a", 4), collected_of(three, "b", 3), collected_of(sets, "c", 3)]
    everything = together(repeated(atoms_five, 4), repeated(atoms_three, 3), repeated(atoms_sets, 3))
    for delta in (1e-3, 1e-5):
        found = total_of(parts, delta).composed
        assert delta_between(everything, found)[0] <= delta < delta_between(everything, found * 0.999)[1]


def test_the_bound_covers_an_adversary_who_changes_the_pair_of_inputs():
    curve = LossCurve.of_rows(SKEWED)
    ordered = [(one, two) for one in range(3) for two in range(3) if one != two]
    pairs = {pair: atoms_of(*(SKEWED[row].tolist() for row in pair)) for pair in ordered}
    single = max(max(delta_between(atoms, 0.0)) for atoms in pairs.values())
    assert single == pytest.approx(5 / 16)
    assert curve.at(Fraction(1)) >= Fraction(5, 16)
    assert curve.end == pytest.approx(math.log(4.0))
    mixes = [
        together(*(pairs[pair] for pair in chosen)) for chosen in combinations_with_replacement(ordered, 3)
    ]
    for delta in (0.3, 0.1, 0.01):
        epsilon = composed_epsilon([curve.part(3)], delta)
        worst = max(delta_between(atoms, epsilon)[0] for atoms in mixes)
        assert worst <= delta, "whichever pair is taken each time"


def test_curves_hold_at_every_epsilon_and_touch_at_their_points():
    rng = np.random.default_rng(5)
    rows = rng.integers(1, 50, (4, 9)).astype(np.int64)
    rows = rows * (TOTAL // 1000)
    rows[:, -1] += TOTAL - rows.sum(axis=1)
    curve = LossCurve.of_rows(rows)
    pairs = [
        atoms_of(rows[one].tolist(), rows[two].tolist()) for one in range(4) for two in range(4) if one != two
    ]
    for grown in [1.0, 1.01, 1.2, 1.7, 3.0, 10.0, 60.0]:
        exact = max(
            sum((max(Fraction(0), p - Fraction(grown) * q) for p, q in atoms), Fraction(0)) for atoms in pairs
        )
        assert exact <= curve.at(Fraction(grown)) <= exact + Fraction(1, 200)
    place, value = curve.points[3]
    exact = max(
        sum((max(Fraction(0), p - Fraction(place) * q) for p, q in atoms), Fraction(0)) for atoms in pairs
    )
    assert float(exact) <= value <= float(exact) * (1 + 1e-15)


def test_unlikely_reports_of_one_input_count_as_infinite_losses():
    channel = np.array([[TOTAL - 3, 3, 0], [TOTAL - 3, 0, 3]], dtype=np.int64)
    curve = LossCurve.of_rows(channel)
    assert curve.points[-1][1] == 3 / TOTAL
    assert math.isinf(curve.renyi(2.0))
    assert composed_epsilon([curve.part(10)], 1e-6) == 0.0, "the rest of the reports says nothing"
    assert math.isinf(composed_epsilon([curve.part(10)], 29 / TOTAL)), "delta is 30 / 2**62 at every epsilon"


def test_composed_mechanisms_have_curves_of_their_own():
    questions = [Question("a", labels=tuple("xyzwv")), Question("b", labels=tuple("xyzwvu"))]
    survey = SurveyMechanism.of(questions, epsilon=1.0)
    curve, atoms = survey.loss_curve(), kary(5, 1.0)[1]
    assert curve is not None
    assert curve.end == pytest.approx(1.0, rel=1e-9)
    assert survey.total(20).composed < 20
    sampled = AttributeSampling(Duchi(0.5), 4, 2, 1.0)
    product_curve = sampled.loss_curve()
    assert product_curve is not None
    ends = atoms_of(*(row.tolist() for row in Duchi(0.5)._ends))
    for epsilon in (0.0, 0.3, 0.8):
        low, high = delta_between(together(ends, ends), epsilon)
        grown = exp_upper(epsilon)
        assert low * (1 - 1e-9) <= float(product_curve.at(grown)) <= high + 2e-3
    half = LossCurve.mixed(
        [
            (Fraction(1, 2), LossCurve(((1.0, 0.5), (3.0, 0.0)))),
            (Fraction(1, 2), LossCurve(((1.0, 0.0), (2.0, 0.0)))),
        ]
    )
    assert half.points == ((1.0, 0.25), (2.0, 0.125), (3.0, 0.0))
    assert atoms


@pytest.mark.parametrize("mechanism", [
    KaryResponse.of(2, epsilon=0.7), LocalHashing.of(50, 1.0, buckets=4), UnaryEncoding.optimised(9, 1.0),
    Duchi(1.5),
], ids=lambda each: each.type)  # fmt: skip
def test_a_total_is_never_above_that_of_its_epsilon_alone(mechanism):
    curve, epsilon = mechanism.loss_curve(), mechanism.audit().true_epsilon
    for reports in (1, 7, 300):
        pure = composed_epsilon([pure_part(epsilon, 0.0, reports)], 1e-6)
        assert composed_epsilon([curve.part(reports)], 1e-6) <= pure * (1 + 1e-4)


def test_renyi_divergences_bound_those_of_the_pair_and_are_below_those_of_epsilon():
    mechanism, atoms = kary(5, 1.0)
    curve = mechanism.loss_curve()
    for order in (1.5, 2.0, 17.0):
        exact = math.log(sum(float(p) * float(p / q) ** (order - 1.0) for p, q in atoms)) / (order - 1.0)
        assert exact * (1 - 1e-12) <= curve.renyi(order) <= exact * (1 + 1e-9)
        assert curve.renyi(order) < pure_cost(1.0, order)


def test_the_ledger_counts_by_the_channel_and_reads_it_back(tmp_path):
    path, mechanism = str(tmp_path / "ledger.json"), KaryResponse.of(5, epsilon=0.1)
    open_ledger(path, "s", "5", "1e-6", False)
    one = collected_of(mechanism, "m.json", 100)
    assert used([one], 5.0, 1e-6, False) < used([Collected("m.json", 0.1, times=100)], 5.0, 1e-6, False)
    before, allowed = record_collection(path, "all", entry_of(one, mechanism.fingerprint, "m.json"))
    assert allowed
    after = load_ledger(path)
    assert after.groups["all"][0].collected.curve == one.curve is not None
    assert after.used("all") == before.used("all")
    document = json.loads((tmp_path / "ledger.json").read_text())
    assert document["groups"]["all"][0]["collected"]["curve"][0][0] == 1.0


@pytest.mark.parametrize(
    "points", [[], [[2.0, 0.1]], [[1.0, 0.1], [2.0, 0.2]], [[1.0, 1.5]], [[1.0, 0.5], [1.0, 0.1]]]
)
def test_a_curve_that_is_none_is_refused(points):
    with pytest.raises(CertificateError, match="does not fall"):
        LossCurve(points)


def test_wrong_numbers_of_reports_and_deltas_are_refused():
    mechanism = KaryResponse.of(5, epsilon=1.0)
    for arguments in (
        {"reports": 0},
        {"reports": 2.5},
        {"reports": 3, "delta": 1},
        {"reports": 3, "delta": -1e-6},
    ):
        with pytest.raises(ParameterError):
            mechanism.total(**arguments)
    line = md.solve(md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0, distance="line")).mechanism()
    with pytest.raises(ParameterError, match="per unit of distance"):
        line.total(reports=3)
