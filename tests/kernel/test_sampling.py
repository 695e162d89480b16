"""What is audited is what is sampled: the search equals the definition, and reports have its frequencies."""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

import mechdesign as md
from mechdesign.collect.kernel import Rows
from mechdesign.core.errors import ParameterError
from mechdesign.exact.randomness import TOTAL, NumpySource, SystemSource
from mechdesign.primitives import FiniteChannel, KaryResponse, PrivacyTarget
from tests.support.channels import ChosenIntegers, dense_weights, integer_channels


def naive(row: list[int], drawn: int) -> int:
    """Return the report by walking along the row."""
    return next(report for report, running in enumerate(accumulate(row)) if drawn < running)


def edges(weights: np.ndarray, code: int) -> list[int]:
    """Return the integers on both sides of every cumulative weight."""
    ends = np.cumsum(weights[code]).tolist()
    near = {point for end in ends for point in (end - 1, end, end + 1)} | {0, 1, TOTAL - 1}
    return sorted(point for point in near if 0 <= point < TOTAL)


def check_search(weights: np.ndarray) -> None:
    rows = Rows(weights)
    for code in range(len(weights)):
        drawn = edges(weights, code)
        found = rows.draw(np.full(len(drawn), code), np.array(drawn, dtype=np.int64))
        row = weights[code].tolist()
        assert found.tolist() == [naive(row, point) for point in drawn]


@given(integer_channels(most_reports=6))
@settings(max_examples=200)
def test_the_integer_search_equals_the_naive_search_at_every_edge(weights):
    check_search(weights)


@pytest.mark.parametrize("reports", [2, 3, 17, 300, 2000])
def test_the_search_with_long_runs_of_tiny_weights_zeros_and_ties(reports):
    rng = np.random.default_rng(reports)
    rows = np.zeros((4, reports), dtype=np.int64)
    rows[0] = 1  # the rest goes to the last report
    rows[0, -1] += TOTAL - reports
    rows[1, reports // 2] = TOTAL  # everything in one report, zeros around it
    rows[2] = TOTAL // reports  # ties
    rows[2, 0] += TOTAL - int(rows[2].sum())
    rows[3] = rng.integers(0, 3, reports)  # zeros, ones and twos, then all the rest at the front
    rows[3, 0] += TOTAL - int(rows[3].sum())
    check_search(rows)


def test_the_search_table_shrinks_for_very_many_answers():
    rows = np.zeros((70_000, 20), dtype=np.int64)
    rows[:, 3], rows[:, 19] = TOTAL // 4, TOTAL - TOTAL // 4
    channel = FiniteChannel(rows, PrivacyTarget(1.0))
    codes = np.array([0, 69_999, 1234])
    drawn = np.array([TOTAL // 4 - 1, TOTAL // 4, TOTAL - 1])
    assert channel.kernel.draw(codes, drawn).tolist() == [3, 19, 19]


@pytest.mark.parametrize(
    ("prior", "delta"), [([0.4, 0.3, 0.2, 0.1], 0.0), ([0.5, 0.3, 0.1, 0.1], 0.2), ([1.0, 0.0], 0.3)]
)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
def test_the_structured_sampler_has_exactly_its_weights(prior, delta, epsilon, monkeypatch):
    """The report is piecewise constant in the drawn integer; the lengths of the pieces are the weights."""
    mechanism = md.solve(
        md.RandomizedResponse(prior=prior, epsilon=epsilon, delta=delta), "closed-form"
    ).mechanism()
    assert isinstance(mechanism, KaryResponse)
    weights, kept = mechanism.weights, mechanism.kept.tolist()
    whole = dense_weights(weights, kept)
    start = weights.own + weights.high - weights.low
    cuts = {0, weights.own, start, TOTAL} | {start + count * weights.low for count in range(weights.kept + 1)}
    pieces = sorted(cut for cut in cuts if 0 <= cut <= TOTAL)
    for answer in range(weights.size):
        counted = np.zeros(weights.size, dtype=object)
        for low, high in pairwise(pieces):
            ends = ChosenIntegers([low, high - 1, (low + high) // 2])
            monkeypatch.setattr(KaryResponse, "source", lambda self, rng, ends=ends: ends)
            reports = mechanism.randomize([answer] * 3, anyway=True)
            assert len(set(reports.tolist())) == 1, "the report changes inside a piece"
            counted[reports[0]] += high - low
        assert counted.tolist() == whole[answer].tolist()
    assert mechanism.channel == pytest.approx(whole / TOTAL, abs=1e-15)


def chi_square(counts: np.ndarray, chances: np.ndarray) -> float:
    """Return the p-value; reports of chance 0 must not occur."""
    assert not counts[chances == 0].any()
    positive = chances > 0
    return float(stats.chisquare(counts[positive], counts.sum() * chances[positive]).pvalue)


@pytest.mark.parametrize("method", ["closed-form", "lp"])
@pytest.mark.parametrize("source", ["numpy", "operating system"])
def test_reports_have_the_frequencies_of_the_channel(method, source):
    """Chi-square per answer: a correct sampler fails with probability 8e-6 in all (4 x 5 tests at 4e-7).

    With the seed of the numpy generator the outcome is fixed.
    """
    problem = md.RandomizedResponse(prior=[0.3, 0.25, 0.2, 0.15, 0.1], epsilon=1.5, delta=0.05)
    mechanism = md.solve(problem, method).mechanism()
    rng = np.random.default_rng(20_240_229) if source == "numpy" else None
    for answer in range(5):
        reports = mechanism.randomize(np.full(200_000, answer), rng=rng)
        counts = np.bincount(reports, minlength=5)
        assert chi_square(counts, mechanism.channel[answer]) > 4e-7


def test_different_answers_are_randomized_independently_within_one_call():
    """Reports of neighbours are uncorrelated: |z| < 5.5, which a correct sampler exceeds with chance 4e-8."""
    mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=0.5), "lp").mechanism()
    reports = mechanism.randomize(np.zeros(400_000, dtype=int), rng=7).astype(float)
    centred = reports - reports.mean()
    z = float((centred[:-1] * centred[1:]).mean() / centred.var() * np.sqrt(len(reports)))
    assert abs(z) < 5.5


def test_a_seed_repeats_and_the_default_does_not():
    mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0), "lp").mechanism()
    answers = np.zeros(200, dtype=int)
    assert mechanism.randomize(answers, rng=5).tolist() == mechanism.randomize(answers, rng=5).tolist()
    again, same = np.random.default_rng(5), np.random.default_rng(5)
    assert mechanism.randomize(answers, rng=again).tolist() == mechanism.randomize(answers, rng=same).tolist()
    # a seed gives another stream than numpy's, so that answers drawn with the same seed are independent of it
    generator = np.random.default_rng(5)
    assert (
        mechanism.randomize(answers, rng=generator).tolist() != mechanism.randomize(answers, rng=5).tolist()
    )
    assert (
        mechanism.randomize(answers).tolist() != mechanism.randomize(answers).tolist()
    )  # equal: chance 2**-200


def test_the_system_source_gives_62_uniform_bits():
    """Every bit is set in half of the draws: 62 z-values below 6.5 in size; chance of failure below 1e-8."""
    drawn = SystemSource().integers(100_000)
    assert drawn.dtype == np.int64
    assert drawn.min() >= 0
    assert int(drawn.max()) < TOTAL
    for bit in range(62):
        share = ((drawn >> bit) & 1).mean()
        assert abs(share - 0.5) * 2 * np.sqrt(len(drawn)) < 6.5


@pytest.mark.parametrize("rng", ["seed", -1, 1.5, True])
def test_a_seed_that_is_none_is_refused(rng):
    mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)).mechanism()
    with pytest.raises(ParameterError, match="is not a seed"):
        mechanism.randomize([0, 1], rng=rng)


def test_long_columns_are_randomized_in_pieces_without_a_seam():
    mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=700.0), "lp").mechanism()
    answers = np.arange(150_000) % 3  # with this epsilon a report differs from the answer with chance 1e-18
    assert np.array_equal(mechanism.randomize(answers, rng=1), answers)


@pytest.mark.everywhere
@pytest.mark.parametrize("name", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_numbers_of_a_generator_are_those_of_its_integers(name):
    """Reports of a seed are what they always were, whichever of its methods numpy is called by."""
    drawn, generator = (np.random.Generator(getattr(np.random, name)(5)) for _ in range(2))
    for each in (drawn, generator):
        each.integers(3, size=3, dtype=np.int32)  # leaves half a word
    source = NumpySource(drawn)
    for count in (1, 1000, 0, 7):
        expected = generator.integers(0, TOTAL, size=count, dtype=np.int64)
        assert source.integers(count).tolist() == expected.tolist()
        expected = generator.integers(0, (1 << 64) - 1, size=count, dtype=np.uint64, endpoint=True)
        assert source.words(count).tolist() == expected.tolist()
    assert source.integers(5).flags.writeable
