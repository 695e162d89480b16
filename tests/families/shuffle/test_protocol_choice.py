"""The choice of a protocol: the least error within messages, honest fraction and local cap."""

from __future__ import annotations

import math
import time

import attrs
import pytest

import mechdesign as md
from mechdesign.core.errors import CertificateError, MethodError, ParameterError
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.shuffle import Protocol

COUNTING = {"users": 5000, "epsilon": 1.0, "delta": 1e-6}
HISTOGRAM = {**COUNTING, "categories": 8}
PROBLEMS = {
    "counting": lambda **more: md.ShuffleCounting(**{**COUNTING, **more}),
    "histogram": lambda **more: md.ShuffleHistogram(**{**HISTOGRAM, **more}),
    "sum": lambda **more: md.ShuffleSum(**{**COUNTING, **more}),
}


@pytest.mark.parametrize("make", PROBLEMS.values(), ids=list(PROBLEMS))
def test_the_best_is_the_least_of_all_methods(make):
    problem = make()
    comparison = md.compare(problem)
    assert comparison.agree
    assert not comparison.failures
    best = md.solve(problem)
    assert best.method == "best"
    assert best.value == min(run.value for run in comparison.runs)
    assert best.bound == best.value
    for run in comparison.runs:
        assert all(item.holds for item in run.certificates)
        assert run.variables["calibration"] == ("published" if "published" in run.method else "exact")
        if run.method != "best":
            assert not run.claims_optimality


@pytest.mark.parametrize("make", PROBLEMS.values(), ids=list(PROBLEMS))
def test_a_named_protocol_is_the_only_candidate(make):
    for kind in make().kinds:
        if kind.is_published:
            continue
        problem = make(protocol=kind.name)
        solution = md.solve(problem)
        assert solution.variables["protocol"] == kind.name
        assert solution.claims_optimality
        comparison = md.compare(problem)
        assert {run.variables["protocol"] for run in comparison.runs} == {kind.name}
        others = [reason for name, reason in comparison.skipped.items() if not name.startswith(kind.name)]
        assert all("the protocol is to be" in reason for reason in others)


@pytest.mark.parametrize("make", PROBLEMS.values(), ids=list(PROBLEMS))
def test_fewer_messages_and_fewer_honest_users_cost_error(make):
    free = md.solve(make()).value
    single = md.solve(make(max_messages=1))
    assert single.value > free
    assert single.quantities["most_messages"] == 1
    assert md.solve(make(honest=0.5)).value > free
    last = 0.0
    for most in (8, 4, 2, 1):  # the front of error against messages
        value = md.solve(make(max_messages=most)).value
        assert value >= last
        last = value


def test_a_local_cap_is_kept_and_leaves_only_local_protocols():
    for make in (PROBLEMS["counting"], PROBLEMS["histogram"]):
        solution = md.solve(make(local_cap=2.0))
        assert solution.quantities["local_epsilon"] <= 2.0
        assert "local_privacy" in {item.property for item in solution.certificates}
        assert solution.residuals["local_epsilon"] == 0.0
        looser = md.solve(make(local_cap=3.0))
        assert looser.value < solution.value


def test_infeasible_says_what_would_do():
    problem = md.ShuffleCounting(users=1000, epsilon=0.1, delta=1e-6, protocol="cnt-2m")
    solution = md.solve(problem)
    assert solution.status == "infeasible"
    assert "give at least 5279 users, or an epsilon of at least" in solution.message
    assert md.solve(md.ShuffleCounting(users=5279, epsilon=0.1, delta=1e-6, protocol="cnt-2m")).found
    with pytest.raises(MethodError, match="no mechanism from a solution that is infeasible"):
        solution.mechanism()
    single = md.solve(
        md.ShuffleCounting(users=1000, epsilon=0.5, delta=1e-6, max_messages=1, protocol="cnt-sgm")
    )
    assert "allow 8 messages" in single.message
    assert md.compare(problem).agree


def test_a_protocol_with_too_little_noise_is_refused():
    problem = md.ShuffleCounting(users=5000, epsilon=1.0, delta=1e-6, protocol="cnt-rr")
    solution = md.solve(problem)
    weak = {**solution.variables, "flip": solution.variables["flip"] // 2}
    found = md.Outcome("feasible", weak)
    lying = md.solve(problem, md.Method("weak", md.ShuffleCounting, "heuristic", "too weak", lambda _: found))
    assert [item.property for item in lying.broken] == ["privacy"]
    with pytest.raises(CertificateError, match="not private as stated"):
        lying.mechanism()
    assert lying.value < solution.value


def test_optimality_is_judged_against_all_candidates():
    problem = md.ShuffleCounting(**COUNTING)
    worse = md.solve(problem, "cnt-bn")
    claimed = md.Outcome("optimal", worse.variables, worse.value, "a claim")
    method = md.Method("claims", md.ShuffleCounting, "numeric", "claims", lambda _: claimed)
    assert [item.property for item in md.solve(problem, method).broken] == ["optimality"]


@pytest.mark.parametrize(
    ("make", "changed", "text"),
    [
        ("counting", {"users": 1}, "users: 1 is not from 2"),
        ("counting", {"delta": 0.0}, "delta: is 0"),
        ("counting", {"delta": 1.0}, "delta: 1 is outside"),
        ("counting", {"honest": 0.0}, "honest: 0 is outside"),
        ("counting", {"honest": 1.1}, "honest: 1.1 is outside"),
        ("counting", {"protocol": "cnt-mm"}, "protocol: 'cnt-mm' is not a choice; did you mean 'cnt-2m'"),
        ("counting", {"max_messages": 0}, "max_messages: 0 is not from 1"),
        ("counting", {"local_cap": -1.0}, "local_cap: -1 is negative"),
        ("counting", {"epsilon": math.inf}, "epsilon: inf is outside"),
        ("counting", {"users": 10.5}, "users: expected a whole number"),
        ("histogram", {"categories": 1}, "categories: 1 is not from 2"),
        ("histogram", {"labels": ["a"]}, "labels: 1 name for 8 categories"),
        ("sum", {"precision": 0}, "precision: 0 is not from 1"),
    ],
)
def test_bad_parameters(make, changed, text):
    with pytest.raises(ParameterError, match=text):
        PROBLEMS[make](**changed)


def test_certificates_say_which_calibration_was_proven():
    problem = PROBLEMS["histogram"]()
    for method, word in (("hist-kr", "exact"), ("prhr-published", "published")):
        privacy = md.solve(problem, method).certificates[0]
        assert privacy.figures["calibration"] == word
        assert 0.0 <= privacy.figures["least_delta"] <= 1e-6
    assert md.solve(problem, "hist-kr").certificates[0].figures["least_delta"] > 0.9e-6


def test_weights_are_whole_numbers_out_of_a_power_of_two():
    mechanism = md.solve(PROBLEMS["counting"](protocol="cnt-bn")).mechanism()
    assert isinstance(mechanism, Protocol)
    assert 0 < mechanism.parameters()["coin"] <= TOTAL


@pytest.mark.parametrize("make", PROBLEMS.values(), ids=list(PROBLEMS))
def test_a_limit_on_bits_is_kept_and_is_no_worse_than_it_has_to_be(make):
    free = md.solve(make())
    most = free.quantities["most_bits"]
    same = md.solve(make(max_bits=most))
    assert same.variables["protocol"] == free.variables["protocol"]
    assert same.value == free.value
    values = []
    for bits in (most - 1, most // 2):
        less = md.solve(make(max_bits=bits))
        assert less.quantities["most_bits"] <= bits
        assert {item.property: item.holds for item in less.certificates}["bits"]
        values.append(less.value)
    assert free.value < values[0] <= values[1]
    problem = make(max_bits=most - 1)
    assert problem.residuals(free.variables)["bits"] == 1.0
    failing = next(item for item in problem.certificates(free) if item.property == "bits")
    assert not failing.holds


def test_a_flexible_protocol_sends_fewer_messages_within_fewer_bits():
    free = md.solve(md.ShuffleSum(**COUNTING, protocol="rsum-rr"))
    half = md.solve(md.ShuffleSum(**COUNTING, protocol="rsum-rr", max_bits=3))
    assert half.quantities["most_messages"] == 3 < free.quantities["most_messages"]


def test_a_protocol_of_a_stated_precision_is_refused_at_once_where_its_bits_are_too_many():
    # Its precision decides how many messages it sends: allowing fewer does not change it.
    stuck = md.solve(md.ShuffleSum(**COUNTING, precision=100, protocol="rsum-rr", max_bits=8))
    assert stuck.status == "infeasible"
    assert "it sends up to 100 bits a user; allow as many" in str(stuck)


def test_delta_0_is_kept_by_pure_protocols_and_by_what_is_private_by_itself():
    for name, least in (("counting", "cnt-pure"), ("histogram", "hist-kr")):
        pure = md.solve(PROBLEMS[name](pure=True))
        assert pure.variables["protocol"] == least
        assert pure.quantities["least_delta"] == 0.0
        assert least == "cnt-pure" or pure.quantities["local_epsilon"] <= 1.0
        assert {item.property: item.holds for item in pure.certificates}["purity"]
        free = md.solve(PROBLEMS[name]())
        problem = PROBLEMS[name](pure=True)
        assert problem.residuals(free.variables)["delta"] == free.quantities["least_delta"] > 0
    assert md.solve(PROBLEMS["sum"](pure=True)).variables["protocol"] == "rsum-pure"
    none = md.solve(PROBLEMS["sum"](pure=True, protocol="rsum-rr"))
    assert none.status == "infeasible"
    assert "delta is not 0 but" in none.message
    assert "omit pure" in none.message


@pytest.mark.parametrize("make", PROBLEMS.values(), ids=list(PROBLEMS))
@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"max_bits": 0}, "max_bits: 0"),
        ({"max_bits": 1.5}, "max_bits"),
        ({"pure": 1}, "pure: expected true or false, got 1"),
        ({"pure": "yes"}, "pure: expected true or false"),
    ],
)
def test_limits_that_are_none_are_refused(make, given, why):
    with pytest.raises(ParameterError, match=why):
        make(**given)


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (
            md.ShuffleCounting(users=20, epsilon=1.0, delta=1e-6, protocol="cnt-bn", max_messages=2),
            "give at least 80 users, or an epsilon of at least 2.994, or more messages",
        ),
        (
            md.ShuffleHistogram(
                users=20, categories=100, epsilon=1.0, delta=1e-6, protocol="hist-dump", max_messages=2
            ),
            "give at least 4261 users, or more messages",
        ),
        (
            md.ShuffleHistogram(
                users=5, categories=100, epsilon=1.0, delta=1e-6, protocol="hist-flip", max_messages=2
            ),
            "give at least 53 users, or an epsilon of at least 2.190, or more messages",
        ),
        (
            md.ShuffleHistogram(
                users=5, categories=100, epsilon=1.0, delta=1e-6, protocol="prhr", max_messages=3
            ),
            "give at least 78 users, or more messages",
        ),
        (
            md.ShuffleHistogram(
                users=20, categories=4, epsilon=1.0, delta=1e-6, protocol="pucm", max_messages=6
            ),
            "give at least 551 users, or more messages",
        ),
        (
            md.ShuffleRange(users=50, categories=64, epsilon=1.0, delta=1e-6, max_messages=12),
            "give at least 13972 users, or more messages",
        ),
    ],
    ids=lambda given: getattr(given, "protocol", None),
)
def test_what_is_out_of_reach_says_the_least_users_that_would_do(problem, text, monkeypatch):
    monkeypatch.setattr("mechdesign.families.shuffle.promise.PATIENCE", math.inf)
    found = md.solve(problem)
    assert found.status == "infeasible"
    assert found.message.endswith(text)
    users = int(text.split()[3])
    assert md.solve(attrs.evolve(problem, users=users)).status == "optimal"
    assert md.solve(attrs.evolve(problem, users=users - 1)).status == "infeasible"


@pytest.mark.parametrize("delta", [0.0, 0])
def test_delta_0_is_asked_for_by_pure(delta):
    with pytest.raises(ParameterError, match=r"delta: is 0; give a small one, .* asked for by pure = true"):
        md.ShuffleCounting(users=100, epsilon=1.0, delta=delta)


@pytest.mark.parametrize("precision", [None, 1, 3])
def test_one_private_report_is_a_pure_sum(precision):
    """With one message and delta 0 what is left of the sums is the response that is private by itself."""
    given = {"users": 20_000, "epsilon": 0.9, "delta": 1e-6, "pure": True, "max_messages": 1}
    found = md.solve(md.ShuffleSum(**given, **({} if precision is None else {"precision": precision})))
    protocol = found.mechanism()
    assert found.variables["protocol"] == "rsum-kr"
    assert protocol.least_delta == 0.0
    assert protocol.noise.own <= math.exp(0.9) * protocol.noise.other * (1 + 2.0**-50)
    assert protocol.local_epsilon == pytest.approx(0.9, rel=2.0**-40)
    steps = protocol.precision
    chance = 1 / (math.exp(0.9) + steps)
    assert steps <= (precision or 8)
    if steps == 1:  # a bit with the chance of its being flipped, and rounding at 1/2
        assert found.value == pytest.approx(math.sqrt(20_000) / 2 / (1 - 2 * chance), rel=2.0**-40)


@pytest.mark.parametrize(
    "problem",
    [
        md.ShuffleHistogram(users=3, categories=100, epsilon=0.01, delta=1e-12, max_messages=3, pure=True),
        md.ShuffleRange(users=3, categories=3, epsilon=2.0**-20, delta=1e-6),
    ],
    ids=["histogram", "range"],
)
def test_few_users_wait_for_no_remedy(problem):
    start = time.process_time()
    solution = md.solve(problem)
    assert solution.found or "give" in solution.message
    assert time.process_time() - start < 20.0, "looking for the least remedy takes more than a minute"


def test_a_remedy_that_is_too_large_to_be_looked_at_does_not_hide_the_reason():
    histogram = md.ShuffleHistogram(
        users=1000, categories=100, epsilon=2.0**-20, delta=1e-12, protocol="hist-mm"
    )
    message = md.solve(histogram).message
    assert "too little noise" in message
    assert "give" in message
