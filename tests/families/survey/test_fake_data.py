"""Random sampling plus fake data: its whole channel written down, as the clients draw it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

import mechdesign as md
from mechdesign.exact.randomness import exp_lower
from mechdesign.families.survey.papers.limit import FakeData, adaptive, variance


def grr(size, power):
    """Rows of reports: the own value with p, any other with q; and the fakes, which are even."""
    total = power + size - 1
    rows = [[power / total if y == x else 1 / total for y in range(size)] for x in range(size)]
    return rows, [Fraction(1, size)] * size


def oue(size, power, random):
    """Bits: the own one is 1 with 1/2, any other with q = 1/(e^epsilon' + 1)."""
    q, half = 1 / (power + 1), Fraction(1, 2)

    def chance(bits, own):
        return math.prod(
            ((half if v == own else q) if bit else 1 - (half if v == own else q))
            for v, bit in enumerate(bits)
        )

    reports = list(product((0, 1), repeat=size))
    rows = [[chance(bits, own) for bits in reports] for own in range(size)]
    if random:
        return rows, [sum(column) / size for column in zip(*rows, strict=True)]
    return rows, [chance(bits, None) for bits in reports]


def channel(collection):
    """Return the chances of all reports for every answer, one attribute drawn and the others made up."""
    power = collection.amplified(exp_lower(collection.epsilon))
    made = {
        "GRR": lambda size: grr(size, power),
        "OUE-z": lambda size: oue(size, power, False),
        "OUE-r": lambda size: oue(size, power, True),
    }
    parts = [made[kind](size) for kind, size in zip(collection.randomizers, collection.sizes, strict=True)]
    found = {}
    for answer in product(*map(range, collection.sizes)):
        row = []
        for report in product(*(range(len(fake)) for _, fake in parts)):
            row.append(
                sum(
                    math.prod(
                        rows[x][y] if place == drawn else fake[y]
                        for place, ((rows, fake), x, y) in enumerate(zip(parts, answer, report, strict=True))
                    )
                    for drawn in range(len(parts))
                )
                / len(parts)
            )
        found[answer] = row
    return found


CASES = [
    ((2, 3), ("GRR", "GRR")),
    ((2, 2), ("GRR", "GRR")),
    ((3, 3, 3), ("GRR", "GRR", "GRR")),
    ((2, 3), ("OUE-z", "OUE-z")),
    ((3, 3), ("OUE-r", "OUE-r")),
    ((2, 3), ("GRR", "OUE-z")),
    ((2, 3), ("GRR", "OUE-r")),
]


@pytest.mark.parametrize(("sizes", "kinds"), CASES)
def test_the_true_epsilons_are_those_of_the_whole_channel(sizes, kinds):
    """All pairs of users and all reports, in rationals; those who differ in one attribute, and any two."""
    collection = FakeData(sizes, 1.0, kinds)
    rows = channel(collection)
    assert all(sum(row) == 1 for row in rows.values())
    any_two, one_changed = Fraction(1), Fraction(1)
    for x, first in rows.items():
        for other, second in rows.items():
            worst = max(a / b for a, b in zip(first, second, strict=True))
            any_two = max(any_two, worst)
            if sum(a != b for a, b in zip(x, other, strict=True)) == 1:
                one_changed = max(one_changed, worst)
    power = exp_lower(1.0)
    assert any_two == len(sizes) * (power - 1) + 1
    assert math.log(any_two) == pytest.approx(collection.true_epsilon, abs=1e-14)
    assert math.log(one_changed) == pytest.approx(collection.one_changed, abs=1e-14)
    assert (one_changed <= power) == collection.is_private_for_one
    assert not collection.is_private


def test_the_numbers_of_the_note():
    assert math.exp(FakeData((2, 2), 1.0, ("GRR", "GRR")).true_epsilon) == pytest.approx(4.4366, abs=5e-5)
    assert math.exp(FakeData((4, 4, 4), 1.0, ("GRR",) * 3).true_epsilon) == pytest.approx(6.155, abs=5e-4)
    assert math.exp(FakeData((2, 3), 1.0, ("GRR", "GRR")).one_changed) == pytest.approx(2.9206, abs=5e-5)
    alone = FakeData((5,), 1.0, ("GRR",))
    assert alone.is_private
    assert alone.true_epsilon == pytest.approx(1.0)


def test_who_differs_in_one_attribute_is_protected_by_equal_sizes_and_by_zero_fakes():
    assert FakeData((4, 4, 4), 1.0, ("GRR",) * 3).is_private_for_one
    assert FakeData((2, 3, 8), 1.0, ("OUE-z",) * 3).is_private_for_one
    assert not FakeData((2, 3), 1.0, ("GRR", "GRR")).is_private_for_one
    assert not FakeData((4, 4), 1.0, ("OUE-r", "OUE-r")).is_private_for_one


@pytest.mark.parametrize(("kind", "size"), [("GRR", 3), ("OUE-z", 3), ("OUE-r", 3), ("OUE-z", 2)])
def test_the_published_variance_is_that_of_the_estimator(kind, size):
    """At even answers, from the channel of two attributes alike: the chance that a value is reported."""
    collection = FakeData((size, size), 1.0, (kind, kind))
    rows = channel(collection)
    power = float(collection.amplified(exp_lower(1.0)))
    p, q = (power / (power + size - 1), 1 / (power + size - 1)) if kind == "GRR" else (0.5, 1 / (power + 1))
    width = size if kind == "GRR" else 2**size
    reported = 0.0
    for row in rows.values():
        for report, chance in enumerate(row):
            first = report // width
            hit = first == 0 if kind == "GRR" else first >> (size - 1) & 1
            reported += float(chance) * hit / len(rows)
    expected = size * 4 * reported * (1 - reported) / (p - q) ** 2
    assert variance(kind, size, 2, 1.0) == pytest.approx(expected)


def test_the_printed_error_beats_the_limit_of_every_private_mechanism():
    """Five questions of the census, epsilon 0.5: no private mechanism has an error this small."""
    problem = md.SurveyLimit(questions=[8, 2, 16, 15, 2], epsilon=0.5)
    limit = md.solve(problem)
    printed = md.solve(problem, "rs-fd")
    assert printed.value == pytest.approx(0.751 * 476.29, rel=1e-3)
    assert printed.value < 0.8 * limit.bound
    (privacy,) = printed.certificates
    assert privacy.property == "privacy"
    assert not privacy.holds
    assert privacy.exact
    assert privacy.figures["true_epsilon"] == pytest.approx(math.log(5 * math.expm1(0.5) + 1))
    assert privacy.witness["other"] == [1] * 5
    comparison = md.compare(problem)
    assert comparison.agree


def test_the_adaptive_choice_is_the_smaller_variance():
    for sizes in ((2, 2), (3, 40), (16, 8, 2)):
        chosen = adaptive(sizes, 2.0, ("GRR", "OUE-z")).randomizers
        for kind, size in zip(chosen, sizes, strict=True):
            other = "GRR" if kind == "OUE-z" else "OUE-z"
            assert variance(kind, size, len(sizes), 2.0) <= variance(other, size, len(sizes), 2.0)
