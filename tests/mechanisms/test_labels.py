"""Categories by name and by number, and errors that name the row."""

from __future__ import annotations

import numpy as np
import pytest

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.mechanisms.labels import Labels

NAMED, NUMBERED = Labels(3, ["no", "yes", "don't know"]), Labels(3)


@pytest.mark.parametrize(
    "values",
    [["yes", "no", "yes"], np.array(["yes", "no", "yes"]), np.array(["yes", "no", "yes"], dtype=object)],
)
def test_names_become_their_numbers_and_come_back(values):
    codes = NAMED.encode(values)
    assert codes.tolist() == [1, 0, 1]
    assert NAMED.decode(codes).tolist() == ["yes", "no", "yes"]


@pytest.mark.parametrize(
    "values",
    [[0, 2, 1], [0.0, 2.0, 1.0], ["0", "2", "1"], np.array([0, 2, 1], dtype=np.uint8), ["0.0", "2.0", "1"]],
)
def test_numbers_in_any_form_are_taken(values):
    assert NUMBERED.encode(values).tolist() == [0, 2, 1]
    assert NUMBERED.encode([]).tolist() == []


def test_labels_that_are_digits_are_found_among_numbers():
    assert Labels(2, ["3", "4"]).encode(np.array([4, 3, 4])).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            ["yes", "maybe", "maybe"],
            "row 2: unknown category 'maybe' \\(2 such values\\); known: don't know, no, yes",
        ),
        (["yes", "ye"], "row 2: unknown category 'ye'; did you mean 'yes'\\?"),
        (["yes", None], "row 2: unknown category None"),
        (["yes", ""], "row 2: unknown category ''"),
        ([["yes"]], "one column of values"),
    ],
)
def test_unknown_names_are_refused_naming_the_row(values, text):
    with pytest.raises(DataError, match=text):
        NAMED.encode(values)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0, 1, 3], "row 3: unknown category 3; give integers from 0 to 2"),
        ([0, -1], "row 2: unknown category -1"),
        ([0.5], "row 1: unknown category 0.5"),
        ([1.0, float("nan")], "row 2: unknown category nan"),
        ([float("inf")], "row 1: unknown category inf"),
        ([1e300, 0.0], "row 1: unknown category 1e\\+300"),
        (["1e300"], "row 1: '1e300' is not a code"),
        ([2**63 + 5], "row 1: unknown category"),
        (["0", "two"], "row 2: 'two' is not a code"),
        (["0", None], "row 2: None is not a number"),
        ([True, False], "are booleans"),
        ([1j], "expected integers"),
    ],
)
def test_impossible_numbers_are_refused_naming_the_row(values, text):
    with pytest.raises(DataError, match=text):
        NUMBERED.encode(np.array(values) if None not in values else np.array(values, dtype=object))


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a"], "1 name for 2 categories"),
        (["a", "a"], "'a' appears twice"),
        (["a", ""], "non-empty"),
        ([1, 2], "quotes"),
    ],
)
def test_names_that_cannot_serve_are_refused(names, text):
    with pytest.raises(ParameterError, match=text):
        Labels(2, names)


@pytest.mark.parametrize("value", [True, 1.0, float("nan")])
def test_what_equals_a_whole_number_is_no_label_of_digits(value):
    labels, column = Labels(3, ["0", "1", "no"]), np.array(["no", 1, value, "0"], dtype=object)
    assert labels.encode(column[[0, 1, 3]]).tolist() == [2, 1, 0]
    with pytest.raises(DataError, match=rf"row 3: unknown category {value!r}"):
        labels.encode(column)
