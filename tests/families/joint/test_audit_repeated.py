"""The audit of one-hot bits, against all patterns of all reports in exact arithmetic."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise, product

import pytest

from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.exact.randomness import exp_lower
from mechdesign.families.joint.repeated import RepeatedBits, audit_repeated, epsilon_of_quotient


def bit_chances(bits: RepeatedBits, reports: int) -> dict[tuple[int, ...], tuple[Fraction, Fraction]]:
    """Return the chance of every sequence of reports of a bit, for a true 1 and a true 0."""
    total = bits.total
    flip, keep, add = (Fraction(weight, total) for weight in (bits.flip, bits.keep, bits.add))
    found = {}
    for sequence in product((0, 1), repeat=reports):
        ones, zeros = (math.prod(share if bit else 1 - share for bit in sequence) for share in (keep, add))
        found[sequence] = ((1 - flip) * ones + flip * zeros, flip * ones + (1 - flip) * zeros)
    return found


def worst_ratio(bits: RepeatedBits, sizes: list[int], reports: int) -> Fraction | None:
    """Return the largest ratio over all pairs of users and all reports of all bits, from the definition."""
    chances = bit_chances(bits, reports)
    users = list(product(*(range(size) for size in sizes)))
    truths = [
        [int(value == place) for value, size in zip(user, sizes, strict=True) for place in range(size)]
        for user in users
    ]
    worst = Fraction(1)
    for seen in product(chances, repeat=sum(sizes)):
        weights = [
            math.prod(chances[sequence][0 if bit else 1] for sequence, bit in zip(seen, truth, strict=True))
            for truth in truths
        ]
        if min(weights) == 0 < max(weights):
            return None
        if max(weights):
            worst = max(worst, max(weights) / min(weights))
    return worst


def random_bits(rng: random.Random) -> RepeatedBits:
    add = rng.randint(0, 8)
    return RepeatedBits(16, rng.randint(0, 7), rng.randint(add + 1, 16), add)


@pytest.mark.parametrize("seed", range(40))
def test_the_ratio_is_that_of_all_reports_from_the_definition(seed):
    rng = random.Random(seed)
    bits = random_bits(rng)
    sizes, reports = rng.choice(
        [([2], 1), ([3], 1), ([2], 3), ([2, 2], 1), ([3], 2), ([2, 2], 2), ([2, 3], 1)]
    )
    ratio = bits.ratio(reports)
    assert worst_ratio(bits, sizes, reports) == (None if ratio is None else ratio ** len(sizes))


def test_the_paper_counts_one_attribute_of_several():
    """One report on d attributes loses d times what is printed, and all together less than the sum."""
    bits = RepeatedBits(8, 1, 6, 4)
    one = Fraction(23 * 15, 17 * 9)  # q* (1 - p*) / (p* (1 - q*))
    audit = audit_repeated(bits, 3, 5, 20.0)
    assert bits.ratio(1) == one
    assert audit.one_report == pytest.approx(3 * math.log(one), rel=1e-15)
    assert audit.one_report > 2.9 * math.log(one)
    assert audit.any_reports == pytest.approx(2 * 3 * math.log(7), rel=1e-15)
    assert audit.one_report < audit.true_epsilon < audit.any_reports


def test_reports_add_up_to_no_more_than_what_is_kept():
    bits = RepeatedBits(1 << 20, 1 << 17, 3 << 18, 1 << 19)
    ratios = [bits.ratio(number) for number in (1, 2, 5, 20, 200)]
    assert all(first < second for first, second in pairwise(ratios))
    limit = bits.ratio(None)
    assert ratios[-1] < limit
    assert float(ratios[-1] / limit) == pytest.approx(1.0, abs=1e-8)


def test_a_promise_is_judged_without_tolerance():
    """The least double that is not below the true epsilon keeps it; the double before it does not."""
    bits = RepeatedBits(8, 1, 6, 4)
    exact = audit_repeated(bits, 2, 2, 1.0).true_epsilon
    assert audit_repeated(bits, 2, 2, exact).holds
    assert not audit_repeated(bits, 2, 2, math.nextafter(exact, 0.0)).holds
    assert bits.ratio(2) ** 2 <= exp_lower(exact)
    single = audit_repeated(bits, 2, 2, 10.0, 0.5)
    assert not single.holds
    assert single.one_report > 0.5


def test_noise_free_bits_have_no_epsilon():
    assert RepeatedBits(8, 0, 6, 0).ratio(1) is None
    assert RepeatedBits(8, 0, 6, 4).ratio(None) is None
    assert math.isinf(epsilon_of_quotient((1, 0), 1))
    assert not audit_repeated(RepeatedBits(8, 0, 8, 4), 1, 1, 100.0).holds


def test_impossible_weights_and_too_many_reports_are_refused():
    for weights in ((8, 4, 6, 4), (8, 1, 4, 4), (8, 1, 9, 4), (8, -1, 6, 4), (8, 1, 6, -1)):
        with pytest.raises(CertificateError):
            RepeatedBits(*weights)
    with pytest.raises(ParameterError, match="reports: 1000000 of 3 attributes"):
        audit_repeated(RepeatedBits(8, 1, 6, 4), 3, 10**6, 1.0)
