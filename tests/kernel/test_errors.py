"""Errors have parts, and all their classes are at the front of the package."""

from __future__ import annotations

import importlib
import pickle
import pkgutil

import pytest

import mechdesign as md
from mechdesign.core.errors import (
    DataError,
    MechDesignError,
    ParameterError,
    RowError,
    named_option,
    option,
    suggestion,
)


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
        ParameterError(named_option("column"), "2 columns", "name one with " + option("column")),
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


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("no", ["Yes", "No", "Prefer not to say"], "did you mean 'No'?"),
        ("NO", ["yes", "no", "no answer"], "did you mean 'no'?"),
        ("network+disk", ["disk+network", "network", "disk"], "did you mean 'disk+network'?"),
        ("oracle frequency", ["frequency-oracle", "oracle"], "did you mean 'frequency-oracle'?"),
        ("yes ", ["no", "yes"], "did you mean 'yes', without blanks around it?"),
        ("\u00a0Yes", ["no", "yes"], "did you mean 'yes', without blanks around it?"),
        ("true_epsilon", ["true-epsilon"], "did you mean 'true-epsilon'?"),
        (
            "Gro\u0308\u00dfe",
            ["Gr\u00f6\u00dfe"],
            "did you mean 'Gr\u00f6\u00dfe'; its letters are in another Unicode form, rename one of them",
        ),
        (
            "survey",
            ["survey-design", "survey-limit", "surveys"],
            "did you mean 'survey-design' or 'survey-limit'?",
        ),
        ("x", ["Prefer not to say", "maximum"], "known: Prefer not to say, maximum"),
        ("", ["a", "b"], "known: a, b"),
        ("+", ["-", "/"], "known: -, /"),
    ],
)
def test_suggestions(name, known, hint):
    assert suggestion(name, known) == hint
