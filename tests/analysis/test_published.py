"""What R's packages print for their own examples: RRreg (regression), rr (survey of Nigeria), RRTCS (design).

RRreg's example draws its data from a documented seed of R. The generator is public (Matsumoto and Nishimura
1998, with R's seeding and R's inversion of two numbers for a normal one), so that the data are drawn here
again, and the numbers that RRreg printed for them are those of this toolkit. RRTCS prints what it makes of
710 answers, of which only the number of yes matters. The file of rr has 2,457 people and is not copied:
the comparison runs where ``MECHDESIGN_NIGERIA`` names it as CSV (in R: ``write.csv(rr::nigeria, "n.csv")``).
"""

from __future__ import annotations

import csv
import math
import os

import numpy as np
import pytest
from scipy.special import ndtri

from mechdesign.analysis import regress
from mechdesign.analysis.asking import answers_of
from mechdesign.analysis.regression import MultinomialModel
from mechdesign.analysis.weights import weighted_estimate
from mechdesign.core.errors import ParameterError
from mechdesign.primitives import FiniteChannel
from mechdesign.primitives.finite import PrivacyTarget
from mechdesign.primitives.kary import KaryResponse


class RGenerator:
    """R's default generator after ``set.seed``."""

    def __init__(self, seed: int) -> None:
        words, state = seed, []
        for number in range(50 + 625):
            words = (69069 * words + 1) % (1 << 32)
            if number > 50:  # the first word is the place in the state, which is set to the end
                state.append(words)
        self.bits = np.random.MT19937()
        values = self.bits.state
        values["state"] = {"key": np.array(state, dtype=np.uint32), "pos": 624}
        self.bits.state = values

    def uniform(self, count: int) -> np.ndarray:
        return self.bits.random_raw(count) * 2.3283064365386963e-10

    def normal(self, count: int) -> np.ndarray:
        high, low = self.uniform(2 * count).reshape(-1, 2).T
        return np.asarray(ndtri((np.floor(2.0**27 * high) + low) / 2.0**27))


WARNER = KaryResponse.of(2, math.log(5.0))
"""Warner's design with p = 1/6: reports of yes are likelier of who has it not, and turned round."""


def drawn_people():
    """Return the 1,000 people of RRreg's vignette: who has it, what they reported, and a covariate."""
    random, users = RGenerator(123), 1000
    question = random.uniform(users)
    has = random.uniform(users) >= 0.7
    reported = np.where(question < 1 / 6, has, ~has)
    random.uniform(users)  # who complies: all of them
    covariate = np.empty(users)
    covariate[has] = 1.0 + random.normal(int(has.sum()))
    covariate[~has] = random.normal(int((~has).sum()))
    return has, reported.astype(int), covariate


@pytest.fixture(scope="module")
def people():
    """The people of the vignette."""
    return drawn_people()


def test_the_generator_is_that_of_r(people):
    """set.seed(123); runif(3); rnorm(3) in R; head(data.W) and cor(true, cov) of the vignette."""
    assert RGenerator(123).uniform(3) == pytest.approx([0.2875775, 0.7883051, 0.4089769], abs=1e-7)
    assert RGenerator(123).normal(3) == pytest.approx([-0.56047565, -0.23017749, 1.55870831], abs=1e-8)
    has, reported, covariate = people
    assert has[:6].astype(int).tolist() == [0, 0, 0, 1, 1, 0]
    assert reported[:6].tolist() == [1, 1, 1, 0, 0, 0]
    assert np.corrcoef(has, covariate)[0, 1] == pytest.approx(0.4491291, abs=1e-7)


def test_rrreg_prevalence(people):
    """RRuni: 0.300500, standard error 0.022874."""
    result = weighted_estimate(answers_of(WARNER, 1 - people[1]).question())
    assert result.value[1] == pytest.approx(0.300500, abs=5e-7)
    assert result.standard_error[1] == pytest.approx(0.022874, abs=5e-6)


def test_rrreg_logistic_regression(people):
    """RRlog: -1.35386 (0.16999), 1.01691 (0.14569), log-likelihood -617.2771, its ratio 80.125."""
    fit = regress(WARNER, 1 - people[1], {"cov": people[2]})
    assert fit["Intercept"] == (pytest.approx(-1.35386, abs=1e-5), pytest.approx(0.16999, abs=1e-5))
    assert fit["cov"] == (pytest.approx(1.01691, abs=1e-5), pytest.approx(0.14569, abs=1e-5))
    assert fit.log_likelihood == pytest.approx(-617.2771 + 1000 * math.log(6 / 5), abs=5e-4)
    assert fit.ratio_statistic == pytest.approx(80.125, abs=5e-4)


HORVITZ = [
    (328, 1 / 12, 0.8406103, 0.001389716),
    (180, 1 / 10, 0.4070423, 0.001045196),
    (280, 20 / 30, 0.1220657, 0.001337415),
    (81, 1 / 10, 0.128169, 0.0005597858),
    (164, 10 / 30, 0.1286385, 0.000991658),
    (53, 1 / 12, 0.06596244, 0.000383954),
]
"""Cobo, Rueda, Arcos (2015), RRTCS 0.0.3, vignette: the yes of 710 of 10,777 students (from the estimate),
the share of yes to the unrelated question, and the printed estimate and variance."""


@pytest.mark.parametrize(("yes", "unrelated", "value", "variance"), HORVITZ)
def test_rrtcs_unrelated_question_of_a_finite_population(yes, unrelated, value, variance):
    low, high = 0.5 * unrelated, 0.5 + 0.5 * unrelated
    epsilon = math.log(max(high / low, (1 - low) / (1 - high))) + 1e-9
    rows = np.array([[1 - low, low], [1 - high, high]])
    horvitz = FiniteChannel.from_floats(rows, PrivacyTarget(epsilon), labels=["no", "yes"])
    answers = answers_of(horvitz, [1] * yes + [0] * (710 - yes))
    result = weighted_estimate(answers.question(), np.full(710, 10777 / 710), population_size=10777)
    assert result.value[1] == pytest.approx(value, rel=1e-6)
    assert result.standard_error[1] ** 2 == pytest.approx(variance, rel=1e-6)


def test_the_noise_of_reports_stays_in_a_population_that_has_answered():
    """Everybody has answered: what is left of the variance is that of the reports."""
    mechanism = KaryResponse.of(3, 1.0)
    reports = mechanism.randomize([0, 0, 1, 2] * 2000, rng=1)
    result = weighted_estimate(answers_of(mechanism, reports).question(), population_size=8000)
    assert np.allclose(result.standard_error, mechanism.estimate(reports).standard_error, rtol=1e-3)
    with pytest.raises(ParameterError, match="7999 people for 8000 reports"):
        weighted_estimate(answers_of(mechanism, reports).question(), population_size=7999)


@pytest.mark.skipif("MECHDESIGN_NIGERIA" not in os.environ, reason="needs the data of the package rr")
def test_rr_social_contacts_in_nigeria():
    """Blair, Imai, Zhou (2014), table 3, as rrreg's page prints it: forced response, 2/3, 1/6, 1/6.

    Its errors are those of the outer product of the gradients, ours of the second derivatives.
    """
    with open(os.environ["MECHDESIGN_NIGERIA"], encoding="utf8") as file:
        rows = [row for row in csv.DictReader(file) if not {"", "NA"} & set(row.values())]
    column = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    age = column["cov.age"] / 10
    names = ("cov.asset.index", "cov.married", "cov.education", "cov.female")
    public = {**{name: column[name] for name in names}, "age": age, "age2": age**2}
    fit = regress(WARNER, column["rr.q1"].astype(int), public)
    assert len(rows) == 2423
    assert fit.value == pytest.approx(
        [-0.34017, 0.07896, -0.26743, -0.00691, -0.55439, -0.35283, 0.04099], abs=6e-6
    )
    (scores,) = WARNER.report_scores(column["rr.q1"].astype(int))
    matrix = np.column_stack([np.ones(len(rows)), *public.values()])
    gradients = MultinomialModel(matrix, scores.likelihood, np.ones(len(rows))).influences(fit.value[None])
    errors = np.sqrt(np.diag(np.linalg.inv(gradients.T @ gradients)))
    assert errors == pytest.approx([0.50856, 0.04136, 0.25451, 0.04558, 0.16244, 0.26423, 0.02603], abs=6e-6)
