"""Every shipped model by every method: agreement, certificates, claims, JSON."""

from __future__ import annotations

import json
import math
from functools import lru_cache, partial
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import mechdesign as md
from mechdesign.catalog import SweepRow, load_model, models, sweep_points
from mechdesign.catalog.curves import CurvePoints
from mechdesign.catalog.sweeping import simulate
from mechdesign.collect import Mechanism, load_mechanism
from mechdesign.core.errors import MechDesignError, MethodError
from mechdesign.core.fields import parameters_of, problem_from, replace_parameters
from mechdesign.core.solution import Solution
from mechdesign.core.values import encode
from mechdesign.papers.claims import ModelCheck
from mechdesign.papers.shown.checks import overview
from mechdesign.work.cache import Cache
from tests.support.checks import check_once, folder_of_run, solved_once
from tests.support.claims import assert_can_fail
from tests.support.failures import assert_each

Point = dict[str, Any]

CHECKS: dict[str, ModelCheck] = {}
SHARED: list[Cache] = []

NEAR = {"location/soho_grid": 0.005, "marginals/zhang2019_oracles": 0.01}
"""Models whose default is within this part of a proven bound: too large, or with the shortest reports."""

OF_A_CLASS = {"workload/attribution_reports", "deployed/chrome_conversion_counts"}
"""Models too large for all mechanisms: by default the best of a class, which is said and proven."""

WITHOUT_BOUND = {"location/planar_laplace"}
"""Models that compare mechanisms, with no bound for all of them."""

SLOW = ("joint/chu2022_adult",)
"""The one quantity in its figure is that of the small model of the same source."""

OPEN = (
    "heavy-hitters",
    "shuffle-amplification",
    "shuffle-local-budget",
    "survey-limit",
    "weekly",
    "item-sets",
    "key-value",
)
"""Problems whose optimum is not known everywhere: a run that does not claim it shows what is left open."""

CHOICES = ("shuffle-counting", "shuffle-histogram", "shuffle-sum")
"""Problems whose optimum is the choice ``best``: a model that leaves it out compares protocols."""


@pytest.fixture(scope="module", autouse=True)
def shared(tmp_path_factory):
    """Keep checks where all processes of this run find them, so that each model is checked once."""
    SHARED.append(Cache(folder_of_run(tmp_path_factory.getbasetemp())))


def check_of(slug: str):
    """Check a model once a run; several tests look at the result."""
    if slug not in CHECKS:
        CHECKS[slug] = check_once(slug, SHARED[-1])
    return CHECKS[slug]


def preferred_of(slug: str) -> Solution:
    """Return the run by the first method that is not kept to be refuted."""
    return next(run for run in check_of(slug).comparison.runs if run.kind != "published")


HEURISTIC_BY_DEFAULT = (("auction-slot", "greedy"), ("auction-horizon", "online"))
"""Preferred methods of problems that claim no optimum: a rule that people bid under, and that must not change
with the size of a slot, and a rule that does not know the future."""


def settles_for_less(run: Solution) -> bool:
    """Whether a run is of such a rule, claims nothing, and all that it promises holds."""
    known = (run.problem.name, run.method) in HEURISTIC_BY_DEFAULT and run.kind == "heuristic"
    return known and not run.claims_optimality and all(item.holds for item in run.certificates)


@lru_cache(maxsize=1)
def ends_of(slug: str) -> list[tuple[Point, Solution]]:
    """Return the first and the last point of a model's sweep, solved; several tests look at them."""
    model = load_model(slug)
    points = sweep_points(model) if model.sweep else []
    with solved_once(SHARED[-1]):
        return [
            (point, md.solve(replace_parameters(model.problem, point))) for point in points[:1] + points[-1:]
        ]


def shown_row(slug: str) -> SweepRow:
    """Return the last point of a model's sweep, or its only one, with a small simulation if it has any."""
    model = load_model(slug)
    point, solution = (ends_of(slug) or [({}, preferred_of(slug))])[-1]
    simulation = model.simulation
    if simulation is None:
        return SweepRow(point, solution, {})
    users = getattr(solution.problem, "users", min(simulation.users, 2000))  # a protocol is for its number
    return SweepRow(point, solution, simulate(solution, users, 1, np.random.default_rng(simulation.seed)))


def without(slug: str) -> set[str]:
    """Return the methods that a model leaves out by naming others."""
    named = check_of(slug).model.methods
    return {"best"} - set(named) if named else set()


def methods_agree_certificates_hold_and_claims_are_as_recorded(slug):
    check = check_of(slug)
    assert check.problems == []
    assert check.comparison.runs


def printing_the_check_is_readable(slug):
    text = overview([check_of(slug)], 100)
    assert slug in text
    assert ("every verdict as recorded" in text) == bool(check_of(slug).claims)
    assert max(map(len, text.splitlines())) <= 110  # names and figures are not broken, texts are


def every_claim_can_fail(slug):
    """A value moved beyond the tolerance flips the verdict, and the found one in its place holds."""
    for result in check_of(slug).claims:
        if not result.claim.is_in_words:
            assert_can_fail(result.claim, result.found)


def an_optimum_is_claimed_by_default(slug):
    """Not by a run that only came near: that would have no optimality certificate to fail."""
    preferred = preferred_of(slug)
    if settles_for_less(preferred):
        return
    if slug in OF_A_CLASS:
        assert (preferred.status, preferred.scope[:21]) == ("feasible", "the best of its class")
        judged = [item for item in preferred.certificates if item.property == "optimality"]
        assert [item.holds for item in judged] == [True]
        assert "single out" in judged[0].among
        return
    if slug in WITHOUT_BOUND:
        assert preferred.bound is None
        return
    if slug in NEAR:
        assert preferred.gap <= NEAR[slug] * abs(preferred.bound)
        return
    if preferred.problem.name in CHOICES and "best" in without(slug):
        assert not preferred.claims_optimality
        assert all(item.holds for item in preferred.certificates)
        return
    if preferred.problem.name in OPEN and not preferred.claims_optimality:
        assert preferred.bound is not None
        assert math.isfinite(preferred.gap)
        return
    assert preferred.claims_optimality
    assert "optimality" in {certificate.property for certificate in preferred.certificates}


def an_optimum_says_among_which_mechanisms(slug):
    """Of whatever grid or list: what is best among these may be beaten by others."""
    for run in check_of(slug).comparison.runs:
        for item in run.certificates:
            if item.property == "optimality" and item.holds:
                assert item.among
                assert f"; among {item.among}; " in str(item)
                assert item.as_dict()["among"] == item.among
                assert len(item.among.split()) <= 15


def every_method_that_applies_is_run_and_the_others_say_why_not(slug):
    check = check_of(slug)
    names = {method.name for method in md.methods_of(type(check.model.problem))}
    wanted = set(check.model.methods) or names
    assert {run.method for run in check.comparison.runs} | set(check.comparison.skipped) == wanted
    assert all(check.comparison.skipped.values())


def values_and_bounds_are_finite_and_residuals_small(slug):
    for run in check_of(slug).comparison.runs:
        if run.kind == "published" and run.status == "failed":  # it may have no value at all
            assert run.message
            continue
        assert run.status in ("optimal", "feasible")
        assert math.isfinite(run.value)
        scale = max(1.0, abs(run.value))
        assert run.bound is None or run.value <= run.bound + 1e-12 * scale or run.problem.sense == "min"
        if run.kind != "published":
            assert max(run.residuals.values()) <= 1e-9 * scale, (run.method, run.residuals)


def exact_certificates_come_with_a_witness_or_nothing_to_witness(slug):
    for run in check_of(slug).comparison.runs:
        privacy = [item for item in run.certificates if item.property == "privacy"]
        for certificate in privacy:
            # why it rests on more than whole numbers
            reasons = ("for real numbers", "in real numbers", "theorem of")
            assert certificate.exact or any(reason in certificate.note for reason in reasons)
            assert certificate.witness or certificate.figures["true_epsilon"] == 0.0


def solutions_and_checks_are_plain_json(slug):
    check = check_of(slug)
    text = json.dumps(check.as_dict(), allow_nan=False)
    assert json.loads(text)["model"] == slug
    preferred = preferred_of(slug)
    quantities = encode(dict(preferred.quantities))
    assert json.loads(json.dumps(quantities, allow_nan=False)) == quantities


def parameters_round_trip(slug):
    """Read again, the problem judges a solution as before; not where a million numbers would be a text."""
    check = check_of(slug)
    problem = check.model.problem
    if np.size(getattr(problem, "prior", 0)) > 10_000:
        return
    text = json.dumps(parameters_of(problem), allow_nan=False)
    again = problem_from(type(problem), json.loads(text))
    assert json.dumps(parameters_of(again)) == text
    run = preferred_of(slug)
    assert run.found
    assert again.objective(run.variables) == problem.objective(run.variables)
    assert again.residuals(run.variables) == problem.residuals(run.variables)


def every_mechanism_saves_loads_and_audits(slug):
    problem = check_of(slug).model.problem
    reason = problem.why_no_mechanism()
    if reason is not None:  # it says so itself, and nothing is refused
        assert len(reason) > 20
        with pytest.raises(MethodError, match="has no mechanism to run"):
            preferred_of(slug).mechanism()
        return
    for run in check_of(slug).comparison.runs:
        try:
            mechanism = run.mechanism()
        except MechDesignError as error:  # refused: a certificate failed, which the error may name
            failed = not all(item.holds for item in run.certificates) or ": FAILS" in str(error)
            failed = failed or "pays winners what they ask, which no rule of an auction does" in str(error)
            assert not run.found or failed
            continue
        if not isinstance(mechanism, Mechanism):
            continue
        with TemporaryDirectory() as folder:
            mechanism.save(Path(folder, "m.json"))
            again = load_mechanism(Path(folder, "m.json"))
        assert again.fingerprint == mechanism.fingerprint
        assert all(certificate.holds for certificate in again.certificates())


def the_ends_of_its_sweep_are_solved(slug):
    for _, solution in ends_of(slug):
        assert (
            solution.claims_optimality
            or settles_for_less(solution)
            or slug in WITHOUT_BOUND
            or (solution.problem.name in OPEN and solution.bound is not None)
        )
        failed = {certificate.property for certificate in solution.broken}
        assert failed <= check_of(slug).recorded_failures(solution)


def what_its_figures_show_exists(slug):
    """Of the last point of the sweep: quantities, parameters and what a simulation measures."""
    model = load_model(slug)
    wanted = {name for table in model.figures for name in (*table.y, *table.once)}
    if slug in SLOW or wanted <= {"value", "bound", "seconds"}:
        return
    row = shown_row(slug)
    points = CurvePoints(model, [row])
    for name in wanted:
        assert points.quantity(row.solution, name, row.measured) is not None


RULES = (
    methods_agree_certificates_hold_and_claims_are_as_recorded,
    printing_the_check_is_readable,
    every_claim_can_fail,
    an_optimum_is_claimed_by_default,
    an_optimum_says_among_which_mechanisms,
    every_method_that_applies_is_run_and_the_others_say_why_not,
    values_and_bounds_are_finite_and_residuals_small,
    exact_certificates_come_with_a_witness_or_nothing_to_witness,
    solutions_and_checks_are_plain_json,
    parameters_round_trip,
    every_mechanism_saves_loads_and_audits,
    the_ends_of_its_sweep_are_solved,
    what_its_figures_show_exists,
)
"""What holds for every model; each takes its name, and looks at the one check that is made of it."""


@pytest.mark.parametrize("slug", models())
def test_a_model_keeps_every_rule(slug):
    assert_each({rule.__name__: partial(rule, slug) for rule in RULES})


def test_every_function_about_one_model_is_a_rule_or_an_aid_of_rules():
    """A rule that is written down but stands in no table would check nothing."""
    public = {
        name
        for name, item in globals().items()
        if isinstance(item, FunctionType) and list(signature(item).parameters) == ["slug"]
    }
    aids = {"check_of", "preferred_of", "shown_row", "without"}
    assert public - {rule.__name__ for rule in RULES} == aids | {"test_a_model_keeps_every_rule"}
