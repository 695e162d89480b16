"""The rivals: errors as predicted, exact privacy, refusals, and the same law by the short way."""

import math
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.exact.randomness import bit_source, exp_lower
from mechdesign.families.marginals.papers.rivals import (
    AllMarginals,
    BinaryEncoded,
    ExpectationMaximization,
    FourierCoefficients,
    FullContingency,
    PriView,
    UniformAnswer,
    nearest_table,
    true_marginal,
)
from mechdesign.families.marginals.papers.rivals.base import CellOracle
from mechdesign.families.marginals.papers.rivals.encoded import BinaryEncoding
from mechdesign.families.marginals.papers.rivals.fourier import Coefficients

ALARM = 1e-4
"""Chance that a right method fails one of these tests, by seed; the seeds are fixed."""

DEVIATIONS = 4.0
"""Standard errors: a mean of 100 nearly normal numbers is farther off with probability below ALARM."""


def people_of(sizes, users, seed):
    """Return codes that depend on each other: a chain in which two thirds copy the attribute before."""
    generator = np.random.default_rng(seed)
    columns = [generator.integers(0, sizes[0], users) // 2]
    for size in sizes[1:]:
        fresh = generator.integers(0, size, users)
        columns.append(np.where(generator.random(users) < 2 / 3, columns[-1] % size, fresh))
    return np.column_stack(columns)


def squared_errors(rival, codes, marginals, repetitions, seed, release=None):
    """Return the mean squared error over the marginals, one number a repetition, and what is predicted."""
    sizes, users = rival.setting.sizes, len(codes)
    truth = {wanted: true_marginal(codes, sizes, wanted) for wanted in marginals}
    found = []
    for repetition in range(repetitions):
        answer = (release or rival.release)(codes, rng=np.random.default_rng([seed, repetition]))
        table = getattr(answer, "unbiased", answer.marginal)
        found.append(np.mean([((table(wanted) - truth[wanted]) ** 2).sum() for wanted in marginals]))
    predicted = np.mean([rival.predicted_error(wanted, users, truth[wanted]) for wanted in marginals])
    return np.array(found), predicted


def require_mean(found, predicted):
    """Fail when the mean differs from the prediction by more than its standard error explains."""
    error = found.std(ddof=1) / math.sqrt(len(found))
    assert abs(found.mean() - predicted) <= DEVIATIONS * error
    assert error < 0.1 * predicted  # or the check would say nothing


SIZES = (3, 2, 4, 2)
TRIPLES = list(combinations(range(8), 3))[::4]


@pytest.mark.parametrize(
    "rival",
    [
        FullContingency(SIZES, 1.0, 2),
        FullContingency(SIZES, 3.5, 2),  # randomized response on 48 cells
        AllMarginals(SIZES, 0.3, 2),
        AllMarginals(SIZES, 3.0, 2),
        AllMarginals((2, 2, 2), 6.0, 2),  # little noise: the error is that of sampling
        FourierCoefficients((4, 2, 4, 2), 1.0, 2),
        FourierCoefficients((4, 2, 4, 2), 1.0, 2, literal=True),
        FourierCoefficients((2, 2, 2, 2), 6.0, 2),
        FourierCoefficients(SIZES, 1.0, 2),
        ExpectationMaximization(SIZES, 4.0, 2),
        PriView(SIZES, 1.0, 2, list(combinations(range(4), 3))),
    ],
    ids=repr,
)
def test_errors_are_as_predicted(rival):
    sizes = rival.setting.sizes
    marginals = [*combinations(range(len(sizes)), 2), (0,)]
    require_mean(*squared_errors(rival, people_of(sizes, 600, 1), marginals, 150, 2))


def test_fc_am_ft_are_as_256_to_448_to_93_in_units_of_var_0():
    """With d = 8, k = 3 and epsilon below ln 2, where the rule takes unary encoding for 8 cells too."""
    epsilon, users = 0.5, 4480
    unit = 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2 / users
    codes = people_of((2,) * 8, users, 3)
    stated = {FullContingency: 256, AllMarginals: 448, FourierCoefficients: 93}
    for kind, ratio in stated.items():
        extra = {"literal": True} if kind is FourierCoefficients else {}
        rival = kind([2] * 8, epsilon, 3, **extra)
        found, predicted = squared_errors(
            rival, codes, TRIPLES, 60, 4, getattr(rival, "simulate", rival.release)
        )
        require_mean(found, predicted)
        # Beyond the stated noise there are only the people themselves: at most one squared share a sample.
        samples = {256: 1, 448: 56, 93: 93}[ratio]
        rounding = 1 + 56 / users  # groups differ by one user
        assert ratio * unit * 0.999 <= predicted <= (ratio * unit + samples / users) * rounding
    fair = FourierCoefficients([2] * 8, epsilon, 3)
    noise = fair.predicted_error((0, 1, 2), users, np.eye(1, 8).reshape(2, 2, 2))  # all the same: no sampling
    assert noise == pytest.approx(92 * 7 / 8 * unit, rel=1 / (users / 92 - 1))


@pytest.mark.parametrize("rival", [FullContingency(SIZES, 1.0, 2), AllMarginals(SIZES, 1.0, 2)], ids=repr)
def test_the_short_way_has_the_same_errors(rival):
    codes = people_of(SIZES, 500, 5)
    marginals = list(combinations(range(4), 2))
    require_mean(*squared_errors(rival, codes, marginals, 150, 6, rival.simulate))


@pytest.mark.parametrize("oracle", [CellOracle.adaptive(3, 1.0), CellOracle.adaptive(12, 0.5)])
def test_simulated_counts_have_the_moments_of_counted_reports(oracle):
    people = np.arange(oracle.cells) * 7
    generator, users = np.random.default_rng(8), int(people.sum())
    codes = np.repeat(np.arange(oracle.cells), people)
    source, runs = bit_source(generator), 1000
    drawn = np.array([oracle.count(oracle.draw(codes, source)) for _ in range(runs)])
    short = np.array([oracle.simulate(people, generator) for _ in range(runs)])
    expected = people * oracle.gain + users * oracle.other
    for counts in (drawn, short):
        assert (abs(counts.mean(axis=0) - expected) <= 4.5 * counts.std(axis=0) / math.sqrt(runs)).all()
    first, second = np.cov(drawn.T), np.cov(short.T)
    spread = np.sqrt(np.outer(np.diag(first), np.diag(first)))
    assert (abs(first - second) / spread <= 4 * math.sqrt(2 * 2 / runs)).all()


def test_fourier_reconstruction_is_exact_without_noise():
    """Coefficients by their definition, in fractions, give every marginal back."""
    sizes = (3, 2, 5)
    rival = FourierCoefficients(sizes, 1.0, 2)
    codes = people_of(sizes, 50, 9)
    bits = BinaryEncoding(sizes).encode(codes)
    width = bits.shape[1]
    values = [
        Fraction(
            sum(
                (-1) ** sum(int(row[j]) for j in range(width) if mask >> (width - 1 - j) & 1) for row in bits
            ),
            len(codes),
        )
        for mask in rival.masks.tolist()
    ]
    answer = Coefficients(rival.setting, rival.encoding, rival.masks, np.array(values, dtype=float))
    for wanted in [(0,), (0, 1), (0, 2), (1, 2)]:
        # sums of at most 64 doubles of size 1
        np.testing.assert_allclose(
            answer.marginal(wanted),
            true_marginal(codes, sizes, wanted),
            rtol=0,
            atol=64 * np.finfo(float).eps,
        )


def test_fourier_asks_for_no_coefficient_that_no_marginal_needs():
    sizes, order = (3, 2, 4, 2), 2
    encoding = BinaryEncoding(sizes)
    width = sum(encoding.bits)
    needed = set()
    for subset in combinations(range(4), order):
        places = encoding.places_of(subset)
        for chosen in product((0, 1), repeat=len(places)):
            pairs = zip(places, chosen, strict=True)
            needed.add(sum(1 << (width - 1 - place) for place, bit in pairs if bit))
    rival = FourierCoefficients(sizes, 1.0, order)
    assert set(rival.masks.tolist()) == needed - {0}
    assert rival.count == len(rival.masks) == len(needed) - 1


def test_likelihood_never_falls_and_both_starts_meet():
    sizes = (2, 3)
    rival = ExpectationMaximization(sizes, 6.0, 2)
    codes = people_of(sizes, 400, 10)
    answer = rival.release(codes, rng=11)
    channel = np.ones((1, 1))
    for oracle in rival.oracles:
        one = np.full((oracle.cells, oracle.cells), oracle.other) + oracle.gain * np.eye(oracle.cells)
        channel = np.kron(channel, one)
    reported = true_marginal(answer.reports, sizes, (0, 1)).ravel()

    def likelihood(table):
        return float(reported @ np.log(channel @ table.ravel()))

    steps = [answer.marginal((0, 1), "uniform", 0.0, count) for count in (0, 1, 5, 50, 5000)]
    values = [likelihood(table) for table in steps]
    slack = 6 * np.finfo(float).eps * len(reported)
    assert all(later >= earlier - slack for earlier, later in pairwise(values))
    assert values[0] < values[1] < values[2]
    other = answer.marginal((0, 1), "unbiased", 0.0, 5000)
    by_axes = answer._through(steps[2], (0, 1))  # what larger tables are passed by
    np.testing.assert_allclose(by_axes.ravel(), channel @ steps[2].ravel(), rtol=1e-13)
    # Gradient of the likelihood: at the optimum no cell's exceeds 1 (Kuhn and Tucker), so the gap is known.
    gap = float((channel.T @ (reported / (channel @ other.ravel()))).max()) - 1.0
    assert likelihood(steps[-1]) - likelihood(other) <= gap + slack
    assert other.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(
    "rival",
    [
        FullContingency((2,) * 6, 0.7, 2),
        AllMarginals((2, 3, 9), 0.7, 2),
        FourierCoefficients((2, 3, 9), 0.7, 2),
        ExpectationMaximization((2, 3, 9), 0.7, 2),
        UniformAnswer((2, 3), 0.7, 1),
    ],
    ids=repr,
)
def test_reports_are_private_exactly(rival):
    for certificate in rival.certificates():
        assert (certificate.property, certificate.holds, certificate.exact) == ("privacy", True, True)
        assert certificate.figures["epsilon"] == 0.7
        assert certificate.figures["true_epsilon"] <= 0.7


def test_all_reports_of_a_person_about_all_attributes_are_private_together():
    """The likeliest against the least likely combination, in fractions."""
    rival = ExpectationMaximization((2, 3, 9), 0.7, 2)
    ratio = math.prod(oracle.shares[0] / oracle.shares[1] for oracle in rival.oracles)
    assert ratio <= exp_lower(0.7)
    assert Fraction(rival.share) * 3 <= Fraction(0.7)
    assert ratio > exp_lower(Fraction(0.7) - Fraction(1, 10**9))  # and nothing of the budget is left unused


@pytest.mark.parametrize(
    ("kind", "sizes", "order", "told"),
    [
        (FullContingency, [2] * 32, 3, "FC: a table of 4 294 967 296 cells, 32 GiB"),
        (FullContingency, [2] * 300, 3, "FC: a table of 2.0e+90 cells"),
        (AllMarginals, [2] * 32, 8, "AM: C(32, 8) = 10 518 300 tables, 20 GiB"),
        (AllMarginals, [1000] * 4, 3, "AM: C(4, 3) = 4 tables, 30 GiB"),
        (FourierCoefficients, [2] * 32, 8, "FT: 15 033 172 coefficients of 32 bits, 0.11 GiB"),
        (FourierCoefficients, [5] * 40, 2, "coefficients of 120 bits"),
        (BinaryEncoded, [9] * 6, 5, "BE: the bits of 5 attributes have a table of 1 048 576 cells"),
    ],
)
def test_what_is_too_large_is_refused_in_one_line(kind, sizes, order, told):
    with pytest.raises(ParameterError) as raised:
        kind(sizes, 1.0, order, **({"views": [(0, 1)]} if kind is BinaryEncoded else {}))
    text = str(raised.value)
    assert told in text
    assert "\n" not in text
    assert "MarginalRelease" in text


def test_too_few_users_are_refused_with_the_number_needed():
    codes = people_of((2,) * 16, 500, 12)
    with pytest.raises(DataError, match="AM: 500 users for 560 tables; at least 560 are needed"):
        AllMarginals([2] * 16, 1.0, 3).release(codes, rng=1)
    with pytest.raises(DataError, match="FT: 500 users for 696 coefficients; at least 696 are needed"):
        FourierCoefficients([2] * 16, 1.0, 3).release(codes, rng=1)


def test_bad_input_is_named():
    rival = FullContingency([2, 3], 1.0, 1)
    with pytest.raises(DataError, match="row 2, attribute 1: 3 is not from 0 to 2"):
        rival.release(np.array([[0, 0], [1, 3]]))
    with pytest.raises(DataError, match="expected a table of 2 columns"):
        rival.release(np.zeros((3, 3), dtype=int))
    with pytest.raises(DataError, match="integers"):
        rival.release(np.zeros((3, 2)))
    with pytest.raises(ParameterError, match="order"):
        FullContingency([2, 3], 1.0, 3)
    with pytest.raises(ParameterError, match="epsilon"):
        UniformAnswer([2, 3], math.nan, 1)
    answer = AllMarginals([2, 3, 2], 1.0, 2).release(people_of((2, 3, 2), 60, 13), rng=1)
    with pytest.raises(ParameterError, match="collect with order = 3"):
        answer.marginal((0, 1, 2))
    with pytest.raises(ParameterError, match="not increasing"):
        answer.marginal((1, 0))


def test_uniform_asks_nobody():
    codes = people_of((2, 3), 60, 14)
    answer = UniformAnswer((2, 3), 1.0, 2).release(codes)
    truth = true_marginal(codes, (2, 3), (0, 1))
    error = ((answer.marginal((0, 1)) - truth) ** 2).sum()
    assert error == pytest.approx(UniformAnswer((2, 3), 1.0, 2).predicted_error((0, 1), 60, truth), rel=1e-12)


def test_the_nearest_table_is_never_farther_from_a_table():
    generator = np.random.default_rng(15)
    for _ in range(100):
        truth = generator.dirichlet(np.ones(8)).reshape(2, 4)
        noisy = truth + generator.normal(0, 0.3, truth.shape)
        nearest = nearest_table(noisy)
        assert nearest.min() >= 0
        assert nearest.sum() == pytest.approx(1.0, rel=1e-12)
        assert ((nearest - truth) ** 2).sum() <= ((noisy - truth) ** 2).sum()


def test_encoded_views_release_what_the_attributes_have():
    """With little noise and all pairs of attributes in a view of bits, marginals are those of the people."""
    sizes = (3, 4, 2)
    codes = people_of(sizes, 20_000, 16)
    encoding = BinaryEncoding(sizes)
    views = [encoding.places_of(pair) for pair in combinations(range(3), 2)]
    rival = BinaryEncoded(sizes, 8.0, 2, views)
    answer = rival.release(codes, rng=17)
    assert all(certificate.holds and certificate.exact for certificate in rival.certificates())
    for pair in combinations(range(3), 2):
        table = answer.marginal(pair)
        assert table.shape == tuple(sizes[item] for item in pair)
        assert table.sum() == pytest.approx(1.0, rel=1e-12)
        # A third of the people report the pair, nearly all the truth: a mean squared error below 3 / n. A sum
        # of squares is above twenty times its mean with a chance of 1e-5 at most (one degree of freedom).
        error = ((table - true_marginal(codes, sizes, pair)) ** 2).sum()
        assert error <= 20 * 3 / len(codes)
    assert math.prod(encoding.decode(np.ones(16), (0, 1)).shape) == 12


def test_the_curator_is_closer_than_local_views_with_the_same_views():
    """Noise of 1/n against 1/sqrt(n): the squared errors of the same marginals, twenty times."""
    sizes, views = (2,) * 5, list(combinations(range(5), 2))
    codes = people_of(sizes, 5000, 18)
    curator, local = PriView(sizes, 1.0, 2, views), BinaryEncoded(sizes, 1.0, 2, views)
    wanted, totals = views[::3], np.zeros(2)
    for seed in range(5):
        for place, rival in enumerate((curator, local)):
            answer = rival.release(codes, rng=np.random.default_rng([19, seed]))
            totals[place] += sum(
                ((answer.marginal(pair) - true_marginal(codes, sizes, pair)) ** 2).sum() for pair in wanted
            )
    assert totals[0] * 10 < totals[1]
    assert not curator.certificates()[0].exact


def test_marginals_that_are_too_large_are_refused_when_asked_for():
    codes = np.zeros((50, 24), dtype=int)
    answer = ExpectationMaximization([2] * 24, 8.0, 2).release(codes, rng=1)
    with pytest.raises(ParameterError, match=r"16 777 216 cells, 0\.12 GiB; at most 4 194 304 are held"):
        answer.marginal(range(24))
    encoded = BinaryEncoded([5] * 6, 8.0, 2, views=[tuple(range(9)), tuple(range(9, 18))])
    released = encoded.release(codes[:, :6], rng=1)
    assert released.marginal((0, 1)).shape == (5, 5)
    with pytest.raises(ParameterError, match="262 144 cells"):
        released.marginal(range(6))
    with pytest.raises(ParameterError, match=r"PriView: the views have 33 554 432 cells, 0\.25 GiB"):
        PriView([2] * 30, 1.0, 2, views=[range(25)])
