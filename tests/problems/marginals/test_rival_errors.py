"""The errors of other methods beside views: against the rivals that run, and limits of epsilon."""

import itertools
import math

import pytest

import mechdesign as md
from mechdesign.mechanisms.marginals.rivals import (
    AllMarginals,
    ExpectationMaximization,
    FourierCoefficients,
    FullContingency,
)
from mechdesign.problems.marginals.marginal_views.quantities import quantities
from mechdesign.problems.marginals.marginal_views.rival_errors import Case, rival_quantities, unit

CASES = [
    Case(d, c, k, 100_000, epsilon)
    for d, c, k, epsilon in itertools.product((4, 6), (2, 3, 4), (1, 2, 3), (0.3, 2.5))
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_formulas_are_the_errors_of_the_rivals(case):
    """They split users evenly, the rivals to within one user: a relative difference below groups / n."""
    found = rival_quantities(case)
    arguments = ([case.size] * case.attributes, case.epsilon, case.order)
    rivals = {
        "fc": FullContingency(*arguments),
        "am": AllMarginals(*arguments),
        "ft": FourierCoefficients(*arguments),
        "ft_literal": FourierCoefficients(*arguments, literal=True),
        "em": ExpectationMaximization(*arguments),
    }
    for name, rival in rivals.items():
        wanted = tuple(range(case.order))
        groups = {"am": case.tables, "ft": case.needed, "ft_literal": case.counted}.get(name, 0)
        predicted = rival.predicted_error(wanted, case.users)
        assert found[f"{name}_error"] == pytest.approx(predicted, rel=2 * groups / case.users + 1e-9), name
        if hasattr(rival, "count"):
            assert found[f"{name}_count"] == rival.count == len(rival.masks)


def test_in_the_limit_of_small_epsilon_the_printed_numbers_are_right():
    """(3.1), (3.2) and (3.4): 256, 448 and 93, as sampling and frequencies no longer count."""
    found = rival_quantities(Case(8, 2, 3, 10**9, 1e-4))
    # What is left of them is of the order of epsilon^2, times at most 93 and 448 coefficients and cells.
    for name, stated in (("fc", 256), ("am", 448), ("ft_literal", 93), ("ft", 92 * 7 / 8)):
        assert found[f"{name}_over_var0"] == pytest.approx(stated, rel=1e-6)


def test_what_is_too_large_has_infinite_error():
    found = rival_quantities(Case(32, 2, 8, 1 << 18, 1.0))
    assert found["am_count"] == 10_518_300
    assert [found[f"{name}_error"] for name in ("fc", "am", "ft", "ft_literal")] == [math.inf] * 4


def test_views_report_the_errors_of_the_others():
    problem = md.MarginalViews(attributes=8, order=3, users=1 << 16, epsilon=0.2)
    solution = md.solve(problem)

    found = quantities(problem, solution)
    case = Case(8, 2, 3, 1 << 16, 0.2)
    assert found["ft_over_var0"] * unit(case) == pytest.approx(found["ft_error"], rel=1e-12)
    uneven = md.MarginalViews(attributes=[2, 3, 2], order=2, users=1 << 16, epsilon=2.0, criterion="rule")
    assert "fc_error" not in quantities(uneven, md.solve(uneven))
