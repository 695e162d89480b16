"""Groups, differences, weights, raking, independence: by hand, by other ways, by coverage."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from scipy.optimize import minimize

from mechdesign.analysis.asking import answers_of
from mechdesign.analysis.groups import by_group
from mechdesign.analysis.likelihood_tests import independence, most_likely_shares
from mechdesign.analysis.report_scores import scores_of
from mechdesign.analysis.student import DifferenceLimits, holm, p_value
from mechdesign.analysis.weights import raked, read_margins, weighted_estimate
from mechdesign.collect.intervals import NormalLimits
from mechdesign.core.errors import DataError, EstimationError, ParameterError
from mechdesign.families.marginals.oracles import SubsetSelection
from mechdesign.families.mean import Duchi
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.primitives.kary import KaryResponse

YES = KaryResponse.of(2, 2.0, labels=["no", "yes"])


def answers_for(share: dict[str, float], users: int, seed: int, mechanism=YES):
    """Return reports of groups of these shares of yes, with the group beside them."""
    rng = np.random.default_rng(seed)
    group = rng.choice(sorted(share), size=users)
    chance = np.array([share[name] for name in group.tolist()])
    yes = np.where(rng.random(users) < chance, "yes", "no")
    return answers_of(mechanism, mechanism.randomize(yes, rng=seed), {"group": group})


def test_a_group_has_the_estimate_of_its_reports():
    answers = answers_for({"a": 0.2, "b": 0.5}, 3000, 1)
    table, _ = by_group(answers, "group")
    alone = YES.estimate(answers.reports[answers.public["group"].astype(str) == "b"])
    assert np.allclose(table.value[2:], alone.value)
    low, high = table.interval()
    assert np.allclose(low[2:], alone.interval()[0])
    assert np.allclose(high[2:], alone.interval()[1])
    assert table.groups == ("a", "a", "b", "b")
    assert table.categories == ("no", "yes", "no", "yes")


def test_groups_of_a_survey():
    survey = SurveyMechanism.of(
        [Question("smokes", labels=("no", "yes")), Question("age", "number", low=0, high=90)], 4.0
    )
    rng = np.random.default_rng(3)
    ward = rng.choice(["a", "b"], size=6000)
    age = np.where(ward == "a", 30.0, 60.0)
    reports = survey.randomize({"smokes": np.where(age > 40, "yes", "no"), "age": age}, rng=1)
    answers = answers_of(survey, reports, {"ward": ward})
    table, differences = by_group(answers, "ward", "age")
    assert np.allclose(table.value, [30.0, 60.0], atol=4 * table.standard_error.max())
    assert differences is not None
    assert differences.p_values[0] < 1e-9
    with pytest.raises(ParameterError, match="name one of smokes, age"):
        by_group(answers, "ward")


def test_limits_of_a_difference_are_newcombes():
    """Newcombe (1998), method 10, example (a): 56/70 less 48/80: 0.0524 to 0.3339, from Wilson's limits."""

    class Wilson(NormalLimits):
        def __init__(self, hits: int, users: int) -> None:
            super().__init__(np.array([1.0]))
            object.__setattr__(self, "share", hits / users)
            object.__setattr__(self, "users", users)

        def distances(self, tail):
            z, p, n = 1.959963984540054, self.share, self.users
            middle, half = 2 * n * p + z * z, z * np.sqrt(z * z + 4 * n * p * (1 - p))
            low, high = (middle - half) / (2 * (n + z * z)), (middle + half) / (2 * (n + z * z))
            return np.array([p - low]), np.array([high - p])

    down, up = DifferenceLimits(Wilson(56, 70), Wilson(48, 80)).distances(0.025)
    assert (0.2 - down[0], 0.2 + up[0]) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))


def test_differences_cover_and_tests_keep_their_level():
    """40 surveys of two groups without a difference: p below 0.05 in at most 18 % (error rate 1e-3).

    In every third one, the interval leaves 0 out where p is below 0.05, so that it covers as often.
    """
    chances = []
    for seed in range(40):
        _, differences = by_group(answers_for({"a": 0.3, "b": 0.3}, 400, seed), "group")
        assert differences is not None
        chances.append(differences.p_values[0])
        if seed % 3 == 0 or chances[-1] < 0.05:
            low, high = differences.interval()
            assert (chances[-1] >= 0.05) == (low[0] <= 0.0 <= high[0])
    assert 0.0 < np.mean(np.array(chances) < 0.05) <= 0.18


def test_p_values_are_normal_ones_where_limits_are():
    limits = NormalLimits(np.array([1.0, 2.0]))
    assert p_value(limits, np.array([2.5758293, -3.919928])) == pytest.approx([0.01, 0.05], rel=1e-5)
    assert holm([0.04, 0.01, 0.03, 0.005]) == pytest.approx([0.06, 0.03, 0.06, 0.02])


def test_equal_weights_change_nothing_and_variance_is_that_of_the_mean():
    answers = answers_for({"a": 0.4}, 900, 2)
    plain, heavy = (
        weighted_estimate(answers.question()),
        weighted_estimate(answers.question(), np.full(900, 7.0)),
    )
    assert np.allclose(plain.value, YES.estimate(answers.reports).value)
    assert np.allclose(plain.value, heavy.value)
    scores = answers.question().values
    assert np.allclose(plain.standard_error, scores.std(axis=0, ddof=1) / np.sqrt(900))
    assert plain.design_effect == pytest.approx(1.0)


def test_weights_by_hand_strata_and_clusters():
    answers = answers_for({"a": 0.4, "b": 0.6}, 600, 5)
    scores, rng = answers.question(), np.random.default_rng(1)
    weight = rng.uniform(0.2, 3.0, size=600)
    value = weight @ scores.values / weight.sum()
    influence = weight[:, None] * (scores.values - value) / weight.sum()
    result = weighted_estimate(scores, weight)
    assert np.allclose(result.value, value)
    assert np.allclose(result.covariance, np.cov(influence.T) * 600)
    assert result.design_effect == pytest.approx(600 * (weight @ weight) / weight.sum() ** 2)
    strata = np.arange(600) % 3
    expected = sum(np.cov(influence[strata == number].T) * 200 for number in range(3))
    assert np.allclose(weighted_estimate(scores, weight, strata).covariance, expected)
    clusters = np.arange(600) // 4
    sums = influence.reshape(150, 4, 2).sum(axis=1)
    assert np.allclose(weighted_estimate(scores, weight, clusters=clusters).covariance, np.cov(sums.T) * 150)
    with pytest.raises(EstimationError, match="a stratum has one report"):
        weighted_estimate(scores, weight, strata=np.minimum(np.arange(600), 1))


def test_weighted_intervals_cover():
    """150 surveys with weights against who answered: 95 % intervals cover at least 0.88 (error rate 1e-3)."""
    inside = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        young = rng.random(600) < 0.8  # half of the population
        yes = np.where(rng.random(600) < np.where(young, 0.6, 0.2), "yes", "no")
        answers = answers_of(YES, YES.randomize(yes, rng=seed), {"young": np.where(young, "y", "o")})
        weights, known = raked(answers.public, {"young": {"y": 0.5, "o": 0.5}})
        low, high = weighted_estimate(answers.question(), weights, calibration=known).interval()
        inside.append(bool(low[1] <= 0.4 <= high[1]))
    assert np.mean(inside) >= 0.88


def test_raking_meets_all_margins():
    rng = np.random.default_rng(2)
    columns = {
        "sex": rng.choice(["f", "m"], 500, p=[0.7, 0.3]).astype(object),
        "age": rng.choice([20.0, 40.0, 60.0], 500),
    }
    margins = {"sex": {"f": 51, "m": 49}, "age": {"20": 0.2, "40": 0.3, "60": 0.5}}
    weights, known = raked(columns, margins)
    assert weights.sum() == pytest.approx(500)
    assert weights[columns["sex"] == "f"].sum() == pytest.approx(255)
    assert weights[columns["age"] == 60.0].sum() == pytest.approx(250)
    assert known.shape == (500, 4)
    assert np.linalg.matrix_rank(known) == 4


@pytest.mark.parametrize(
    ("margins", "words"),
    [
        ({}, "expected sizes"),
        ({"ward": {}}, "has no values"),
        ({"ward": {"a": -1, "b": 2}}, "is no size"),
        ({"ward": {"a": "many", "b": 2}}, "is no size"),
        ({"ward": {"a": 0, "b": 0}}, "are all 0"),
        ({"wart": {"a": 1, "b": 1}}, "no column 'wart'"),
        ({"ward": {"a": 1}}, "'b' is not in the margins"),
        ({"ward": {"a": 1, "b": 1, "c": 1}}, "no report has 'c'"),
        ({"ward": {"a": 300, "b": 200}, "sex": {"f": 100, "m": 100}}, "different totals"),
    ],
)
def test_margins_that_do_not_fit(margins, words):
    columns = {"ward": np.array(["a", "b"] * 5, dtype=object), "sex": np.array(["f", "m"] * 5, dtype=object)}
    with pytest.raises((ParameterError, DataError), match=words):
        raked(columns, margins)


def test_margins_that_no_weights_meet():
    columns = {"one": np.array(["a", "b"] * 5, dtype=object), "two": np.array(["a", "b"] * 5, dtype=object)}
    with pytest.raises(EstimationError, match="no weights meet all of them"):
        raked(columns, {"one": {"a": 0.5, "b": 0.5}, "two": {"a": 0.2, "b": 0.8}})
    with pytest.raises(EstimationError, match="no weights meet all of them"):
        raked({"one": np.array(["a"] * 9 + ["b"], dtype=object)}, {"one": {"a": 0.1, "b": 0.9}}, cap=2.0)
    assert read_margins({"x": {"a": 30, "b": 70}, "y": {"c": 500, "d": 500}})["y"]["c"] == 0.5


@pytest.mark.parametrize("size", [2, 3, 6])
def test_most_likely_shares_are_those_of_another_optimizer(size):
    """Softmax coordinates and a quasi-Newton method; the certificate is not below what that finds."""
    mechanism = SubsetSelection.of(size, 1.0, size=1) if size > 2 else KaryResponse.of(2, 1.0)
    answers = np.random.default_rng(size).choice(
        size, 2000, p=np.arange(1, size + 1) / (size * (size + 1) / 2)
    )
    (scores,) = scores_of(mechanism, mechanism.randomize(answers, rng=1))
    best = most_likely_shares(scores.likelihood)

    def loss(flat):
        logs = np.append(flat, 0.0)
        share = np.exp(logs - np.logaddexp.reduce(logs))
        return -np.log(scores.likelihood @ share).sum()

    other = -minimize(loss, np.zeros(size - 1), method="BFGS").fun
    assert best.gap < 1e-5
    assert best.log_likelihood + best.gap >= other
    assert best.log_likelihood == pytest.approx(other, abs=1e-4)


def test_a_maximum_on_the_boundary_is_certified():
    (scores,) = scores_of(YES, ["no"] * 50)
    best = most_likely_shares(scores.likelihood)
    assert np.allclose(best.shares, [1.0, 0.0])
    assert best.gap < 1e-6


def test_independence_keeps_its_level_and_finds_a_difference():
    """150 surveys: p below 0.05 in at most 11 % (error rate 1e-3), and its power is what was planned."""
    chances = [
        independence(answers_for({"a": 0.4, "b": 0.4}, 500, seed), "group").p_value for seed in range(150)
    ]
    assert np.mean(np.array(chances) < 0.05) <= 0.11
    assert np.mean(np.array(chances) < 0.5) == pytest.approx(0.5, abs=0.16)


def test_planned_users_find_the_difference():
    """As many users as ``tradeoff --difference 0.2`` plans at power 0.8: found in 0.66 to 0.94 of 120."""
    from mechdesign.report.tradeoff import error_for_difference, mechanism_tradeoff

    error = error_for_difference(0.2)
    (row,) = mechanism_tradeoff(YES, None, [error]).for_difference(0.2, 0.8, 0.5).rows
    (users,) = row.needed
    found = [
        independence(answers_for({"a": 0.4, "b": 0.6}, users, seed), "group").p_value < 0.05
        for seed in range(120)
    ]
    assert 0.66 <= np.mean(found) <= 0.94


def test_a_share_of_zero_is_tested_by_drawing_anew():
    mechanism = KaryResponse.of(3, 3.0, labels=["a", "b", "c"])
    rng = np.random.default_rng(0)
    for seed in range(20):
        yes = rng.choice(["a", "b"], size=300)
        answers = answers_of(
            mechanism, mechanism.randomize(yes, rng=seed), {"g": rng.choice(["x", "y"], 300)}
        )
        test = independence(answers, "g", draws=0)
        if any(abs(share) < 1e-7 for share in most_likely_shares(answers.question().likelihood).shares):
            break
    drawn = independence(answers, "g", draws=99)
    assert drawn.draws == 99
    assert 0.01 <= drawn.p_value <= 1.0
    assert drawn.statistic == pytest.approx(test.statistic)
    assert "bootstrap of 99 draws" in str(drawn)


def test_what_cannot_be_compared_is_one_line():
    answers = answers_for({"a": 0.5}, 100, 1)
    with pytest.raises(EstimationError, match="has one value"):
        independence(answers, "group")
    table, differences = by_group(answers, "group")
    assert differences is None
    assert len(table.value) == 2
    many = answers_of(YES, answers.reports, {"id": np.arange(100.0)})
    with pytest.raises(ParameterError, match="no column 'group'"):
        by_group(many, "group")
    more = answers_of(YES, YES.randomize(["no"] * 200, rng=1), {"id": np.arange(200.0)})
    with pytest.raises(ParameterError, match="has 200 values"):
        by_group(more, "id")
    numbers = Duchi(1.0)
    means = answers_of(numbers, numbers.randomize([0.0] * 50, rng=1), {"g": ["a", "b"] * 25})
    with pytest.raises(ParameterError, match="compare its means by group"):
        independence(means, "g")


def test_groups_of_few_reports_are_said():
    answers = answers_of(YES, YES.randomize(["no"] * 100, rng=1), {"g": ["a"] * 90 + ["b"] * 10})
    assert by_group(answers, "g")[0].notes == ("fewer than 30 reports in b: intervals are rough",)


def skipped_hours(users: int, seed: int):
    """Return reports of hours that may be skipped, with wards that skip and work differently, and years."""
    survey = SurveyMechanism.of(
        [Question("hours", "number", low=0, high=60, skip=True), Question("tired", labels=("no", "yes"))], 4.0
    )
    rng = np.random.default_rng(seed)
    ward, years = rng.choice(["a", "b"], users), rng.integers(0, 31, users)
    hours = np.clip(20 + 0.5 * years + 6 * (ward == "b") + rng.normal(0, 5, users), 0, 60)
    skips = rng.random(users) < np.where(ward == "b", 0.4, 0.1)
    cells = {"hours": np.where(skips, None, hours), "tired": rng.choice(["no", "yes"], users)}
    public = {"ward": ward, "years": years, "w": np.where(ward == "b", 3.0, 1.0)}
    return answers_of(survey, survey.randomize(cells, rng=seed), public), hours, skips


def test_a_number_that_may_be_skipped_has_a_mean_of_those_who_answered():
    answers, hours, skips = skipped_hours(4000, 1)
    table, differences = by_group(answers, "ward", "hours")
    assert table.categories == ("mean", "mean")
    assert "of those who answered" in str(table)
    wards = answers.public["ward"].astype(str)
    for place, name in enumerate(("a", "b")):
        alone = answers.mechanism.estimate(answers.reports[wards == name]).result("hours").mean
        assert table.value[place] == pytest.approx(alone.value)
        low, high = (ends[place] for ends in table.interval(0.999))
        assert low < hours[(wards == name) & ~skips].mean() < high
    assert differences is not None
    assert differences.value[0] == pytest.approx(table.value[0] - table.value[1])
    scores = answers.question("hours")
    assert scores.names == ("rounded to 0", "rounded to 60", "no answer")
    plain = weighted_estimate(scores)
    own = answers.mechanism.estimate(answers.reports, population=True).result("hours").mean
    assert plain.value[0] == pytest.approx(own.value, rel=0.01)
    assert plain.standard_error[0] == pytest.approx(own.standard_error, rel=0.1)
    nobody = answers.mechanism.randomize({"hours": [None] * 90, "tired": ["no"] * 90}, rng=2)
    with pytest.raises(EstimationError, match="too few have answered"):
        weighted_estimate(answers_of(answers.mechanism, nobody).question("hours"))


def test_weighted_means_of_those_who_answered_cover():
    runs, inside = 80, 0
    truth = (0.9 * 27.5 + 3 * 0.6 * 33.5) / (0.9 + 3 * 0.6)
    for seed in range(runs):
        answers, _, _ = skipped_hours(1500, seed)
        low, high = weighted_estimate(answers.question("hours"), answers.public["w"]).interval()
        inside += bool(low[0] < truth < high[0])
    assert inside / runs >= 0.87  # 0.95 less three standard deviations


def test_groups_without_spread_differ_by_the_test_of_wald_too():
    """All of one group say no and all of the other say yes: no spread is no reason for p = 1."""
    mechanism = KaryResponse.of(2, 20.0)
    apart = answers_of(mechanism, [0] * 50 + [1] * 50, {"ward": ["a"] * 50 + ["b"] * 50})
    result = independence(apart, "ward", draws=9)
    assert result.wald == pytest.approx(100.0, rel=1e-6)
    assert result.wald_p_value < 1e-12
    alike = answers_of(mechanism, [0] * 100, {"ward": ["a"] * 50 + ["b"] * 50})
    assert independence(alike, "ward", draws=9).wald_p_value == 1.0


@pytest.mark.parametrize("start", [[0.0, 0.0, 1.0, 1.0], [0.0] * 4])
def test_raking_names_a_value_whose_reports_all_have_the_weight_0(start):
    ward = np.array(list("aabb"), dtype=object)
    with pytest.raises(DataError, match="no report with a weight above 0 has 'a'"):
        raked({"ward": ward}, {"ward": {"a": 1, "b": 1}}, np.array(start))


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R with the package survey")
def test_the_survey_package_of_r_agrees_on_the_scores(tmp_path):
    """svymean of scores with weights, strata and clusters: the same estimates and standard errors."""
    answers = answers_for({"a": 0.4, "b": 0.6}, 600, 5)
    rng = np.random.default_rng(1)
    weight, strata, clusters = rng.uniform(0.2, 3.0, 600), np.arange(600) % 3, np.arange(600) // 4
    rows = zip(answers.question().values[:, 1], weight, strata, clusters, strict=True)
    lines = "".join(f"{yes!r},{w!r},{s},{c}\n" for yes, w, s, c in rows)
    (tmp_path / "scores.csv").write_text(f"yes,w,s,c\n{lines}".replace("np.float64(", "").replace(")", ""))
    code = (
        "library(survey); d <- read.csv('scores.csv');"
        "cat(as.vector(SE(svymean(~yes, svydesign(~1, weights=~w, strata=~s, data=d)))),"
        "as.vector(SE(svymean(~yes, svydesign(~c, weights=~w, data=d)))))"
    )
    run = subprocess.run(["Rscript", "-e", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    if run.returncode:
        pytest.skip("the package survey is not installed")
    plain, clustered = map(float, run.stdout.split())
    scores = answers.question()
    assert weighted_estimate(scores, weight, strata).standard_error[1] == pytest.approx(plain, rel=1e-6)
    by_cluster = weighted_estimate(scores, weight, clusters=clusters).standard_error[1]
    assert by_cluster == pytest.approx(clustered, rel=1e-6)
