"""The ranking: predictions against simulation, computed crossings, reasons."""

import math

import numpy as np
import pytest

from mechdesign.core.errors import ParameterError
from mechdesign.families.mean import WORST_VARIANCES, AttributeSampling
from mechdesign.report.ranking import KINDS, best_per_user, choose, crossing, unit_variance


def test_crossing_of_duchi_and_piecewise_is_where_the_formulas_meet():
    """Set 4s/(3(s-1)^2) = ((s^2+1)/(s^2-1))^2 with s = e^(eps/2): 3(s^2+1)^2 = 4s(s+1)^2."""
    roots = np.roots([3.0, -4.0, -2.0, -4.0, 3.0])
    real = roots[abs(roots.imag) < 1e-12].real
    assert crossing("duchi", "piecewise") == pytest.approx(2 * math.log(real[real > 1].item()), rel=1e-12)
    assert round(crossing("duchi", "piecewise"), 2) == 1.29


def test_order_is_that_of_the_formulas_on_both_sides_of_the_crossing():
    border = crossing("duchi", "piecewise")
    for epsilon, first, second in (
        (border - 0.01, "duchi", "piecewise"),
        (border + 0.01, "piecewise", "duchi"),
    ):
        names = [candidate.name for candidate in choose(epsilon, 100, channel=False).candidates]
        assert names.index(first) < names.index(second)
    errors = [candidate.error for candidate in choose(2.0, 100, channel=False).candidates]
    assert errors == sorted(errors)


@pytest.mark.parametrize("name", list(KINDS))
def test_predicted_variance_is_that_of_the_mechanism_that_is_built(name):
    for epsilon in (0.5, 3.0):
        ranking = choose(epsilon, 1000, low=5.0, high=9.0, channel=False)
        candidate = next(entry for entry in ranking.candidates if entry.name == name)
        mechanism = candidate.build()
        assert mechanism.type == name
        assert mechanism.worst_variance() == pytest.approx(candidate.report_variance, rel=1e-9)
        assert candidate.error == pytest.approx(math.sqrt(candidate.report_variance / 1000), rel=1e-12)
        assert candidate.exact == all(certificate.exact for certificate in mechanism.certificates())


def test_k_is_the_best_of_all():
    for name in ("duchi", "piecewise", "laplace"):
        for epsilon in (0.5, 3.0, 10.0):
            k = best_per_user(name, epsilon, 12)
            variances = [unit_variance(name, epsilon / number) / number for number in range(1, 13)]
            assert variances[k - 1] == min(variances)
    assert best_per_user("duchi", 9.0, 36) > 1
    assert best_per_user("duchi", 0.5, 36) == 1


def test_prediction_for_many_attributes_holds_in_a_simulation():
    """All users in the middle, where Duchi's variance is worst: 36 columns give the error to 12 %."""
    ranking = choose(9.0, 30_000, 36, -1.0, 1.0, channel=False)
    candidate = next(entry for entry in ranking.candidates if entry.name == "duchi")
    mechanism = candidate.build()
    assert isinstance(mechanism, AttributeSampling)
    assert mechanism.per_user == candidate.per_user > 1
    assert mechanism.certificates()[0].holds
    generator = np.random.default_rng(4)
    values = np.zeros((30_000, 36))
    squares = [mechanism.estimate(mechanism.randomize(values, rng=generator)).value ** 2 for _ in range(10)]
    assert math.sqrt(np.mean(squares)) == pytest.approx(candidate.error, rel=4 / math.sqrt(2 * 360))


def test_only_exact_mechanisms_on_request():
    ranking = choose(1.0, 100, exact_only=True, channel=False)
    assert {candidate.name for candidate in ranking.candidates} == {"duchi", "discrete-piecewise"}
    assert ranking.mechanism().certificates()[0].exact


def test_text_and_json_give_the_reasons():
    ranking = choose(1.0, 100, 3, channel=False)
    assert "1.29" in str(ranking)
    assert ranking.as_json()["candidates"][0]["name"] == ranking.best.name


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"epsilon": 0.0, "users": 1}, "epsilon"),
        ({"epsilon": 1.0, "users": 0}, "users"),
        ({"epsilon": 1.0, "users": 1, "attributes": 0}, "attributes"),
        ({"epsilon": 1.0, "users": 1, "low": 1.0, "high": 0.0}, "low"),
        ({"epsilon": 1e-200, "users": 1}, "overflows"),
    ],
)
def test_bad_input_is_one_clear_line(arguments, text):
    with pytest.raises(ParameterError, match=text) as caught:
        choose(**arguments, channel=False)
    assert "\n" not in str(caught.value)


def test_the_channel_wins_and_is_the_default():
    ranking = choose(1.0, 100, low=-1.0, high=1.0)
    assert ranking.best.name == "mean-channel"
    assert ranking.best.exact
    assert ranking.best.report_variance < WORST_VARIANCES["hybrid"](1.0)
    mechanism = ranking.mechanism()
    assert mechanism.worst_variance() == pytest.approx(ranking.best.report_variance, rel=1e-6)
    assert all(certificate.holds and certificate.exact for certificate in mechanism.certificates())


def test_where_the_channel_is_not_solved_the_formulas_are_ranked():
    """Outside epsilon = 0.001 .. 16 there is no program."""
    names = [candidate.name for candidate in choose(1e-5, 100).candidates]
    assert "mean-channel" not in names
    assert names[0] == "discrete-piecewise"
