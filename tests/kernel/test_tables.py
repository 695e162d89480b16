"""Columns of few values."""

import numpy as np
import pytest

from mechdesign.data.intake import FEW, Coded


@pytest.mark.parametrize("size", [1, FEW, FEW + 1, 300])
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
def test_rows_of_each_value_are_counted(size, kind):
    codes = (np.arange(5000) ** 2 % (size + 3)).clip(0, size - 1).astype(kind)
    found = Coded(np.arange(size), codes).rows_of_each()
    assert found.dtype == np.int64
    assert found.tolist() == [codes.tolist().count(place) for place in range(size)]
