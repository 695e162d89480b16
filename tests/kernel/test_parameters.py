"""Mappings to problems and back, generators, and the JSON Schema derived from the dataclass."""

from __future__ import annotations

import json
import math

import jsonschema
import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import ParameterError, UnknownNameError
from mechdesign.core.fields import fields_of, parameters_of, problem_from, replace_parameters
from mechdesign.core.values import encode
from mechdesign.families import problem_class, problem_classes
from mechdesign.families.response import RandomizedResponse
from mechdesign.report.tables import json_schema
from tests.support.instances import random_instance


@pytest.mark.parametrize("seed", range(0, 60))
def test_parameters_survive_json_and_satisfy_the_schema(seed):
    problem = random_instance(seed)
    plain = json.loads(json.dumps(parameters_of(problem), allow_nan=False))
    jsonschema.validate(plain, json_schema(RandomizedResponse))
    again = problem_from(RandomizedResponse, plain)
    assert parameters_of(again).keys() == plain.keys()
    for key, value in plain.items():
        same = parameters_of(again)[key]
        assert same == pytest.approx(value) if key == "prior" else same == value


@pytest.mark.parametrize(
    "wrong", [{"prior": "uniform", "epsilon": 1}, {"prior": [1.0]}, {"prior": [1.0], "epsilon": "1"},
              {"prior": [1.0], "epsilon": 1, "notion": "x"}, {"prior": [1.0], "epsilon": 1, "eps": 1},
              {"prior": {"name": "zopf"}, "epsilon": 1}]
)  # fmt: skip
@pytest.mark.everywhere
def test_the_schema_refuses_what_the_class_refuses(wrong):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, json_schema(RandomizedResponse))
    with pytest.raises(md.MechDesignError):
        problem_from(RandomizedResponse, wrong)


def test_generators_give_priors_and_refuse_impossible_arguments():
    def prior(**table):
        return problem_from(RandomizedResponse, {"prior": table, "epsilon": 1.0}).prior

    assert prior(name="uniform", size=4).tolist() == [0.25] * 4
    assert prior(name="zipf", size=3, exponent=2.0) == pytest.approx(np.array([36, 9, 4]) / 49)
    assert prior(name="geometric", size=3, ratio=0.5) == pytest.approx(np.array([4, 2, 1]) / 7)
    random = prior(name="dirichlet", size=5, seed=3, concentration=0.1)
    assert random.tolist() == prior(name="dirichlet", size=5, seed=3, concentration=0.1).tolist()
    assert random.tolist() != prior(name="dirichlet", size=5, seed=4, concentration=0.1).tolist()
    assert math.fsum(prior(name="zipf", size=200_000, exponent=1.1)) == pytest.approx(1.0, abs=1e-14)
    for table, text in (
        ({"name": "zipf"}, r"generator 'zipf': 'size' is missing; it takes size, exponent = 1\.0$"),
        ({"name": "uniform", "size": 0}, "prior.size: 0 is not from 1"),
        ({"name": "uniform", "size": 2.5}, "prior.size: expected a whole number"),
        ({"name": "geometric", "size": 2, "ratio": 1.5}, "prior.ratio: 1.5 is outside"),
        ({"name": "dirichlet", "size": 2, "seed": -1}, "prior.seed: -1 is not at least 0"),
        (
            {"name": "uniform", "size": 2, "sise": 2},
            "generator 'uniform': no argument 'sise'; it takes size$",
        ),
        ({"name": "zipf", "n": 2}, r"generator 'zipf': no argument 'n'; it takes size, exponent = 1\.0$"),
    ):
        with pytest.raises(ParameterError, match=text):
            prior(**table)
    with pytest.raises(UnknownNameError, match="no generator 'zopf'; did you mean 'zipf'"):
        prior(name="zopf", size=3)


def test_a_renamed_parameter_is_told_its_new_name():
    given = {"attributes": [2], "keep": 0.75, "add": 0.25, "patterns": [[1, 0]]}
    with pytest.raises(UnknownNameError) as caught:
        problem_from(md.JointDistribution, {**given, "f": 0.2})
    assert str(caught.value) == "joint-distribution: no parameter 'f'; it is called 'redraw' now"
    with pytest.raises(UnknownNameError, match=r"no parameter 'q'; it is called 'keep' now$"):
        md.load_model("joint/by_hand", {"q": 0.8})
    assert problem_from(md.JointDistribution, {**given, "redraw": 0.2}).redraw == 0.2


@pytest.mark.parametrize("kind", problem_classes().values(), ids=problem_classes())
def test_former_names_are_no_parameters_and_lead_to_parameters(kind):
    known = {field.name for field in fields_of(kind)}
    assert not known & set(kind.renamed)
    assert set(kind.renamed.values()) <= known


def test_unknown_and_missing_parameters():
    with pytest.raises(UnknownNameError, match="no parameter 'Prior'; did you mean 'prior'"):
        problem_from(RandomizedResponse, {"Prior": [1.0], "epsilon": 1.0})
    with pytest.raises(ParameterError, match="parameter 'epsilon' is missing"):
        problem_from(RandomizedResponse, {"prior": [1.0]})
    with pytest.raises(
        UnknownNameError, match="no 'randomised-response'; did you mean 'randomized-response'"
    ):
        problem_class("randomised-response")
    assert problem_classes()["randomized-response"] is RandomizedResponse


def test_changed_parameters_are_validated_anew():
    problem = RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)
    assert replace_parameters(problem, {"epsilon": 2.0}).epsilon == 2.0
    assert problem.epsilon == 1.0
    with pytest.raises(ParameterError, match="sums to"):
        replace_parameters(problem, {"prior": [0.5, 0.6]})


def test_encoding_of_every_kind_of_value():
    value = {"a": np.float64(1.5), "b": [math.inf, -math.inf, math.nan], 3: (np.int64(2), True, None, "x")}
    assert encode(value) == {"a": 1.5, "b": ["inf", "-inf", None], "3": [2, True, None, "x"]}
    with pytest.raises(TypeError, match="has no JSON form"):
        encode(object())
