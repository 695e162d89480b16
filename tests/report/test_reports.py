"""From data files to reports and back, for one column, for several, and for what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import DataError, MethodError, ParameterError
from mechdesign.mechanisms.mean import AttributeSampling, Duchi
from mechdesign.report.columns import write_columns
from mechdesign.report.reports import aggregator, count_reports, randomized

USERS = 6000


@pytest.fixture
def sampling() -> AttributeSampling:
    return AttributeSampling.of(Duchi, epsilon=4.0, attributes=["hours", "steps"])


@pytest.fixture
def data(tmp_path) -> str:
    path = str(tmp_path / "data.csv")
    write_columns(
        path, {"steps": np.full(USERS, 0.8), "other": np.zeros(USERS), "hours": np.full(USERS, -0.6)}
    )
    return path


@pytest.mark.parametrize("columns", [["hours", "steps"], ["steps", "hours"]])
def test_columns_go_to_the_attributes_of_their_names_in_any_order(sampling, data, tmp_path, columns):
    """Both means lie within six standard errors: a correct program fails with probability below 1e-8."""
    made = randomized(sampling, data, columns, 1, False)
    path = str(tmp_path / "reports.csv")
    write_columns(path, made)
    counter = aggregator(sampling)
    count_reports(sampling, path, None, counter)
    found = counter.estimate()
    assert (np.abs(found.value - [-0.6, 0.8]) < 6 * found.standard_error).all()


def test_other_columns_are_refused_by_name(sampling, data):
    with pytest.raises(DataError, match="attributes hours, steps; name these with --column"):
        randomized(sampling, data, None, 1, False)
    with pytest.raises(DataError, match=r"no column 'step'; did you mean 'steps'"):
        randomized(sampling, data, ["hours", "step"], 1, False)


def test_values_outside_the_range_need_clip(tmp_path):
    path = str(tmp_path / "data.csv")
    write_columns(path, {"x": [0.5, 1.5]})
    with pytest.raises(DataError, match=r"column 'x': values: row 2: 1.5 is outside .*--clip"):
        randomized(Duchi(1.0), path, None, 1, False)
    assert len(randomized(Duchi(1.0), path, None, 1, True)["x"]) == 2


def test_what_makes_no_sense_is_refused(data):
    categories = md.solve(md.RandomizedResponse([0.5, 0.5], 1.0)).mechanism()
    with pytest.raises(ParameterError, match="--clip"):
        randomized(categories, data, ["steps"], 1, True)
    with pytest.raises(ParameterError, match="2 columns for a mechanism of one"):
        randomized(Duchi(1.0), data, ["steps", "hours"], 1, False)
    menu = md.solve(md.PrivacyContract([1, 2], [3, 4], 10)).mechanism()
    with pytest.raises(MethodError, match="ContractMenu"):
        randomized(menu, data, ["steps"], 1, False)
