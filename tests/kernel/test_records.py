"""Late dataclasses are those of the standard library in everything that a program sees of them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, dataclass as plain, field
from typing import Any, ClassVar

import pytest

from mechdesign.work.records import dataclass as late


def classes_of(decorator):
    """Return the same classes, made by one decorator: a base, one derived from it, and one that changes."""

    @decorator(frozen=True)
    class Place:
        kind: ClassVar[str] = "place"
        name: str
        _own: int = 0
        values: list[int] = field(default_factory=list)
        note: str = field(default="", compare=False, repr=False)

    @decorator(frozen=True, kw_only=True)
    class City(Place):
        """A place with users."""

        users: int
        name: str = "somewhere"
        half: float = field(init=False)

        def __post_init__(self):
            object.__setattr__(self, "half", self.users / 2)

    @decorator
    class Count:
        total: int = 0

        def __eq__(self, other):
            return True

    @decorator(eq=False, repr=False)
    class Held:
        self_made: Any = None
        tags: list[str] = field(default_factory=list, init=False)

        def __init__(self, number):
            self.number = number

    return Place, City, Count, Held


OURS, THEIRS = classes_of(late), classes_of(plain)
PAIRS = [pytest.param(ours, theirs, id=ours.__name__) for ours, theirs in zip(OURS, THEIRS, strict=True)]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_a_class_says_the_same_of_itself(ours, theirs):
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    described = [
        [(item.name, item.type, item.init, item.kw_only) for item in dataclasses.fields(kind)]
        for kind in (ours, theirs)
    ]
    assert described[0] == described[1]
    assert ours.__match_args__ == theirs.__match_args__
    assert str(ours.__dataclass_params__) == str(theirs.__dataclass_params__)
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)


@pytest.mark.parametrize("kind", [OURS, THEIRS], ids=["late", "plain"])
def test_objects_compare_show_and_freeze(kind):
    place, city, count, held = kind
    one = place("a", 1, note="x")
    assert one == place("a", 1)
    assert one != place("a", 2)
    assert (one == 3) is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    assert one != dataclasses.replace(one, name="b")
    assert repr(one).endswith("Place(name='a', _own=1, values=[])")
    assert dataclasses.asdict(city(users=3)) == {
        "name": "somewhere",
        "_own": 0,
        "values": [],
        "note": "",
        "users": 3,
        "half": 1.5,
    }
    assert place("a").values is not place("a").values
    assert count(1) == count(2)
    assert held(3).number == 3
    for change in (
        lambda: setattr(one, "name", "b"),
        lambda: delattr(one, "name"),
        lambda: setattr(one, "z", 1),
    ):
        with pytest.raises(FrozenInstanceError):
            change()
    with pytest.raises(TypeError, match="missing 1 required"):
        place()
    with pytest.raises(TypeError, match="unexpected keyword"):
        place("a", b=1)
    assert copy.copy(one) == one


@late(frozen=True)
class Stored:
    number: int
    text: str = "a"


def test_objects_are_pickled_and_derived_classes_are_those_of_the_standard_library():
    assert pickle.loads(pickle.dumps(Stored(1))) == Stored(1)
    assert hash(Stored(1)) == hash(Stored(1))

    @plain(frozen=True)
    class Longer(Stored):
        more: int = 0

    @late(frozen=True)
    class Longest(Longer):
        most: int = 0

    assert Longest(1, "b", 2, 3) == Longest(1, most=3, more=2, text="b")
    assert Longer(1, "b", 2).more == 2
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        plain(type("Open", (Stored,), {}))


def test_a_recursive_object_is_shown():
    open_class = OURS[0]
    one = open_class("a")
    one.values.append(one)
    assert "..." in repr(one)


def test_what_makes_objects_is_compiled_once_and_at_the_first():
    @late(frozen=True)
    class Fresh:
        number: int

    assert type(vars(Fresh)["__init__"]).__name__ == "_LateInit"
    with ThreadPoolExecutor(8) as pool:
        assert [each.number for each in pool.map(Fresh, range(100))] == list(range(100))
    first = vars(Fresh)["__init__"]
    Fresh(1)
    assert inspect.isfunction(first)
    assert vars(Fresh)["__init__"] is first
    assert sys.modules[Fresh.__module__].__dict__ is first.__globals__
