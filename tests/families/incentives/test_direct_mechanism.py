"""Finite direct mechanisms: exact optima, certificates, infeasible requirements, bad input."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import MechDesignError, ParameterError, UnknownNameError
from mechdesign.core.fields import parameters_of, problem_from
from mechdesign.families.incentives import Environment
from mechdesign.families.incentives.deviations import ExactAudit, ExactRule
from mechdesign.families.incentives.environments import NAMED
from mechdesign.families.incentives.exact_optimum import exact_optimum
from mechdesign.families.incentives.program import DirectProgram, adjacent_lies, all_lies
from mechdesign.solvers.exact_linear import solve_exactly

BAYESIAN = {"incentives": "bayesian", "participation": "interim"}


def sale(values, agents, **more):
    return {"name": "single-item", "types": list(values), "agents": agents, **more}


def trade(count):
    values = [f"{2 * place + 1}/{2 * count}" for place in range(count)]
    return {"name": "bilateral-trade", "seller": values, "buyer": values}


WELFARE = {"goal": "welfare", "budget": "balanced"}
CORRELATED = sale([1, 2], 2, joint=["1/3", "1/6", "1/6", "1/3"])
PUBLIC = {"name": "public-good", "types": [0, 0.75], "agents": 2, "cost": 0.5}
EXACT = [
    (sale([1, 2, 3], 2), {}, "2"),
    (sale([1, 2, 3], 2), BAYESIAN, "2"),
    (sale([1, 2, 3], 3), {}, "64/27"),
    (sale(range(1, 6), 2), BAYESIAN, "71/25"),
    (sale(range(1, 13), 2), {}, "413/72"),
    (sale(range(1, 6), 3), {}, "87/25"),
    (trade(3), WELFARE, "4/27"),
    (trade(4), WELFARE, "9/64"),
    (trade(4), WELFARE | BAYESIAN, "5/32"),
    (trade(6), WELFARE, "5/36"),
    (trade(6), WELFARE | BAYESIAN, "25/162"),
    (CORRELATED, BAYESIAN, "5/3"),
    (CORRELATED, {"participation": "interim"}, "5/3"),
    (CORRELATED, {}, "3/2"),
    ({"name": "two-goods", "types": [[1, 1], [1, 3], [2, 1], [2, 3]]}, {}, "21/8"),
    ({"name": "two-goods", "types": [[2, 1], [4, 0], [5, 1]], "prior": ["3/7", "2/7", "2/7"]}, {}, "23/7"),
    (PUBLIC, WELFARE | BAYESIAN, "3/8"),
    (PUBLIC, WELFARE, "1/3"),
    (
        {"name": "facility", "places": [0, 1, 2, 3], "agents": 3},
        {"transfers": False, "participation": "none", "goal": "welfare"},
        "-15/8",
    ),
    ({"name": "procurement", "types": [1, 2], "agents": 1, "worth": 4}, {}, "2"),
    ({"name": "multi-unit", "types": [1, 2], "agents": 3, "units": 2}, {}, "11/4"),
    ({"name": "assignment", "types": [[1, 0], [0, 1]]}, {"goal": "welfare"}, "3/2"),
    ({"name": "voting", "candidates": 2, "agents": 3}, {"goal": "welfare", "transfers": False}, "9/4"),
]


@pytest.mark.parametrize(("environment", "options", "value"), EXACT)
def test_the_optimum_is_had_as_a_fraction(environment, options, value):
    solution = md.solve(md.DirectMechanism(environment=environment, **options))
    assert solution.status == "optimal"
    assert solution.notes["exact_value"] == value
    assert solution.gap == 0.0
    assert not any(solution.residuals.values())
    assert all(certificate.holds for certificate in solution.certificates)
    assert solution.mechanism().audit().holds


def test_values_of_multi_unit_by_hand():
    """Virtual values 0 and 2 for three bidders and two units: 2 E min(2, high) = 2 (3/8 + 2 (4/8)) = 11/4."""
    three = Fraction(2) * (Fraction(3, 8) + 2 * Fraction(4, 8))
    solution = md.solve(
        md.DirectMechanism(environment={"name": "multi-unit", "types": [1, 2], "agents": 3, "units": 2})
    )
    assert Fraction(solution.notes["exact_value"]) == three


def test_adjacent_deviations_and_all_of_them_have_one_optimum():
    rng = np.random.default_rng(11)
    for _ in range(6):
        weights = rng.integers(1, 6, (3, 3))
        joint = [f"{int(weight)}/{int(weights.sum())}" for weight in weights.reshape(-1)]
        values = rng.integers(0, 7, (2, 3, 3)).tolist()
        problem = md.DirectMechanism(
            environment={
                "types": [["a", "b", "c"]] * 2,
                "outcomes": ["x", "y", "z"],
                "values": values,
                "joint": joint,
            },
            incentives=str(rng.choice(["dominant", "bayesian"])),
        )
        environment = problem.environment
        values = {
            exact_optimum(problem, lies).notes["exact_value"]
            for lies in (all_lies(environment), adjacent_lies(environment), [])
        }
        assert len(values) == 1


def test_increasing_differences_are_not_enough_for_lotteries():
    """Neighbors alone allow 19/7; the deviation that pays is added, and the optimum is 15/7."""
    table = [[0, 2, 1], [0, 2, 2], [0, 5, 6]]
    environment = {
        "types": [["a", "b", "c"]],
        "outcomes": ["x", "y", "z"],
        "values": [table],
        "prior": [["2/7", "2/7", "3/7"]],
        "cost": [0, 0, 4],
    }
    problem = md.DirectMechanism(environment=environment)
    program = DirectProgram(problem, adjacent_lies(problem.environment))
    found = solve_exactly(program.program)
    assert program.program.value(found.point) / program.scale == Fraction(19, 7)
    for method in ("exact-lp", "lazy"):
        assert md.solve(problem, method).notes["exact_value"] == "15/7"
    assert md.solve(problem, "lazy").notes["rounds"] > 1


def test_interdependent_values_are_audited_at_the_true_types():
    table = [[[0, own + other] for other in (0, 2)] for own in (1, 2)]
    problem = md.DirectMechanism(
        environment={
            "types": [["1", "2"], ["0", "2"]],
            "outcomes": ["no", "yes"],
            "values": [table, [[0, 0], [0, 0]]],
        }
    )
    solution = md.solve(problem)
    # sold at 1 or 2 (each earns 1) where the other is 0, and at 3 where it is 2
    assert solution.notes["exact_value"] == "2"


def test_efficient_trade_conflicts_and_the_multipliers_prove_it():
    problem = md.DirectMechanism(environment=trade(6), efficient=True, **WELFARE, **BAYESIAN)
    solution = md.solve(problem)
    assert solution.status == "infeasible"
    assert solution.notes["conflict"] == ["efficiency", "incentives", "participation", "budget"]
    proof = solution.realisation
    assert proof.proves_infeasibility()
    assert set(solution.sensitivity.conflict) == {"participation", "budget", "efficient"}
    feasible = md.solve(md.DirectMechanism(environment=trade(3), efficient=True, **WELFARE, **BAYESIAN))
    assert feasible.status == "optimal"


def test_revenue_without_participation_is_unbounded():
    solution = md.solve(md.DirectMechanism(environment=sale([1, 2], 2), participation="none"))
    assert solution.status == "unbounded"
    assert "participation" in solution.message


def test_own_weights_state_revenue_and_limits_of_payments_hold():
    problem = md.DirectMechanism(
        environment=sale([1, 2, 3], 2), goal="weights", outcome_weights=[0, 0, 0], payment_weights=[1, 1]
    )
    assert md.solve(problem).notes["exact_value"] == "2"
    capped = md.DirectMechanism(environment=sale([1, 2, 3], 2), payment_low=0, payment_high=1)
    solution = md.solve(capped)
    assert solution.notes["exact_value"] == "13/9"  # both may pay, for a part of the item each
    assert all(item.holds for item in solution.certificates)
    assert {item.property for item in solution.certificates} >= {"payments"}
    by_profile = md.DirectMechanism(
        environment=sale([1, 2], 1), goal="weights", payment_weights=[[1], [2]], outcome_weights=[0, 0]
    )
    assert md.solve(by_profile).notes["exact_value"] == "2"


def test_prices_name_the_lies_and_the_worth_of_subsidy():
    solution = md.solve(md.DirectMechanism(environment=sale([1, 2, 3], 1)))
    # a unit of utility that type 2 may lose by the truth is charged to the types 2 and 3
    assert solution.prices.worst_lies() == [
        ("bidder1 of type 2 reports 1", Fraction(2, 3)),
        ("bidder1 of type 3 reports 2", Fraction(1, 3)),
    ]
    assert "bidder1 of type 3 reports 2" in str(solution.sensitivity)
    problem = md.DirectMechanism(environment=trade(6), **WELFARE, **BAYESIAN)
    solution = md.solve(problem)
    assert Fraction(solution.notes["worth_of_subsidy"]) > 0


def test_the_audit_finds_a_lie_in_a_first_price_auction():
    problem = md.DirectMechanism(environment=sale([1, 2], 2))
    lotteries = np.zeros((2, 2, 3), dtype=np.int64)
    payments = np.zeros((2, 2, 2), dtype=np.int64)
    for one in range(2):
        for other in range(2):
            winner = 0 if one >= other else 1
            lotteries[one, other, 1 + winner] = 1
            payments[one, other, winner] = (one, other)[winner] + 1
    judged = ExactAudit(problem.environment, ExactRule(lotteries, 1, payments, 1)).incentives("dominant")
    assert judged.slack == -1
    assert judged.witness == {
        "agent": "bidder1", "type": "2", "report": "1", "gain": 1, "others": "bidder2 1"
    }  # fmt: skip
    assert judged.count == 8


def test_the_same_audit_with_large_and_small_integers():
    """Python's integers and int64 say the same."""
    problem = md.DirectMechanism(environment=CORRELATED, **BAYESIAN)
    rule = problem.rule_of(md.solve(problem).variables)
    large = ExactRule(
        rule.lotteries.astype(object) * 10**25, rule.out_of * 10**25, rule.payments.astype(object) * 10**25,
        rule.per * 10**25,
    )  # fmt: skip
    for kind in ("dominant", "bayesian"):
        one, other = (ExactAudit(problem.environment, item).incentives(kind) for item in (rule, large))
        assert (one.slack, one.witness) == (other.slack, other.witness)


def test_doubles_without_an_exact_rule_are_judged_as_they_are():
    problem = md.DirectMechanism(environment=sale([1, 2], 1))
    variables = {"lotteries": np.array([[1.0, 0.0], [0.0, 1.0]]), "payments": np.array([[0.0], [2.5]])}
    assert problem.objective(variables) == 1.25
    assert problem.residuals(variables)["participation"] == 0.5


def test_a_problem_in_python_by_functions():
    made = Environment.of(
        types=[[1, 2, 3]] * 2,
        outcomes=["unsold", "first", "second"],
        value=lambda agent, kind, outcome: kind if outcome == ("first", "second")[agent] else 0,
    )
    assert md.solve(md.DirectMechanism(environment=made)).notes["exact_value"] == "2"
    biased = Environment.of(
        types=[[1, 2]],
        outcomes=["no", "yes"],
        value=lambda agent, kind, outcome: kind if outcome == "yes" else 0,
        probability=lambda profile: Fraction(1, 4) if profile[0] == 1 else Fraction(3, 4),
        cost=lambda outcome: "1/2" if outcome == "yes" else 0,
    )
    assert md.solve(md.DirectMechanism(environment=biased)).notes["exact_value"] == "9/8"


def test_tables_come_from_a_file(tmp_path):
    path = tmp_path / "values.csv"
    path.write_text("agent,type,probability,no,yes\nbuyer,low,0.25,0,1\nbuyer,high,0.75,0,2\n")
    problem = md.DirectMechanism(environment={"name": "csv", "values": str(path)})
    assert md.solve(problem).notes["exact_value"] == "3/2"
    path.unlink()
    again = problem_from(md.DirectMechanism, parameters_of(problem))
    assert again == problem
    with pytest.raises(MechDesignError, match=r"values\.csv"):
        md.DirectMechanism(environment={"name": "csv", "values": str(path)})
    path.write_text("who,type,no\n")
    with pytest.raises(MechDesignError, match="its first line is not"):
        md.DirectMechanism(environment={"name": "csv", "values": str(path)})


def test_parameters_survive_a_round_trip_exactly():
    for environment, options, _ in EXACT:
        problem = md.DirectMechanism(environment=environment, **options)
        assert problem_from(md.DirectMechanism, parameters_of(problem)) == problem


def test_a_decimal_is_what_is_written():
    problem = md.DirectMechanism(environment=sale([0.1, 0.3], 1))
    assert problem.environment.values[0][1, 1] == Fraction(3, 10)
    assert md.solve(problem).notes["exact_value"] == "3/20"


BAD = [
    ({"environment": sale([1, 2], 2, prior=[0.5, 0.4])}, r"prior\[0\]: sums to 0.9, not 1"),
    ({"environment": sale([1, 2], 2, joint=["1/2", 0, 0, "1/2", 0])}, "expected 4 entries, got 5"),
    ({"environment": sale([1, 2], 2, joint=["1/2", "1/2", 0, 0])}, "type '2' of bidder1 has probability 0"),
    ({"environment": sale([1, 2], 2, prior=[1.5, -0.5])}, "negative probability"),
    ({"environment": sale([1, 1], 2)}, "duplicate name '1'"),
    ({"environment": sale([], 2)}, "is empty"),
    (
        {"environment": sale(range(1, 2001), 2)},
        "4000000 profiles, and 20000000 variables .* limit is 2000000",
    ),
    (
        {"environment": {"types": [["a", "b"]], "outcomes": ["x"], "values": [[[1]]]}},
        "type 'b' has no values",
    ),
    ({"environment": {"types": [["a"]], "outcomes": [], "values": [[[1]]]}}, "outcomes: is empty"),
    ({"environment": {"types": [["a"]], "outcomes": ["x"], "values": [[["one"]]]}}, "expected a number"),
    ({"environment": {"types": [["a"]], "outcomes": ["x"], "values": [[[float("nan")]]]}}, "number"),
    ({"environment": "single-item"}, "expected a table with a name"),
    ({"environment": sale([1], 1), "transfers": False}, "payments are asked for, but transfers are off"),
    (
        {"environment": sale([1], 1), "transfers": False, "goal": "welfare", "payment_low": 0},
        "is stated, but transfers are off",
    ),
    ({"environment": sale([1], 1), "payment_low": 2, "payment_high": 1}, "above payment_high"),
    ({"environment": sale([1], 1), "goal": "weights"}, "outcome_weights: is missing"),
    ({"environment": sale([1], 1), "outcome_weights": [1, 2]}, "write goal = 'weights'"),
    ({"environment": sale([1], 1), "goal": "weights", "outcome_weights": [1]}, "expected 2 entries, got 1"),
    ({"environment": {"name": "voting", "candidates": 9}}, "9 candidates have 362880 rankings"),
    ({"environment": {"name": "two-goods", "types": [1, 2]}}, "is not a pair"),
    ({"environment": {"name": "assignment", "types": [[1, 0], [1]]}}, "one per object, got 1"),
]


@pytest.mark.parametrize(("options", "text"), BAD)
def test_bad_input_is_one_line(options, text):
    with pytest.raises(ParameterError, match=text) as caught:
        md.DirectMechanism(**options)
    assert "\n" not in str(caught.value)


def test_unknown_names_are_suggested():
    with pytest.raises(UnknownNameError, match="did you mean 'single-item'"):
        md.DirectMechanism(environment={"name": "single-itm"})
    with pytest.raises(ParameterError, match="no argument 'bidders'; it takes types, agents"):
        md.DirectMechanism(environment={"name": "single-item", "types": [1], "bidders": 2})
    assert len(NAMED) == 11


def test_the_rule_is_infeasible_where_an_outcome_is_forced():
    """Nobody takes part where the only outcome hurts and payments are off."""
    problem = md.DirectMechanism(
        environment={"types": [["a"]], "outcomes": ["bad"], "values": [[[-1]]]},
        transfers=False,
        goal="welfare",
    )
    solution = md.solve(problem)
    assert solution.status == "infeasible"
    assert solution.notes["conflict"] == ["participation"]
