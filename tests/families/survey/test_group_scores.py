"""Percentages of groups, valid shares, means of ratings and their quantiles: moments, and coverage."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import ParameterError
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.families.survey.group_scores import Groups, SetScores
from tests.support.statistics import binomial_limits, reaches

QUESTIONS = (
    {"name": "job", "labels": ["nurse", "doctor", "other"]},
    {"name": "mood", "kind": "ordered", "labels": ["1", "2", "3", "4", "5"], "skip": True},
    {"name": "stay", "labels": ["no", "yes"], "skip": True},
)
JOBS = np.array([0.5, 0.2, 0.3])
MOODS = np.array([0.1, 0.15, 0.2, 0.3, 0.15, 0.1])
STAYS = np.array([[0.2, 0.7, 0.1], [0.6, 0.3, 0.1], [0.3, 0.4, 0.3]])

RUNS = 90
ERROR = 1e-4
"""A correct interval fails the test of its coverage with at most this probability, for each number."""


def survey(epsilon: float) -> SurveyMechanism:
    problem = md.SurveyDesign(epsilon=epsilon, questions=QUESTIONS, tables=[["job", "stay"]])
    return md.solve(problem).mechanism()


def people(rng, users):
    job = rng.choice(3, users, p=JOBS)
    mood = rng.choice(6, users, p=MOODS)
    stay = (rng.random(users)[:, None] > np.cumsum(STAYS[job], axis=1)).sum(axis=1)
    return job, mood, stay


def truth(job, mood, stay):
    """Return what the derived results estimate, counted from the answers themselves."""
    valid = np.bincount(mood[mood < 5], minlength=5) / (mood < 5).sum()
    table = np.array([[((job == a) & (stay == b)).sum() for b in range(2)] for a in range(3)])
    return {
        "valid": valid,
        "mean": np.array([valid @ np.arange(1, 6)]),
        "quantiles": np.array([np.argmax(np.cumsum(valid) >= level) for level in (0.25, 0.5, 0.75)]),
        "rows": (table / table.sum(axis=1, keepdims=True)).ravel(),
        "columns": (table / table.sum(axis=0)).T.ravel(),
    }


def estimates(results):
    mood, cross = results.result("mood"), results.result("job x stay")
    rows, columns = (group.estimate for group in cross.groups)
    return {"valid": mood.answered, "mean": mood.mean, "rows": rows, "columns": columns}


def holds(results, categories, expected):
    """Return where the 95 % intervals hold what is expected; only those of quantiles need their ends."""
    held = {key: np.atleast_1d(reaches(one, expected[key], 0.95)) for key, one in estimates(results).items()}
    quantiles = results.result("mood").quantiles
    low, high = ([categories.index(name) for name in side] for side in (quantiles.low, quantiles.high))
    return held | {"quantiles": (low <= expected["quantiles"]) & (expected["quantiles"] <= high)}


@pytest.mark.parametrize(
    ("epsilon", "users", "population"), [(4.0, 500, False), (4.0, 500, True), (1.5, 2000, False)]
)
def test_intervals_cover_as_often_as_stated(epsilon, users, population):
    """In 90 runs: by the test that intervals are made from, and in some runs by the ends of these."""
    mechanism, rng = survey(epsilon), np.random.default_rng(7)
    names = [question.categories for question in mechanism.questions.all]
    answers = people(rng, users)
    expected = truth(*people(rng, 400_000)) if population else truth(*answers)
    covered = {key: np.zeros(len(value)) for key, value in expected.items()}
    for run in range(RUNS):
        drawn = people(rng, users) if population else answers
        columns = {
            question["name"]: np.array(labels)[codes]
            for question, labels, codes in zip(QUESTIONS, names, drawn, strict=True)
        }
        server = mechanism.aggregator()
        server.update(mechanism.randomize(columns, rng=1000 + run))
        results = server.estimate(population)
        held = holds(results, names[1], expected)
        for key, inside in held.items():
            covered[key] += inside
        for key, one in estimates(results).items() if run % 30 == 0 else ():
            low, high = one.interval()
            assert (((low <= expected[key]) & (expected[key] <= high)) == held[key]).all(), key
    fewest, _ = binomial_limits(RUNS, 0.95, ERROR)
    for key, counts in covered.items():
        assert counts.min() >= fewest, (key, counts / RUNS)


def test_the_moments_are_those_of_all_sets():
    rng = np.random.default_rng(1)
    cells, weights = np.array([0, 0, 1, 1, 1, 2]), rng.normal(size=3)
    total, width, own = len(cells), 3, 0.7
    other = (width - own) / (total - 1)
    scores = SetScores(9, np.zeros(total), 1.0, own, other, width, 1)
    groups = Groups(cells[:, None], np.zeros((3, 1)), np.ones((3, 1), dtype=bool))
    moments = scores.moments(groups, weights[:, None])
    middle = width * weights[cells].mean()
    for place, kind in ((0, 0), (3, 1), (5, 2)):
        rest = [cell for cell in range(total) if cell != place]
        inside = [[place, *chosen] for chosen in combinations(rest, width - 1)]
        outside = [list(chosen) for chosen in combinations(rest, width)]
        sums = np.array([weights[cells[chosen]].sum() - middle for chosen in inside + outside])
        chances = [own / len(inside)] * len(inside) + [(1 - own) / len(outside)] * len(outside)
        for order, moment in enumerate(moments, 1):
            expected = np.array(chances) @ (sums / (own - other)) ** order
            assert moment[kind, 0] == pytest.approx(expected)


def test_an_ordered_question_reported_by_patterns_has_them_as_well():
    ordered = {**QUESTIONS[1], "cumulative": True, "skip": False}
    mechanism = md.solve(md.SurveyDesign(epsilon=2.0, questions=[ordered])).mechanism()
    assert mechanism.designs[0].parts[0].kind == "ordered"
    answers = np.random.default_rng(2).choice(5, 4000, p=[0.1, 0.2, 0.4, 0.2, 0.1])
    expected, covered = answers.mean() + 1, 0
    for run in range(RUNS):
        server = mechanism.aggregator()
        server.update(mechanism.randomize({"mood": np.array(ordered["labels"])[answers]}, rng=run))
        low, high = server.estimate().result("mood").mean.interval()
        covered += low <= expected <= high
    assert covered >= binomial_limits(RUNS, 0.95, ERROR)[0]


def test_the_shares_of_those_who_answered_are_ratios_of_the_shares():
    mechanism = survey(3.0)
    server = mechanism.aggregator()
    rng = np.random.default_rng(3)
    names = [question.categories for question in mechanism.questions.all]
    columns = {
        question["name"]: np.array(labels)[codes]
        for question, labels, codes in zip(QUESTIONS, names, people(rng, 3000), strict=True)
    }
    server.update(mechanism.randomize(columns, rng=4))
    results = server.estimate()
    mood, cross = results.result("mood"), results.result("job x stay")
    shares = mood.estimate.value[:5] / mood.estimate.value[:5].sum()
    assert mood.answered.value == pytest.approx(shares)
    assert mood.mean.value == pytest.approx(shares @ np.arange(1, 6))
    table = cross.estimate.value.reshape(3, 3)[:, :2]
    assert cross.groups[0].estimate.value == pytest.approx((table / table.sum(axis=1, keepdims=True)).ravel())
    assert cross.groups[1].estimate.value == pytest.approx((table / table.sum(axis=0)).T.ravel())
    document = results.as_json()["results"]
    assert document[1]["answered"]["categories"] == ["1", "2", "3", "4", "5"]
    assert document[1]["quantiles"]["answered"] is True
    assert document[3]["groups"][0]["groups"] == ["nurse", "doctor", "other"]
    text = str(results)
    assert "stay in percent of each row (of those who answered)" in text
    assert "0.5 (median)" in text


def test_too_small_a_group_has_no_percentages_and_says_so():
    mechanism = survey(1.0)
    server = mechanism.aggregator()
    server.update(
        mechanism.randomize({"job": ["nurse"] * 400, "mood": ["3"] * 400, "stay": ["no"] * 400}, rng=5)
    )
    rows = server.estimate().result("job x stay").groups[0]
    low, high = rows.estimate.interval()
    assert (low[2:4].tolist(), high[2:4].tolist()) == ([0.0, 0.0], [1.0, 1.0])
    assert "doctor" in rows.estimate.notes[-1]
    assert rows.grid()[1][1].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("question", "scores"),
    [
        (Question("a", labels=("1", "2", "3")), (1.0, 2.0, 3.0)),
        (Question("a", labels=("0", "1", "2")), (0.0, 1.0, 2.0)),
        (Question("a", labels=("8001", "8002", "8003")), ()),
        (Question("a", labels=("1", "2", "many")), ()),
        (Question("a", "ordered", ("10", "20")), (10.0, 20.0)),
        (Question("a", "ordered", ("bad", "good")), ()),
        (Question("a", "ordered", ("bad", "good"), scores=(-1, 2)), (-1.0, 2.0)),
        (Question("a", "ordered", ("inf", "nan")), ()),
    ],
)
def test_which_labels_are_a_rating(question, scores):
    assert question.category_scores == scores
    assert Question.from_json(question.as_json()).category_scores == scores


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"scores": [1, 2, 3]}, "3 numbers for 2 labels; give one for each label"),
        ({"scores": [1, 1]}, "are all equal"),
        ({"scores": [1, "x"]}, "scores"),
        ({"scores": [1, 2], "kind": "categorical"}, "are for ordered questions"),
    ],
)
def test_wrong_scores_are_one_line(fields, message):
    with pytest.raises(ParameterError, match=message) as error:
        Question.from_json({"name": "a", "kind": "ordered", "labels": ["x", "y"], **fields})
    assert "\n" not in str(error.value)
