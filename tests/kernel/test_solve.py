"""``solve`` without a method, and the methods of a notebook, which come and change while it runs."""

from __future__ import annotations

import importlib
import pickle
import sys
from fractions import Fraction
from types import ModuleType

import pytest

import mechdesign as md
from mechdesign.core.errors import MethodError
from mechdesign.solvers.solve import methods_of

CELL_1 = """
import mechdesign as md
from mechdesign.core.fields import frozen_problem

@frozen_problem()
class Shade(md.Problem):
    name, sense = "shade", "max"

    def objective(self, variables):
        return float(variables["share"])

    def residuals(self, variables):
        return {}

    def certificates(self, solution):
        return ()

def taking(share):
    return lambda problem: md.Outcome("feasible", {"share": share})

def failing(problem, steps=1):
    return md.Outcome("failed", message=f"not within {steps} steps")
"""


@pytest.fixture
def notebook(monkeypatch):
    """Return a module without a package, as ``__main__`` is, in which the first cell has run."""
    module = ModuleType("notebook")
    monkeypatch.setitem(sys.modules, "notebook", module)
    exec(CELL_1, module.__dict__)
    return module


def cell(notebook, code):
    exec(code, notebook.__dict__)


def test_methods_that_come_later_or_change_are_found(notebook):
    problem = notebook.Shade()
    with pytest.raises(MethodError, match="shade: no METHODS in module notebook; define METHODS = "):
        md.solve(problem)
    cell(notebook, 'METHODS = (md.Method("half", Shade, "heuristic", "", taking(0.5)),)')
    assert md.solve(problem).value == 0.5
    cell(notebook, 'METHODS = (md.Method("most", Shade, "heuristic", "", taking(0.9)), *METHODS)')
    assert md.solve(problem).value == 0.9
    assert [method.name for method in methods_of(problem)] == ["most", "half"]


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('METHODS = md.Method("half", Shade, "heuristic", "", taking(0.5))', "is not a tuple; put a comma"),
        ("METHODS = ()", "has no method for this class Shade; define METHODS again after the class"),
        ('METHODS = (md.Method("lp", md.MeanChannel, "numeric", "", taking(0.5)),)', "for this class Shade"),
    ],
)
def test_a_table_without_a_method_for_the_class_says_so(notebook, table, told):
    cell(notebook, table)
    with pytest.raises(MethodError, match=told):
        md.solve(notebook.Shade())
    cell(notebook, 'METHODS = (md.Method("half", Shade, "heuristic", "", taking(0.5)),)')
    assert md.solve(notebook.Shade()).value == 0.5


def test_functions_beside_the_class_that_come_later_or_change_are_found(notebook):
    cell(notebook, 'METHODS = (md.Method("half", Shade, "heuristic", "", taking(0.5)),)')
    assert md.solve(notebook.Shade()).quantities == {}
    cell(notebook, 'def quantities(problem, solution): return {"size": 3}')
    assert md.solve(notebook.Shade()).quantities == {"size": 3}
    cell(notebook, 'def quantities(problem, solution): return {"size": 4}')
    assert md.solve(notebook.Shade()).quantities == {"size": 4}


def test_a_quantity_for_later_is_computed_once_and_only_when_it_is_read(notebook):
    cell(notebook, "from functools import partial; calls = []")
    cell(notebook, "from mechdesign.core.solution import Quantities")
    cell(notebook, "def slow(share, name): calls.append(name); return share * 2")
    cell(notebook, 'METHODS = (md.Method("half", Shade, "heuristic", "", taking(0.5)),)')
    later = '{"size": 3, "twice": partial(slow, 0.5, "twice"), "other": partial(slow, 1.5, "other")}'
    cell(notebook, f"def quantities(problem, solution): return Quantities({later})")
    quantities = md.solve(notebook.Shade()).quantities
    assert (list(quantities), "twice" in quantities, "none" in quantities) == (
        ["size", "twice", "other"],
        True,
        False,
    )
    assert (quantities["size"], notebook.calls) == (3, [])
    assert (quantities["twice"], quantities["twice"], notebook.calls) == (1.0, 1.0, ["twice"])
    assert (quantities == {"size": 3, "twice": 1.0, "other": 3.0}, notebook.calls) == (
        True,
        ["twice", "other"],
    )


def test_quantities_for_later_survive_a_cache():
    problem = md.AuctionHorizon(users=6, tasks=2, slots=5, epsilon=1, value_range=0.3)
    solution = md.solve(problem)
    assert solution.quantities["online_paid"] > 0.0
    again = pickle.loads(pickle.dumps(solution))
    assert dict(again.quantities) == dict(md.solve(problem).quantities)


def test_a_class_of_a_package_without_methods_is_not_remembered_to_have_none(tmp_path, monkeypatch):
    package = tmp_path / "shades"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "shade.py").write_text(CELL_1.replace("__name__", "'shades.shade'"))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("shades.shade")
    try:
        with pytest.raises(MethodError, match=r"no METHODS in module shades\.shade"):
            md.solve(module.Shade())
        module.METHODS = (md.Method("half", module.Shade, "heuristic", "", module.taking(0.5)),)
        (package / "shade.py").write_text(CELL_1 + "METHODS = ()")
        assert md.solve(module.Shade()).value == 0.5
    finally:
        for name in ("shades.shade", "shades"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize(("sense", "side"), [("max", 1), ("min", -1)])
def test_a_bound_that_is_a_fraction_becomes_a_double_on_its_side(notebook, sense, side):
    for bound in (Fraction(1, 3), Fraction(2, 3), Fraction(1, 10), Fraction(3, 10), Fraction(1)):
        notebook.Shade.sense = sense
        cell(notebook, "from fractions import Fraction")
        outcome = f'md.Outcome("feasible", {{"share": 0.5}}, bound={bound!r}, bound_source="a proof")'
        cell(notebook, f'METHODS = (md.Method("half", Shade, "heuristic", "", lambda problem: {outcome}),)')
        found = md.solve(notebook.Shade()).bound
        assert isinstance(found, float)
        assert 0 <= side * (Fraction(found) - bound) < 1e-16


def test_a_class_of_the_package_is_looked_up_once():
    problem = md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)
    assert methods_of(problem) is methods_of(type(problem))


def test_where_the_default_fails_the_next_method_answers_and_says_why(notebook):
    cell(
        notebook,
        'METHODS = (md.Method("proof", Shade, "numeric", "", failing),'
        ' md.Method("rule", Shade, "heuristic", "", taking(0.5)))',
    )
    problem = notebook.Shade()
    solution = md.solve(problem)
    assert (solution.method, solution.value) == ("rule", 0.5)
    assert solution.notes["failed"] == "proof: not within 1 steps"
    assert md.solve(problem, "proof").status == "failed", "a method that is asked for is not replaced"
    assert md.solve(problem, steps=2).message == "not within 2 steps", "nor one with options"
    cell(notebook, "METHODS = METHODS[:1]")
    assert md.solve(problem).status == "failed"


def test_a_method_that_defers_is_the_default_only_where_no_other_applies(notebook):
    cell(
        notebook,
        'first = md.Method("first", Shade, "heuristic", "", taking(0.1), defers=lambda problem: True)\n'
        'METHODS = (first, md.Method("second", Shade, "heuristic", "", taking(0.2)))',
    )
    problem = notebook.Shade()
    assert md.solve(problem).method == "second"
    assert md.solve(problem, "first").value == 0.1
    cell(notebook, "METHODS = (first,)")
    assert md.solve(problem).method == "first"
