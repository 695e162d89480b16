"""The problem frequency-oracle: formulas, the bound against channels of every kind, limits, and what runs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.catalog.sweeping import simulate
from mechdesign.core.errors import MechDesignError, MethodError, ParameterError
from mechdesign.families.marginals.frequency_oracle import KINDS, NAMES, variance_lower_bound
from mechdesign.families.marginals.frequency_oracle_methods import staircase_columns
from mechdesign.primitives.oracle import best_size, subset_bits, subset_variance
from tests.support.oracles import small_oracles, whole_channel


def information(channel) -> float:
    """Return the information about a category of frequency 0, averaged over the categories; any matrix."""
    rows = len(channel)
    others = (channel.sum(axis=0) - channel) / (rows - 1)
    return float((((channel - others) ** 2 / others).sum(axis=1)).mean())


def random_row(least, slack, exponential, rng):
    """Return a random row with entries from least to exponential * least: a mixture of two vertices."""
    made = []
    for _ in range(2):
        row, left = least.copy(), slack
        for place in rng.permutation(len(least)):
            step = min(left, (exponential - 1) * least[place])
            row[place], left = row[place] + step, left - step
        made.append(row)
    share = rng.choice([0.0, 1.0, rng.random()])
    return share * made[0] + (1 - share) * made[1]


def random_channel(categories, reports, epsilon, rng):
    """Return a random private channel, often at the border of what is private."""
    exponential = math.exp(epsilon)
    total = rng.uniform(1 / exponential, 1.0)  # of the least entries
    least = total * rng.dirichlet(np.full(reports, rng.choice([0.3, 1.0, 20.0])))
    channel = np.array([random_row(least, 1 - total, exponential, rng) for _ in range(categories)])
    assert np.allclose(channel.sum(axis=1), 1.0)
    assert (channel.max(axis=0) <= exponential * channel.min(axis=0) * (1 + 1e-12)).all()
    return channel


@pytest.mark.parametrize("categories", [2, 3, 4, 6])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.5])
def test_no_random_private_channel_has_more_information_than_the_bound_allows(categories, epsilon):
    """Channels with 2 to 9 reports; the best of them comes within a factor, so the bound is not idle."""
    rng = np.random.default_rng(categories)
    limit = 1 / variance_lower_bound(categories, epsilon)
    found = [
        information(random_channel(categories, int(rng.integers(2, 10)), epsilon, rng)) for _ in range(200)
    ]
    assert max(found) <= limit
    assert max(found) >= limit / 3


def improved(channel, exponential, rng, steps=300):
    """Return a channel after random steps within the private ones that raise its information."""
    best = information(channel)
    for _ in range(steps):
        moved = channel.copy()
        row, (giver, taker) = rng.integers(len(channel)), rng.permutation(channel.shape[1])[:2]
        amount = rng.random() ** 2 * moved[row, giver]
        moved[row, giver], moved[row, taker] = moved[row, giver] - amount, moved[row, taker] + amount
        if (moved.max(axis=0) <= exponential * moved.min(axis=0)).all():
            value = information(moved)
            if value > best:
                channel, best = moved, value
    return best


def test_climbing_from_random_channels_comes_near_the_bound_and_not_above():
    rng, epsilon = np.random.default_rng(8), 1.0
    limit = 1 / variance_lower_bound(3, epsilon)
    found = [improved(random_channel(3, 3, epsilon, rng), math.exp(epsilon), rng) for _ in range(25)]
    assert max(found) <= limit
    assert max(found) >= 0.9 * limit


@pytest.mark.parametrize("name", small_oracles())
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_information_of_an_oracle_lies_between_its_variance_and_the_bound(name, epsilon):
    """For subset selection all three are equal: its estimator uses all there is."""
    oracle = small_oracles(epsilon)[name]
    table = whole_channel(oracle)
    channel = np.array([[float(chance) for chance in row] for row in table.values()]).T
    least = 1 / information(channel)
    bound = variance_lower_bound(oracle.labels.size, epsilon)
    assert least <= oracle.variance() * (1 + 1e-12)
    assert bound <= least * (1 + 1e-9)
    if "subset" in name or name == "projective plane":  # where every point is a category
        assert least == pytest.approx(oracle.variance(), rel=1e-9)


def test_the_best_of_all_estimators_of_subset_selection_is_the_one_in_use():
    """Generalised least squares for reports of people who do not have the category, the others even."""
    oracle = small_oracles()["subsets of 2"]
    channel = np.array([[float(chance) for chance in row] for row in whole_channel(oracle).values()]).T
    even = channel[1:].mean(axis=0)
    gram = (channel / even) @ channel.T  # of the scores that are unbiased for every truth
    assert np.linalg.inv(gram)[0, 0] == pytest.approx(oracle.variance(), rel=1e-9)


def exact_variance(categories, size, exponential):
    """Return q (1 - q)/(p - q)^2 from the chances of support."""
    own = Fraction(size * exponential, size * exponential + categories - size)
    other = (size - own) / (categories - 1)
    return other * (1 - other) / (own - other) ** 2


@pytest.mark.parametrize("categories", [2, 3, 7, 20])
@pytest.mark.parametrize("exponential", [2, 3, 10])
def test_the_formula_is_that_of_the_chances_of_support(categories, exponential):
    sizes = np.arange(1, categories)
    values = subset_variance(categories, sizes, math.log(exponential))
    exact = [float(exact_variance(categories, int(size), exponential)) for size in sizes]
    assert values == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 2.0, 4.0])
def test_the_best_size_is_next_to_the_root_and_1_as_long_as_the_page_says(epsilon):
    e = math.exp(epsilon)
    for categories in [*range(2, 60), 500, 4096]:
        size = best_size(categories, epsilon)
        if categories > e:
            root = categories / (1 + math.sqrt(e * (e * categories - 1) / (categories - e)))
            assert abs(size - root) < 1 or size == 1
        assert (size == 1) == (categories <= 2 * e + 1), categories


def test_the_information_of_a_staircase_column_is_the_formula():
    columns, gains, sizes = staircase_columns(6, 0.7)
    inner = sizes < 6
    share = columns.sum(axis=0) / 6  # of a channel that has only columns of this size
    assert gains[inner] / share[inner] == pytest.approx(1 / subset_variance(6, sizes[inner], 0.7), rel=1e-12)
    assert gains[~inner] == pytest.approx(0.0, abs=1e-30)


@pytest.mark.parametrize("categories", [2, 5, 9, 10])
@pytest.mark.parametrize("epsilon", [0.01, 0.7, 3.0, 10.0])
def test_the_program_over_all_staircases_agrees(categories, epsilon):
    comparison = md.compare(md.FrequencyOracle(categories=categories, epsilon=epsilon))
    assert comparison.agree, comparison.disagreements
    assert {run.method: run.status for run in comparison.runs}["staircase-lp"] == "optimal"


@pytest.mark.parametrize(
    ("categories", "epsilon", "bits"),
    [
        (2, 1.0, None),
        (40, 0.2, None),
        (64, 1.0, 13),
        (1000, 3.0, 30),
        (100_000, 1.0, None),
        (30, 20.0, None),
        (5, 700.0, None),
        (3, 2.0**-30, None),
    ],
)
def test_every_method_gives_a_private_mechanism_of_the_value_that_it_states(categories, epsilon, bits):
    problem = md.FrequencyOracle(categories=categories, epsilon=epsilon, max_report_bits=bits)
    comparison = md.compare(problem)
    assert comparison.agree, comparison.disagreements
    best = min(run.value for run in comparison.judged)
    assert md.solve(problem).value <= best * (1 + 1e-9)
    for run in comparison.runs:
        assert run.broken == ()
        assert all(value == 0 for value in run.residuals.values())
        mechanism = run.mechanism()
        assert mechanism.audit().holds
        assert mechanism.variance() == pytest.approx(run.value, rel=1e-6, abs=2.0**-40)
        assert run.kind == "published" or run.value >= run.bound
        if hasattr(mechanism, "report_bits"):
            assert bits is None or mechanism.report_bits <= bits


def test_what_is_optimal_says_so_and_nothing_else_does():
    problem = md.FrequencyOracle(categories=64, epsilon=1.0, max_excess=0.0)
    runs = {run.method: run for run in md.compare(problem).runs}
    claiming = {name for name, run in runs.items() if run.claims_optimality}
    assert claiming == {"best", "subset-selection"}
    for name in claiming:
        assert "optimality" in {certificate.property for certificate in runs[name].certificates}
    assert md.solve(md.FrequencyOracle(categories=6, epsilon=1.0)).variables == {
        "oracle": "randomized-response"
    }


# Limits


def test_without_privacy_loss_or_with_too_few_reports_it_is_infeasible():
    for problem in (
        md.FrequencyOracle(categories=8, epsilon=0.0),
        md.FrequencyOracle(categories=9, epsilon=1.0, max_report_bits=3),
    ):
        comparison = md.compare(problem)
        assert comparison.agree
        assert {run.status for run in comparison.runs} == {"infeasible"}
        with pytest.raises(MethodError, match="no mechanism"):
            md.solve(problem).mechanism()
    assert md.solve(md.FrequencyOracle(categories=9, epsilon=1.0, max_report_bits=4)).found


def test_fewer_reports_than_categories_leave_frequencies_undetermined():
    """Why the limit is where it is: 8 distributions of 7 reports are linearly dependent."""
    channel = random_channel(8, 7, 1.0, np.random.default_rng(1))
    assert np.linalg.matrix_rank(channel) < 8


def test_more_bits_are_never_worse_and_reports_never_too_long():
    values = []
    for bits in range(6, 66):
        problem = md.FrequencyOracle(categories=50, epsilon=1.0, max_report_bits=bits)
        solution = md.solve(problem)
        assert solution.residuals == {"report_bits": 0.0}
        assert solution.notes["report_bits"] <= bits
        values.append(solution.value)
    assert values == sorted(values, reverse=True)
    assert values[-1] == md.solve(md.FrequencyOracle(categories=50, epsilon=1.0)).value


def test_the_lines_of_the_fano_plane_attain_the_bound_with_three_bits():
    problem = md.FrequencyOracle(categories=7, epsilon=math.log(4 / 3), max_report_bits=3)
    solution = md.solve(problem)
    assert (solution.status, dict(solution.variables)) == (
        "optimal",
        {"oracle": "projective-geometry", "field": 2},
    )
    assert solution.value == pytest.approx(35.0)
    assert (
        md.solve(md.FrequencyOracle(categories=7, epsilon=math.log(4 / 3))).variables["oracle"]
        == "projective-geometry"
    )


def test_an_oracle_with_too_long_reports_has_a_residual_and_no_certificate():
    problem = md.FrequencyOracle(categories=50, epsilon=1.0, max_report_bits=10)
    assert problem.residuals({"oracle": "optimised-unary"}) == {"report_bits": 40.0}
    with pytest.raises(MethodError, match=r"needs D bits, .* \(10 are allowed\)"):
        md.solve(problem, "optimised-unary")


def test_the_bits_of_subsets_are_never_too_few():
    for categories, size in ((4097, 1), (5000, 2), (8192, 1), (5000, 1234)):
        exact = (math.comb(categories, size) - 1).bit_length()
        assert exact <= subset_bits(categories, size) <= exact + 1


@pytest.mark.parametrize(
    "parameters",
    [
        {"categories": 1},
        {"categories": 2.0},
        {"categories": 1 << 21},
        {"epsilon": -1.0},
        {"epsilon": math.inf},
        {"epsilon": math.nan},
        {"epsilon": 1e-10},
        {"epsilon": 701.0},
        {"users": 0},
        {"max_report_bits": 0},
        {"max_report_bits": 2.5},
        {"labels": "abc"},
        {"labels": ["a", "b"]},
        {"labels": ["a", "a", "b"]},
    ],
)
def test_impossible_parameters_are_named(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        md.FrequencyOracle(**{"categories": 3, "epsilon": 1.0, **parameters})


def test_variables_that_name_no_oracle_are_refused():
    problem = md.FrequencyOracle(categories=5, epsilon=1.0)
    with pytest.raises(ParameterError, match="did you mean 'hadamard'"):
        problem.objective({"oracle": "hadamar"})
    for variables in ({"oracle": "subset-selection", "size": 5}, {"oracle": "local-hashing", "buckets": 1}):
        with pytest.raises(MechDesignError):
            problem.objective(variables)


# What runs


@pytest.mark.parametrize("method", NAMES)
def test_simulated_users_have_the_variance_that_is_stated(method):
    """Within 4 standard errors of the measured mean of 200 squares (fixed seed)."""
    problem = md.FrequencyOracle(categories=7, epsilon=1.0)
    solution = md.solve(problem, method)
    measured = simulate(solution, 400, 200, np.random.default_rng(5))
    assert abs(measured["measured_value"] - solution.value) < 4 * measured["standard_error"]


def test_names_of_categories_go_through():
    problem = md.FrequencyOracle(categories=3, epsilon=2.0, labels=["a", "b", "c"])
    for method in NAMES:
        mechanism = md.solve(problem, method).mechanism()
        estimate = mechanism.estimate(mechanism.randomize(["a", "b", "b", "c"] * 500, rng=1))
        assert estimate.categories == ("a", "b", "c")
        assert np.abs(estimate.value - [0.25, 0.5, 0.25]).max() < 6 * estimate.standard_error.max()


def test_the_forecast_is_the_standard_error_that_comes_out():
    for method in NAMES:
        mechanism = md.solve(md.FrequencyOracle(categories=4, epsilon=1.0), method).mechanism()
        answers = np.arange(40_000) % 4
        found = mechanism.estimate(mechanism.randomize(answers, rng=2)).standard_error
        forecast = mechanism.forecast(40_000)
        assert found == pytest.approx(forecast.typical, rel=0.02)
        assert found.max() <= forecast.largest * 1.01


def test_every_kind_has_a_method_of_its_name():
    methods = {method.name: method for method in md.methods_of(md.FrequencyOracle)}
    assert {kind.name for kind in KINDS} < set(methods)
    assert methods["thesis-rule"].kind == "published"


def test_answers_that_62_bits_do_not_tell_apart_have_an_infinite_variance():
    solution = md.solve(md.FrequencyOracle(categories=2**20, epsilon=1e-9, max_report_bits=20))
    assert solution.mechanism().variance() == math.inf
    assert all(certificate.holds for certificate in solution.certificates)
    assert not solution.forecast().possible
