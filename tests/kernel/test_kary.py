"""The structured channel: equal to the dense one, exactly private, and quick for a million symbols."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

import mechdesign as md
from mechdesign.audit import audit_channel
from mechdesign.core.errors import EstimationError, ParameterError
from mechdesign.exact.randomness import TOTAL
from mechdesign.primitives import KaryChannel, KaryResponse
from tests.support.channels import dense_weights


@st.composite
def kary_channels(draw: st.DrawFn) -> KaryChannel:
    size = draw(st.integers(2, 7))
    kept = draw(st.permutations(range(size)))[: draw(st.integers(1, size))]
    epsilon = draw(
        st.one_of(st.sampled_from([0.0, 5e-324, 1e-18, math.log(2), 40.0, 2000.0]), st.floats(0, 8))
    )
    delta = draw(st.sampled_from([0.0, 1e-19, 0.1, 0.5, 0.999]))
    return KaryChannel(size, np.array(kept, dtype=np.int64), epsilon, delta)


@given(kary_channels())
def test_rounding_to_integers_keeps_the_promise_and_loses_nothing_visible(channel):
    mechanism = KaryResponse.from_channel(channel)
    whole = dense_weights(mechanism.weights, mechanism.kept.tolist())
    assert [sum(row) for row in whole.tolist()] == [TOTAL] * channel.size
    audit = audit_channel(whole, channel.epsilon, channel.delta)
    assert audit.holds
    if len(mechanism.kept) == len(channel.kept):
        assert np.abs(whole / TOTAL - channel.dense()).max() < 1e-15


@given(kary_channels())
def test_its_audit_is_that_of_the_whole_matrix_and_its_witnesses_attain_it(channel):
    mechanism = KaryResponse.from_channel(channel)
    whole = dense_weights(mechanism.weights, mechanism.kept.tolist())
    found, dense = mechanism.audit(), audit_channel(whole, channel.epsilon, channel.delta)
    for figure in ("true_epsilon", "least_delta_exact", "entry_delta", "holds"):
        assert getattr(found, figure) == getattr(dense, figure)
    if found.epsilon_witness:
        where = found.epsilon_witness
        high, low = (int(whole[where[key], where["report"]]) for key in ("input", "other"))
        assert high > low
        if low:
            assert float(found.true_epsilon) == pytest.approx(math.log(high / low), rel=1e-9, abs=1e-15)
        else:
            assert found.true_epsilon == math.inf


@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.2), (0.0, 0.3), (30.0, 0.0)])
def test_structured_and_dense_channel_are_one(size, epsilon, delta):
    prior = np.arange(size, 0, -1) / np.arange(1, size + 1).sum()
    problem = md.RandomizedResponse(prior=prior, epsilon=epsilon, delta=delta)
    solution = md.solve(problem, "closed-form")
    structured = solution.realisation
    assert structured.shape == (size, size)
    assert np.asarray(structured) == pytest.approx(np.asarray(solution.variables["channel"]))
    assert np.asarray(structured, dtype=np.float32).dtype == np.float32
    assert structured.diagonal() == pytest.approx(np.diag(structured.dense()))
    assert problem.objective({"channel": structured}) == pytest.approx(problem.objective(solution.variables))
    assert max(problem.residuals({"channel": structured}).values()) < 1e-15
    assert max(problem.residuals({"channel": structured.dense()}).values()) < 1e-15


def test_the_residuals_of_a_structured_channel_see_a_broken_promise():
    problem = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0, delta=0.1)
    assert problem.residuals({"channel": KaryChannel(3, np.arange(3), 1.5, 0.1)})["privacy"] > 0.01
    assert problem.residuals({"channel": KaryChannel(3, np.arange(3), 1.0, 0.3)})["privacy"] > 0.01


MILLION = """
import math, sys, time
from pathlib import Path
import numpy as np
import mechdesign as md

size = 1_000_000
prior = np.arange(1, size + 1, dtype=float) ** -1.1
start = time.process_time()
solution = md.solve(md.RandomizedResponse(prior=prior / prior.sum(), epsilon=6.0, delta=0.01))
mechanism = solution.mechanism()
assert mechanism.audit().holds
assert all(certificate.holds for certificate in solution.certificates)
estimate = mechanism.estimate(mechanism.randomize(np.arange(size), rng=1))
seconds = time.process_time() - start
assert estimate.value.shape == (size,)
assert abs(estimate.value.sum() - 1) < 1e-9
kept = len(mechanism.kept)
formula = 0.01 + 0.99 * math.exp(6) * math.fsum(solution.problem.prior[:kept]) / (math.exp(6) + kept - 1)
assert abs(solution.value - formula) < 1e-12
try:  # under Linux ru_maxrss begins with what the process that started this one had
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])
except OSError:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(kept, seconds, peak / 2**20)
"""


def test_a_million_symbols_take_seconds_and_little_memory():
    """Never an n x n array: solved, audited, run and estimated (measured: 3 s, 0.3 GiB in all)."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", MILLION], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kept, seconds, gibibytes = map(float, done.stdout.split())
    assert kept > 10
    assert seconds < 30
    assert gibibytes < 1


def test_a_dense_copy_of_a_million_symbols_is_refused():
    channel = KaryChannel(1_000_000, np.arange(5), 1.0)
    with pytest.raises(ParameterError, match="too large"):
        channel.dense()
    mechanism = KaryResponse.from_channel(channel)
    with pytest.raises(EstimationError, match=r"999996 answers.*, \.\.\.\) lead to the same reports"):
        mechanism.estimate(mechanism.randomize([5, 6, 7], rng=0))
    with pytest.raises(ParameterError, match="too many"):
        _ = mechanism.channel


def test_report_labels_are_those_of_the_problem():
    problem = md.RandomizedResponse(
        prior=[0.5, 0.5], epsilon=2.0, labels=["no", "yes"], report_labels=["heads", "tails"]
    )
    for method in ("closed-form", "lp"):
        reports = md.solve(problem, method).mechanism().randomize(["no", "yes"] * 20, rng=1)
        assert set(reports.tolist()) == {"heads", "tails"}
