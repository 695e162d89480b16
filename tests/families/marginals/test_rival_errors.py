"""The errors of other methods beside views: against the rivals that run, and limits of epsilon."""

import itertools
import math

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.marginals.papers.marginal_views import quantities, shoppers, simulation
from mechdesign.families.marginals.papers.rival_candidates import RivalCase, rival_quantities, unit
from mechdesign.families.marginals.papers.rivals import (
    AllMarginals,
    ExpectationMaximization,
    FourierCoefficients,
    FullContingency,
)

CASES = [
    RivalCase(d, c, k, 100_000, epsilon)
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
    found = rival_quantities(RivalCase(8, 2, 3, 10**9, 1e-4))
    # What is left of them is of the order of epsilon^2, times at most 93 and 448 coefficients and cells.
    for name, stated in (("fc", 256), ("am", 448), ("ft_literal", 93), ("ft", 92 * 7 / 8)):
        assert found[f"{name}_over_var0"] == pytest.approx(stated, rel=1e-6)


def test_what_is_too_large_has_infinite_error():
    found = rival_quantities(RivalCase(32, 2, 8, 1 << 18, 1.0))
    assert found["am_count"] == 10_518_300
    assert [found[f"{name}_error"] for name in ("fc", "am", "ft", "ft_literal")] == [math.inf] * 4


def test_views_report_the_errors_of_the_others():
    problem = md.MarginalViews(attributes=8, order=3, users=1 << 16, epsilon=0.2)
    solution = md.solve(problem)

    found = quantities(problem, solution)
    case = RivalCase(8, 2, 3, 1 << 16, 0.2)
    assert found["ft_over_var0"] * unit(case) == pytest.approx(found["ft_error"], rel=1e-12)
    uneven = md.MarginalViews(attributes=[2, 3, 2], order=2, users=1 << 16, epsilon=2.0, criterion="rule")
    assert "fc_error" not in quantities(uneven, md.solve(uneven))


def test_simulated_people_find_what_the_formulas_say():
    """The unbiased methods' errors; the mean of 20 sums of 8 squares varies by less than half of it."""
    problem = md.MarginalViews(attributes=8, order=3, users=20_000, epsilon=0.5, oracle="thesis")
    solution = md.solve(problem)
    repetitions = 25
    found = simulation(problem, solution, 20_000, repetitions, np.random.default_rng(3))
    stated = rival_quantities(RivalCase(8, 2, 3, 20_000, 0.5))
    for name in ("fc", "am", "ft"):
        assert found[name] == pytest.approx(stated[f"{name}_error"], rel=4 * 0.5 / math.sqrt(repetitions))
        assert found[f"{name}_nearest"] <= found[name]  # a projection on a convex set that has the truth
    assert found["views"] < found["ft_nearest"] < found["am_nearest"]


def test_simulation_leaves_out_what_cannot_be_done():
    for users, left in ((1000, {"uni"}), (20_000, {"views", "uni", "am", "am_nearest", "ft", "ft_nearest"})):
        problem = md.MarginalViews(attributes=20, order=3, users=users, epsilon=1.0)
        found = simulation(problem, md.solve(problem), users, 1, np.random.default_rng(4))
        assert set(found) == left  # a thousand users are one view at the threshold 0.001


def test_shoppers_depend_on_each_other():
    """Two items are bought together more often than if they were independent: by 0.7 x 0.3 x 0.6 x 0.42."""
    codes = shoppers([2, 2], 200_000, np.random.default_rng(5))
    both, each = (codes > 0).all(axis=1).mean(), (codes > 0).mean(axis=0)
    assert both - each.prod() == pytest.approx(
        0.21 * 0.6 * 0.6 / math.sqrt(2), abs=4 * 0.5 / math.sqrt(200_000)
    )


def test_all_tables_by_everybody_is_the_full_table_of_each_with_its_part_of_epsilon():
    """A user who reports all 56 tables with epsilon/56 each does what FC does with three attributes."""
    for epsilon in (0.5, 2.0):
        alone = FullContingency([2] * 3, epsilon / 56, 3).predicted_error((0, 1, 2), 50_000)
        found = rival_quantities(RivalCase(8, 2, 3, 50_000, epsilon))["am_by_all_error"]
        assert found == pytest.approx(alone, rel=1e-12)
    assert rival_quantities(RivalCase(32, 2, 8, 1 << 18, 1.0))["am_by_all_error"] > 1.0


def test_cells_that_are_kept_and_the_least_step_of_the_noise():
    found = md.solve(md.MarginalViews(attributes=8, order=3, users=2**16, epsilon=2.0)).quantities
    assert found["kept_cells"] == 14 * 2**4
    errors = [found[f"noise_of_size_{size}"] for size in range(1, 9)]
    assert found["least_noise_step"] == min(b / a for a, b in itertools.pairwise(errors)) > 1
    uneven = md.MarginalViews(attributes=[2, 3, 5], workload=[[0, 1], [2]], users=1000, epsilon=1.0)
    solution = md.solve(uneven)
    sizes = [math.prod([2, 3, 5][i] for i in view) for view in solution.variables["views"]]
    assert solution.quantities["kept_cells"] == sum(sizes)
    assert "least_noise_step" not in solution.quantities
