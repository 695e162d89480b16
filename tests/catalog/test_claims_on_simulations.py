"""Claims about what the model's simulation measures, and claims with options of a method."""

from pathlib import Path

import pytest

from mechdesign.catalog import load_model
from mechdesign.core.errors import MechDesignError
from mechdesign.papers.claims import check_model

MODEL = """
[model]
title = "t"
problem = "mean-interval"
methods = ["closed-form", "algorithm-8"]

[parameters]
epsilon = 1.0
mean = 0.5
attributes = 2

[[claim]]
{claim}

[simulation]
users = 500
repetitions = 2
seed = 3
"""


def checked(tmp_path: Path, claim: str):
    path = tmp_path / "model.toml"
    path.write_text(MODEL.format(claim=claim))
    (result,) = check_model(load_model(path)).claims
    return result


def test_a_simulated_quantity_is_found_again_the_same(tmp_path):
    claim = 'quantity = "simulated.rmse_no_dp"\nvalue = 0.03\nrelative_tolerance = 0.9'
    first, second = checked(tmp_path, claim), checked(tmp_path, claim)
    assert first.verdict == "holds"
    assert first.found == second.found > 0.0
    other = checked(tmp_path, claim + "\nat = { epsilon = 2.0 }")
    assert other.found != first.found  # a stream of its own


def test_options_reach_the_method_and_are_shown(tmp_path):
    claim = (
        'quantity = "second"\nvalue = 0.5\nmethod = "algorithm-8"\noptions = { first = 0.5, second = 0.5 }'
    )
    result = checked(tmp_path, claim)
    assert result.verdict == "holds"
    assert "algorithm-8 (first = 0.5, second = 0.5)" in str(result)
    assert result.as_dict()["options"] == {"first": 0.5, "second": 0.5}


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ('quantity = "simulated.rmse"\nvalue = 1.0', "the simulation measures no 'rmse'; did you mean"),
        (
            'quantity = "value"\nvalue = 1.0\noptions = { first = 0.5 }',
            "options: are those of a method; add method",
        ),
        ('quantity = "value"\nvalue = 1.0\noptions = 3', "options: is not a table"),
    ],
)
def test_wrong_claims_are_refused_in_a_line(tmp_path, claim, text):
    with pytest.raises(MechDesignError, match=text) as refused:
        checked(tmp_path, claim)
    assert "\n" not in str(refused.value)
    assert "claim 1" in str(refused.value)


def test_a_model_without_a_simulation_says_so(tmp_path):
    path = tmp_path / "model.toml"
    claim = 'quantity = "simulated.rmse_opt"\nvalue = 1.0'
    path.write_text(MODEL.format(claim=claim).partition("[simulation]")[0])
    with pytest.raises(MechDesignError, match=r"nothing is simulated; add \[simulation\] to the model"):
        check_model(load_model(path))
