"""Protocols of the source that are not private, and the rows that it prints of its tables 4 and 5."""

import math

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import ParameterError
from mechdesign.families.mean.papers import interval as published, printed_tables


def test_the_censoring_model_by_drawing_y():
    """Eqs. (3) to (7) on [2, 5] by numerical integration over the drawn y, not by the formula x - a."""
    values, low, width = np.array([2.3, 2.3, 4.0, 4.9]), 2.0, 3.0
    drawn = low + width * (np.arange(300_000) + 0.5) / 300_000
    ones = (values[:, None] >= drawn).mean(axis=1)
    assert width * ones.mean() + low == pytest.approx(values.mean(), abs=width / 300_000)
    given = width**2 * (ones * (1.0 - ones)).mean()
    mean = values.mean()
    assert given <= (mean - low) * (low + width - mean)
    unit = (mean - low) / width
    solution = md.solve(md.MeanInterval(epsilon=1.0, mean=unit), "censoring")
    assert width**2 * solution.value == pytest.approx((mean - low) * (low + width - mean), rel=1e-12)
    spread = np.mean((values - mean) ** 2)
    assert width**2 * solution.value - spread == pytest.approx(given, abs=1e-4)


@pytest.mark.parametrize(("first", "second"), [(0.25, None), (0.25, 0.2), (1.0, None), (1.0, 1.0)])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_algorithm_8_has_the_offsets_of_theorem_2_and_is_never_private(first, second, epsilon):
    solution = md.solve(md.MeanInterval(epsilon=epsilon, mean=0.4), "algorithm-8", first=first, second=second)
    a, b = published.offsets_of(epsilon, first, first * math.exp(-epsilon) if second is None else second)
    assert solution.value == pytest.approx((0.4 + a) * (0.6 + b), rel=1e-12)
    privacy = next(each for each in solution.certificates if each.property == "privacy")
    assert not privacy.holds
    found = published.true_epsilon(epsilon, first, first * math.exp(-epsilon) if second is None else second)
    assert privacy.figures["true_epsilon"] == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize(
    "options", [{"first": 0.0}, {"first": 1.5}, {"first": 0.5, "second": 0.6}, {"second": 0.01}]
)
def test_what_theorem_2_does_not_cover_is_refused(options):
    with pytest.raises(ParameterError, match=r"^(first|second): .* is outside "):
        md.solve(md.MeanInterval(epsilon=1.0), "algorithm-8", **options)


def test_an_option_that_a_method_does_not_have_is_named():
    problem = md.MeanInterval(epsilon=1.0)
    with pytest.raises(
        ParameterError, match="method 'algorithm-8' has no option 'fist'; its options are first, second"
    ):
        md.solve(problem, "algorithm-8", fist=0.5)
    with pytest.raises(ParameterError, match="'closed-form' has no option 'first'; it has none"):
        md.solve(problem, "closed-form", first=0.5)


def test_table_5_breaks_with_one_exchanged_rank(monkeypatch):
    assert printed_tables.rows_that_follow() == 6
    assert printed_tables.means_repeated() == 10
    number, errors, ranks = printed_tables.PRINTED_ROWS[2]
    wrong = (number, errors, (ranks[1], ranks[0], *ranks[2:]))
    monkeypatch.setattr(printed_tables, "PRINTED_ROWS", (*printed_tables.PRINTED_ROWS[:2], wrong))
    assert printed_tables.rows_that_follow() == 2


def test_the_mean_behind_no_dp_gives_the_printed_error_back():
    mean = printed_tables.no_dp_mean()
    assert 0.0 < mean < 0.5
    assert math.sqrt((36 * mean - mean**2) / 800_000) == pytest.approx(0.004289, rel=1e-12)
    assert printed_tables.no_dp_ends()[1] == pytest.approx(math.sqrt(35 / 800_000), rel=1e-12)
