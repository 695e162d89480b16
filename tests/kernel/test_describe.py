"""Descriptions of parameters: every one of every problem, from its field or its class's docstring."""

from __future__ import annotations

import dataclasses

import pytest

from mechdesign.core.fields import fields_of
from mechdesign.core.problem import Problem
from mechdesign.families import problem_classes
from mechdesign.report.tables import default_of, described_parameters, json_schema


@pytest.mark.parametrize("name", sorted(problem_classes()))
def test_every_parameter_of_every_problem_is_described(name):
    problem_class = problem_classes()[name]
    described = described_parameters(problem_class)
    names = [field.name for field in fields_of(problem_class)]
    assert list(described) == names
    assert all(entry.meaning for entry in described.values()), described
    assert not any(mark in str(described) for mark in ("``", ":class:", "Raises", "----"))
    properties = json_schema(problem_class)["properties"]
    assert all(properties[key]["description"].endswith(described[key].meaning) for key in names)


@dataclasses.dataclass(frozen=True)
class Base(Problem):
    """A problem.

    Parameters
    ----------
    size : int
        How many there are.
        At least one.
    low, high : float, optional
        Ends of the range, ``low`` < ``high``: see :func:`~mechdesign.solve`.
    plain
        No type is given.

    Raises
    ------
    wrong : ParameterError
        This is not a parameter.
    """

    size: int
    low: float = 0.0
    high: float | None = None
    plain: str = "x"
    forgotten: int = 1


class Derived(Base):
    """Another one.

    Parameters
    ----------
    size : even int
        Half as many.
    """


def test_what_a_docstring_may_look_like():
    described = described_parameters(Base)
    assert described["size"] == ("int", "How many there are. At least one.")
    assert described["low"] == described["high"]
    assert described["low"].meaning == "Ends of the range, low < high: see solve."
    assert described["plain"] == ("", "No type is given.")
    assert described["plain"].text == "No type is given."
    assert set(described) == {"size", "low", "high", "plain"}


def test_a_derived_class_describes_what_it_changes():
    described = described_parameters(Derived)
    assert described["size"] == ("even int", "Half as many.")
    assert described["high"].form == "float, optional"


def test_a_class_without_a_docstring_describes_nothing(monkeypatch):
    monkeypatch.setattr(Base, "__doc__", None)  # as python -OO leaves it
    assert described_parameters(Base) == {}


def test_defaults_are_written_as_in_a_model_file():
    assert [default_of(field) for field in fields_of(Base)] == ["", "0.0", "none", '"x"', "1"]
