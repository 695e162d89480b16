"""The density audit against brute force, and audits that must fail."""

import math

import numpy as np
import pytest

from mechdesign.audit.classes import audit_density
from mechdesign.core.errors import ParameterError
from mechdesign.families.mean import Hybrid, Laplace, Piecewise, SquareWave

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


def test_a_far_report_does_not_excuse_a_near_one():
    """The log densities at 1e17 are off by 64 each; that says nothing about the reports 0 and 1."""

    def steep(values, reports):
        return -3.0 * np.abs(reports - values)

    for outputs in ([0.0, 1.0, 1e17], [0.0, 1.0], [1e17]):
        audit = audit_density(steep, np.array([0.0, 1.0]), np.array(outputs), epsilon=1.0)
        assert not audit.holds
        assert not audit.certificate().holds
        assert audit.rounding <= 1e-12


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_density_that_is_no_number_for_one_input_fails(value):
    def forged(values, reports):
        return np.where((values == 1.0) & (reports == 2.0), value, -1.0) + 0.0 * reports

    audit = audit_density(forged, [0.0, 1.0], [0.0, 2.0], epsilon=3.0)
    assert not audit.holds
    assert audit.true_epsilon == math.inf
    assert audit.witness["report"] == 2.0


def test_a_report_that_is_never_made_is_no_violation():
    def inside(values, reports):
        return np.where(reports > 5.0, -np.inf, 0.0) + 0.0 * values

    assert audit_density(inside, [0.0, 1.0], [0.0, 9.0], epsilon=0.0).holds


def test_a_table_of_another_shape_is_refused():
    with pytest.raises(ParameterError, match="log_density: gave shape"):
        audit_density(lambda values, reports: np.zeros(2), [0.0, 1.0], [0.0, 1.0, 2.0], epsilon=1.0)
    for inputs, outputs, epsilon in (([math.nan], [0.0], 1.0), ([0.0], [math.inf], 1.0), ([0.0], [0.0], "1")):
        with pytest.raises(ParameterError):
            audit_density(lambda values, reports: values + reports, inputs, outputs, epsilon)


def test_each_report_is_judged_by_its_own_rounding():
    """A tenth of a billionth too much is seen at -1, although it would be lost at 50 000."""

    def steep(values, reports):
        return -(1.0 + 1e-10) * np.abs(reports - values)

    audit = audit_density(steep, [0.0, 1.0], [-1.0, 50_000.0], epsilon=1.0)
    assert not audit.holds
    assert audit.witness["report"] == -1.0
    assert audit_density(steep, [0.0, 1.0], [50_000.0], epsilon=1.0).holds
