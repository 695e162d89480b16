"""The experiments of the survey: errors on known data against simulations, protocols against each other."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import mechdesign as md
from mechdesign.catalog.sweeping import simulate
from mechdesign.core.errors import ParameterError
from mechdesign.families.shuffle import Cnt2M, CntRR, HistMM
from mechdesign.families.shuffle.papers.choosing import fitting
from mechdesign.families.shuffle.papers.counts import (
    digits_variance,
    fakes_rmse,
    hashing_rmse,
    normal_counts,
    normal_law,
    recursive_rmse,
    response_variance,
    rounded,
    unary_rmse,
)
from mechdesign.families.shuffle.presence import truncated_rmse, truncated_squares
from mechdesign.families.shuffle.promise import Promise

USERS = 2000
COUNTING = {"users": USERS, "epsilon": 1.0, "delta": 1e-5}
FALSE_ALARM = 4.0
"""Standard deviations of a mean of squares over the repetitions: about one alarm in 16 000."""


@pytest.mark.parametrize("users", [2, 3, 5])
def test_truncated_squares_by_enumeration(users):
    chance = Fraction(1, 3)
    for count in range(users + 1):
        total = 0.0
        for silent in product((0, 1), repeat=users):
            weight = math.prod(float(chance if bit else 1 - chance) for bit in silent)
            sent = count + users - sum(silent)
            estimate = 0.0 if sent <= users else sent - users * float(1 - chance)
            total += weight * (estimate - count) ** 2
        assert truncated_squares(users, chance, np.array([float(count)]))[0] == pytest.approx(
            total, rel=1e-12
        )
    every = np.arange(users + 1, dtype=np.float64)
    assert truncated_rmse(users, chance) ** 2 == pytest.approx(truncated_squares(users, chance, every).max())


def test_a_known_share_of_ones_changes_only_the_protocol_that_truncates():
    truncating, plain = Cnt2M.calibrated(Promise(**COUNTING)), CntRR.calibrated(Promise(**COUNTING))
    assert plain.rmse_at(0.0) == plain.rmse_at(0.7) == plain.rmse
    assert plain.messages_at(0.3) == 1.0
    assert truncating.rmse_at(0.0) < 0.1
    assert truncating.rmse_at(0.5) < truncating.rmse / 3
    assert truncating.messages_at(0.5) - truncating.messages_at(0.1) == pytest.approx(0.4, rel=1e-12)
    shares = [count / USERS for count in range(200)]
    assert max(truncating.rmse_at(share) for share in shares) == pytest.approx(truncating.rmse, rel=1e-12)
    known = md.solve(md.ShuffleCounting(**COUNTING, protocol="cnt-2m", ones=0.5))
    assert known.value == truncating.rmse_at(0.5) == known.bound
    assert known.quantities["messages"] == truncating.messages_at(0.5)
    rare = md.solve(md.ShuffleCounting(**COUNTING, ones=0.0))
    assert rare.variables["protocol"] == "cnt-2m"
    assert rare.quantities["over_cnt-sgm"] < 0.1
    with pytest.raises(ParameterError, match=r"ones: 1.5 is outside \[0, 1\]"):
        md.ShuffleCounting(**COUNTING, ones=1.5)


CASES = [
    (md.ShuffleCounting(**COUNTING, ones=0.3), ("cnt-rr", "cnt-2m", "cnt-bn", "cnt-rr-published")),
    (md.ShuffleHistogram(**COUNTING, categories=6), ("hist-kr", "solh", "hist-mm", "hist-dump")),
    (md.ShuffleSum(**COUNTING, precision=4), ("rsum-kr", "rsum-rr", "rsum-dsg")),
    (md.ShuffleSum(**COUNTING), ("rsum-rm", "rsum-kr-published")),
]


@pytest.mark.parametrize(
    ("problem", "method"),
    [(problem, method) for problem, methods in CASES for method in methods],
    ids=lambda item: item if isinstance(item, str) else item.name,
)
def test_simulations_measure_what_is_predicted(problem, method):
    repetitions = 120  # a variance that is half as large again, or half as large, is noticed
    found = simulate(md.solve(problem, method), USERS, repetitions, np.random.default_rng(7))
    ratio = (found["rmse"] / found["predicted_rmse"]) ** 2
    assert abs(ratio - 1.0) < FALSE_ALARM * math.sqrt(2.0 / repetitions)


def test_a_simulation_with_other_users_is_refused():
    solution = md.solve(md.ShuffleCounting(**COUNTING), "cnt-bn")
    with pytest.raises(ParameterError, match=r"simulation\.users: 10, and the protocol is for 2000 users"):
        simulate(solution, 10, 1, np.random.default_rng(1))


def test_every_registered_protocol_stands_among_the_ratios():
    for problem in (md.ShuffleCounting(**COUNTING), md.ShuffleHistogram(**COUNTING, categories=6)):
        solution = md.solve(problem)
        for kind in problem.kinds:
            if kind.by_name:
                assert f"over_{kind.name}" not in solution.quantities
                continue
            other = md.solve(problem, kind.name) if not kind.is_published else None
            if other is not None:
                assert solution.quantities[f"over_{kind.name}"] == solution.value / other.value
    published = md.solve(problem, "hist-kr-published")
    compared = fitting(problem, published.problem.built(published.variables))
    assert "hist-kr" not in compared
    assert {"hist-kr-published", "hist-dump-published"} <= set(compared)


def test_truncation_of_histograms_is_seen_on_normal_data():
    protocol = HistMM.calibrated(Promise(**COUNTING), 6)
    squares = protocol.squares_at(np.array([0.0, 10.0, 1000.0]))
    assert squares[0] < 1e-3
    assert squares[1] == pytest.approx(100.0, rel=0.01)
    assert squares[2] == pytest.approx(float(protocol.variance_of(np.zeros(1))[0]), rel=1e-9)


def test_normal_counts_and_numbers():
    counts = normal_counts(1000, 7)
    assert counts.sum() == pytest.approx(1000.0)
    assert counts.tolist() == pytest.approx(counts[::-1].tolist())
    numbers, chances = normal_law()
    cells = np.bincount((numbers * 7).astype(int), weights=chances, minlength=7)
    assert (1000 * cells).tolist() == pytest.approx(counts.tolist(), rel=2e-3)


@pytest.mark.parametrize(("size", "other"), [(2, 0.1), (3, 0.05), (5, 0.02)])
def test_variance_of_responses_by_enumeration(size, other):
    for symbol in range(size):
        law = np.full(size, other)
        law[symbol] = 1.0 - (size - 1) * other
        estimates = (np.arange(size) - other * size * (size - 1) / 2) / (1.0 - size * other)
        mean = float(law @ estimates)
        assert mean == pytest.approx(symbol, abs=1e-12)
        wanted = float(law @ (estimates - mean) ** 2)
        found = response_variance(np.array([float(symbol)]), np.zeros(1), size, other)[0]
        assert found == pytest.approx(wanted, rel=1e-12)


def test_digits_without_noise_leave_the_rounding_of_the_last_one():
    numbers = np.linspace(0.0, 1.0, 101)
    found = digits_variance(numbers, [3, 4], [0.0, 0.0])
    assert found.tolist() == pytest.approx((rounded(numbers, 12)[1] / 144).tolist(), abs=1e-12)


def test_printed_formulas_outside_their_range_are_infinite():
    assert hashing_rmse(1000, 0.1, 1e-6) == math.inf
    assert fakes_rmse(100_000, 1.5, 1e-6) == hashing_rmse(100_000, 1.5, 1e-6) == math.inf
    assert recursive_rmse(1000, 0.1, 1e-6) == math.inf
    assert math.isfinite(unary_rmse(1000, 0.1, 1e-6))
    assert hashing_rmse(10**6, 0.9, 1e-6) == pytest.approx(
        math.sqrt(27 * 14 * math.log(2e6) / 4) / 0.9, rel=2e-3
    )  # 94.5 ln(2/delta) / epsilon^2, whatever the users
