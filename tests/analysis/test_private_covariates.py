"""Private covariates: coefficients of the answers whichever way the pair was reported, and honest errors."""

from __future__ import annotations

import numpy as np
import pytest

from mechdesign.analysis import regress
from mechdesign.analysis.asking import answers_of
from mechdesign.analysis.report_scores import ReportScores
from mechdesign.core.errors import EstimationError, MechDesignError
from mechdesign.families.joint import JointResponse
from mechdesign.families.marginals.oracles import SubsetSelection
from mechdesign.families.marginals.sets import ProductSet, SetResponse
from mechdesign.families.survey import Question, Questions, SurveyMechanism
from mechdesign.families.survey.part_plans import best_part
from mechdesign.families.survey.parts import TablePart
from mechdesign.primitives.kary import KaryResponse

SMOKES, MOOD = ("no", "yes"), ("bad", "so", "good")
QUESTIONS = Questions([Question("smokes", labels=SMOKES), Question("mood", labels=MOOD)])
ASKED = Questions([Question("smokes", labels=SMOKES), Question("hours", "number", low=0, high=10)])


def table_survey() -> SurveyMechanism:
    """Return one cell of the table by subset selection for half of the people, two parts for the others."""
    whole = TablePart(QUESTIONS, (0, 1), SubsetSelection.of(6, 4.0, size=1))
    apart = [best_part(QUESTIONS, place, 2.0) for place in (0, 1)]
    return SurveyMechanism(QUESTIONS, 4.0, [[whole], apart], [1, 1])


def sets_of_both() -> SetResponse:
    """Return the sets of one value each."""
    return SetResponse.of([2, 3], 4.0, ProductSet([1, 1]), tables=[])


DESIGNS = {
    "tables and parts": table_survey,
    "sets": lambda: SurveyMechanism.of_sets(
        {"smokes": SMOKES, "mood": MOOD}, 4.0, [((0, 1), sets_of_both())], [1]
    ),
    "bits": lambda: JointResponse.of(
        [2, 3], 6.0, 0.2, 0.8, 0.2, names=["smokes", "mood"], labels=[SMOKES, MOOD]
    ),
}


def collected(survey, users: int, seed: int):
    """Return reports of people whose good mood goes with smoking (0.3) and with a public number (0.05)."""
    rng = np.random.default_rng(seed)
    smokes, public = rng.integers(0, 2, users), rng.normal(size=users)
    good = rng.random(users) < 0.3 + 0.3 * smokes + 0.05 * np.clip(public, -2, 2)
    mood = np.where(good, 2, rng.integers(0, 2, users))
    answers = {"smokes": np.array(SMOKES)[smokes], "mood": np.array(MOOD)[mood]}
    rows = np.column_stack(list(answers.values())) if isinstance(survey, JointResponse) else answers
    return survey.randomize(rows, rng=seed), {"z": public, "age": 30 + 10 * smokes + rng.normal(size=users)}


@pytest.mark.parametrize("kind", DESIGNS)
def test_coefficients_are_those_of_the_answers(kind):
    """20 surveys: means within 4 standard errors, errors within 45 %, coverage at least 0.75 (error 3e-4)."""
    survey, values, errors, inside = DESIGNS[kind](), [], [], []
    truth = np.array([0.3, 0.3, 0.05])
    for seed in range(20):
        reports, public = collected(survey, 3000, seed)
        fit = regress(survey, reports, public, "mood ~ smokes + z", category="good")
        low, high = fit.interval()
        values.append(fit.value)
        errors.append(fit.standard_error)
        inside.append((low <= truth) & (truth <= high))
    spread = np.std(values, axis=0, ddof=1)
    assert (np.abs(np.mean(values, axis=0) - truth) < 4.0 * spread / np.sqrt(20) + 0.003).all()
    assert np.mean(errors, axis=0) == pytest.approx(spread, rel=0.45)
    assert (np.mean(inside, axis=0) >= 0.75).all()
    assert fit.terms == ("Intercept", "smokes[T.yes]", "z")
    assert "not attenuated" in fit.notes[0]


@pytest.mark.parametrize("kind", DESIGNS)
def test_pairs_sum_to_both_questions_and_are_unbiased(kind):
    survey = DESIGNS[kind]()
    people = {"smokes": ["yes"] * 40_000, "mood": ["so"] * 40_000}
    rows = np.column_stack(list(people.values())) if kind == "bits" else people
    reports = survey.randomize(rows, rng=1)
    values, weights = survey.pair_scores(reports, 0, 1)
    spread = values[weights > 0].std(axis=0) / np.sqrt((weights > 0).sum()) + 1e-12
    aim = np.zeros((2, 3))
    aim[1, 1] = 1.0
    assert (np.abs(values[weights > 0].mean(axis=0) - aim) < 6.0 * spread).all()
    turned, _ = survey.pair_scores(reports, 1, 0)
    assert np.allclose(turned, values.transpose(0, 2, 1))


def test_a_private_number_and_a_public_number_are_explained():
    asked = [best_part(ASKED, place, 2.0) for place in (0, 1)]
    survey, slopes, ages = SurveyMechanism(ASKED, 4.0, [asked]), [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        smokes = rng.integers(0, 2, 3000)
        hours = np.clip(3 + 2 * smokes + rng.normal(size=3000), 0, 10)
        reports = survey.randomize({"smokes": np.array(SMOKES)[smokes], "hours": hours}, rng=seed)
        public = {"age": 30 + 10 * smokes + rng.normal(size=3000)}
        slopes.append(regress(survey, reports, public, "hours ~ C(smokes)")["C(smokes)[T.yes]"])
        ages.append(regress(survey, reports, public, "age ~ smokes")["smokes[T.yes]"])
    for pairs, truth in ((slopes, 2.0), (ages, 10.0)):
        values, errors = np.array(pairs).T
        assert np.mean(values) == pytest.approx(truth, abs=4.0 * np.std(values) / np.sqrt(20))
        assert np.mean(errors) == pytest.approx(np.std(values), rel=0.5)


def test_a_public_number_by_a_private_answer_is_that_of_rrreg():
    """RRlin: cov ~ response by the likelihood of a normal cov, 1.02931 (0.10611). By moments: near it."""
    from tests.analysis.test_published import WARNER, drawn_people

    _, reported, covariate = drawn_people()
    (scores,) = WARNER.report_scores(1 - reported)
    named = ReportScores("has", ("no", "yes"), scores.values, scores.information, scores.likelihood)
    answers = answers_of(WARNER, 1 - reported, {"cov": covariate})
    fit = regress(
        WARNER, type(answers)((named,), answers.public, WARNER, answers.reports), formula="cov ~ has"
    )
    assert abs(fit["has[T.yes]"][0] - 1.02931) < 0.25 * 0.10611
    assert fit["has[T.yes]"][1] == pytest.approx(0.10611, rel=0.35)


def test_clear_reports_give_ordinary_least_squares():
    """At epsilon 40 reports are answers: the same as numpy's."""
    whole = TablePart(QUESTIONS, (0, 1), KaryResponse.of(6, 40.0))
    survey = SurveyMechanism(QUESTIONS, 40.0, [[whole]])
    reports, public = collected(survey, 500, 3)
    rng = np.random.default_rng(3)
    smokes, z = rng.integers(0, 2, 500), rng.normal(size=500)
    good = rng.random(500) < 0.3 + 0.3 * smokes + 0.05 * np.clip(z, -2, 2)
    matrix = np.column_stack([np.ones(500), smokes, z, smokes * z])
    expected, *_ = np.linalg.lstsq(matrix, good.astype(float), rcond=None)
    fit = regress(survey, reports, public, "mood ~ smokes * z", category="good")
    assert fit.value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        ("smokes ~ smokes", {}, "stands on both sides"),
        ("mood ~ smokes", {"model": "logit"}, "use linear"),
        ("z ~ age", {}, "'z' is public, and so is all that explains it"),
        ("z ~ smokes + mood", {}, "two private covariates"),
        ("mood ~ smokes + I(2 * z) + z", {"category": "good"}, "cannot be told apart"),
        ("mood ~ smokes", {"category": "fine"}, "no category 'fine'"),
        ("mood ~ smoke", {}, "no column 'smoke'"),
        ("ward ~ smokes", {}, "holds texts"),
    ],
)
def test_what_a_private_name_cannot_do_is_one_line(formula, options, words):
    survey = DESIGNS["sets"]()
    reports, public = collected(survey, 800, 1)
    with pytest.raises(MechDesignError, match=words) as caught:
        regress(survey, reports, {**public, "ward": ["a"] * 800}, formula, **options)
    assert "\n" not in str(caught.value)


def test_numbers_rare_categories_and_separate_questions_are_refused():
    asked = [best_part(ASKED, place, 2.0) for place in (0, 1)]
    survey = SurveyMechanism(ASKED, 4.0, [asked])
    reports = survey.randomize({"smokes": ["no", "yes"] * 200, "hours": [1.0, 2.0] * 200}, rng=1)
    with pytest.raises(EstimationError, match="'hours' is a private number"):
        regress(survey, reports, {}, "smokes ~ hours")
    rare = survey.randomize({"smokes": ["no"] * 400, "hours": [1.0, 2.0] * 200}, rng=1)
    with pytest.raises(EstimationError, match="within 2 standard errors of 0"):
        regress(survey, rare, {}, "hours ~ smokes")
    one_each = SurveyMechanism.of(list(QUESTIONS.all), 4.0)
    reports = one_each.randomize({"smokes": ["no", "yes"] * 200, "mood": ["bad", "good"] * 200}, rng=1)
    with pytest.raises(EstimationError, match="asks both of the same people"):
        regress(one_each, reports, {}, "mood ~ smokes")
