"""``shuffle-amplification`` and ``shuffle-local-budget``: values, gaps, ranges, and what is refuted."""

from __future__ import annotations

import math

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.core.fields import replace_parameters
from mechdesign.families.shuffle.amplification import central_privacy, honest_users, limits_of

BINARY = {"name": "k-ary", "size": 2}
TERNARY = {"name": "k-ary", "size": 3}
CHANNEL = {"name": "channel", "channel": [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]}


def amplification(**changes):
    return md.ShuffleAmplification(**{"users": 10**6, "local_epsilon": 1.0, "delta": 1e-6, **changes})


def budget(**changes):
    return md.ShuffleLocalBudget(**{"users": 10**6, "central_epsilon": 0.5, "delta": 1e-9, **changes})


def test_the_default_is_tighter_than_clones_and_than_every_theorem():
    comparison = md.compare(amplification())
    values = {run.method: run.value for run in comparison.runs}
    assert comparison.agree
    assert values["blanket"] < 0.00352 < 0.00433 < values["clones"] < 0.0043348
    assert all(value >= values["blanket"] for value in values.values())
    assert md.solve(amplification()).method == "blanket"


@pytest.mark.parametrize(
    ("randomizer", "gap"), [("any", 0.14), (BINARY, 0.006), (TERNARY, 0.001), (CHANNEL, 0.4)]
)
@pytest.mark.parametrize("users", [10**4, 10**6])
def test_what_the_attack_leaves_open(randomizer, gap, users):
    local = 2.0 if randomizer is CHANNEL else 1.0
    solution = md.solve(amplification(users=users, randomizer=randomizer, local_epsilon=local))
    assert 0.0 < solution.gap <= gap * solution.value
    assert solution.certificates[0].property == "central_privacy"
    assert solution.certificates[0].holds
    assert solution.residuals["attacked"] == 0.0
    assert solution.quantities["attacked_delta"] <= solution.problem.delta
    assert solution.status == ("optimal" if gap < 0.01 else "feasible")


def test_a_channel_that_is_kary_response_has_its_epsilon():
    grown = math.exp(1.0)
    third = [[(grown if x == y else 1.0) / (grown + 2.0) for y in range(3)] for x in range(3)]
    channel = md.solve(amplification(randomizer={"name": "channel", "channel": third}, users=10**4))
    kary = md.solve(amplification(randomizer=TERNARY, users=10**4))
    assert channel.method == "convolution"
    assert channel.value == pytest.approx(kary.value, rel=1e-3)
    assert channel.bound == pytest.approx(kary.bound, rel=1e-3)


def test_few_users_are_enumerated_exactly():
    solution = md.solve(amplification(users=5, delta=0.01, randomizer=TERNARY))
    assert solution.method == "exact"
    assert solution.status == "optimal"
    assert solution.gap <= 1e-9 * solution.value
    blanket = md.solve(solution.problem, "blanket")
    assert solution.value < blanket.value


@pytest.mark.parametrize("problem", [amplification(), budget(), budget(randomizer=BINARY)])
def test_an_honest_fraction_counts_like_so_many_users(problem):
    half, fewer = (
        replace_parameters(problem, {"honest": 0.5}),
        replace_parameters(problem, {"users": 500_000}),
    )
    assert md.solve(half).value == md.solve(fewer).value
    assert md.solve(half).value != md.solve(problem).value


def test_honest_users_are_never_more_than_the_fraction_says():
    assert honest_users(1000, 0.1) == 100  # the double next to 0.1 is above it
    assert honest_users(10, 0.7) == 7
    assert honest_users(3, 1.0) == 3
    assert honest_users(3, 1e-9) == 1


@pytest.mark.parametrize("local", [0.0, 1e-9, 0.01, 30.0, 100.0])
def test_extreme_local_epsilons_are_answered(local):
    for randomizer in ("any", BINARY, {"name": "k-ary", "size": 1000}):
        solution = md.solve(amplification(local_epsilon=local, randomizer=randomizer, users=1000))
        assert 0.0 <= solution.value <= local
        assert solution.certificates[0].holds
        assert solution.bound <= solution.value


@pytest.mark.parametrize("delta", [1e-300, 1e-30, 0.3, 0.999])
def test_extreme_deltas_are_answered(delta):
    for randomizer in ("any", BINARY, TERNARY):
        solution = md.solve(amplification(delta=delta, randomizer=randomizer, users=1000))
        assert 0.0 <= solution.bound <= solution.value <= 1.0
        assert solution.certificates[0].holds


def test_more_users_than_are_looked_at_only_help():
    many = md.solve(amplification(users=10**15, local_epsilon=9.0, randomizer=TERNARY))
    some = md.solve(amplification(users=10**9, local_epsilon=9.0, randomizer=TERNARY))
    assert many.value == some.value
    assert many.certificates[0].holds


def test_monotone_in_every_parameter():
    value = md.solve(amplification()).value
    assert md.solve(amplification(users=2 * 10**6)).value < value
    assert md.solve(amplification(delta=1e-5)).value < value
    assert md.solve(amplification(local_epsilon=1.1)).value > value
    assert md.solve(amplification(randomizer=TERNARY)).value < value
    assert md.solve(amplification(randomizer={"name": "k-ary", "size": 4})).value < value


@pytest.mark.parametrize("randomizer", ["any", BINARY, TERNARY])
def test_a_local_budget_is_the_inverse_of_amplification(randomizer):
    found = md.solve(budget(randomizer=randomizer))
    back = md.solve(amplification(local_epsilon=found.value, delta=1e-9, randomizer=randomizer))
    assert back.value <= 0.5 * (1.0 + 1e-4)
    assert back.value >= 0.5 * (1.0 - 1e-3)
    assert found.certificates[0].holds
    assert found.value < found.bound


def test_a_channel_is_enough_or_not():
    assert md.solve(budget(randomizer=CHANNEL)).value == pytest.approx(math.log(7.0))
    refused = md.solve(budget(randomizer=CHANNEL, users=50))
    assert refused.status == "infeasible"
    assert "take one with more noise" in refused.message


def test_theorem_2_with_the_constant_1_is_refuted_by_an_attack():
    problem = amplification(users=200, local_epsilon=0.1, delta=1e-15, randomizer=BINARY)
    solution = md.solve(problem, "theorem-2")
    assert solution.residuals["attacked"] > 30.0
    assert not solution.certificates[0].holds
    assert solution.certificates[0].witness
    assert md.solve(problem).method != "theorem-2"


RANGES = [
    ("theorem-1", {}, "its range is local epsilon < 0.5, not 1"),
    (
        "theorem-1",
        {"local_epsilon": 0.3, "users": 1000},
        "its range is more than 1000 honest users, not 1000",
    ),
    ("theorem-1", {"local_epsilon": 0.3, "delta": 0.01}, "its range is delta < 0.01, not 0.01"),
    (
        "theorem-2",
        {"local_epsilon": 6.0},
        r"its range is local epsilon <= ln\(n / ln\(1/d",
    ),
    ("theorem-3", {}, "it is for binary randomized response"),
    ("theorem-3", {"randomizer": BINARY, "local_epsilon": 9.5}, r"its range is lambda .* >= 14"),
    ("theorem-3-relaxed", {"randomizer": BINARY, "local_epsilon": 9.0}, "its range is local epsilon <= ln"),
    ("theorem-4", {}, "it is for k-ary response"),
    (
        "theorem-4",
        {"randomizer": BINARY, "local_epsilon": 9.0},
        "its range is a central epsilon of at most 1",
    ),
    ("clones-closed-form", {"local_epsilon": 9.0}, r"its range is local epsilon <= ln\(n / \(16"),
    ("stronger-clones-closed-form", {"local_epsilon": 10.0}, "its range is local epsilon <="),
    ("variation-ratio", {}, "it is for k-ary response with three values"),
    ("binary", {}, "it is for binary randomized response"),
    ("exact", {}, "infinitely many randomizers"),
    ("exact", {"randomizer": TERNARY}, "too many to enumerate"),
    ("exact", {"randomizer": BINARY, "users": 100}, "take too long to enumerate"),
    ("exact", {"randomizer": TERNARY, "users": 50}, "counts would have to be enumerated"),
]


@pytest.mark.parametrize(("method", "changes", "reason"), RANGES)
def test_outside_its_range_a_theorem_says_the_range(method, changes, reason):
    with pytest.raises(MethodError, match=reason):
        md.solve(amplification(**changes), method)


def test_inverses_say_why_there_is_none():
    with pytest.raises(MethodError, match="even a tiny local epsilon has the central epsilon"):
        md.solve(budget(users=10_000, central_epsilon=0.1, randomizer=BINARY), "theorem-4")
    with pytest.raises(MethodError, match="its range is"):
        md.solve(budget(users=200, randomizer=BINARY), "theorem-3")


BAD = [
    ("users", 1, "users: 1 is not from 2"),
    ("users", 2.5, "users: expected a whole number"),
    ("delta", 0.0, "delta: is 0; shuffled reports have no smaller"),
    ("delta", 1.0, r"delta: 1 is outside \(0, 1\)"),
    ("delta", -1e-6, "delta: -1e-06 is outside"),
    ("delta", math.nan, "delta: is NaN"),
    ("honest", 0.0, r"honest: 0 is outside \(0, 1\]"),
    ("honest", 1.5, r"honest: 1.5 is outside \(0, 1\]"),
    ("randomizer", "laplace", "randomizer: 'laplace' is none"),
    ("randomizer", 3, "randomizer: 3 is none"),
    ("randomizer", {"name": "kary", "size": 3}, "did you mean 'k-ary'"),
    ("randomizer", {"name": "k-ary"}, "'size' is missing"),
    ("randomizer", {"name": "k-ary", "size": 1}, "randomizer: size: 1 is not from 2"),
    ("randomizer", {"name": "channel", "channel": [[0.5, 0.6], [0.5, 0.5]]}, "row 0 sums to 1.1, not 1"),
    ("randomizer", {"name": "channel", "channel": [[1.5, -0.5], [0.5, 0.5]]}, "row 0 is not a list of prob"),
    ("randomizer", {"name": "channel", "channel": [[0.5, 0.5]]}, "is 1 x 2; give 2 to 64 inputs"),
]


@pytest.mark.parametrize(("field", "value", "text"), BAD)
def test_bad_input_is_refused_in_one_line(field, value, text):
    for problem in (amplification, budget):
        with pytest.raises(ParameterError, match=text) as error:
            problem(**{field: value})
        assert "\n" not in str(error.value)


def test_epsilons_have_their_ranges_too():
    with pytest.raises(ParameterError, match=r"local_epsilon: 101 is outside \[0, 100\]"):
        amplification(local_epsilon=101)
    with pytest.raises(ParameterError, match="central_epsilon: is 0"):
        budget(central_epsilon=0.0)
    with pytest.raises(ParameterError, match=r"its local epsilon is 1.945910149, above local_epsilon = 1"):
        amplification(randomizer=CHANNEL)
    zero = {"name": "channel", "channel": [[1.0, 0.0], [0.5, 0.5]]}
    with pytest.raises(ParameterError, match="its local epsilon is inf"):
        amplification(randomizer=zero)


@pytest.mark.parametrize(
    "change",
    ["users=1", "delta=0", "delta=1", "honest=0", "honest=2", "randomizer=laplace", "local_epsilon=-1"],
)
def test_the_shell_says_it_in_one_line(change, capsys):
    assert main(["solve", "shuffle/certified_any", "--set", change]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("users", "epsilon", "note"),
    [
        (10**10, 0.5, "proven for 1000000000 users, which more users keep as well; attacks are not computed"),
        (10**10, 1.0, "not amplified: no smaller epsilon is proven for this delta and number of users"),
        (1000, 1.0, "not amplified: no smaller epsilon is proven for this delta and number of users"),
        (10**5, 0.5, ""),
    ],
)
def test_limits_of_the_computation_are_said(users, epsilon, note):
    setting = md.ShuffleAmplification(users=users, local_epsilon=1.0, delta=1e-300).setting
    assert limits_of(setting, epsilon) == note


def test_the_certificate_has_the_note():
    problem = md.ShuffleAmplification(users=1000, local_epsilon=1.0, delta=1e-300)
    certificate = central_privacy(problem.setting, 1.0)
    assert certificate.holds
    assert "not amplified" in str(certificate)
