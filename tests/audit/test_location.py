"""The audit of noise on a lattice against all pairs of vectors, and the witness against truncated noise."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from mechdesign.audit.location import audit_radial, audit_truncated, root_step
from mechdesign.core.errors import CertificateError


def holds_for_all_pairs(table: dict[int, int], floor: int, step: float, epsilon: float, reach: int) -> bool:
    """f(v) <= e^(epsilon step |v - v'|) f(v') for all vectors of a window, with 60 digits."""
    side = range(-reach, reach + 1)
    vectors = [(a, b) for a in side for b in side]
    weights = [table.get(a * a + b * b, floor) for a, b in vectors]
    with localcontext() as context:
        context.prec = 60
        rate = Decimal(epsilon) * Decimal(step)
        factors = [(rate * Decimal(square).sqrt()).exp() for square in range(8 * reach * reach + 1)]
        for (a, b), high in zip(vectors, weights, strict=True):
            for (c, d), low in zip(vectors, weights, strict=True):
                if high > low and high > factors[(a - c) ** 2 + (b - d) ** 2] * low:
                    return False
    return True


@pytest.mark.parametrize("seed", range(120))
def test_what_the_audit_lets_pass_is_private_for_all_pairs_of_vectors(seed):
    rng = np.random.default_rng(seed)
    squares = [0, 1, 2, 4, 5, 8, 9][: int(rng.integers(2, 8))]
    weights = np.sort(rng.integers(1, 60, len(squares)))[::-1].tolist()
    epsilon, step = float(rng.uniform(0.2, 4.0)), float(rng.uniform(0.1, 2.0))
    audit = audit_radial(squares, weights, step, epsilon)
    table = dict(zip(squares, weights, strict=True))
    if audit.holds:
        assert holds_for_all_pairs(table, weights[-1], step, epsilon, 3)
    # at its own true epsilon it holds, and a little below not
    assert audit_radial(squares, weights, step, audit.true_epsilon).holds
    assert audit.holds == (audit.true_epsilon <= epsilon)
    if audit.true_epsilon > 0:
        assert not audit_radial(squares, weights, step, audit.true_epsilon * (1 - 1e-12)).holds


def test_neighbours_on_an_axis_decide_exactly():
    """Lengths 0 and 1 point the same way: the condition is also necessary, to the last unit."""
    center = 10**15
    least = math.ceil(Decimal(center) / Decimal(1).exp())
    assert audit_radial([0, 1], [center, least], 1.0, 1.0).holds
    assert not audit_radial([0, 1], [center, least - 1], 1.0, 1.0).holds
    assert not holds_for_all_pairs({0: center}, least - 1, 1.0, 1.0, 1)


@pytest.mark.parametrize(
    ("squares", "weights"),
    [([0, 1], [3, 4]), ([0, 1], [3, 0]), ([0, 1, 1], [3, 2, 1]), ([1, 2], [3, 2]), ([0], [])],
)
def test_tables_that_are_none_are_refused(squares, weights):
    with pytest.raises(CertificateError):
        audit_radial(squares, weights, 1.0, 1.0)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (1, 2), (49, 50), (10**6, 10**6 + 1)])
def test_steps_of_roots_are_bounded_from_below(low, high):
    found = root_step(low, high)
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(high).sqrt() - Decimal(low).sqrt()
        below = Decimal(found.numerator) / Decimal(found.denominator)
        assert below <= exact < below + Decimal("3e-40")


@pytest.mark.parametrize("radius", [0.1, 1.0, 3.7, 1e6])
def test_the_witness_against_truncated_noise_is_one(radius):
    audit = audit_truncated(1.0, radius)
    place, other, report = (np.array(audit.witness[name]) for name in ("place", "other", "report"))
    assert np.hypot(*(report - place)) < radius < np.hypot(*(report - other))
    assert not audit.holds
    assert audit.true_epsilon == math.inf
    assert "FAILS (exact)" in str(audit)
