"""Every shipped model by every method: agreement, certificates, claims, JSON."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import mechdesign as md
from mechdesign.catalog import SweepRow, load_model, models, sweep_points
from mechdesign.catalog.curves import CurvePoints
from mechdesign.core.cache import Cache
from mechdesign.core.encoding import encode
from mechdesign.core.errors import MechDesignError, MethodError
from mechdesign.core.parameters import parameters_of, problem_from, replace_parameters
from mechdesign.core.simulate import simulate
from mechdesign.core.solution import Solution
from mechdesign.mechanisms import Mechanism, load_mechanism
from mechdesign.papers.claims import ModelCheck
from mechdesign.papers.shown.checks import overview
from tests.support.checks import check_once, folder_of_run
from tests.support.claims import assert_can_fail

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

OPEN = ("shuffle-amplification", "shuffle-local-budget", "survey-limit")
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
    return [(point, md.solve(replace_parameters(model.problem, point))) for point in points[:1] + points[-1:]]


def shown_row(slug: str) -> SweepRow:
    """Return the last point of a model's sweep, or its only one, with a small simulation if it has any."""
    model = load_model(slug)
    runs = check_of(slug).comparison.runs
    own = [({}, next(run for run in runs if run.kind != "published"))]
    point, solution = (ends_of(slug) or own)[-1]
    simulation = model.simulation
    if simulation is None:
        return SweepRow(point, solution, {})
    users = getattr(solution.problem, "users", min(simulation.users, 2000))  # a protocol is for its number
    return SweepRow(point, solution, simulate(solution, users, 1, np.random.default_rng(simulation.seed)))


def without(slug: str) -> set[str]:
    """Return the methods that a model leaves out by naming others."""
    named = check_of(slug).model.methods
    return {"best"} - set(named) if named else set()


@pytest.mark.parametrize("slug", models(), scope="class")  # one model after the other
class TestModel:
    def test_methods_agree_certificates_hold_and_claims_are_as_recorded(self, slug):
        check = check_of(slug)
        assert check.problems == []
        assert check.comparison.runs

    def test_printing_the_check_is_readable(self, slug):
        text = overview([check_of(slug)], 100)
        assert slug in text
        assert ("every verdict as recorded" in text) == bool(check_of(slug).claims)
        assert max(map(len, text.splitlines())) <= 110  # names and figures are not broken, texts are

    def test_every_claim_can_fail(self, slug):
        """A value moved beyond the tolerance flips the verdict, and the found one in its place holds."""
        for result in check_of(slug).claims:
            assert_can_fail(result.claim, result.found)

    def test_an_optimum_is_claimed_by_default(self, slug):
        """Not by a run that only came near: that would have no optimality certificate to fail."""
        preferred = next(run for run in check_of(slug).comparison.runs if run.kind != "published")
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

    def test_an_optimum_says_among_which_mechanisms(self, slug):
        """Of whatever grid or list: what is best among these may be beaten by others."""
        for run in check_of(slug).comparison.runs:
            for item in run.certificates:
                if item.property == "optimality" and item.holds:
                    assert item.among
                    assert f"; among {item.among}; " in str(item)
                    assert item.as_dict()["among"] == item.among
                    assert len(item.among.split()) <= 15

    def test_every_method_that_applies_is_run_and_the_others_say_why_not(self, slug):
        check = check_of(slug)
        names = {method.name for method in md.methods_of(type(check.model.problem))}
        wanted = set(check.model.methods) or names
        assert {run.method for run in check.comparison.runs} | set(check.comparison.skipped) == wanted
        assert all(check.comparison.skipped.values())

    def test_values_and_bounds_are_finite_and_residuals_small(self, slug):
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

    def test_exact_certificates_come_with_a_witness_or_nothing_to_witness(self, slug):
        for run in check_of(slug).comparison.runs:
            privacy = [item for item in run.certificates if item.property == "privacy"]
            for certificate in privacy:
                # why it rests on more than whole numbers
                reasons = ("for real numbers", "in real numbers", "theorem of")
                assert certificate.exact or any(reason in certificate.note for reason in reasons)
                assert certificate.witness or certificate.figures["true_epsilon"] == 0.0

    def test_solutions_and_checks_are_plain_json(self, slug):
        check = check_of(slug)
        text = json.dumps(check.as_dict(), allow_nan=False)
        assert json.loads(text)["model"] == slug
        preferred = next(run for run in check.comparison.runs if run.kind != "published")
        quantities = encode(dict(preferred.quantities))
        assert json.loads(json.dumps(quantities, allow_nan=False)) == quantities

    def test_parameters_round_trip(self, slug):
        check = check_of(slug)
        problem = check.model.problem
        if np.size(getattr(problem, "prior", 0)) > 10_000:
            pytest.skip("a million numbers as JSON text")
        text = json.dumps(parameters_of(problem), allow_nan=False)
        again = problem_from(type(problem), json.loads(text))
        assert json.dumps(parameters_of(again)) == text
        if check.model.methods:  # a comparison of some methods: their first is solved again
            method = check.comparison.runs[0].method
            assert md.solve(again, method).value == pytest.approx(
                check.comparison.runs[0].value, rel=1e-12, nan_ok=True
            )
            return
        preferred = next(run for run in check.comparison.runs if run.kind != "published")
        assert md.solve(again).value == pytest.approx(preferred.value, rel=1e-12)

    def test_every_mechanism_saves_loads_and_audits(self, slug, tmp_path):
        problem = check_of(slug).model.problem
        reason = problem.why_no_mechanism()
        if reason is not None:  # it says so itself, and nothing is refused
            assert len(reason) > 20
            with pytest.raises(MethodError, match="has no mechanism to run"):
                md.solve(problem).mechanism()
            return
        for run in check_of(slug).comparison.runs:
            try:
                mechanism = run.mechanism()
            except MechDesignError as error:  # refused: a certificate failed, which the error may name
                failed = not all(item.holds for item in run.certificates) or ": FAILS" in str(error)
                assert not run.found or failed
                continue
            if not isinstance(mechanism, Mechanism):
                continue
            path = tmp_path / f"{run.method}.json"
            mechanism.save(path)
            again = load_mechanism(path)
            assert again.fingerprint == mechanism.fingerprint
            assert all(certificate.holds for certificate in again.certificates())

    def test_the_ends_of_its_sweep_are_solved(self, slug):
        for _, solution in ends_of(slug):
            assert (
                solution.claims_optimality
                or settles_for_less(solution)
                or slug in WITHOUT_BOUND
                or (solution.problem.name in OPEN and solution.bound is not None)
            )
            failed = {certificate.property for certificate in solution.broken}
            assert failed <= check_of(slug).recorded_failures(solution)

    def test_what_its_figures_show_exists(self, slug):
        """Of the last point of the sweep: quantities, parameters and what a simulation measures."""
        model = load_model(slug)
        wanted = {name for table in model.figures for name in (*table.y, *table.once)}
        if slug in SLOW or wanted <= {"value", "bound", "seconds"}:
            return
        row = shown_row(slug)
        points = CurvePoints(model, [row])
        for name in wanted:
            assert points.found(row.solution, name, row.measured) is not None
