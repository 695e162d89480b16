"""Everything is found by name, nothing is registered centrally, and nothing was forgotten."""

from __future__ import annotations

import gc
import importlib
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import mechdesign as md
import mechdesign.families
from mechdesign.catalog import models
from mechdesign.catalog.sweeping import simulate
from mechdesign.cli import main
from mechdesign.collect.base import mechanism_types
from mechdesign.core.problem import Kind, modules_of
from mechdesign.families import exported_names, families, problem_classes
from mechdesign.papers.claims.bibliography import bibliography
from mechdesign.solvers.solve import _methods_of_package
from tests.support.failures import assert_each
from tests.support.shipped import loaded

ROOT = Path(__file__).parents[2]
PACKAGE = Path(mechdesign.__file__).parent
FAMILIES = sorted(path.parent.name for path in (PACKAGE / "families").glob("*/__init__.py"))
MOST_LINES = 600


@pytest.mark.parametrize("name", sorted(problem_classes()))
def test_methods_have_unique_names_and_published_ones_stand_last(name):
    methods = md.methods_of(problem_classes()[name])
    assert methods, "a problem without a method"
    assert len({method.name for method in methods}) == len(methods)
    published = [method.kind == "published" for method in methods]
    assert published == sorted(published)
    assert not published[0], "nothing to choose by default"
    for method in methods:
        assert method.kind in Kind.__args__
        assert method.summary
        assert issubclass(problem_classes()[name], method.problem)


@pytest.mark.parametrize("name", sorted(problem_classes()))
def test_the_tables_name_every_method_of_the_package(name):
    """No file beside a table declares a method of its own, and none with a ``run`` is left out of it."""
    listed = {method.run for method in md.methods_of(problem_classes()[name])}
    for module in modules_of(problem_classes()[name]):
        assert isinstance(getattr(module, "METHODS", ()), tuple)
        if module.__name__.endswith("_methods"):
            assert hasattr(module, "METHODS"), f"{module.__name__} has no table"
        assert not hasattr(module, "METHOD"), f"{module.__name__}: a line of methods.py instead"
        run = getattr(module, "run", None)
        assert run is None or run in listed, f"{module.__name__}.run stands in no table"


def test_no_table_of_methods_is_left_out():
    """A table in a module that belongs to no problem would never be looked at."""
    pattern = re.compile(r"^METHODS?(: .*)? = ", re.MULTILINE)
    tables = {
        "mechdesign." + path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
        for path in (PACKAGE / "families").rglob("*.py")
        if pattern.search(path.read_text(encoding="utf-8"))
    }
    known = {module.__name__ for problem in problem_classes().values() for module in modules_of(problem)}
    own = "mechdesign.families.marginals.papers.rivals.entropy"  # a table of its own, of reconstructions
    assert len(tables) > 30
    assert tables - known - {own} == set()


@pytest.mark.parametrize("name", sorted(problem_classes()))
def test_a_problem_has_a_stable_name_a_sense_and_a_summary(name):
    problem = problem_classes()[name]
    assert problem.name == name
    assert problem.sense in ("max", "min")
    assert problem.summary
    assert getattr(md, problem.__name__) is problem
    assert problem.__name__ in dir(md)


@pytest.mark.parametrize("name", sorted(problem_classes()))
def test_a_problem_has_a_folder_of_its_own_named_after_it(name):
    """``mean-interval`` lives in ``mean/interval.py``, or in one file with others of its family."""
    problem = problem_classes()[name]
    family = problem.__module__.split(".")[2]
    folder = name.removeprefix(f"{family}-").replace("-", "_")
    own = f"mechdesign.families.{family}.{folder}"
    together = [other for other in problem_classes().values() if other.__module__ == problem.__module__]
    assert problem.__module__ in (own, f"{own}.problem") or len(together) > 1
    room = f"mechdesign.families.{family}."
    own_methods = [method for method in md.methods_of(problem) if method.name != "statement"]
    assert not [method for method in own_methods if not method.run.__module__.startswith(room)]


@pytest.mark.parametrize("name", sorted(problem_classes()))
def test_what_reproduces_a_source_stands_apart_from_the_toolkit(name):
    """Methods that are kept to be refuted, further numbers for claims, and simulations are in ``papers``."""
    modules = list(modules_of(problem_classes()[name]))
    apart = [module for module in modules if module.__name__.endswith((".quantities", ".simulation"))]
    for module in modules:
        found = [*getattr(module, "METHODS", ()), getattr(module, "METHOD", None)]
        apart += [module for method in found if method is not None and method.kind == "published"]
    assert [one.__name__ for one in apart if ".papers." not in one.__name__] == []


def test_a_folder_of_the_papers_stands_beside_one_of_the_toolkit():
    """A misspelled folder would never be looked into."""
    problems = {problem.__module__.removesuffix(".problem") for problem in problem_classes().values()}
    apart = [
        path for path in (PACKAGE / "families").glob("*/papers/*/__init__.py") if path.parent.name != "rivals"
    ]
    names = [f"mechdesign.families.{path.parents[2].name}.{path.parent.name}" for path in apart]
    assert [name for name in names if name not in problems] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_a_page_a_model_and_its_tests(family):
    assert models(family), "no model"
    assert (ROOT / "tests" / "families" / family).is_dir(), "no tests"
    page = ROOT / "docs" / "families" / f"{family}.md"
    assert page.is_file(), "no page in docs/families"
    assert len(page.read_text(encoding="utf-8")) > 1000


def cites_a_source(slug):
    model = loaded(slug)
    assert model.source["cite"] in bibliography()
    assert model.source["where"]
    assert model.statement.strip()
    assert model.family in FAMILIES
    assert [number for number, claim in enumerate(model.claims, 1) if not claim.where] == []


def test_a_model_cites_a_source_and_says_what_it_states():
    assert_each({slug: partial(cites_a_source, slug) for slug in models()})


def test_every_problem_has_a_model():
    assert {loaded(slug).problem.name for slug in models()} == set(problem_classes())


def test_every_refuted_claim_is_recorded_with_its_reason():
    refuted = [claim for slug in models() for claim in loaded(slug).claims if claim.verdict == "refuted"]
    assert refuted
    assert all(len(claim.reason) > 20 for claim in refuted)
    assert all(claim.instead for claim in refuted)


def test_files_stay_below_the_ceiling():
    files = [
        path
        for top in ("mechdesign", "tests", "examples", "benchmarks")
        for path in (ROOT / top).rglob("*.py")
    ]
    assert len(files) > 60
    long = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {path: lines for path, lines in long.items() if lines > MOST_LINES} == {}


def test_names_that_do_not_exist_are_errors_with_a_suggestion():
    with pytest.raises(AttributeError, match="did you mean 'RandomizedResponse'"):
        _ = md.RandomisedResponse
    with pytest.raises(AttributeError, match="did you mean 'solve'"):
        _ = md.solv
    with pytest.raises(AttributeError):
        _ = md.__nothing__
    assert set(md.__all__) <= set(dir(md))


FAMILY = """
from mechdesign.families.newfamily.new_problem.problem import NewProblem

PROBLEMS = (NewProblem,)
"""

QUANTITIES = "def quantities(problem, solution): return {'double': 2 * solution.value}\n"

SIMULATION = """
def simulation(problem, solution, users, repetitions, rng):
    return {"users": users, "repetitions": repetitions}
"""

PROBLEM = """
from typing import ClassVar
from mechdesign.core.fields import frozen_problem, whole
from mechdesign.core.problem import Problem

@frozen_problem()
class NewProblem(Problem):
    name: ClassVar[str] = "new-problem"
    sense: ClassVar[str] = "min"
    summary: ClassVar[str] = "nothing"
    size: int = whole("How many.", low=1, default=1)
    def objective(self, variables): return variables["x"]
    def residuals(self, variables): return {}
    def certificates(self, solution): return ()

"""

METHOD = """
from mechdesign.core.problem import Method, Outcome
from mechdesign.families.newfamily.new_problem.problem import NewProblem

def run(problem): return Outcome("optimal", {"x": 7.0})

METHOD = Method("guess", NewProblem, "heuristic", "a guess", run)
"""


def forget() -> None:
    """Empty what is remembered about families."""
    for function in (families, problem_classes, exported_names, _methods_of_package, mechanism_types):
        function.cache_clear()


@pytest.fixture
def new_family(tmp_path, monkeypatch):
    folder = tmp_path / "newfamily" / "new_problem"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text(FAMILY)
    (folder / "__init__.py").touch()
    (folder / "problem.py").write_text(PROBLEM)
    (folder / "guess.py").write_text(METHOD)
    (folder / "quantities.py").write_text(QUANTITIES)
    (folder / "simulation.py").write_text(SIMULATION)
    monkeypatch.setattr(mechdesign.families, "__path__", [*mechdesign.families.__path__, str(tmp_path)])
    forget()
    yield
    forget()
    for name in [name for name in sys.modules if name.startswith("mechdesign.families.newfamily")]:
        del sys.modules[name]
    if hasattr(mechdesign.families, "newfamily"):
        del mechdesign.families.newfamily


def test_a_new_family_is_found_without_editing_anything_central(new_family):
    """One folder: its problem, method, quantities, simulation and its front name are there."""
    solution = md.solve(md.NewProblem())
    assert (solution.method, solution.value) == ("guess", 7.0)
    assert "new-problem" in problem_classes()
    assert md.compare(md.NewProblem()).agree
    assert solution.quantities == {"double": 14.0}
    assert simulate(solution, 3, 2, np.random.default_rng(1)) == {"users": 3, "repetitions": 2}


TABLE = """
from mechdesign.core.problem import Method, Outcome
from mechdesign.families.newfamily.new_problem.guess import METHOD
from mechdesign.families.newfamily.new_problem.problem import NewProblem

def told(name, kind, reason=None):
    run = lambda problem: Outcome("optimal", {"x": 5.0})
    return Method(name, NewProblem, kind, "", run, lambda problem: reason)

METHODS = (
    told("printed", "published"), told("zero", "numeric", "too large"), told("alpha", "numeric"), METHOD,
)
"""


def test_methods_are_tried_in_the_order_of_their_table(new_family, tmp_path):
    """Not by name; a file of its own comes after the table, once, and a published one after all."""
    folder = tmp_path / "newfamily" / "new_problem"
    (folder / "methods.py").write_text(TABLE)
    (folder / "a_file.py").write_text(METHOD.replace('"guess"', '"own-file"'))
    names = [method.name for method in md.methods_of(md.NewProblem)]
    assert names == ["zero", "alpha", "guess", "own-file", "printed"]
    assert md.solve(md.NewProblem()).method == "alpha"


SCRIPT = """
import sys
import mechdesign as md
from mechdesign.core.problem import Problem
{problem}
def run(problem): return md.Outcome("optimal", {{"x": 7.0}})

METHODS = (md.Method("guess", NewProblem, "heuristic", "a guess", run),)
METHOD = md.Method("another", NewProblem, "heuristic", "the same guess", run)
print(md.solve(NewProblem()).method, md.compare(NewProblem()).agree, len(md.methods_of(NewProblem)))
"""


def test_a_problem_in_a_script_is_solved_by_the_methods_beside_it(tmp_path):
    script = tmp_path / "own.py"
    script.write_text(SCRIPT.format(problem=PROBLEM))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("guess True 2\n", "")


DISTRIBUTION = """Metadata-Version: 2.1
Name: newfamily
Version: 1
"""


POINTS = """
[mechdesign.problems]
newfamily = newfamily
[mechdesign.mechanisms]
newfamily = newfamily.mechanism
"""

MECHANISM = """
from mechdesign.collect import Mechanism

class Nothing(Mechanism):
    type = "nothing"
    def content(self): return {}
    @classmethod
    def from_content(cls, content): return cls()
    def certificates(self): return ()
"""


@pytest.fixture
def other_distribution(tmp_path, monkeypatch):
    """Install a distribution with a family, as pip would leave it."""
    package, info = tmp_path / "newfamily" / "new_problem", tmp_path / "newfamily-1.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (info / "METADATA").write_text(DISTRIBUTION)
    (info / "entry_points.txt").write_text(POINTS)
    (package.parent / "mechanism.py").write_text(MECHANISM)
    (package.parent / "__init__.py").write_text(FAMILY.replace("mechdesign.families.", ""))
    (package / "__init__.py").touch()
    (package / "problem.py").write_text(PROBLEM)
    (package / "guess.py").write_text(METHOD.replace("mechdesign.families.", ""))
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    yield tmp_path
    forget()
    for name in [name for name in sys.modules if name.startswith("newfamily")]:
        del sys.modules[name]
    gc.collect()  # a class that is gone is not a mechanism any more


def test_the_shell_finds_a_family_of_another_distribution(other_distribution, tmp_path, capsys):
    (tmp_path / "own.toml").write_text('[model]\ntitle = "t"\nproblem = "new-problem"\n')
    assert main(["solve", str(tmp_path / "own.toml")]) == 0
    assert "new-problem by guess (heuristic): feasible, value 7" in capsys.readouterr().out


def test_a_mechanism_of_another_distribution_is_loaded(other_distribution, tmp_path, capsys):
    importlib.import_module("newfamily.mechanism").Nothing().save(tmp_path / "m.json")
    sys.modules.pop("newfamily.mechanism")
    forget()
    assert md.load_mechanism(tmp_path / "m.json").type == "nothing"
    assert main(["run", str(tmp_path / "m.json")]) == 0
    assert "a nothing has no operations on tables" in capsys.readouterr().out


def test_a_family_that_cannot_be_imported_is_named(other_distribution, capsys):
    (other_distribution / "newfamily" / "__init__.py").write_text("import nothing_of_that_name\n")
    assert main(["list", "--problems"]) == 2
    error = capsys.readouterr().err
    assert "entry point 'newfamily' of mechdesign.problems: newfamily cannot be imported" in error
    assert error.count("\n") == 1
