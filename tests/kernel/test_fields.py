"""Fields of problems: one statement of a parameter, and all that follows from it."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Sequence
from typing import Any, Literal

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import (
    REQUIRED,
    Kept,
    checked,
    choice,
    delta_field,
    epsilon_field,
    fields_of,
    flag,
    frozen_problem,
    parameters_of,
    problem_from,
    real,
    related,
    replace_parameters,
    values_of,
    whole,
)
from mechdesign.core.problem import Problem
from mechdesign.core.validation import finite_array
from mechdesign.report.tables import described_parameters, json_schema


class Judged(Problem):
    name = "queue"
    sense = "min"

    def objective(self, variables):
        return 0.0

    def residuals(self, variables):
        return {}

    def certificates(self, solution):
        return ()


def _numbers(field: str, value: Any) -> NDArray[np.float64]:
    return finite_array(field, value, 1)


def _seat(problem: Queue, field: str, value: Any) -> int:
    if value >= problem.servers:
        raise ParameterError(f"{field}: {value} is none of the {problem.servers} servers; give a smaller one")
    return int(value)


@frozen_problem(eq=False)
class Queue(Judged):
    """People who wait.

    Raises
    ------
    ParameterError
        Naming the field.
    """

    servers: int = whole("How many serve.", low=1, high=9)
    weights: Kept[NDArray[np.float64], Sequence[float]] = checked(r"Of \|i\|.", _numbers, form="(n,) array")
    seat: int | None = related("Which server, from 0.", _seat, form="int", default=None)
    rate: float = real("Arrivals a minute.", low=0.0, low_open=True, default=1.0)
    discipline: Literal["first", "last"] = choice("Who is next.", Literal["first", "last"], default="first")
    epsilon: float = epsilon_field("The promise.", default=0.5)
    delta: float | None = delta_field("Of the promise.", default=None)
    is_open: bool = flag("Whether people may come.", default=True)


GOOD = {"servers": 3, "weights": [1.0, 2.0]}


def test_the_signature_names_types_defaults_and_nothing_by_place():
    shown = str(inspect.signature(Queue))
    assert shown.startswith(
        "(*, servers: 'int', weights: 'Kept[NDArray[np.float64], Sequence[float]]', seat: "
    )
    assert "rate: 'float' = 1.0" in shown
    with pytest.raises(TypeError, match="positional"):
        Queue(3, [1.0])


def test_the_docstring_lists_the_parameters_before_what_may_be_raised():
    text = inspect.getdoc(Queue)
    assert text.index("Parameters\n----------") < text.index("Raises\n------")
    assert "servers : int\n    How many serve.\nweights : (n,) array\n    Of \\|i\\|.\n" in text
    assert 'discipline : {"first", "last"}\n' in text
    assert "seat : int, optional\n" in text


def test_the_words_are_read_without_their_marks():
    assert described_parameters(Queue)["weights"] == ("(n,) array", "Of |i|.")
    assert list(described_parameters(Queue)) == [field.name for field in fields_of(Queue)]


def test_the_schema_has_the_limits_at_the_numbers_and_words():
    found = json_schema(Queue)["properties"]
    assert found["servers"] == {
        "description": "int: How many serve.",
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
    }
    assert found["rate"]["exclusiveMinimum"] == 0.0
    assert "maximum" not in found["rate"], "infinity is not JSON"
    assert found["delta"]["anyOf"] == [
        {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
        {"type": "null"},
    ]
    assert found["discipline"]["enum"] == ["first", "last"]
    assert found["weights"]["type"] == "array"
    assert json_schema(Queue)["required"] == ["servers", "weights"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"servers": 0}, r"^servers: 0 is not from 1 to 9$"),
        ({"servers": 2.0}, r"^servers: expected a whole number, got 2.0$"),
        ({"weights": "x"}, r"^weights: expected a list"),
        ({"seat": 3}, r"^seat: 3 is none of the 3 servers"),
        ({"rate": 0.0}, r"^rate: 0 is outside \(0, inf\]$"),
        ({"discipline": "lest"}, r"^discipline: 'lest' is not a choice; did you mean 'last'\?$"),
        ({"epsilon": -1.0}, r"^epsilon: -1 is negative"),
        ({"delta": 1.0}, r"^delta: 1 is outside \[0, 1\)$"),
        ({"is_open": 1}, r"^is_open: expected true or false, got 1$"),
    ],
)
def test_each_check_names_its_field(changes, message):
    with pytest.raises(ParameterError, match=message):
        Queue(**{**GOOD, **changes})


def test_what_is_kept_is_converted_and_frozen():
    problem = Queue(**GOOD, seat=np.int64(1))
    assert type(problem.seat) is int
    assert problem.weights.dtype == np.float64
    assert not problem.weights.flags.writeable
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        problem.rate = 2.0


def test_parameters_go_out_and_come_back():
    problem = Queue(**GOOD, rate=2.0)
    assert parameters_of(problem) == {"servers": 3, "weights": [1.0, 2.0], "rate": 2.0}
    assert parameters_of(problem_from(Queue, parameters_of(problem))) == parameters_of(problem)
    assert replace_parameters(problem, {"rate": 3.0}).rate == 3.0
    assert repr(problem) == "Queue(servers=3, weights=[1, 2], rate=2)"
    assert values_of(pickle.loads(pickle.dumps(problem)))["rate"] == 2.0
    assert problem != Queue(**GOOD, rate=2.0), "eq=False"


@frozen_problem()
class Shop(Judged):
    servers: int = whole("How many serve.", low=1)
    rate: float = real("Arrivals a minute.", default=1.0)


@frozen_problem()
class Fast(Shop):
    """One with more words."""

    tills: int = whole("How many tills.", low=0, default=0)
    servers: int = whole("How many serve fast.", low=2)


def test_a_field_that_a_class_states_anew_keeps_its_place():
    assert [field.name for field in fields_of(Fast)] == ["servers", "rate", "tills"]
    assert described_parameters(Fast)["servers"].meaning == "How many serve fast."
    with pytest.raises(ParameterError, match="servers: 1 is not at least 2"):
        Fast(servers=1)
    assert Shop(servers=1) == Shop(servers=1)
    assert hash(Shop(servers=1)) == hash(Shop(servers=1))


def test_a_class_without_a_docstring_stays_without_one():
    """As python -OO leaves it; the words are still known."""
    assert Shop.__doc__ is None
    assert described_parameters(Shop)["rate"].meaning == "Arrivals a minute."
    assert fields_of(Shop)[0].default is REQUIRED
