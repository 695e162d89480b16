"""A number that may be skipped: rounded to an end, or no answer; the mean is of those who answered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mechdesign.collect import load_mechanism
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.exact.randomness import bit_source
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.families.survey.part_plans import expected_errors
from mechdesign.families.survey.parts import TablePart, categories_of
from mechdesign.families.survey.questions import NO_ANSWER, Questions
from mechdesign.families.survey.results import means_request, table_request
from mechdesign.primitives import KaryResponse

HOURS = Question("hours", "number", low=0, high=60, skip=True)
ASKED = Questions([HOURS, Question("ward", labels=("a", "b"))])


def survey(epsilon: float) -> SurveyMechanism:
    designs = [
        [TablePart(ASKED, [0], KaryResponse.of(3, epsilon))],
        [TablePart(ASKED, [0, 1], KaryResponse.of(6, epsilon))],
    ]
    return SurveyMechanism(ASKED, epsilon, designs)


def test_it_has_three_categories_of_which_one_is_no_answer() -> None:
    assert HOURS.categories == ("0", "60", NO_ANSWER)
    assert (HOURS.is_number, HOURS.is_mean) == (True, False)
    units = HOURS.encode(["30", "", None, "60"])
    assert units.tolist()[::3] == [0.5, 1.0]
    assert np.isnan(units).tolist() == [False, True, True, False]


def test_the_rounding_keeps_the_mean_and_who_skips_is_never_rounded() -> None:
    answers = [np.array([0.25, np.nan] * 40_000), np.zeros(80_000, dtype=np.int64)]
    codes = categories_of(ASKED, 0, answers, bit_source(3))
    assert set(codes[1::2].tolist()) == {2}
    upper = codes[::2].mean()
    assert set(codes[::2].tolist()) == {0, 1}
    assert abs(upper - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 40_000)


def test_wrong_answers_name_their_row() -> None:
    with pytest.raises(DataError, match="row 3: 61 is outside"):
        HOURS.encode([None, 5, 61])
    with pytest.raises(DataError, match="row 2: 'many' is not a number"):
        HOURS.encode(["1", "many"])


def test_the_mean_is_of_those_who_answered_and_the_share_of_the_others_is_estimated() -> None:
    rng = np.random.default_rng(5)
    truth = rng.uniform(0, 40, 20_000)
    hours: list[float | None] = [
        None if skip else value for skip, value in zip(rng.random(20_000) < 0.3, truth, strict=True)
    ]
    mechanism = survey(3.0)
    data = {"hours": hours, "ward": ["a", "b"] * 10_000}
    result = mechanism.estimate(mechanism.randomize(data, rng=2)).result("hours")
    answered = [value for value in hours if value is not None]
    assert result.mean is not None
    assert abs(result.mean.value - np.mean(answered)) < 4 * result.mean.standard_error
    assert result.mean.standard_error < 1.0
    share = 1 - len(answered) / 20_000
    assert result.estimate.categories == ("answered", NO_ANSWER)  # type: ignore[union-attr]
    assert abs(result.estimate.value[1] - share) < 4 * result.estimate.standard_error[1]
    assert sum(result.estimate.value) == pytest.approx(1.0)


def test_the_planned_error_is_that_of_simulations_and_intervals_hold_the_truth() -> None:
    """At even shares of both ends and no answer, as planned; 120 runs with users of a population.

    The spread within three standard errors, and 0.89 of the intervals: a right one fails in 1 of 500.
    """
    mechanism, users, runs = survey(2.0), 1200, 120
    means, covered = [], 0
    for seed in range(runs):
        drawn = np.random.default_rng(seed).integers(3, size=users).tolist()
        data = {"hours": [(0.0, 60.0, None)[each] for each in drawn], "ward": ["a", "b"] * (users // 2)}
        result = mechanism.estimate(mechanism.randomize(data, rng=seed)).result("hours")
        assert result.mean is not None
        means.append(result.mean.value)
        low, high = result.mean.interval(0.95)
        covered += low <= 30.0 <= high
    planned = float(expected_errors(mechanism, users)[0])
    assert planned == pytest.approx(np.std(means), rel=0.2)
    assert abs(np.mean(means) - 30.0) < 4 * planned / np.sqrt(runs)
    assert covered >= 0.89 * runs


def test_it_goes_through_files_and_is_refused_where_a_group_mean_needs_everybody(tmp_path: Path) -> None:
    survey(1.0).save(tmp_path / "survey.json")
    again = load_mechanism(tmp_path / "survey.json")
    assert isinstance(again, SurveyMechanism)
    assert again.questions[0].skip
    with pytest.raises(ParameterError, match="'hours' may be skipped; ask it without skip = true"):
        means_request(ASKED, {"number": "hours", "by": "ward"})
    with pytest.raises(ParameterError, match="'hours' is a number without bins"):
        table_request(ASKED, ["hours", "ward"])
