"""Maximum entropy: against cvxpy's entropy program, with zeros, inconsistent input, and within memory."""

from __future__ import annotations

import time

import cvxpy
import numpy as np
import pytest

from mechdesign.core.errors import ParameterError
from mechdesign.families.marginals.papers.rivals import maximum_entropy
from mechdesign.families.marginals.papers.rivals.entropy import ROUNDS, STEPS_AT_MOST, newton, reconstruct

SIZES = [2, 3, 2, 2]
VIEWS = [(0, 1), (1, 2), (0, 2), (2, 3)]


def marginals(joint: np.ndarray) -> list[np.ndarray]:
    return [joint.sum(axis=tuple(axis for axis in range(4) if axis not in view)) for view in VIEWS]


def largest_entropy(joint: np.ndarray) -> np.ndarray:
    """Return the table of maximum entropy with the marginals of the joint one, by cvxpy."""
    cells = list(np.ndindex(*SIZES))
    made = cvxpy.Variable(len(cells))
    limits = [cvxpy.sum(made) == 1.0]
    for view in VIEWS:
        for values in np.ndindex(*[SIZES[a] for a in view]):
            members = [
                place
                for place, cell in enumerate(cells)
                if all(cell[a] == value for a, value in zip(view, values, strict=True))
            ]
            limits.append(cvxpy.sum(made[members]) == float(sum(joint[cells[place]] for place in members)))
    cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.entr(made))), limits).solve(solver="CLARABEL")
    return np.asarray(made.value).reshape(SIZES)


@pytest.mark.parametrize("method", [None, "newton", "fitting"])
@pytest.mark.parametrize("seed", range(4))
def test_the_entropy_program_agrees(seed, method):
    """Views that overlap in a circle: no closed form. cvxpy's solver stops at 1e-8 relative."""
    joint = np.random.default_rng(seed).dirichlet(np.ones(24)).reshape(SIZES)
    found = reconstruct((0, 1, 2, 3), VIEWS, marginals(joint), SIZES, method=method)
    assert found.residual <= 1e-7
    assert np.abs(found.table - largest_entropy(joint)).max() <= 1e-5
    assert found.table.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("method", [None, "fitting"])
def test_independent_and_conditional_closed_forms(method):
    joint = np.random.default_rng(9).dirichlet(np.ones(24)).reshape(SIZES)
    tables = marginals(joint)
    one, two = tables[0].sum(axis=1), joint.sum(axis=(0, 1, 2))
    alone = reconstruct((3, 0), [(0,), (3,)], [one, two], SIZES, method=method).table
    assert alone == pytest.approx(np.outer(two, one), abs=1e-9)
    chain = reconstruct((0, 1, 2), [(0, 1), (1, 2)], tables[:2], SIZES, method=method).table
    exact = tables[0][:, :, None] * tables[1][None] / tables[1].sum(axis=1)[None, :, None]
    assert chain == pytest.approx(exact, abs=1e-9)
    unknown = maximum_entropy((1, 3), [(1, 2)], [tables[1]], SIZES)
    assert unknown == pytest.approx(np.repeat(tables[1].sum(axis=1)[:, None] / 2, 2, axis=1))


def test_a_marginal_of_a_view_is_only_summed_and_ordered():
    joint = np.random.default_rng(2).dirichlet(np.ones(24)).reshape(SIZES)
    found = reconstruct((2, 1), VIEWS, marginals(joint), SIZES)
    assert found.rounds == 0
    assert found.constraints == ((1, 2),)
    assert found.table == pytest.approx(joint.sum(axis=(0, 3)).T)


def test_cells_of_empty_marginals_are_empty():
    joint = np.zeros(SIZES)
    joint[0, 0, 0, 0], joint[1, 1, 0, 1], joint[0, 2, 1, 1] = 0.5, 0.25, 0.25
    for method in (None, "newton", "fitting"):
        found = reconstruct((0, 1, 2, 3), VIEWS, marginals(joint), SIZES, method=method)
        assert found.residual <= 1e-7
        assert found.table[1, 0].max() == 0.0
        assert np.isfinite(found.table).all()


CIRCLE = [(0, 1), (1, 2), (0, 2)]
ALIKE, DIFFERENT = np.eye(2) / 2, (1.0 - np.eye(2)) / 2


@pytest.mark.parametrize("method", [None, "newton", "fitting"])
@pytest.mark.parametrize("mixed", [0.0, 0.05])
def test_marginals_that_no_table_has_end_with_a_stated_residual(method, mixed):
    """a = b, b = c, a != c: consistent in pairs, impossible together."""
    tables = [(1 - mixed) * table + mixed / 4 for table in (ALIKE, ALIKE, DIFFERENT)]
    start = time.perf_counter()
    found = reconstruct((0, 1, 2), CIRCLE, tables, [2, 2, 2], method=method)
    assert time.perf_counter() - start < 5.0
    assert found.rounds <= ROUNDS + STEPS_AT_MOST
    assert found.residual > 0.05
    assert found.table.min() >= 0.0
    if method != "fitting":  # by symmetry each pair is missed by the same
        sums = [found.table.sum(axis=axis) for axis in (2, 0, 1)]
        misses = [np.abs(sums[place] - tables[place]).max() for place in range(3)]
        assert max(misses) == pytest.approx(found.residual)
        assert mixed == 0.0 or np.ptp(misses) <= 1e-6


def test_newton_on_an_impossible_circle_is_the_nearest_in_squares():
    """The least squares of effects over all tables, by cvxpy: no further unknowns in common."""
    tables = [0.9 * table + 0.025 for table in (ALIKE, ALIKE, DIFFERENT)]
    made = cvxpy.Variable(8)
    cells = list(np.ndindex(2, 2, 2))
    cost = 0.0
    for view, table in zip(CIRCLE, tables, strict=True):
        sign = np.array([(-1.0) ** (cell[view[0]] + cell[view[1]]) for cell in cells])
        goal = table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0]
        cost = cost + cvxpy.square(sign @ made - goal)
    for place in range(3):
        cost = cost + cvxpy.square(np.array([(-1.0) ** cell[place] for cell in cells]) @ made)
    cvxpy.Problem(cvxpy.Minimize(cost), [made >= 0, cvxpy.sum(made) == 1]).solve(solver="CLARABEL")
    found, _ = newton((2, 2, 2), [(view, table) for view, table in zip(CIRCLE, tables, strict=True)])
    pairs = [found.sum(axis=axis) for axis in (2, 0, 1)]
    best = np.asarray(made.value).reshape(2, 2, 2)
    for pair, axis in zip(pairs, (2, 0, 1), strict=True):
        assert np.abs(pair - best.sum(axis=axis)).max() <= 1e-4


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (tuple(range(25)), r"25 attributes have 33554432 cells \(256 MiB\), 16777216 \(128 MiB\)"),
        ((0, 0), "expected different attributes"),
        ((), "expected different attributes, at least one"),
        ((0, 99), "attributes: 99 is not from 0 to 29"),
    ],
)
def test_wanted_attributes_are_checked_before_memory_is_taken(wanted, text):
    with pytest.raises(ParameterError, match=text):
        maximum_entropy(wanted, [(0, 1)], [np.full(4, 0.25)], [2] * 30)


def test_tables_without_shares_are_refused():
    with pytest.raises(ParameterError, match="0 everywhere"):
        maximum_entropy((0,), [(0,)], [np.zeros(2)], [2])
    with pytest.raises(ParameterError, match="negative somewhere"):
        maximum_entropy((0,), [(0,)], [np.array([-0.1, 1.1])], [2])


def test_large_tables_are_fitted_within_the_memory():
    """4096 cells and many effects: fitting alone, which needs one table."""
    rng = np.random.default_rng(4)
    sizes = [8, 8, 8, 8]
    joint = rng.dirichlet(np.ones(4096)).reshape(sizes)
    views = [(0, 1, 2), (1, 2, 3), (0, 3)]
    tables = [joint.sum(axis=tuple(axis for axis in range(4) if axis not in view)) for view in views]
    found = reconstruct((0, 1, 2, 3), views, tables, sizes)
    assert found.residual <= 1e-9
