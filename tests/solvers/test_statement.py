"""Statements: every model up to its size against the other methods, and what is shown of them."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, ClassVar

import cvxpy
import numpy as np
import pytest

import mechdesign as md
from mechdesign.catalog import listed_models
from mechdesign.cli import main
from mechdesign.core.errors import MethodError, UnknownNameError
from mechdesign.core.fields import checked, frozen_problem
from mechdesign.core.problem import Method, Outcome, Problem
from mechdesign.families import problem_classes
from mechdesign.report.compare import disagreements
from mechdesign.solvers.solve import find_method, methods_of, reason_against
from mechdesign.solvers.statement import program_dict, program_text
from mechdesign.work.cache import Cache
from tests.support.checks import folder_of_run, solved_once

UNSTATED = {
    "deployed-frequencies",
    "deployed-histogram",
    "frequency-oracle",
    "heavy-hitters",
    "item-sets",
    "joint-collection",
    "key-value",
    "location-noise",
    "privacy-contract-continuous",
    "shuffle-amplification",
    "shuffle-counting",
    "shuffle-distinct",
    "shuffle-histogram",
    "shuffle-local-budget",
    "shuffle-range",
    "shuffle-sum",
    "shuffle-uniformity",
    "spectrum-channel",
    "spectrum-primary",
    "survey-design",
    "weekly",
}
"""Problems that no convex or integer program states exactly."""

MODELS = [line.slug for line in listed_models(None) if line.problem not in UNSTATED]

SLOW = {"workload/rare_pairs"}
"""Others take long in these."""


def is_stated(problem: type[Problem[Any]]) -> bool:
    return problem.statement is not Problem.statement


def test_a_problem_has_a_statement_with_its_method_or_a_reason():
    for name, problem in problem_classes().items():
        has_method = any(method.name == "statement" for method in methods_of(problem))
        assert is_stated(problem) == has_method == (name not in UNSTATED), name
        if not is_stated(problem):
            assert problem.unstated != Problem.unstated, name
            assert problem.unstated[0].islower()
            assert not problem.unstated.endswith(".")


@cache
def stated(slug: str) -> Problem[Any] | None:
    """Return the problem of a model whose statement is solved; None for others."""
    problem = md.load_model(slug).problem
    if not is_stated(type(problem)) or reason_against(find_method(problem, "statement"), problem):
        return None
    return problem


def require_reason(slug: str) -> None:
    """A model without the method says why: its size, or what it has that no program states."""
    problem = md.load_model(slug).problem
    reason = reason_against(find_method(problem, "statement"), problem)
    assert reason is not None
    assert len(reason.split()) > 4
    with pytest.raises(md.MethodError, match=re.escape(reason[:30])):
        md.solve(problem, "statement")


@pytest.mark.parametrize("slug", [slug for slug in MODELS if slug not in SLOW])
def test_the_statement_agrees_with_the_other_methods(slug, tmp_path_factory):
    """The solutions are those that the model's check compares: one run of the tests makes each once."""
    problem = stated(slug)
    if problem is None:
        require_reason(slug)
        return
    with solved_once(Cache(folder_of_run(tmp_path_factory.getbasetemp()))):
        runs = [md.solve(problem), md.solve(problem, "statement")]
    assert runs[1].status in ("optimal", "feasible"), runs[1].message
    assert not disagreements(runs)
    assert all(certificate.holds for certificate in runs[1].certificates)
    assert runs[1].bound is not None, runs[1].message
    scale = max(abs(runs[1].value), 1e-6)
    assert (
        runs[1].gap <= 1e-5 * scale or runs[1].kind == "heuristic" or program_of(problem).is_mixed_integer()
    )
    tolerance = 10 * max(problem.optimal_within, 1e-6)
    if runs[0].status == "optimal":
        assert runs[1].value == pytest.approx(runs[0].value, rel=tolerance, abs=tolerance * scale)


def program_of(problem: Problem[Any]) -> cvxpy.Problem:
    return problem.statement()


@pytest.mark.parametrize("slug", MODELS)
def test_statements_are_programs_with_names(slug):
    problem = stated(slug)
    if problem is None:
        require_reason(slug)
        return
    program = program_of(problem)
    assert program.is_dcp() or program.is_dgp()
    names = [variable.name() for variable in program.variables()]
    assert len(set(names)) == len(names)
    assert not any(name.startswith("var") for name in names)
    held = sum(variable.size for variable in program.variables())
    assert problem.statement_size() == 0 or held <= 4 * problem.statement_size() + 64
    shown = program_dict(problem)
    assert "def statement(self)" in shown["source"]
    assert shown["kind"].endswith("program")


def test_the_program_of_a_model_is_shown(capsys):
    assert main(["show", "response/nary", "--program"]) == 0
    text = capsys.readouterr().out
    assert "def statement(self) -> cvxpy.Problem:" in text
    assert "maximize: linear program, convex by DCP" in text
    assert "variable channel: 4 x 4, nonnegative" in text
    assert main(["show", "auction/accuracy", "--program", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["model"], shown["kind"]) == ("auction/accuracy", "mixed-integer linear program")
    assert main(["show", "shuffle/sum", "--program"]) == 0
    assert "none, for it is a choice among protocols" in capsys.readouterr().out
    assert main(["show", "mean/rare_trait_delta", "--program"]) == 0
    assert "not for these parameters: with delta > 0" in capsys.readouterr().out
    assert main(["show", "workload/prefix_32", "--program"]) == 0
    assert "too many to be listed" in capsys.readouterr().out
    assert main(["show", "mean-channel", "--program"]) == 2
    assert "name a model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("problem", "former"),
    [
        (md.MeanInterval(epsilon=1.0), "geometric"),
        (md.LinearQueries(workload={"name": "prefix", "size": 3}, epsilon=1.0), "cvxpy"),
        (md.SpectrumSecondary(**md.SpectrumSecondary.example), "convex"),
    ],
)
def test_former_names_still_name_the_method(problem, former):
    assert md.solve(problem, former).method == "statement"
    assert [run.method for run in md.compare(problem, [former]).runs] == ["statement"]
    with pytest.raises(UnknownNameError):
        md.solve(problem, "convexx")


def test_a_problem_without_a_statement_says_why():
    problem = md.ShuffleSum(**md.ShuffleSum.example)
    with pytest.raises(MethodError, match="choice among protocols"):
        problem.statement()
    assert "none, for" in program_text(problem, "mine")


def test_what_is_infeasible_or_too_large_is_one_line():
    auction = md.AuctionSlot(bids=[[1, 1]], epsilon=1.0, tasks=[[0]], requirements=[2])
    solution = md.solve(auction, "statement")
    assert (solution.status, solution.message) == (
        "infeasible",
        "no variables satisfy all constraints of the statement",
    )
    large = md.CoveringDesign(points=20, order=2, block=5)
    with pytest.raises(MethodError, match=r"its statement has 15504 variables; the limit is 130"):
        md.solve(large, "statement")


def test_winners_of_a_statement_are_not_built():
    problem = md.AuctionSlot(bids=[[1, 1], [2, 1]], epsilon=1.0, tasks=[[0], [0]], requirements=[1])
    solution = md.solve(problem, "statement")
    assert solution.variables["winners"].tolist() == [0]
    with pytest.raises(MethodError, match="build with method 'exact'"):
        solution.mechanism()


@frozen_problem()
class Budgeted(Problem[Any]):
    """Maximise sum sqrt(x) with sum x <= budget: the optimum is sqrt(size * budget)."""

    name: ClassVar[str] = "budgeted"
    sense: ClassVar[Any] = "max"
    compared_with: ClassVar[str] = "all splits"

    budget: float = checked("Money.", lambda _, value: float(value), form="number")

    def objective(self, variables):
        return float(np.sqrt(np.maximum(variables["x"], 0.0)).sum())

    def residuals(self, variables):
        return {"budget": max(0.0, float(np.sum(variables["x"])) - self.budget)}

    def certificates(self, solution):
        return (self.optimality(solution),)

    def statement(self):
        x = cvxpy.Variable(4, name="x", nonneg=True)
        return cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.sqrt(x))), [cvxpy.sum(x) <= self.budget])

    def from_statement(self, values):
        x = np.maximum(values["x"], 0.0)
        return {"x": x * min(1.0, self.budget / x.sum())}


def _asserted(problem: Budgeted) -> Outcome:
    x = np.full(4, problem.budget / 4)
    return Outcome("optimal", {"x": x}, bound=2.0 * problem.budget**0.5, bound_source="a lucky guess")


def _proven(problem: Budgeted) -> Outcome:
    return Outcome("optimal", {"x": np.full(4, problem.budget / 4)}, bound=md.prove(problem.statement()))


METHODS = (
    md.statement_method(Budgeted),
    Method("asserted", Budgeted, "numeric", "", _asserted),
    Method("proven", Budgeted, "numeric", "", _proven),
)


def test_a_statement_is_enough_for_a_problem_of_ones_own():
    solution = md.solve(Budgeted(budget=9.0))
    assert (solution.method, solution.status) == ("statement", "optimal")
    assert solution.value == pytest.approx(6.0, rel=1e-9)
    assert 6.0 <= solution.bound <= 6.0 + 1e-6
    assert "asserted" not in str(solution)


def test_the_bound_of_a_method_from_outside_is_asserted_unless_it_is_proven():
    asserted, proven = (md.solve(Budgeted(budget=9.0), name) for name in ("asserted", "proven"))
    assert str(asserted.certificates[0]).endswith("bound asserted by the method: a lucky guess")
    assert "bound from multipliers in fractions, valid for all feasible points" in str(proven)
    assert "asserted" not in str(proven)
    assert proven.status == asserted.status == "optimal"


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3])
def test_the_statement_of_a_survey_limit_is_solved_at_tiny_epsilons(epsilon):
    problem = md.SurveyLimit(questions=[2], epsilon=epsilon)
    answer = md.solve(problem, "statement")
    assert answer.status == "optimal"
    assert answer.value == pytest.approx(md.solve(problem).value, rel=1e-6)
