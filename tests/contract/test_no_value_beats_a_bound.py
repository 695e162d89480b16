"""In no table is a value beyond a bound that is proven for it, and no bound beyond what is known anyway."""

from __future__ import annotations

import pytest

import mechdesign as md
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import fields_of, problem_from
from mechdesign.exact.numbers import rounding_allowance
from mechdesign.families import problem_classes

STRANGE = (0.1, 200.0)
"""Epsilons at which the small example of each problem is compared, where it takes them."""

SLOW = {
    "shuffle-counting",
    "shuffle-histogram",
    "shuffle-sum",
    "shuffle-distinct",
    "shuffle-range",
    "deployed-histogram",
    "event-counts",
}
"""Problems whose methods take seconds each; the models and their own tests cover them."""


def cases() -> list[tuple[str, float | None]]:
    found: list[tuple[str, float | None]] = []
    for name, kind in problem_classes().items():
        if name not in SLOW:
            has_epsilon = "epsilon" in {field.name for field in fields_of(kind)}
            found += [(name, epsilon) for epsilon in (STRANGE if has_epsilon else (None,))]
    return found


def assert_sound(compared) -> None:
    problem = compared.problem
    sign = 1.0 if problem.sense == "max" else -1.0
    for runs in compared.by_scope.values():
        found = [run for run in runs if run.found and run.kind != "published"]
        for run in found:
            for other in found:
                if other.bound is None:
                    continue
                scale = max(abs(run.value), abs(other.bound), problem.objective_scale())
                assert sign * (run.value - other.bound) <= rounding_allowance(scale), (run, other)
            if run.bound is not None and problem.trivial_bound() is not None:
                assert sign * (run.bound - problem.trivial_bound()) <= 0.0, run
            if run.status == "optimal":
                assert run.bound is not None
                assert run.bound_source
                assert any(item.property == "optimality" and is_kept(item) for item in run.certificates), run


def is_kept(item) -> bool:
    """Whether optimality holds, or fails because weights out of 2^62 cannot come as close as the value."""
    value = item.figures.get("value", 0.0)
    return item.holds or item.figures.get("deployed_value", value) > value


@pytest.mark.parametrize(("name", "epsilon"), cases())
def test_at_strange_epsilons(name, epsilon):
    kind = problem_classes()[name]
    changes = {} if epsilon is None else {"epsilon": epsilon}
    try:
        problem = problem_from(kind, {**kind.example, **changes})
    except ParameterError:
        return  # this problem does not take it, and says so
    assert_sound(md.compare(problem))


TABLES = [[0], [1], [2]]
CHAIN = [[0, 1, 2], [1, 2, 3], [3, 4, 5], [0, 4, 5]]


@pytest.mark.parametrize(
    "problem",
    [
        md.MarginalViews(attributes=[2, 2, 2], users=10_000, epsilon=8.0, workload=TABLES),
        md.MarginalViews(attributes=[2, 2, 2], users=10_000, epsilon=8.0, workload=TABLES, criterion="worst"),
        md.MarginalViews(attributes=[8] * 6, users=40_000, epsilon=200.0, workload=CHAIN),
        md.MarginalViews(attributes=[2, 3], users=1, epsilon=1e-3, order=1, criterion="mean"),
        md.LinearQueries(workload={"name": "prefix", "size": 4}, epsilon=16.0),
        md.LinearQueries(
            workload=[[1.0, 0.0, 0.0], [0.0, 1e-6, 1.0]], epsilon=5.0, population=[0.98, 0.01, 0.01]
        ),
        md.EventCounts(slots=3, most=1, prior=[0.999, 0.001], epsilon=12.0),
        md.RandomizedResponse(prior=[1e-170, 1.0], epsilon=25.0, utility="mutual-information"),
        md.RandomizedResponse(prior=[1e-5, 1e-5, 0.99998], epsilon=0.0, utility="mutual-information"),
    ],
    ids=lambda problem: f"{problem.name}-{problem.epsilon:g}",
)
def test_of_chosen_problems(problem):
    assert_sound(md.compare(problem))
