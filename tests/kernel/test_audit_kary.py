"""The audit of the structured channel equals the audit of its whole matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mechdesign.audit import audit_channel
from mechdesign.core.errors import CertificateError
from mechdesign.exact.randomness import TOTAL, exp_lower
from mechdesign.primitives.kary import KaryWeights, representative
from tests.support.channels import dense_weights


@st.composite
def kary_weights(draw: st.DrawFn) -> KaryWeights:
    size = draw(st.integers(1, 7))
    kept = draw(st.integers(1, size))
    own = draw(st.sampled_from([0, 1, TOTAL // 10, TOTAL // 2, TOTAL]))
    rest = TOTAL - own
    low = draw(st.one_of(st.just(0), st.just(rest // kept), st.integers(0, rest // kept)))
    return KaryWeights(size, kept, own, rest - (kept - 1) * low, low)


@given(kary_weights(), st.sampled_from([0.0, 0.1, 0.6931471805599453, 1.0, 5.0]))
def test_small_representative_audits_as_the_whole_matrix(weights, epsilon):
    weights.require()
    kept = list(range(weights.size))[::-1][: weights.kept]
    whole = audit_channel(dense_weights(weights, kept), epsilon)
    small = audit_channel(representative(weights)[0], epsilon)
    assert small.true_epsilon_digits == whole.true_epsilon_digits
    assert small.least_delta_exact == whole.least_delta_exact
    assert small.entry_delta == whole.entry_delta


@given(kary_weights())
def test_representative_names_columns_that_are_what_it_says(weights):
    matrix, kept_columns, other_columns = representative(weights)
    bound = exp_lower(0.0)
    assert (matrix.sum(axis=1, dtype=object) == TOTAL).all()
    assert len(kept_columns) == min(3, weights.kept)
    assert len(other_columns) == min(2, weights.size - weights.kept)
    for column in kept_columns:
        assert matrix[column, column] == weights.own + weights.high
    for column in other_columns:
        assert matrix[column, column] == weights.own
        assert matrix[column, 0] == weights.high
    assert bound == 1


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (KaryWeights(3, 4, 0, TOTAL, 0), "4 kept answers of 3"),
        (KaryWeights(3, 0, 0, TOTAL, 0), "0 kept answers of 3"),
        (KaryWeights(3, 2, -1, TOTAL, 1), "negative"),
        (KaryWeights(3, 2, 0, 1, TOTAL - 1), "below the others"),
        (KaryWeights(3, 2, 0, TOTAL - 5, 4), "sum to 4611686018427387903"),
    ],
)
def test_weights_that_cannot_be_sampled_are_refused(weights, text):
    with pytest.raises(CertificateError, match=text):
        weights.require()


def test_a_wrong_row_in_the_matrix_would_be_seen():
    weights = KaryWeights(4, 2, 0, TOTAL // 2, TOTAL // 2)
    dense = dense_weights(weights, [1, 3])
    assert np.array_equal(dense[0], [0, TOTAL // 2, 0, TOTAL // 2])
