"""Own tables from files and functions, own lotteries, and what is wrong with them: one line each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import DataError, MechDesignError, ModelFileError, ParameterError
from mechdesign.families.incentives import Environment, implementable, interim_auction

SALE = {"name": "single-item", "types": [1, 2, 3], "agents": 2}
VALUES = "agent,type,probability,unsold,sold\nbuyer,low,1/3,0,1\nbuyer,high,2/3,0,2\n"


def problem_of_file(tmp_path, text: str) -> md.DirectMechanism:
    path = tmp_path / "values.csv"
    path.write_text(text, encoding="utf-8")
    return md.DirectMechanism(environment={"name": "csv", "values": str(path)})


@pytest.mark.parametrize(
    "text", [VALUES, "\ufeff" + VALUES, VALUES.replace(",1/3,", ', "1/3",'), VALUES + "\n,,,,\n"]
)
def test_a_file_a_table_and_functions_state_the_same(tmp_path, text):
    """The best price is 2, which two of three buyers pay: 4/3."""
    of_file = problem_of_file(tmp_path, text)
    of_table = md.DirectMechanism(
        environment={
            "types": [["low", "high"]],
            "outcomes": ["unsold", "sold"],
            "values": [[[0, 1], [0, 2]]],
            "prior": [["1/3", "2/3"]],
            "agents": ["buyer"],
        }
    )
    of_functions = md.DirectMechanism(
        environment=Environment.of(
            [["low", "high"]],
            ["unsold", "sold"],
            lambda agent, kind, outcome: {"low": 1, "high": 2}[kind] * (outcome == "sold"),
            probability=lambda profile: Fraction(1 + (profile[0] == "high"), 3),
            agents=["buyer"],
        )
    )
    assert of_file == of_table == of_functions
    assert md.solve(of_file).notes["exact_value"] == "4/3"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "its first line is not 'agent,type,' and the outcomes; write for instance"),
        ("agent,type,a,b\n", "has a header and no rows; give one row per type of each agent"),
        ("agent;type;a;b\nx;l;0;1\n", "its first line is not 'agent,type,'"),
        ("agent,type,a,a\nx,l,0,1\n", "duplicate column 'a'; use each name once"),
        ("agent,type,a,b\nx,l,0\n", "line 2: expected 4 cells, got 3"),
        ("agent,type,a,b\nx,l,0,1\n\nx,h,0,two\n", "line 4: column 'b': 'two' is not a number; write"),
        ("agent,type,a,b\nx,l,0,\n", "line 2: column 'b': '' is not a number; write"),
        ("agent,type,a,b\nx,l,0,nan\n", "line 2: column 'b': 'nan' is not a number; write"),
        ("agent,type,probability,a\nx,l,?,0\n", "line 2: column 'probability': '\\?' is not a number"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_its_line(tmp_path, text, line):
    with pytest.raises(ModelFileError, match=rf"values\.csv: {line}"):
        problem_of_file(tmp_path, text)


def test_a_file_has_to_be_a_path():
    with pytest.raises(ParameterError, match="values: expected the path of a CSV file, got 3"):
        md.DirectMechanism(environment={"name": "csv", "values": 3})


NO, YES = [1, 0], [0, 1]


@pytest.mark.parametrize(
    ("lotteries", "line"),
    [
        ([NO, YES], "expected an array of shape"),
        ("no", "expected an array of shape"),
        (None, "expected an array of shape"),
        ([NO, YES, [1]], "expected an array of shape"),
        ([NO, YES, [float("nan"), 1]], "is NaN; give a number"),
        ([NO, YES, ["a", 1]], "expected a number, got 'a'"),
        ([NO, YES, [0.5, 0.6]], "are not probabilities that sum to 1; write quotients such as 1/3"),
        ([NO, YES, [-1, 2]], "are not probabilities"),
    ],
)
def test_lotteries_that_are_none_are_refused(lotteries, line):
    with pytest.raises(ParameterError, match=f"lotteries: {line}"):
        implementable({"name": "single-item", "types": [1, 2, 3]}, lotteries)


def test_the_lotteries_of_a_solution_are_implementable_with_its_payments():
    solution = md.solve(md.DirectMechanism(environment=SALE))
    rows = solution.variables["lotteries"]
    answer = implementable(SALE, rows, participation=True)
    assert answer.payments is not None
    paid = answer.payments.reshape(9, 2).astype(float)
    assert (paid >= solution.variables["payments"] - 1e-12).all(), "the largest ones"
    assert np.isclose(paid.sum(axis=1).mean(), 2.0)
    assert not implementable(SALE, rows[::-1]).holds, "the item for the lowest value"


@pytest.mark.parametrize("types", ["31", 3, None, {"bidder1": 3, "bidder2": 1}, [3], [3, 1, 2], [3, "x"]])
def test_a_profile_is_a_list_of_types(types):
    rule = md.solve(md.DirectMechanism(environment=SALE)).mechanism()
    with pytest.raises(DataError, match=r"^types: "):
        rule.decide(types)
    assert rule.decide(np.array([3, 1]), rng=1) == rule.decide((3.0, "1"), rng=1)


def test_the_worth_of_an_unknown_requirement_is_refused():
    prices = md.solve(md.DirectMechanism(environment=SALE)).prices
    assert prices.of_requirement("budget") == 0
    assert prices.of_requirement("incentives") > 0
    with pytest.raises(ParameterError, match="'budgt' is not a choice; did you mean 'budget'"):
        prices.of_requirement("budgt")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (([], [], 2), "values: is empty"),
        (([2, 1], [0.5, 0.5], 2), r"values\[1\]: 1 is not above 2; sort them"),
        (([-1, 1], [0.5, 0.5], 2), r"values\[0\]: -1 is negative"),
        (([1, 2], [0.5, 0.6], 2), "shares: sums to 1.1, not 1"),
        (([1, 2], [0, 1], 2), r"shares\[0\]: 0 is not above 0"),
        (([1, 2], [1], 2), "shares: expected 2 entries, got 1"),
        (([1, float("nan")], [0.5, 0.5], 2), r"values\[1\]: is NaN"),
        (([1, 2], [0.5, 0.5], 0), "bidders: 0 is not from 1"),
        (([1, 2], [0.5, 0.5], 10**9), "bidders: 1000000000 is not from 1"),
    ],
)
def test_bidders_that_cannot_be_are_refused(arguments, line):
    with pytest.raises(ParameterError, match=line):
        interim_auction(*arguments)


def test_a_problem_of_ten_million_variables_names_what_to_reduce():
    with pytest.raises(MechDesignError, match=r"12784005 variables .* reduce the types .* interim_auction"):
        md.DirectMechanism(environment={**SALE, "types": list(range(1, 1600))})
