"""What type checkers and editors are told about the front: nothing forgotten, nothing wrong."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import mechdesign as md
from mechdesign.collect.base import CollectingMechanism, mechanism_types
from mechdesign.core.fields import Kept, fields_of
from mechdesign.families import exported_names, problem_classes
from mechdesign.families.response import ExtendedResponse

ROOT = Path(__file__).parents[2]
CLASSES = [*problem_classes().values(), ExtendedResponse]

PROGRAM = """
import numpy as np
import mechdesign as md
from mechdesign.core.fields import Kept, fields_of
from mechdesign.families.contract import ContractMenu
from mechdesign.families.response import ExtendedResponse

problem = md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)
md.RandomizedResponse(prior=(0.5, 0.5), epsilon=1, utility=[[1, 0], [0, 1]], labels=["a", "b"])
md.RandomizedResponse(prior=np.array([0.5, 0.5]), epsilon=np.float64(1), utility=np.eye(2), distance=None)
md.RandomizedResponse(prior=[0.5, 0.5], epsilon="x")  # error
md.RandomizedResponse(prior="x", epsilon=1.0)  # error
md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0, utility="trut")  # error
md.RandomizedResponse(prior=[0.5, 0.5])  # error
ExtendedResponse(prior=[0.5, 0.5], epsilon=1.0, own_constraints=lambda channel: [channel[0] <= 1])
md.MeanInterval(epsilon=1.0, mean=[0.1, 0.2])
md.MeanInterval(epsilon=1.0, mean="low")  # error
md.MeanChannel(epsilon=1.0, inputs=11)
md.FrequencyOracle(categories=2, epsilon=1.0, max_report_bits=8, labels=["a", "b"])
md.FrequencyOracle(categories="two", epsilon=1.0)  # error
md.solve(md.FrequencyOracle(categories=2, epsilon=1.0)).mechanism().audit().true_epsilon
md.PrivacyContract(types=[1, 2.5], counts=100, budget=10, participation_cost=[0, 1])
md.PrivacyContract(types=[1, 2.5], counts="many", budget=10)  # error
md.PrivacyContractContinuous(density={"name": "uniform", "low": 5, "high": 15}, budget=5)
md.RandomisedResponse  # error
md.nonsense  # error
reveal_type(problem.prior)
solution = md.solve(problem)
mechanism = solution.mechanism()
reveal_type(mechanism.randomize)
reports = mechanism.randomize(["no", "yes"], rng=3)
estimate = mechanism.estimate(reports)
estimate.interval(0.9), mechanism.audit().true_epsilon, mechanism.aggregator().users
mechanism.nonsense  # error
estimate.nonsense  # error
md.choose(epsilon=1.0, users="many")  # error
md.choose(epsilon=1.0, users=100).mechanism().estimate([1.0]).standard_error
loaded = md.CollectingMechanism.load("m.json")
md.load_mechanism("m.json").audit().holds
md.load_mechanism("m.json").randomize([1.0])  # error
loaded.estimate(reports).interval(0.9)
loaded.audit().holds, loaded.audit().true_epsilon
loaded.randomize([1.0], rng=1, clip=True)
loaded.aggregator().update(reports)
loaded.nonsense  # error
loaded.audit().nonsense  # error
menu = md.solve(md.PrivacyContract(types=[1, 2], counts=[1, 1], budget=3)).mechanism()
menu.choose([1.0]), menu.audit().holds
menu.nonsense  # error
ContractMenu.load("menu.json").choose([2.0])

def generic(mechanism: md.Mechanism, problem: md.Problem, solution: md.Solution) -> bool:
    return md.compare(problem).agree and solution.found and mechanism.audit().holds

generic(loaded, problem, solution)
generic(menu, md.load_model("a/b").problem, md.solve(md.load_model("a/b").problem))
"""


CONFIG = """
[mypy]
strict = True
follow_imports = silent

[mypy-cvxpy.*,matplotlib.*,networkx.*,scipy.*]
follow_imports = skip
follow_imports_for_stubs = True
"""
"""Libraries that nothing in the program is typed by are not read: they are three quarters of all files."""


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[int, str]:
    """What mypy says about the program, by line."""
    folder = tmp_path_factory.mktemp("types")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "mypy.ini").write_text(CONFIG)
    options = ["--config-file=mypy.ini", "--cache-dir", os.devnull]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "program.py"],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    found: dict[int, str] = {}
    for line in done.stdout.splitlines():
        match = re.match(r"program\.py:(\d+): (.*)", line)
        if match:
            found[int(match[1])] = found.get(int(match[1]), "") + match[2] + "\n"
    return found


def test_wrong_uses_are_found_and_right_ones_are_not(said):
    lines = PROGRAM.splitlines()
    wrong = [number for number, line in enumerate(lines, 1) if line.endswith("# error")]
    errors = {number: text for number, text in said.items() if "error:" in text}
    assert sorted(errors) == wrong, "\n".join(f"{lines[number - 1]}\n  {errors[number]}" for number in errors)


def test_what_is_told_is_precise(said):
    told = " ".join(text for text in said.values() if "Revealed type" in text)
    assert "numpy.ndarray" in told, "the prior of a problem is an array"
    assert "def (answers: Any, rng:" in told, "a solution's mechanism has its own randomize"


def front() -> ast.Module:
    return ast.parse((ROOT / "mechdesign" / "__init__.py").read_text(encoding="utf-8"))


def statically_imported() -> dict[str, str]:
    """The names that the front imports from families for type checkers only, and from where."""
    conditional = [node for node in front().body if isinstance(node, ast.If)]
    blocks = [node.body for node in conditional if ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [item for block in blocks for item in block if isinstance(item, ast.ImportFrom)]
    families = [item for item in imports if item.module.startswith("mechdesign.families.")]
    return {alias.asname or alias.name: item.module for item in families for alias in item.names}


def test_the_front_names_for_type_checkers_what_the_families_export():
    """A new problem class needs two lines in mechdesign/__init__.py: an import and its name in __all__."""
    named = statically_imported()
    assert set(named) == set(exported_names()), "edit what mechdesign/__init__.py has under TYPE_CHECKING"
    for name, module in named.items():
        assert getattr(importlib.import_module(module), name) is getattr(md, name)
    assert set(named) <= set(md.__all__), "add the name to __all__ in mechdesign/__init__.py"


@pytest.mark.parametrize("problem_class", CLASSES, ids=lambda item: item.__name__)
def test_a_parameter_that_is_kept_as_an_array_is_told_to_take_lists(problem_class):
    """``Kept[Array, Vector]``: type checkers are told what is taken beside what is kept."""
    hints = get_hints(problem_class)
    for field in fields_of(problem_class):
        hint = hints[field.name]
        if "ndarray" in repr(hint):
            assert get_origin(hint) is Kept, f"{field.name}: lists are accepted; say so by Kept[...]"
            assert "Sequence" in repr(get_args(hint)[1])


@pytest.mark.parametrize("problem_class", CLASSES, ids=lambda item: item.__name__)
def test_parameters_are_given_by_name_and_told_with_their_types(problem_class):
    signature = inspect.signature(problem_class).parameters
    assert list(signature) == [field.name for field in fields_of(problem_class)]
    for field in fields_of(problem_class):
        told = signature[field.name]
        assert told.kind is told.KEYWORD_ONLY
        assert told.annotation not in (told.empty, "Any", Any)
        assert told.default is (told.empty if field.is_required else field.default)


def get_hints(problem_class: type) -> dict[str, Any]:
    import cvxpy

    return get_type_hints(problem_class, localns={"cvxpy": cvxpy})


@pytest.mark.parametrize("problem_class", list(problem_classes().values()), ids=lambda item: item.__name__)
def test_a_problem_says_which_mechanism_it_makes(problem_class):
    """``class MyProblem(Problem[MyMechanism])``, the same as its method ``mechanism`` returns."""
    if problem_class.mechanism is md.Problem.mechanism:
        return
    bases = getattr(problem_class, "__orig_bases__", ())
    said = [base.__args__[0] for base in bases if issubclass(get_origin(base) or base, md.Problem)]
    module = sys.modules[problem_class.mechanism.__module__]
    assert set(said) == {get_type_hints(problem_class.mechanism, vars(module))["return"]}


def test_mechanisms_that_collect_say_so():
    """Whatever has ``randomize`` and ``aggregator`` is typed as what ``CollectingMechanism.load`` returns."""
    for kind in mechanism_types().values():
        collects = hasattr(kind, "randomize") and hasattr(kind, "aggregator")
        assert issubclass(kind, CollectingMechanism) == collects, kind
