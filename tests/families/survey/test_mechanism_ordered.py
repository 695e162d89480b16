"""Ordered questions that are wanted for their cumulative shares in ``survey-design``."""

import time

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.survey import design as building
from mechdesign.families.survey.design_setting import best_effective, noise
from mechdesign.families.survey.part_plans import request_spread

LABELS = list("abcdefghijklmnop")


def question(size, name="q", **more):
    return {"name": name, "kind": "ordered", "labels": LABELS[:size], "cumulative": True, **more}


FIVE = [
    *(question(size, f"q{size}") for size in (5, 8, 16)),
    {"name": "sex", "labels": ["f", "m"]},
    {"name": "age", "range": [18, 90]},
]


@pytest.mark.parametrize(("epsilon", "saved"), [(1.0, (16, 29, 48)), (2.0, (1, 19, 47)), (4.0, (0, 0, 12))])
def test_the_noise_falls_by_what_the_page_says(epsilon, saved):
    for size, percent in zip((5, 8, 16), saved, strict=True):
        spread = (size**2 - 1) / (6 * size)
        by_shares = spread * (1 / best_effective(epsilon, size) - 1)
        ratio = min(1.0, noise("ordered", epsilon, size) / by_shares)
        assert round(100 * (1 - ratio)) == percent


@pytest.mark.parametrize("epsilon", [0.9, 2.0])
def test_a_design_takes_the_part_with_the_least_error(epsilon):
    problem = md.SurveyDesign(questions=[question(8)], epsilon=epsilon)
    found = md.solve(problem)
    (design,) = found.variables["designs"]
    assert [part["kind"] for part in design] == ["ordered"]
    spread = request_spread(problem.questionnaire, problem.targets[0].request)
    assert found.value == pytest.approx(1.0 + noise("ordered", epsilon, 8) / spread, rel=1e-6)
    assert found.value < 1.0 / best_effective(epsilon, 8)


def test_where_shares_tell_as_much_they_are_asked_for():
    found = md.solve(md.SurveyDesign(questions=[question(5)], epsilon=9.0))
    assert found.variables["designs"][0][0]["kind"] == "table"
    assert found.value == pytest.approx(1.0 / best_effective(9.0, 5), rel=1e-9)


@pytest.mark.parametrize("epsilon", [1.1, 4.0])
def test_the_value_is_that_of_the_integers_that_run(epsilon):
    problem = md.SurveyDesign(questions=FIVE, epsilon=epsilon)
    solution = md.solve(problem)
    assert solution.status == "optimal"
    survey = solution.mechanism()
    told = [
        sum(survey.share(number) * survey.information(wanted, number) for number in range(survey.count))
        for wanted in survey.requests
    ]
    assert told == pytest.approx(
        building.target_information(problem.own_setting, solution.variables), rel=1e-8
    )
    weights = problem.own_setting.each_weight
    assert float((weights / np.array(told)).sum()) == pytest.approx(solution.value, rel=1e-8)
    assert all(certificate.holds for certificate in solution.certificates)


def test_five_questions_are_not_designed_in_circles():
    """About 0.3 s of this process on an idle machine; prices that went in circles took 86 s."""
    md.solve(md.SurveyDesign(questions=FIVE, epsilon=1.0))  # what is imported on first use
    start = time.process_time()
    md.solve(md.SurveyDesign(questions=FIVE, epsilon=1.07))
    assert time.process_time() - start < 10


def test_no_method_is_better_than_the_design_and_all_know_the_channel():
    problem = md.SurveyDesign(questions=FIVE[:2], epsilon=1.0)
    best = md.solve(problem)
    for method in ("split", "one-question", "even", "sampled", "grid"):
        other = md.solve(problem, method=method)
        assert other.value >= best.value * (1 - 1e-4)
        kinds = {part["kind"] for design in other.variables["designs"] for part in design}
        assert "ordered" in kinds, method


def test_errors_are_those_of_cumulative_shares():
    problem = md.SurveyDesign(questions=[question(8, error=0.01)], epsilon=2.0, goal="users")
    found = md.solve(problem)
    assert found.mechanism().errors(round(found.value))["q"] == pytest.approx(0.01, rel=1e-4)


def test_the_least_epsilon_of_independent_answers():
    asked = [question(5, "q", error=0.02), {"name": "sex", "labels": ["f", "m"], "error": 0.02}]
    problem = md.SurveyDesign(questions=asked, epsilon=8.0, users=20_000, goal="epsilon")
    split, best = md.solve(problem, method="split"), md.solve(problem)
    assert best.status == "optimal"
    assert split.status == "feasible"
    assert split.value >= best.value * (1 - 1e-4)
    errors = split.mechanism().errors(20_000)
    assert max(errors.values()) == pytest.approx(0.02, rel=1e-4)
    at = md.SurveyDesign(questions=asked, epsilon=split.value * 0.999, users=20_000, goal="users")
    assert md.solve(at, method="split").value > 20_000


def test_the_least_epsilon_of_independent_answers_is_refused_for_tables():
    asked = [question(5, "q", error=0.02), {"name": "sex", "labels": ["f", "m"], "error": 0.02}]
    tables = [{"questions": ["q", "sex"], "error": 0.05}]
    problem = md.SurveyDesign(questions=asked, epsilon=8.0, users=20_000, goal="epsilon", tables=tables)
    with pytest.raises(md.MechDesignError, match="cross tables"):
        md.solve(problem, method="split")
