"""The part of a survey for the cumulative shares of one ordered question."""

import json
import math
from itertools import product

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import ParameterError
from mechdesign.families.marginals.oracles.best import best_oracle
from mechdesign.families.mean.discrete import best_shape
from mechdesign.families.mean.optimal_channel import worst_variance_of
from mechdesign.families.survey import OrderedPart, Question, Questions, Request, SurveyMechanism, TablePart
from mechdesign.families.survey.part_plans import expected_errors, part_information
from mechdesign.families.workload.prefix import best_prefix_channel, prefix_ladder
from mechdesign.families.workload.weights import RESERVE

LABELS = ("very bad", "bad", "fair", "good", "very good")
ASKED = Questions([Question("health", "ordered", LABELS, cumulative=True)])


def survey(epsilon=1.0, asked=ASKED):
    return SurveyMechanism(asked, epsilon, [[OrderedPart(asked, 0, best_prefix_channel(5, epsilon))]])


@pytest.mark.parametrize(("size", "epsilon"), [(3, 0.8), (5, 1.0), (6, 2.2), (9, 1.25)])
def test_the_channel_is_the_optimum_over_all_patterns(size, epsilon):
    problem = md.LinearQueries(workload={"name": "prefix", "size": size}, epsilon=epsilon)
    bound = md.solve(problem).bound
    found = best_prefix_channel(size, epsilon).average_error
    assert bound * (1.0 - 1e-9) <= found <= bound * (1.0 + 1e-6)


@pytest.mark.parametrize("epsilon", [1.1, 2.9])
def test_between_rungs_the_patterns_next_to_it_are_nearly_optimal(epsilon):
    problem = md.LinearQueries(workload={"name": "prefix", "size": 12}, epsilon=epsilon)
    bound = md.solve(problem).bound
    assert best_prefix_channel(12, epsilon).average_error <= bound * 1.002


def test_the_ladder_has_the_errors_of_the_very_integers():
    known = prefix_ladder()
    for size, place in product((3, 8, 16), (0, 7, len(known.epsilons) - 1)):
        found = best_prefix_channel(size, float(known.epsilons[place]))
        assert found.average_error == pytest.approx(known.error(size, place), rel=1e-8, abs=size * RESERVE)


def test_privacy_is_that_of_the_composition_in_integers():
    part = OrderedPart(ASKED, 0, best_prefix_channel(5, 1.0))
    audit = survey().audit()
    assert audit.holds
    assert audit.true_epsilon == part.audit().true_epsilon <= 1.0
    asked = Questions([*ASKED.all, Question("sex", labels=("f", "m"))])
    parts = [OrderedPart(asked, 0, best_prefix_channel(5, 1.0)), TablePart(asked, [1], best_oracle(2, 0.5))]
    assert SurveyMechanism(asked, 1.5, [parts]).audit().holds
    with pytest.raises(md.MechDesignError, match="not private as stated"):
        SurveyMechanism(asked, float(np.nextafter(1.5, 0.0)), [parts])


def test_information_is_that_of_the_exact_variance_of_the_cumulative_shares():
    part = OrderedPart(ASKED, 0, best_prefix_channel(5, 1.0))
    wanted = Request("question", (0,))
    channel = part.channel.channel
    scores = np.tri(4, 5) @ part.channel.solver
    second = (scores**2 @ channel).mean(axis=1)
    mean = (scores @ channel).mean(axis=1)
    assert mean == pytest.approx(np.arange(1, 5) / 5, abs=1e-8)
    assert part_information(ASKED, wanted, part) == pytest.approx(1.0 / (second - mean**2).sum(), rel=1e-9)
    table = TablePart(ASKED, [0], best_oracle(5, 1.0))
    told = part_information(ASKED, wanted, part) / part_information(ASKED, wanted, table)
    assert 1.1 < told < 1.3


def test_a_survey_of_one_question_takes_the_part_with_the_least_error():
    kinds = [SurveyMechanism.of(ASKED, epsilon).designs[0].parts[0].kind for epsilon in (1.0, 6.0, 20.0)]
    assert kinds[0] == "ordered"
    assert kinds[2] == "table"
    plain = Questions([Question("health", "ordered", LABELS)])
    assert SurveyMechanism.of(plain, 1.0).designs[0].parts[0].kind == "table"
    for epsilon in (1.0, 2.0, 4.0):
        wanted = Request("question", (0,))
        chosen = part_information(ASKED, wanted, SurveyMechanism.of(ASKED, epsilon).designs[0].parts[0])
        assert chosen >= part_information(ASKED, wanted, TablePart(ASKED, [0], best_oracle(5, epsilon)))


def test_a_number_alone_takes_the_channel_with_the_least_worst_variance():
    asked = Questions([Question("age", "number", low=0, high=2)])
    (part,) = SurveyMechanism.of(asked, 1.0).designs[0].parts
    assert part.mechanism.worst_variance() == pytest.approx(worst_variance_of(1.0), rel=1e-9)
    assert worst_variance_of(1.0) < 0.9 * best_shape(1.0)[0]
    assert SurveyMechanism.of(asked, 20.0).audit().holds  # beyond the channels that are solved


def test_estimates_are_right_and_errors_are_what_was_expected():
    """Of 60 cumulative shares the mean squared error is within 45 % of what was planned (5 sigma)."""
    mechanism, rng = survey(), np.random.default_rng(5)
    errors = []
    for seed in range(15):
        answers = rng.integers(0, 5, 4000)
        found = mechanism.estimate(
            mechanism.randomize({"health": np.array(LABELS)[answers]}, rng=seed), population=True
        ).result("health")
        errors.append(found.cumulative.value - np.arange(1, 5) / 5)
        assert found.estimate.value.sum() == pytest.approx(1.0, abs=1e-6)
        assert np.cumsum(found.estimate.value)[:4] == pytest.approx(found.cumulative.value, abs=1e-9)
    (expected,) = expected_errors(mechanism, 4000)
    assert float(np.mean(np.square(errors))) / expected**2 == pytest.approx(1.0, abs=0.45)


@pytest.mark.parametrize("population", [False, True])
def test_intervals_hold_where_shares_are_uneven(population):
    """Of 240 intervals of 95 % at least 91 % hold: they fail with a chance below 1e-2 if all are exact."""
    mechanism, rng = survey(), np.random.default_rng(8)
    shares = np.array([0.02, 0.08, 0.2, 0.3, 0.4])
    held = []
    for seed in range(60):
        answers = rng.choice(5, size=2000, p=shares)
        found = mechanism.estimate(
            mechanism.randomize({"health": np.array(LABELS)[answers]}, rng=seed), population=population
        ).result("health")
        truth = shares if population else np.bincount(answers, minlength=5) / 2000
        low, high = found.cumulative.interval()
        held += ((low <= np.cumsum(truth)[:4]) & (np.cumsum(truth)[:4] <= high)).tolist()
    assert np.mean(held) >= 0.91


def test_designs_with_different_parts_are_combined():
    parts = [
        [OrderedPart(ASKED, 0, best_prefix_channel(5, 2.0))],
        [TablePart(ASKED, [0], best_oracle(5, 2.0))],
    ]
    mechanism = SurveyMechanism(ASKED, 2.0, parts)
    answers = {"health": np.repeat(LABELS, 4000)}
    reports = mechanism.randomize(answers, rng=3)
    found = mechanism.estimate(reports).result("health").cumulative
    assert (np.abs(found.value - np.arange(1, 5) / 5) < 5.0 * found.standard_error).all()
    each = [part_information(ASKED, Request("question", (0,)), part[0]) for part in parts]
    expected = math.sqrt(0.25 / (20_000 * sum(each) / 2))
    assert expected_errors(mechanism, 20_000)[0] == pytest.approx(expected)
    population = mechanism.estimate(reports, population=True).result("health").cumulative
    assert np.sqrt(np.mean(population.standard_error**2)) == pytest.approx(expected, rel=0.03)


def test_it_is_kept_in_a_file_with_its_questions(tmp_path):
    mechanism = survey()
    path = tmp_path / "survey.json"
    mechanism.save(path)
    again = md.load_mechanism(path)
    assert again.fingerprint == mechanism.fingerprint
    assert again.questions[0].cumulative
    reports = mechanism.randomize({"health": LABELS * 20}, rng=1)
    assert reports.tolist() == again.randomize({"health": LABELS * 20}, rng=1).tolist()
    counts = again.aggregator()
    counts.update(reports)
    restored = type(counts).from_json(again, json.loads(json.dumps(counts.as_json())))
    first, second = (one.estimate().result("health").cumulative.value for one in (counts, restored))
    assert first.tolist() == second.tolist()


def test_reports_that_cannot_be_are_refused():
    mechanism = survey()
    last = mechanism.designs[0].parts[0].mechanism.weights.reports
    for text in (f"0:{last}", "0:x", "0:-1", "0:1|1"):
        with pytest.raises(md.MechDesignError, match="reports"):
            mechanism.estimate([text])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"labels": ("f", "m")}, "have no order"),
        ({"kind": "ordered", "labels": LABELS, "frequencies": (0.1, 0.2, 0.3, 0.2, 0.2)}, "even answers"),
        ({"kind": "ordered", "labels": LABELS, "cumulative": "yes"}, "true or false"),
    ],
)
def test_cumulative_is_refused_where_it_says_nothing(given, said):
    with pytest.raises(ParameterError, match=said):
        Question("health", **{"cumulative": True, **given})


def test_a_part_for_another_question_is_refused():
    with pytest.raises(ParameterError, match="queries other than"):
        OrderedPart(ASKED, 0, best_prefix_channel(6, 1.0))
    plain = Questions([Question("region", labels=LABELS)])
    with pytest.raises(ParameterError, match="no order"):
        OrderedPart(plain, 0, best_prefix_channel(5, 1.0))
