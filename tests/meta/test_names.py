"""A public name stands for one class, for one function, or for one contract that several functions have."""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cached_property
from pathlib import Path

import mechdesign

PACKAGE = Path(mechdesign.__file__).parent

WITHOUT_TEXT = re.compile(r"^    def [a-z]\w*\([^\"]*?:\n(?!        r?\"\"\")", re.MULTILINE)
"""The head of a public method that no text follows."""

ONE_CONTRACT = {
    "run": "a method's algorithm",
    "why_not": "why a method does not apply",
    "outcome": "what the methods of one problem hand back",
    "infeasible": "the outcome of a problem that has no solution",
    "impossible": "why a problem has no solution, in words",
    "variables_of": "the plain variables of an outcome",
    "quantities": "the numbers that claims may name, found by name",
    "figures": "pictures of the design, found by name",
    "award": "winners and payments of a slot by a rule",
    "add_commands": "adds the commands of a file to the parser",
    "add_options": "adds the options of a file to a command",
    "audited": "runs the command ``audit`` on what a file is about",
    "is_export": "whether a table is an export of a survey tool",
    "read_export": "the columns and rows of an export of a survey tool",
    "uniform": "a named way to give a parameter",
    "dirichlet": "a named way to give a parameter",
    "counts": "a named way to give a parameter",
    "histogram": "a named way to give a parameter or a workload",
    "routes": "the addresses of a room of the survey server",
    "outlook": "what is said of a solution before it is built, found by the name of its module",
}
"""Public functions that several modules of the toolkit define for one purpose. In tables of methods
(``<problem>_methods.py``), functions have the names of the methods."""


CLASS = re.compile(r"^[ \t]*class (\w+)[:(]", re.MULTILINE)
FUNCTION = re.compile(r"^def ([a-z]\w*)", re.MULTILINE)
"""The lines on which they begin, wherever a class is, and on the level of a module a public function.

In a text such a line counts as well: it costs a second less than syntax trees, and has to be written apart.
"""


def repeated_classes(package):
    """Return the names that stand for several classes, with where these are."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for match in CLASS.finditer(text):
            place = f"{path.relative_to(package)}:{text.count(chr(10), 0, match.start(1)) + 1}"
            found.setdefault(match[1], []).append(place)
    return {name: places for name, places in found.items() if len(places) > 1}


def test_a_name_stands_for_one_class():
    assert repeated_classes(PACKAGE) == {}


def test_a_name_for_two_classes_is_found(tmp_path):
    (tmp_path / "one.py").write_text("class Rows:\n    pass\n", encoding="utf-8")
    (tmp_path / "two.py").write_text("\n\nclass Rows:\n    pass\n", encoding="utf-8")
    assert repeated_classes(tmp_path) == {"Rows": ["one.py:1", "two.py:3"]}


def repeated_functions(package):
    """Return the names of public functions that several modules of the toolkit define, with the modules."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        module = path.relative_to(package).as_posix()
        if "papers" in path.relative_to(package).parts or path.name.endswith("methods.py"):
            continue
        for name in set(FUNCTION.findall(path.read_text(encoding="utf-8"))):
            found.setdefault(name, []).append(module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_a_name_stands_for_one_function_or_one_contract():
    repeated = repeated_functions(PACKAGE)
    assert {name: modules for name, modules in repeated.items() if name not in ONE_CONTRACT} == {}
    assert ONE_CONTRACT.keys() <= repeated.keys(), "a convention that nothing follows"


def test_a_name_for_two_functions_is_found(tmp_path):
    for name, text in {"one": "def rows(): ...", "two": "def rows(): ...\ndef _own(): ..."}.items():
        (tmp_path / f"{name}.py").write_text(f"{text}\ndef {name}(): ...\n", encoding="utf-8")
    assert repeated_functions(tmp_path) == {"rows": ["one.py", "two.py"]}


def test_a_public_method_has_a_text_of_its_own_or_of_the_method_that_it_overrides():
    bare = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(("mechdesign", *path.relative_to(PACKAGE).with_suffix("").parts))
        if path.name in ("__init__.py", "__main__.py") or not WITHOUT_TEXT.search(path.read_text("utf-8")):
            continue
        for item in vars(importlib.import_module(name)).values():
            if inspect.isclass(item) and item.__module__ == name and not item.__name__.startswith("_"):
                bare += [f"{name}.{item.__name__}.{method}" for method in methods_without_text(item)]
    assert bare == []


def methods_without_text(item):
    """Return the public methods and properties that a class defines, and that nothing describes."""
    kinds = (property, classmethod, staticmethod, cached_property)
    return [
        name
        for name, value in vars(item).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, kinds))
        if not inspect.getdoc(getattr(item, name) if isinstance(value, classmethod) else value)
        and not any(inspect.getdoc(vars(base).get(name)) for base in item.__mro__ if name in vars(base))
    ]
