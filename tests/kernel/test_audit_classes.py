"""The audit of report classes: against the audit of the whole channel, at the boundary, and attacked."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from mechdesign.audit.channel import audit_channel
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.exact.randomness import TOTAL, exp_lower
from mechdesign.families.marginals.oracles.support import ReportClass, audit_classes

EIGHTH = TOTAL // 8


def test_it_says_what_the_audit_of_the_matrix_says():
    for first, second in product(range(1, 8), repeat=2):
        rows = [[first * EIGHTH, (8 - first) * EIGHTH], [second * EIGHTH, (8 - second) * EIGHTH]]
        classes = [ReportClass(str(report), 1, rows[0][report], rows[1][report]) for report in (0, 1)]
        for epsilon in (0.0, 0.5, 1.2, 3.0):
            whole, found = audit_channel(np.array(rows), epsilon), audit_classes(classes, epsilon)
            assert found.holds == whole.holds
            assert found.true_epsilon_digits == whole.true_epsilon_digits
            assert found.certificate().exact


@pytest.mark.parametrize("epsilon", [0.1, math.log(3), 1.0, 7.3])
def test_one_unit_decides(epsilon):
    """The largest pair of weights within the rational bound holds, one unit more does not."""
    bound, low = exp_lower(epsilon), 10**30
    high = math.floor(bound * low)
    for weight, holds in ((high, True), (high + 1, False)):
        classes = [ReportClass("a", 1, weight, low), ReportClass("b", 1, low, weight)]
        assert audit_classes(classes, epsilon).holds is holds


def test_the_other_direction_counts_as_well():
    classes = [ReportClass("rare", 1, 1, 9), ReportClass("often", 4, 4, 2)]
    audit = audit_classes(classes, math.log(4))
    assert not audit.holds
    assert audit.witness["report"] == "rare"
    assert audit.true_epsilon == pytest.approx(math.log(9))


def test_a_report_that_one_answer_excludes_is_never_private():
    classes = [ReportClass("a", 1, 1, 0), ReportClass("b", 1, 1, 2)]
    audit = audit_classes(classes, 700.0)
    assert (audit.holds, audit.true_epsilon) == (False, math.inf)


def test_classes_without_reports_or_weight_do_not_count():
    classes = [ReportClass("none", 0, 5, 0), ReportClass("never", 3, 0, 0), ReportClass("all", 2, 7, 7)]
    audit = audit_classes(classes, 0.0)
    assert (audit.holds, audit.true_epsilon, audit.witness) == (True, 0.0, {})


def test_numbers_of_numpy_do_not_overflow():
    """In 64 bits the products below would wrap to equal sums."""
    big = np.int64(2**62)
    classes = [
        ReportClass("a", np.int64(2), big, big),
        ReportClass("b", np.int64(1), np.int64(1), np.int64(9)),
    ]
    with pytest.raises(CertificateError, match="should be equal"):
        audit_classes(classes, 1.0)
    wide = [ReportClass("a", np.uint8(2), np.uint8(200), np.uint8(150))]
    wide.append(ReportClass("b", np.uint8(2), np.uint8(150), np.uint8(200)))
    assert audit_classes(wide, 1.0).true_epsilon == pytest.approx(math.log(4 / 3))


GOOD = ReportClass("a", 1, 3, 3)


@pytest.mark.parametrize("field", ["count", "weight", "other"])
@pytest.mark.parametrize("value", [-1, 1.0, True, "3", None, Fraction(3), math.nan])
def test_what_is_no_weight_is_refused(field, value):
    with pytest.raises((CertificateError, ParameterError), match=r"^channel: "):
        audit_classes([replace(GOOD, **{field: value})], 1.0)


def test_no_reports_at_all_are_refused():
    for classes in ([], [ReportClass("a", 1, 0, 0)]):
        with pytest.raises(CertificateError):
            audit_classes(classes, 1.0)
    with pytest.raises(ParameterError):
        audit_classes([GOOD], math.nan)
