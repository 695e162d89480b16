"""Every parameter of every problem, given whatever a file can hold: an answer, or one line and exit 2."""

from __future__ import annotations

import datetime
import inspect
import json
import math
from collections import Counter
from functools import cache
from typing import Any

import pytest

from mechdesign.catalog import models
from mechdesign.catalog.shipped import models_folder
from mechdesign.cli import main
from mechdesign.core.errors import MechDesignError
from mechdesign.core.fields import fields_of, parameters_of, problem_from
from mechdesign.families import problem_classes
from tests.support.shipped import loaded

SCALARS: list[Any] = [
    "", "x", "1", "line", "uniform", "a\nb\x1b[2J", "\udc80", True, False,
    0, 1, -1, 2**63, 10**20, 10**400, -(10**400),
    0.0, -0.0, 5e-324, 1e-30, 1e30, 1e308, 1.7976931348623157e308, -1e308, math.nan, math.inf, -math.inf,
    datetime.date(2020, 1, 1), datetime.time(1, 2), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
]  # fmt: skip
DEEP: Any = [1.0]
for _ in range(200):
    DEEP = [DEEP]
LISTS: list[Any] = [
    *([scalar] for scalar in SCALARS),
    [], [[]], [[], []], [1, [2]], [[1], [2, 3]], [[[1]]], [1] * 1000, [[1, 2], [3, 4]], [[1, 2, 3]],
    ["a", 1], [1, "a", 2.5], [True, 1], [1.0, math.nan], [math.inf, 1.0], [1e308, 1e308], [5e-324, 1e308],
    [0, 0], [-1, 2], [{}], [1, {"a": 2}], DEEP,
]  # fmt: skip
TABLES: list[Any] = [
    {}, {"a": {"b": [{}]}}, {"name": "x"}, {"size": 3},
    *({"name": value} for value in (1, [1], {}, None, math.nan, datetime.date(2020, 1, 1))),
    {"epsilon": [1], "variance": [[1]]}, {"epsilon": 1, "variance": "x"},
    {"epsilon": [1, 2], "variance": [2, 0]},
    {"epsilon": [1e-300, 1.0], "variance": [1e300, 1.0]}, {"epsilon": [1, 2], "variance": [1, -1]},
]  # fmt: skip
ANYTHING = SCALARS + LISTS + TABLES


@cache
def examples() -> dict[type, dict[str, Any]]:
    """Return for each problem the parameters of the shipped model that is shortest to write down."""
    found: dict[type, dict[str, Any]] = {}
    for slug in sorted(models(), key=lambda slug: (models_folder() / f"{slug}.toml").stat().st_size):
        problem = loaded(slug).problem
        if type(problem) not in found:
            found[type(problem)] = parameters_of(problem)
    return found


FIELDS = [(name, field.name) for name, kind in problem_classes().items() for field in fields_of(kind)]


def accepted(kind: type, parameters: dict[str, Any]) -> bool:
    """Whether the problem takes the parameters; whatever is raised has to be an error of one line."""
    text = "taken"
    try:
        problem_from(kind, parameters)
    except MechDesignError as error:
        text = str(error)
    assert text.isprintable()
    assert text.strip()
    return text == "taken"


def test_every_problem_has_an_example():
    assert set(examples()) == set(problem_classes().values())


SMALLER: dict[str, dict[str, Any]] = {
    "auction-horizon": {"users": 10, "tasks": 3, "slots": 2},
    "deployed-histogram": {"users": 1000},
    "direct-mechanism": {"environment": {"name": "facility", "places": [0, 1], "agents": 2}},
    "event-counts": {"slots": 2},
    "heavy-hitters": {"users": 1000, "bits": 4},
    "mean-channel": {"inputs": 5},
    "privacy-contract-continuous": {"cells": 100},
    "shuffle-amplification": {"users": 1000, "randomizer": {"name": "k-ary", "size": 2}},
    "shuffle-counting": {"users": 1000},
    "shuffle-histogram": {"users": 20_000},
    "shuffle-local-budget": {"users": 1000},
    "shuffle-range": {"categories": 8},
    "weekly": {"epsilon_all": 4.0},
}
"""Other parameters with which what is accepted is solved quickly, and builds without a warning."""


@cache
def small(name: str) -> dict[str, Any]:
    """Return parameters of a problem that is solved quickly."""
    return {**examples()[problem_classes()[name]], **SMALLER.get(name, {})}


@cache
def answers(name: str, field: str) -> list[bool]:
    """Return for each value whether the problem takes it; several tests look at them."""
    return [accepted(problem_classes()[name], {**small(name), field: value}) for value in ANYTHING]


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_whatever_is_given_is_taken_or_refused_in_one_line(name, field):
    assert not all(answers(name, field)), "nothing is refused"


def generators() -> list[tuple[str, str, dict[str, Any]]]:
    """Return (problem, field, arguments that work) for every named way to give a parameter."""
    working: dict[str, dict[str, Any]] = {
        "zipf": {"size": 4, "exponent": 1.0},
        "uniform": {"size": 4, "low": 1.0, "high": 2.0},
        "midpoints": {"size": 4, "low": 1.0, "high": 2.0},
        "truncated-normal": {"low": 1.0, "high": 2.0, "mean": 1.5, "deviation": 1.0},
        "beta": {"a": 2.0, "b": 2.0, "low": 0.0, "high": 1.0},
        "histogram": {"edges": [1.0, 2.0, 3.0], "shares": [0.5, 0.5]},
        "empirical": {"sample": [1.0, 2.0, 3.0], "method": "kernel", "bins": 3, "bandwidth": 0.5},
    }
    found = []
    for key in ("uniform", "truncated-normal", "beta", "histogram", "empirical"):
        arguments = {word: value for word, value in working[key].items() if word != "size"}
        found.append(("privacy-contract-continuous", "density", {"name": key, **arguments}))
    for name, kind in problem_classes().items():
        for field, known in getattr(kind, "generators", {}).items():
            for key, function in known.items():
                arguments = {
                    parameter.name: working.get(key, {}).get(parameter.name, 3)
                    for parameter in inspect.signature(function).parameters.values()
                }
                found.append((name, field, {"name": key, **arguments}))
    return found


@pytest.mark.parametrize(("name", "field", "table"), generators())
def test_arguments_of_generators_too(name, field, table):
    kind = problem_classes()[name]
    for key in table:
        for value in ANYTHING:
            accepted(kind, {**examples()[kind], field: {**table, key: value}})
    accepted(kind, {**examples()[kind], field: {**table, "surplus": 1}})


def as_toml(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    if isinstance(value, (bool, str)):
        return json.dumps(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return repr(value)


PLACES = [
    place
    for place, value in enumerate(ANYTHING)
    if value not in ("\udc80", ["\udc80"], {"name": None}) and value is not DEEP
]
ON_THE_COMMAND_LINE = [ANYTHING[place] for place in PLACES]


@cache
def commanded(name: str, field: str) -> list[int]:
    """Return the numbers of the values for the command line: all that are taken, a sixteenth of the others.

    The sixteenth is another one for the next field, so that every value is refused there as well.
    Python itself refuses a text with as many digits as the largest integers have.
    """
    taken, turn = answers(name, field), FIELDS.index((name, field))
    return [
        number
        for number, (place, value) in enumerate(zip(PLACES, ON_THE_COMMAND_LINE, strict=True))
        if not (isinstance(value, int) and abs(value) >= 10**300)
        and (taken[place] or (number + turn) % 16 == 0)
    ]


def test_every_value_is_given_on_the_command_line_for_many_fields():
    times = Counter(number for name, field in FIELDS for number in commanded(name, field))
    left_out = [value for number, value in enumerate(ON_THE_COMMAND_LINE) if times[number] < 10]
    assert left_out == [10**400, -(10**400)]


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_the_command_line_ends_with_a_code_and_at_most_one_line_of_error(name, field, tmp_path, capsys):
    for number in commanded(name, field):
        value = ON_THE_COMMAND_LINE[number]
        path = tmp_path / f"m{number}.toml"
        lines = [f"{key} = {as_toml(item)}" for key, item in {**small(name), field: value}.items()]
        path.write_text(f'[model]\ntitle = "t"\nproblem = "{name}"\n[parameters]\n' + "\n".join(lines) + "\n")
        code = main(["build", str(path), "-o", str(tmp_path / "built.json")])
        output, error = capsys.readouterr()
        assert code in (0, 1, 2)
        assert error.count("\n") == (code != 0), (value, error)
        assert (code == 2) <= (output == "")
        assert error.strip().isprintable()


@pytest.mark.parametrize(
    ("model", "setting"),
    [
        ("contract/three_types", "noise=[1]"),
        ("contract/three_types", "counts=[1,[2]]"),
        ("contract/three_types", "participation_cost=[1,[2]]"),
        ("contract/three_types", "epsilon_min=1e308"),
        ("contract/uniform_density", "density={name=[1]}"),
        ("contract/uniform_density", "epsilon_min=1e308"),
        ("contract/uniform_density", 'density={name="uniform", low=2020-01-01, high=3}'),
        ("mean/rcp2023_single", "attributes=100000000000000000000"),
        ("response/zhou2019_survey", "prior=[1e308, 1e308]"),
    ],
)
def test_settings_that_were_not_caught_once(model, setting, tmp_path, capsys):
    assert main(["build", model, "--set", setting, "-o", str(tmp_path / "built.json")]) == 2
    output, error = capsys.readouterr()
    assert (output, error.count("\n")) == ("", 1)
    field = setting.partition("=")[0]
    assert f"[parameters] {field}" in error
    assert list(tmp_path.iterdir()) == []
