"""Orbits of agents that are alike: the same optimum, proven in the whole program, and equal treatment."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.incentives import Environment
from mechdesign.families.incentives.direct_mechanism_methods import is_large_and_alike, why_not_symmetric
from mechdesign.families.incentives.exact_optimum import needed_lies
from mechdesign.families.incentives.program import DirectProgram
from mechdesign.families.incentives.symmetry import SmallProgram, orbits

AUCTION = {"name": "single-item", "types": [1, 2, 3, 6], "prior": ["1/4", "1/2", "1/8", "1/8"], "agents": 3}
STREET = {"name": "public-good", "types": [0, 2, 3], "agents": 3, "cost": 4}
PROBLEMS = {
    "auction": md.DirectMechanism(environment=AUCTION),
    "bayesian auction": md.DirectMechanism(
        environment=AUCTION, incentives="bayesian", participation="interim"
    ),
    "units": md.DirectMechanism(
        environment={"name": "multi-unit", "types": [1, 3], "agents": 4, "units": 2, "worth": 1}
    ),
    "public good": md.DirectMechanism(
        environment=STREET, goal="welfare", budget="balanced", incentives="bayesian", participation="ex-post"
    ),
    "dominant public good": md.DirectMechanism(
        environment=STREET, goal="welfare", budget="no-deficit", payment_low=0, payment_high=2
    ),
    "facility": md.DirectMechanism(
        environment={"name": "facility", "places": [0, 1, 3], "agents": 3},
        transfers=False,
        goal="welfare",
        participation="none",
    ),
    "vote": md.DirectMechanism(
        environment={"name": "voting", "candidates": 3, "agents": 2},
        transfers=False,
        goal="weights",
        outcome_weights=[3, 2, 1],
        participation="none",
    ),
    "assignment": md.DirectMechanism(
        environment={"name": "assignment", "types": [[2, 1, 0], [0, 1, 2], [1, 2, 0]]},
        transfers=False,
        goal="welfare",
        participation="none",
    ),
    "dependent values": md.DirectMechanism(
        environment={
            "name": "single-item",
            "types": [1, 2],
            "agents": 2,
            "joint": ["1/3", "1/6", "1/6", "1/3"],
        },
        incentives="bayesian",
        participation="interim",
    ),
    "no optimum": md.DirectMechanism(
        environment=STREET, goal="welfare", budget="balanced", efficient=True
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_optimum_is_that_of_the_whole_program(name):
    problem = PROBLEMS[name]
    one, other = md.solve(problem, "exact-lp"), md.solve(problem, "symmetric")
    assert other.status == one.status == ("infeasible" if name == "no optimum" else "optimal")
    if not other.found:
        assert other.notes["conflict"] == one.notes["conflict"]
        assert other.realisation.proves_infeasibility()
        return
    assert other.notes["exact_value"] == one.notes["exact_value"]
    assert other.broken == ()
    program = DirectProgram(problem, needed_lies(problem.environment))
    assert orbits(program).max() + 1 < program.width


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "no optimum"])
def test_agents_that_are_alike_are_treated_alike(name):
    """An agent's expected value and payment depend on its type and the others' types in any order."""
    problem = PROBLEMS[name]
    environment, rule = problem.environment, md.solve(problem, "symmetric").variables["rule"]
    lotteries, payments = rule.lottery_fractions(), rule.payment_fractions()
    agents = range(len(environment.agents))
    for profile in product(*map(range, environment.counts)):
        values = [
            sum(lotteries[profile] * environment.values[agent][profile[agent]]) - payments[profile][agent]
            for agent in agents
        ]
        for order in permutations(agents):
            moved = tuple(profile[place] for place in order)
            others = [
                sum(lotteries[moved] * environment.values[agent][moved[agent]]) - payments[moved][agent]
                for agent in agents
            ]
            assert [values[place] for place in order] == others


def test_random_auctions_have_the_optimum_of_the_formula():
    rng = np.random.default_rng(11)
    for _ in range(20):
        count, agents = int(rng.integers(2, 5)), int(rng.integers(2, 4))
        types = sorted(rng.choice(30, count, replace=False).tolist())
        weights = rng.integers(1, 9, count)
        prior = [f"{weight}/{weights.sum()}" for weight in weights.tolist()]
        sale = {"name": "single-item", "types": types, "agents": agents, "prior": prior}
        problem = md.DirectMechanism(environment={**sale, "worth": int(rng.integers(0, 9))})
        values = {md.solve(problem, name).notes["exact_value"] for name in ("symmetric", "myerson")}
        assert len(values) == 1


def test_wrong_orbits_are_noticed_by_the_whole_program(monkeypatch):
    """Agents of different types taken for alike: the expanded point is not optimal, and all is solved."""
    from mechdesign.families.incentives import symmetry

    problem = md.DirectMechanism(environment={"name": "single-item", "types": [[1, 2], [3, 9]]})
    assert why_not_symmetric(problem) == "agents have different types or outside values"
    program = DirectProgram(problem, needed_lies(problem.environment))
    calls = []
    whole = symmetry.solve_exactly
    monkeypatch.setattr(symmetry, "solve_exactly", lambda one: calls.append(one.rows.width) or whole(one))
    monkeypatch.setattr(symmetry, "orbits", lambda program: np.arange(program.width) // 2, raising=True)
    found = symmetry.solve_alike(program)
    assert calls[-1] == program.width
    assert program.program.value(found.point) / program.scale == md.solve(problem, "myerson").value


def test_rows_that_are_the_same_become_one():
    problem = md.DirectMechanism(environment={"name": "single-item", "types": [1, 2], "agents": 2})
    program = DirectProgram(problem, needed_lies(problem.environment))
    small = SmallProgram.of(program.program, orbits(program))
    assert small is not None
    assert small.program.rows.height < program.program.rows.height
    whole, point = program.program, np.arange(small.program.rows.width)
    assert (whole.rows.times(point[small.columns]) == small.program.rows.times(point)[small.rows]).all()
    assert whole.objective @ point[small.columns] == small.program.objective @ point


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (md.DirectMechanism(environment={"name": "single-item", "types": [1, 2]}), "there is one agent"),
        (
            md.DirectMechanism(
                environment={**AUCTION, "prior": [[0.25] * 4] * 2 + [[0.125, 0.125, 0.25, 0.5]]}
            ),
            "the prior tells agents apart",
        ),
        (
            md.DirectMechanism(environment=AUCTION, goal="weights", payment_weights=[1, 2, 1]),
            "payments of agents have different weights",
        ),
        (
            md.DirectMechanism(environment=AUCTION, goal="weights", outcome_weights=[0, 1, 1, 2]),
            "outcomes treat agents in different ways",
        ),
        (
            md.DirectMechanism(environment=AUCTION, goal="weights", outcome_weights=[[0, 1, 1, 1]] * 64),
            "weights depend on the profile",
        ),
        (
            md.DirectMechanism(
                environment=Environment.of([[1, 2]] * 2, ["a", "b"], lambda agent, kind, _: kind + agent)
            ),
            "outcomes treat agents in different ways",
        ),
        (
            md.DirectMechanism(environment=AUCTION, outcomes="deterministic"),
            "its outcomes have to be deterministic; use 'integer'",
        ),
    ],
)  # fmt: skip
def test_why_agents_are_not_alike(problem, reason):
    assert why_not_symmetric(problem) == reason


def test_orbits_are_the_default_where_there_are_many_variables():
    few = {"name": "single-item", "types": [1, 2, 3], "agents": 2}
    assert not is_large_and_alike(md.DirectMechanism(environment=few))
    many = md.DirectMechanism(environment={**few, "types": list(range(1, 16)), "agents": 3})
    assert is_large_and_alike(many)
    solution = md.solve(many)
    assert solution.method == "symmetric"
    assert solution.notes["exact_value"] == md.solve(many, "myerson").notes["exact_value"]
    apart = {**few, "types": [list(range(1, 70)), list(range(2, 71))]}
    del apart["agents"]
    assert not is_large_and_alike(md.DirectMechanism(environment=apart))
