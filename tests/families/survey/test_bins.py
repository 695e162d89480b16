"""Bins of a number: no two share a number, and each number is in the bin whose name has it."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.families.survey import Question


def holds(name: str, value: float) -> bool:
    """Whether the name of a bin has a number, read as a person reads it."""
    numbers = [float(text) for text in re.findall(r"-?\d+(?:\.\d+)?", name)]
    if name.startswith("below"):
        return value < numbers[0]
    if name.endswith("or more"):
        return value >= numbers[0]
    if "below" in name:
        return numbers[0] <= value < numbers[1]
    return numbers[0] <= value <= numbers[-1]


edges = st.lists(st.integers(-40, 200), min_size=3, max_size=8, unique=True).map(sorted)


@given(edges)
def test_every_whole_number_is_in_the_one_bin_that_names_it(ends: list[int]) -> None:
    question = Question("q", "number", low=ends[0], high=ends[-1], bins=ends)
    values = np.arange(ends[0], ends[-1] + 1)
    codes = question.encode(values).tolist()
    for value, code in zip(values.tolist(), codes, strict=True):
        assert [place for place, name in enumerate(question.categories) if holds(name, value)] == [code]


@given(edges, st.integers(1, 9))
def test_every_number_is_in_the_one_bin_that_names_it(ends: list[int], tenth: int) -> None:
    """Edges that are not whole: halves, and between them any number."""
    halves = [end + 0.5 for end in ends]
    question = Question("q", "number", low=halves[0], high=halves[-1], bins=halves)
    values = [*halves, *(low + (high - low) * tenth / 10 for low, high in pairwise(halves))]
    for value, code in zip(values, question.encode(np.array(values)).tolist(), strict=True):
        assert [place for place, name in enumerate(question.categories) if holds(name, value)] == [code]


def test_open_ends_take_what_is_beyond_and_codes_for_missing_are_still_refused() -> None:
    age = Question("age", "number", low=18, high=70, bins=[18, 30, 60, 70], open_ends="both")
    assert age.categories == ("below 30", "30 to 59", "60 or more")
    assert age.encode(np.array([3, 29, 30, 59.5, 60, 77, 99, 104])).tolist() == [0, 0, 1, 1, 2, 2, 2, 2]
    for code in (999, -9):
        with pytest.raises(DataError, match=rf"row 2: {code} is outside \[18, 70\]"):
            age.encode(np.array([20, code]))
    high = Question("age", "number", low=18, high=70, bins=[18, 30, 70], open_ends="high")
    with pytest.raises(DataError, match=r"17 is outside"):
        high.encode(np.array([17]))
    assert Question.from_json(age.as_json()).categories == age.categories


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bins": []}, "open_ends: are of bins, and there are none; give bins"),
        ({"open_ends": "hi"}, "open_ends: 'hi' is not a choice; did you mean 'high'"),
    ],
)
def test_wrong_open_ends_are_one_line(changes: dict[str, object], said: str) -> None:
    document = {"name": "age", "range": [18, 70], "bins": [18, 30, 70], "open_ends": "high", **changes}
    with pytest.raises(ParameterError, match=said):
        Question.from_json(document)
