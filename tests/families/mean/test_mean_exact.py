"""Exactly private mean mechanisms: integers, brute force, bias as rational numbers, tampering."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mechdesign.collect import load_mechanism
from mechdesign.core.errors import CertificateError, ModelFileError, ParameterError
from mechdesign.core.validation import as_written
from mechdesign.exact.randomness import TOTAL, exp_lower
from mechdesign.families.mean import (
    AttributeSampling,
    CensoringInterval,
    DiscretePiecewise,
    Duchi,
    GridMean,
    Harmony,
)
from mechdesign.families.mean.bits import ROUNDING
from mechdesign.families.mean.discrete import piecewise_weights

epsilons = st.floats(1e-9, 40.0)


class Fixed:
    """A source that gives the integers it is told."""

    def __init__(self, *integers):
        self.values = np.array(integers, dtype=np.int64)

    def integers(self, count):
        return np.resize(self.values, count)


@settings(max_examples=200, deadline=None)
@given(epsilons)
def test_duchis_integers_keep_both_ratios_exactly(epsilon):
    mechanism = Duchi(epsilon)
    bound = exp_lower(epsilon)
    assert Fraction(mechanism.hi) <= bound * mechanism.lo
    assert Fraction(TOTAL - mechanism.lo) <= bound * (TOTAL - mechanism.hi)
    assert all(certificate.holds and certificate.exact for certificate in mechanism.certificates())
    # and no room is given away: one unit less breaks the promise as it was written
    written = exp_lower(as_written(epsilon))
    assert Fraction(mechanism.hi) <= written * mechanism.lo
    if mechanism.lo > 1:
        assert Fraction(mechanism.hi + 1) > written * (mechanism.lo - 1)
    former = Duchi(epsilon, for_double=True)
    if former.lo > 1:
        with pytest.raises(CertificateError, match="not private as stated"):
            CensoringInterval(former.lo - 1, TOTAL - former.lo + 1, epsilon)


@settings(max_examples=100, deadline=None)
@given(epsilons, st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_a_bit_is_drawn_with_an_integer_weight_between_the_audited_ends_and_without_bias(epsilon, units):
    mechanism = CensoringInterval.symmetric(epsilon)
    for unit in units:
        low, high = 0, TOTAL  # bisect the weight that draw uses: bit = drawn < w
        while low < high:
            middle = (low + high) // 2
            bit = mechanism.draw(np.array([unit]), Fixed(middle))[0] if middle < TOTAL else 0
            low, high = (middle + 1, high) if bit else (low, middle)
        weight = low
        assert mechanism.lo <= weight <= mechanism.hi
        estimate = mechanism.slope * Fraction(weight, TOTAL) + mechanism.offset
        assert abs(estimate - Fraction(unit)) <= mechanism.worst_bias


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-6, 30.0), st.integers(2, 40), st.data())
def test_discrete_weights_are_private_by_brute_force(epsilon, cells, data):
    window = data.draw(st.integers(1, cells - 1))
    weights = piecewise_weights(epsilon, cells, window)
    bound = exp_lower(epsilon)
    for row in weights.tolist():
        assert sum(row) == TOTAL
    for column in weights.T.tolist():
        assert Fraction(max(column)) <= bound * min(column)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.2, 5.0), st.integers(2, 7))
def test_any_float_channel_becomes_private_exactly_and_unbiased_exactly(seed, epsilon, inputs):
    """A noisy solver's channel: repaired, the bias is an exact rational below the promise."""
    generator = np.random.default_rng(seed)
    clean = piecewise_weights(epsilon, inputs + 4, 5) / TOTAL
    damaged = np.abs(clean + generator.normal(0.0, 1e-7, clean.shape))
    damaged /= damaged.sum(axis=1, keepdims=True)
    outputs = np.arange(inputs + 4, dtype=float)
    mechanism = GridMean.from_floats(damaged, np.linspace(-1.0, 1.0, inputs), outputs, epsilon)
    assert mechanism.audit().holds
    weights = mechanism.channel.weights.tolist()
    gaps = []
    for row, knot in zip(weights, mechanism.knots.tolist(), strict=True):
        mean = sum(
            Fraction(w, TOTAL) * Fraction(t) for w, t in zip(row, mechanism.outputs.tolist(), strict=True)
        )
        gaps.append(abs(mean - Fraction(knot)))
    assert max(gaps) == mechanism.knot_bias[0]
    assert max(gaps) <= Fraction(1, 2**48)
    assert mechanism.worst_bias == (max(gaps) + ROUNDING) * 2
    assert all(certificate.holds and certificate.exact for certificate in mechanism.certificates())
    assert mechanism.displacement < 1e-3


def test_the_grid_rounds_to_neighbours_with_the_right_share():
    mechanism = DiscretePiecewise(2.0, 0.0, 1.0, 9, 4)
    generator = np.random.default_rng(5)
    x = float(0.3 * mechanism.knots[1] + 0.7 * mechanism.knots[2])
    reports = mechanism.randomize(np.full(200_000, x), rng=generator)
    rows = mechanism.channel.channel
    expected = (0.3 * rows[1] + 0.7 * rows[2]) * 200_000
    chi_square = float((((np.bincount(reports, minlength=9) - expected) ** 2) / expected).sum())
    assert chi_square < 26.1  # the 0.999 quantile for 8 degrees of freedom


def test_published_optimum_is_refused_and_the_witness_named():
    with pytest.raises(CertificateError, match="privacy: FAILS") as caught:
        CensoringInterval.from_interval(math.exp(-1.0), 1.0, 1.0, repair=False)
    assert "input = 0.0, other = 1.0, report = 0" in str(caught.value)
    delta = 1.0 - math.exp(-1.0)
    assert (
        CensoringInterval.from_interval(math.exp(-1.0), 1.0, 1.0, delta * 1.000001, repair=False)
        .audit()
        .holds
    )
    with pytest.raises(CertificateError):
        CensoringInterval.from_interval(math.exp(-1.0), 1.0, 1.0, delta * 0.999, repair=False)


def test_repair_of_the_published_optimum_is_recorded():
    repaired = CensoringInterval.from_interval(math.exp(-1.0), 1.0, 1.0)
    assert repaired.audit().holds
    assert repaired.mixing > 0.2
    assert repaired.worst_variance() >= Duchi(1.0, 0.0, 1.0).worst_variance()


def test_the_interval_under_delta_of_the_notes():
    mechanism = CensoringInterval.from_interval(0.0, 0.1, 0.5, 0.1)
    assert mechanism.variance(0.01) == pytest.approx(0.0999, abs=1e-9)
    assert mechanism.audit().least_delta <= 0.1


EXACT = [
    Duchi(1.0),
    CensoringInterval.from_interval(0.0, 0.1, 0.5, 0.1),
    DiscretePiecewise(1.5, 0.0, 10.0),
    GridMean.from_floats(np.array([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]), [-1, 0, 1], [-2, 2], 1.1),
    Harmony(1.0, ["a", "b"], 0.0, [1.0, 2.0]),
    AttributeSampling.of(DiscretePiecewise, 3.0, 4, 2),
]


@pytest.mark.parametrize("mechanism", EXACT, ids=lambda mechanism: mechanism.type)
def test_changed_files_are_refused(mechanism, tmp_path):
    """Every number in a file is changed in turn; none of the files loads."""
    path = tmp_path / "m.json"
    mechanism.save(path)
    assert load_mechanism(path).fingerprint == mechanism.fingerprint
    document = json.loads(path.read_text())
    for keys in _numbers(document["content"]):
        changed = json.loads(path.read_text())
        place = changed["content"]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] += 1
        path_changed = tmp_path / "changed.json"
        path_changed.write_text(json.dumps(changed))
        with pytest.raises((CertificateError, ModelFileError)):
            load_mechanism(path_changed)


def _numbers(value, keys=()):
    if isinstance(value, dict):
        return [path for key, item in value.items() for path in _numbers(item, (*keys, key))]
    if isinstance(value, list):
        return [path for index, item in enumerate(value) for path in _numbers(item, (*keys, index))]
    return [keys] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def test_tampered_weights_fail_the_audit_even_with_a_new_digest(tmp_path):
    """Not the digest but the audit refuses: the digest is recomputed by the attacker."""
    content = Duchi(1.0).content()
    content["lo"] -= 2**40
    with pytest.raises(CertificateError, match="not those of Duchi"):
        Duchi.from_content(content)
    content = {**CensoringInterval.symmetric(1.0).content()}
    content["lo"] -= 2**20
    with pytest.raises(CertificateError, match="not private"):
        CensoringInterval.from_content(content)
    grid = GridMean.from_floats(np.array([[0.75, 0.25], [0.25, 0.75]]), [0, 1], [0, 1], 1.1).content()
    grid["outputs"][0] += 1e-6
    with pytest.raises(CertificateError, match="unbiased"):
        GridMean.from_content(grid)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: GridMean.from_floats(np.eye(2), [0, 1, 2], [0, 1], 1.0), "shape"),
        (lambda: GridMean.from_floats(np.eye(2), [1, 0], [0, 1], 1.0), "do not increase"),
        (lambda: GridMean.from_floats([[0.5, 0.5], [0.5, 0.5]], [0, 1], [0, 1], 1.0), "larger epsilon"),
        (
            lambda: GridMean.from_floats([[0.6, 0.4], [0.65, 0.35], [0.4, 0.6]], [0, 0.5, 1], [0, 1], 1.0),
            "does not increase",
        ),
        (lambda: CensoringInterval.from_interval(0.5, 0.4, 1.0), "0 <= c < c"),
        (lambda: CensoringInterval(5, 4, 1.0), "larger epsilon"),
        (lambda: Duchi(1e-20), "larger epsilon"),
        (lambda: DiscretePiecewise(1.0, cells=4, window=4), "window"),
        (lambda: DiscretePiecewise(1.0, window=4), "both cells and window"),
    ],
)
def test_impossible_designs_are_refused_in_one_line(build, text):
    with pytest.raises(ParameterError, match=text) as caught:
        build()
    assert "\n" not in str(caught.value)
