"""Bisection to the last bit."""

import math

import pytest
from hypothesis import given, strategies as st

from mechdesign.core.errors import ParameterError
from mechdesign.solvers.roots import sign_change


@given(st.floats(-1e6, 1e6))
def test_the_sign_changes_next_to_the_answer(root):
    found = sign_change(lambda x: math.atan(x - root), -2e6, 2e6)
    assert math.nextafter(found, -math.inf) <= root <= found


def test_ends_and_falling_functions():
    assert sign_change(lambda x: x, 0.0, 1.0) == 0.0
    assert sign_change(lambda x: 1.0 - x, 0.0, 1.0) == 1.0
    assert sign_change(lambda x: 2.0 - x * x, 0.0, 2.0) == pytest.approx(math.sqrt(2.0), rel=1e-15)


def test_no_change_of_sign_is_an_error():
    with pytest.raises(ParameterError, match="same sign"):
        sign_change(lambda x: x * x + 1.0, -1.0, 1.0)
