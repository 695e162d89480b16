"""The density audit against brute force, and audits that must fail."""

import math

import numpy as np
import pytest

from mechdesign.audit.density import audit_density
from mechdesign.mechanisms.mean import Hybrid, Laplace, Piecewise, SquareWave

FLOATING = [Laplace, Piecewise, Hybrid, SquareWave]


@pytest.mark.parametrize("kind", FLOATING)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (0.0, 1.0), (35.0, 42.5)])
def test_certificate_attains_epsilon_and_no_grid_point_exceeds_it(kind, epsilon, bounds):
    mechanism = kind(epsilon, *bounds)
    (certificate,) = mechanism.certificates()
    assert certificate.holds
    assert not certificate.exact
    assert "Mironov" in certificate.note
    slack = 64 * np.finfo(float).eps * max(1.0, epsilon)
    assert abs(certificate.figures["true_epsilon"] - epsilon) <= slack
    width = bounds[1] - bounds[0]
    inputs = np.linspace(*bounds, 41)
    outputs = np.linspace(bounds[0] - 2 * width, bounds[1] + 2 * width, 3001)
    outputs = np.concatenate([outputs, getattr(mechanism, "atoms", ())])
    table = mechanism.log_density(inputs[:, None], outputs[None, :])
    possible = np.isfinite(table).any(axis=0)
    ratio = table[:, possible].max(axis=0) - table[:, possible].min(axis=0)
    assert ratio.max() <= epsilon + slack


def test_a_density_that_breaks_the_promise_fails_with_its_witness():
    def steep(values, reports):
        return -1.5 * np.abs(reports - values) + math.log(0.75)

    audit = audit_density(steep, np.array([0.0, 1.0]), np.array([-1.0, 2.0]), epsilon=1.0)
    assert not audit.holds
    assert not audit.certificate().holds
    assert audit.true_epsilon == pytest.approx(1.5, abs=1e-12)
    assert {audit.witness["input"], audit.witness["other"]} == {0.0, 1.0}


def test_a_report_that_one_input_excludes_is_infinite():
    def wall(values, reports):
        return np.where(reports > values, 0.0, -np.inf)

    audit = audit_density(wall, np.array([0.0, 1.0]), np.array([0.5, 2.0]), epsilon=3.0)
    assert audit.true_epsilon == math.inf
    assert not audit.holds


def test_an_excess_of_a_billionth_is_seen():
    def shifted(values, reports):
        return -(1.0 + 1e-9) * np.abs(reports - values)

    assert not audit_density(shifted, np.array([0.0, 1.0]), np.array([-1.0]), epsilon=1.0).holds
