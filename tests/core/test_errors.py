"""Errors have parts, and all their classes are at the front of the package."""

from __future__ import annotations

import importlib
import pickle
import pkgutil

import pytest

import mechdesign as md
from mechdesign.core.errors import DataError, MechDesignError, ParameterError, RowError


def classes(base):
    """Yield a class and all classes derived from it."""
    yield base
    for derived in base.__subclasses__():
        yield from classes(derived)


def test_every_class_of_errors_is_importable_from_the_front():
    for info in pkgutil.walk_packages(md.__path__, "mechdesign."):
        if not info.name.endswith("__main__"):
            importlib.import_module(info.name)
    own = {cls.__name__ for cls in classes(MechDesignError) if cls.__module__.startswith("mechdesign.")}
    assert own >= {"ParameterError", "RowError", "OutOfReachError"}
    assert [name for name in sorted(own) if getattr(md, name).__name__ != name] == []
    assert own <= set(md.__all__)


@pytest.mark.parametrize(
    "error",
    [
        ParameterError("epsilon", "-1 is negative", "give a number >= 0"),
        ParameterError("only what is wrong"),
        DataError("values", "11 is above 10", "move it to the end", "clip"),
        RowError("values", 4, "11 is above 10", "move it to the end", "clip", "age"),
    ],
)
def test_parts_survive_another_process_and_another_place(error):
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), vars(again)) == (str(error), vars(error))
    seen = again.within("people.csv").for_shell()
    assert type(seen) is type(error)
    assert (seen.what, seen.remedy) == (error.what, error.remedy)
    assert str(pickle.loads(pickle.dumps(seen))) == str(seen)
    assert str(seen).startswith("people.csv: ")
    assert seen.is_about("people.csv")
    assert not error.is_about("people.csv")


def test_a_switch_is_written_as_the_reader_gives_it():
    error = RowError("values", 4, "11 is above 10", "move it to the end", "clip", "age")
    assert str(error) == "values: row 5, column 'age': 11 is above 10; move it to the end with clip=True"
    there = error.moved("people.csv", 11).for_shell()
    assert str(there) == (
        "people.csv: values: row 12, column 'age': 11 is above 10; move it to the end with --clip"
    )
    assert error.row == 4
