"""The channel that benchmarks compare with: private, valued alike, and never better than a proven bound."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import mechdesign as md
from benchmarks.factorization import best_channel, error_of, hadamard_response, projected
from benchmarks.linear_queries_figures import results, rows_of
from mechdesign.families.workload.patterns import ChannelValue


@pytest.mark.parametrize("name", ["prefix", "ranges"])
def test_its_channel_is_private_and_between_the_optimum_and_six_percent_more(name):
    problem = md.LinearQueries(workload={"name": name, "size": 8}, epsilon=1.0)
    rows = problem.queries.factor[0]
    found = best_channel(rows.T @ rows, 1.0, factor=4, restarts=2)
    assert found.channel.sum(axis=0) == pytest.approx(np.ones(8), abs=1e-12)
    assert found.channel.max(axis=1).max() <= 1.0
    assert (found.channel.max(axis=1) / found.channel.min(axis=1)).max() <= math.e * (1.0 + 1e-12)
    value = ChannelValue(found.channel, problem.shares).average(problem.centered)
    assert found.error == pytest.approx(value, rel=1e-9)
    optimum = md.solve(problem).bound
    assert optimum <= found.error <= 1.06 * optimum


def test_a_known_start_has_its_known_error():
    # Hadamard response of 4 types at epsilon = ln 3: M = 11' + (1/3) (1/2)^2 (4 I - 11'), so that the
    # histogram has the error 3 / (1/3) - 3/4.
    channel = hadamard_response(4, math.log(3.0))
    assert error_of(channel, np.eye(4)) == pytest.approx(9.0 - 0.75)


def test_the_projection_is_the_nearest_feasible_channel():
    rng = np.random.default_rng(3)
    least, power = np.full(6, 0.1), 3.0
    given = rng.normal(size=(6, 4))
    found = projected(given, least, power)
    assert found.sum(axis=0) == pytest.approx(np.ones(4), abs=1e-12)
    assert found.min() >= 0.1
    assert found.max() <= 0.3 + 1e-15
    for _ in range(50):  # the angle to every other feasible channel is obtuse
        other = projected(rng.normal(size=(6, 4)), least, power)
        assert ((given - found) * (other - found)).sum(axis=0).max() <= 1e-12


def test_the_page_shows_the_measured_errors():
    page = (Path(__file__).parents[3] / "docs" / "families" / "workload.md").read_text(encoding="utf-8")
    assert results() in page


def test_no_measured_error_is_below_the_bound():
    for name in ("prefix", "ranges", "marginals", "histogram"):
        for row in rows_of(name):
            errors = [float(row[key]) for key in ("here", "subset", "channel_4n", "channel_16n")]
            assert min(errors) >= float(row["bound"]) * (1.0 - 1e-7)
            # one of the best ways known: nothing that is compared has a smaller error
            assert float(row["here"]) <= min(errors) * (1.0 + 1e-7)
