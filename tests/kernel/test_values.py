"""Values: what their fields keep, in which order, and that copies are checked like the first one."""

from __future__ import annotations

import inspect
import pickle

import attrs
import pytest

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import integer
from mechdesign.core.values import changed, dependent_field, frozen_value, value_field


def share(crowd, name, value):
    return integer(name, value, 0, crowd.users)


@frozen_value()
class Crowd:
    users: int = value_field(lambda name, value: integer(name, value, 1))
    honest: int = dependent_field(share, default=1)
    seed: int | None = value_field(lambda name, value: integer(name, value, 0), default=None, optional=True)
    names: list[str] = attrs.field(factory=list, eq=False)


def test_fields_are_given_by_place_and_kept_as_their_checks_return_them():
    crowd = Crowd(3, 2)
    assert repr(crowd) == "Crowd(users=3, honest=2, seed=None, names=[])"
    assert vars(crowd) == {"users": 3, "honest": 2, "seed": None, "names": []}
    assert str(inspect.signature(Crowd).parameters["users"].annotation) == "int"
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        crowd.users = 4


@pytest.mark.parametrize(
    ("given", "message"),
    [((0,), "users: 0 is not"), ((3, 4), "honest: 4 is not"), ((3, 1, -1), "seed: -1 is not")],
)
def test_each_field_is_checked_with_those_above_it(given, message):
    with pytest.raises(ParameterError, match=message):
        Crowd(*given)


def test_copies_are_checked_and_equal_by_their_fields():
    crowd = Crowd(3, 2, 7)
    assert changed(crowd, users=5) == Crowd(5, 2, 7)
    assert len({crowd, changed(crowd), pickle.loads(pickle.dumps(crowd)), Crowd(3, 2)}) == 2
    with pytest.raises(ParameterError, match="honest: 2 is not from 0 to 1"):
        changed(crowd, users=1)


def test_values_without_equality_are_themselves_alone():
    @frozen_value(eq=False, repr=False, kw_only=True)
    class Plain:
        users: int = value_field(lambda name, value: integer(name, value, 1))

    assert Plain(users=1) != Plain(users=1)
    assert "users=" not in repr(Plain(users=1))
    with pytest.raises(TypeError):
        Plain(1)
