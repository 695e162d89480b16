"""Bounds of cone programs whose optimum is known exactly: never on the wrong side, and close."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import cvxpy
import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import ParameterError
from mechdesign.solvers import cone_program, dual_cones, prove as proofs
from mechdesign.solvers.linear_systems import equations_solved
from mechdesign.solvers.prove import prove

PROGRAMS = 60
LINEAR, OTHERS = 1e-9, 1e-6


def check(program: cvxpy.Problem, optimum: Fraction, tolerance: float) -> None:
    result = prove(program)
    assert result.bound is not None, result.why
    sign = 1 if result.sense == "min" else -1
    loss = sign * (optimum - result.bound)
    assert loss >= 0
    assert loss <= Fraction(tolerance) * max(1, abs(optimum))
    assert sign * (optimum - Fraction(float(result))) >= 0
    assert "feasible points" in str(result)


def linear_program(rng: np.random.Generator) -> tuple[cvxpy.Problem, Fraction]:
    """Whole numbers, with complementary slacks: the value of both programs is c'x."""
    columns, rows = int(rng.integers(1, 9)), int(rng.integers(2, 30))
    matrix = rng.integers(-9, 10, (rows, columns)).astype(float)
    point, prices = rng.integers(-20, 20, columns), np.maximum(rng.integers(-9, 10, rows), 0)
    limits = matrix @ point + np.where(prices > 0, 0, rng.integers(0, 30, rows))
    costs = -matrix.T @ prices
    x = cvxpy.Variable(columns, name="x")
    program = cvxpy.Problem(cvxpy.Minimize(costs @ x), [matrix @ x <= limits])
    return program, Fraction(int(costs @ point))


def ball(rng: np.random.Generator) -> tuple[cvxpy.Problem, Fraction]:
    """A linear function on a ball; the lengths of these directions are whole."""
    legs = [(3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25)][int(rng.integers(4))]
    direction = np.array([legs[0], 0, legs[1], 0.0])[rng.permutation(4)] * rng.choice([-1.0, 1.0], 4)
    centre, radius = rng.integers(-9, 10, 4).astype(float), int(rng.integers(1, 50))
    x = cvxpy.Variable(4, name="x")
    best = Fraction(int(direction @ centre)) - radius * legs[2]
    return cvxpy.Problem(cvxpy.Minimize(direction @ x), [cvxpy.norm(x - centre) <= radius]), best


def eigenvalue(rng: np.random.Generator) -> tuple[cvxpy.Problem, Fraction]:
    """The least eigenvalue of H D H for reflections H with exact entries."""
    values = rng.integers(-50, 50, 4)
    matrix = np.diag(values.astype(float))
    for _ in range(2):
        normal = rng.choice([-1.0, 1.0], 4)
        reflection = np.eye(4) - np.outer(normal, normal) / 2.0
        matrix = reflection @ matrix @ reflection
    x = cvxpy.Variable((4, 4), symmetric=True, name="X")
    program = cvxpy.Problem(cvxpy.Minimize(cvxpy.trace(matrix @ x)), [x >> 0, cvxpy.trace(x) == 1])
    return program, Fraction(int(values.min()))


def free_energy(rng: np.random.Generator) -> tuple[cvxpy.Problem, Fraction]:
    """Minus the logarithm of a sum of exponentials, to 60 digits."""
    costs = rng.integers(-40, 40, int(rng.integers(2, 9))) / 8.0
    p = cvxpy.Variable(len(costs), name="p")
    with localcontext() as context:
        context.prec = 60
        optimum = -sum((-Decimal(cost)).exp() for cost in costs.tolist()).ln()
    program = cvxpy.Problem(cvxpy.Minimize(costs @ p - cvxpy.sum(cvxpy.entr(p))), [cvxpy.sum(p) == 1])
    return program, Fraction(optimum)


@pytest.mark.parametrize(
    ("make", "tolerance"),
    [(linear_program, LINEAR), (ball, OTHERS), (eigenvalue, OTHERS), (free_energy, OTHERS)],
)
def test_bounds_of_random_programs_are_below_their_optima_and_close(make, tolerance):
    rng = np.random.default_rng(20)
    for _ in range(PROGRAMS):
        check(*make(rng), tolerance)


def usual_programs(rng: np.random.Generator) -> dict[str, cvxpy.Problem]:
    """Return programs as people write them; several have rows that fix the head of a cone."""
    size = 6
    x, matrix = cvxpy.Variable(size, name="x"), rng.normal(size=(3 * size, size))
    right, square = rng.normal(size=3 * size), rng.normal(size=(size, size))
    margins = 1 - cvxpy.multiply(np.sign(right), matrix @ x)
    share = np.full(size, 1.0 / size)
    full = cvxpy.Variable((4, 4), name="X")
    simplex = [cvxpy.sum(x) == 1, x >= 0]
    return {
        "least risk": cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(square @ x)), simplex),
        "utility": cvxpy.Problem(cvxpy.Maximize(right[:size] @ x - cvxpy.sum_squares(square @ x)), simplex),
        "lasso": cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(matrix @ x - right) + cvxpy.norm1(x))),
        "support vectors": cvxpy.Problem(
            cvxpy.Minimize(cvxpy.sum_squares(x) + cvxpy.sum(cvxpy.pos(margins)))
        ),
        "logistic": cvxpy.Problem(
            cvxpy.Minimize(cvxpy.sum(cvxpy.logistic(matrix @ x)) + cvxpy.sum_squares(x))
        ),
        "water filling": cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.log(x + 0.1))), simplex),
        "relative entropy": cvxpy.Problem(
            cvxpy.Minimize(cvxpy.sum(cvxpy.kl_div(x, share))), [cvxpy.sum(x) == 1, x[0] >= 0.5]
        ),
        "huber": cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(cvxpy.huber(matrix @ x - right)))),
        "inverse squares": cvxpy.Problem(
            cvxpy.Minimize(cvxpy.sum(cvxpy.square(cvxpy.inv_pos(x)))), [cvxpy.sum(x) <= 1]
        ),
        "largest eigenvalue": cvxpy.Problem(
            cvxpy.Minimize(cvxpy.lambda_max(square + square.T + x[0] * np.eye(size) + cvxpy.diag(x))),
            [cvxpy.norm(x, "inf") <= 1],
        ),
        "nuclear norm": cvxpy.Problem(
            cvxpy.Minimize(cvxpy.normNuc(full) + cvxpy.sum_squares(full - square[:4, :4]))
        ),
    }


def test_programs_as_people_write_them_have_a_close_bound():
    for name, program in usual_programs(np.random.default_rng(8)).items():
        result = prove(program)
        assert result.bound is not None, f"{name}: {result.why}"
        assert result.gap <= 1e-6 * max(1.0, abs(result.value)), name


def test_a_wrong_multiplier_of_a_solver_gives_a_weaker_bound_and_no_wrong_one(monkeypatch):
    rng, solved = np.random.default_rng(3), cone_program._solved
    weaker = 0
    for make in (linear_program, ball, eigenvalue, free_energy):
        for size in (1e-6, 1e-2, 10.0):
            program, optimum = make(rng)

            def disturbed(*arguments, size=size):
                value, solver, duals, status = solved(*arguments)
                return value, solver, [dual + size * rng.normal(size=dual.shape) for dual in duals], status

            monkeypatch.setattr(cone_program, "_solved", disturbed)
            result = prove(program)
            monkeypatch.undo()
            if result.bound is not None:
                assert result.bound <= optimum
                weaker += result.bound < optimum
    assert weaker >= 4


@pytest.mark.parametrize("direction", [proofs.RAISE, proofs.SHRINK, proofs.LAST])
def test_no_way_into_a_cone_is_believed(direction, monkeypatch):
    """The head of the multipliers is too small; a smaller last entry, which is 0, leaves them outside."""
    x, solved = cvxpy.Variable(3, name="x"), cone_program._solved
    program = cvxpy.Problem(cvxpy.Minimize(3 * x[0] + 4 * x[1]), [cvxpy.norm(x) <= 1, x >= -9, x <= 9])

    def too_small(*arguments):
        value, solver, duals, status = solved(*arguments)
        return value, solver, [np.where(dual == dual.max(), 0.1 * dual, dual) for dual in duals], status

    monkeypatch.setattr(proofs, "TRIALS", ((1e-12, direction),))
    monkeypatch.setattr(cone_program, "_solved", too_small)
    result = prove(program)
    assert result.bound is None or result.bound <= -5


def test_a_maximum_and_constants_and_integers():
    x = cvxpy.Variable(2, name="x")
    largest = prove(cvxpy.Problem(cvxpy.Maximize(x[0] + 3 * x[1] + 7), [x >= 0, x[0] + x[1] <= 2]))
    assert (largest.bound, largest.sense, float(largest)) == (13, "max", 13.0)
    whole = cvxpy.Variable(2, integer=True, name="n")
    program = cvxpy.Problem(
        cvxpy.Minimize(whole[0] + whole[1]), [3 * whole[0] + 2 * whole[1] >= 5, whole >= 0]
    )
    assert prove(program).bound == 2  # the relaxation's 5/3, rounded up
    halves = cvxpy.Problem(cvxpy.Minimize(whole[0] + whole[1] / 2), program.constraints)
    assert 0 <= Fraction(5, 4) - prove(halves).bound < Fraction(1, 10**12)
    largest = cvxpy.Problem(cvxpy.Minimize(cvxpy.max(whole / 2)), program.constraints)
    assert 0 <= Fraction(1, 2) - prove(largest).bound < Fraction(1, 10**9)  # no whole number
    assert all(variable.attributes["integer"] for variable in program.variables())
    choice = cvxpy.Variable(3, boolean=True, name="b")
    knapsack = cvxpy.Problem(
        cvxpy.Maximize(np.array([4.0, 3, 2]) @ choice), [np.array([2.0, 2, 2]) @ choice <= 3]
    )
    assert prove(knapsack).bound == 5  # the relaxation has 11/2


def test_a_variable_without_a_bound_needs_a_box():
    x = cvxpy.Variable(2, name="x")
    tilted = cvxpy.Problem(cvxpy.Minimize(x[0] + 0.1 * x[1]), [3 * x[0] + 0.3 * x[1] >= 1])
    without = prove(tilted)  # 0.1 is not a third of 0.3 in doubles: the program has no optimum
    assert without.bound is None
    assert math.isnan(float(without))
    assert "x[" in without.why
    assert "box=" in str(without)
    boxed = prove(tilted, box=1e6)
    assert Fraction(1, 3) - Fraction(1, 10**6) <= boxed.bound <= Fraction(1, 3)
    assert "box of the caller" in boxed.why
    assert prove(tilted, box={x: [1e6, 10.0]}).bound >= boxed.bound
    for box, reason in ((-1.0, "no bound"), (math.inf, "no bound"), ({cvxpy.Variable(): 1.0}, "no variable")):
        with pytest.raises(ParameterError, match=reason):
            prove(tilted, box=box)


def test_some_entries_of_a_variable_may_be_whole_or_boolean_or_bounded():
    """The others are not: a bound that took them for boolean would be wrong."""
    some = cvxpy.Variable(3, boolean=[(0, 2)], name="b")
    program = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(some)), [some >= -5])
    assert 0 <= -5 - prove(program).bound < Fraction(1, 10**9)  # the second entry alone is below 0
    table = cvxpy.Variable((2, 2), boolean=[(0, 1), (1, 1)], name="t")
    lowest = prove(cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(table)), [table >= -5]))
    assert 0 <= -10 - lowest.bound < Fraction(1, 10**9)
    limited = cvxpy.Variable(2, bounds=[-1, 2.5], name="n")  # integer beside bounds: only in newer versions
    assert 0 <= prove(cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(limited)))).bound - 5 < Fraction(1, 10**9)
    above = cvxpy.Variable(2, nonneg=True, name="y")
    boxed = prove(cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(above))), box={above: [1.0, 3.0]})
    assert 0 <= boxed.bound - 4 < Fraction(1, 10**9)
    assert "box" in boxed.why


def test_wrong_arguments_are_one_line():
    x = cvxpy.Variable(2, name="x")
    for wrong in ("x", None, cvxpy.Minimize(x[0])):
        with pytest.raises(ParameterError, match="expected a cvxpy"):
            prove(wrong)
    program = cvxpy.Problem(cvxpy.Minimize(x[0]), [x >= 0])
    for box in ("a", [1.0, 2.0, 3.0], {x: "a"}):
        with pytest.raises(ParameterError, match="box: "):
            prove(program, box=box)


def test_what_has_no_optimum_or_no_proof_says_so():
    x = cvxpy.Variable(2, name="x")
    assert prove(cvxpy.Problem(cvxpy.Minimize(x[0]), [x[1] >= 0])).bound is None
    assert prove(cvxpy.Problem(cvxpy.Minimize(x[0]), [x >= 1, x <= 0])).bound is None
    with pytest.raises(ParameterError, match="not convex"):
        prove(cvxpy.Problem(cvxpy.Maximize(cvxpy.sum_squares(x))))


def test_extreme_scales_stay_on_the_right_side():
    x = cvxpy.Variable(2, name="x")
    for scale in (1e-9, 1e-3, 1.0, 1e6, 1e12):
        program = cvxpy.Problem(cvxpy.Minimize(scale * x[0] + x[1]), [x[0] + scale * x[1] >= 1, x >= 0])
        assert prove(program).bound <= min(Fraction(scale), 1 / Fraction(scale))


def test_semidefinite_matrices_are_recognized_exactly():
    half = Fraction(1, 2)
    least = [[Fraction(1), half], [half, Fraction(1, 4) + Fraction(1, 10**9)]]
    broken = [[Fraction(1), half], [half, Fraction(1, 4) - Fraction(1, 10**9)]]
    assert dual_cones._is_semidefinite(least, Fraction(0))
    assert not dual_cones._is_semidefinite(broken, Fraction(0))
    assert not dual_cones._is_semidefinite(least, Fraction(1, 10**3))


def test_equations_are_solved_exactly_or_have_no_solution():
    one, third = Fraction(1), Fraction(1, 3)
    rows = [({0: third, 1: one, 2: one}, one), ({1: third, 2: one}, one), ({0: one, 2: third}, one)]
    solution = equations_solved(rows)
    for left, right in rows:
        assert sum(entry * solution.get(unknown, 0) for unknown, entry in left.items()) == right
    assert equations_solved([({0: one}, one), ({0: one}, third)]) is None


def eliminated(equations: list[tuple[dict[int, Fraction], Fraction]]) -> bool:
    """Return whether equations have a solution, by plain elimination in fractions."""
    rows = [(dict(row), value) for row, value in equations]
    while rows:
        row, value = rows.pop()
        pivot = next((unknown for unknown, entry in row.items() if entry), None)
        if pivot is None:
            if value:
                return False
            continue
        for number, (other, right) in enumerate(rows):
            factor = other.get(pivot, Fraction(0)) / row[pivot]
            for unknown, entry in row.items():
                other[unknown] = other.get(unknown, Fraction(0)) - factor * entry
            rows[number] = other, right - factor * value
    return True


def test_random_equations_are_never_solved_wrongly():
    rng = np.random.default_rng(4)
    entries, solved = [1.0, -1.0, 2.0, 3.0, 0.1, -2.5, 1.0 / 3.0], 0
    for _ in range(200):
        count, width = int(rng.integers(1, 12)), int(rng.integers(1, 14))
        equations = [
            (
                {int(u): Fraction(float(rng.choice(entries))) for u in rng.integers(0, width, 4)},
                Fraction(float(rng.choice([0.0, 1.0, 0.3]))),
            )
            for _ in range(count)
        ]
        if count > 1:  # one that follows from two others, or nearly
            (one, first), (two, second) = equations[:2]
            both = {u: one.get(u, Fraction(0)) + two.get(u, Fraction(0)) for u in one | two}
            equations.append((both, first + second + Fraction(int(rng.integers(3) == 0), 10**20)))
        solution = equations_solved([(dict(row), value) for row, value in equations])
        assert (solution is not None) == eliminated(equations)
        if solution is not None:
            solved += 1
            for row, value in equations:
                assert sum(entry * solution.get(u, 0) for u, entry in row.items()) == value
    assert 50 <= solved <= 150


def test_many_variables_may_be_without_a_bound():
    rng = np.random.default_rng(5)
    matrix = rng.normal(size=(40, 120))
    x = cvxpy.Variable(120, name="x")
    result = prove(cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(x)), [matrix @ x == matrix @ np.ones(120)]))
    assert result.bound is not None, result.why
    assert -1e-9 <= result.gap <= 1e-6


@pytest.mark.parametrize(("power", "sign"), [(1.7, 1), (-1.5, 1), (0.3, -1), (3.0, 1)])
def test_powers_have_a_proven_bound(power, sign):
    """The optimum over the simplex is at equal shares, by symmetry and convexity."""
    x = cvxpy.Variable(4, name="x", nonneg=True)
    total = cvxpy.sum(cvxpy.power(x, power))
    objective = cvxpy.Minimize(total) if sign > 0 else cvxpy.Maximize(total)
    result = prove(cvxpy.Problem(objective, [cvxpy.sum(x) == 1]))
    optimum = 4.0 * 0.25**power
    assert sign * (optimum - float(result)) >= -1e-14 * optimum
    assert float(result) == pytest.approx(optimum, rel=1e-6)


def test_geometric_means_and_power_cones_have_a_proven_bound():
    x = cvxpy.Variable(3, name="x")
    mean = cvxpy.geo_mean(x, [1, 2, 4])
    result = prove(cvxpy.Problem(cvxpy.Maximize(mean), [cvxpy.sum(x) <= 7]))
    optimum = (1.0 * 2.0**2 * 4.0**4) ** (1.0 / 7.0)
    assert optimum <= float(result) * (1.0 + 1e-14)
    assert float(result) == pytest.approx(optimum, rel=1e-6)
    heads, last = cvxpy.Variable(2, name="heads"), cvxpy.Variable(name="last")
    cone = cvxpy.PowCone3D(heads[0], heads[1], last, 0.3)
    program = cvxpy.Problem(cvxpy.Maximize(last), [cone, cvxpy.sum(heads) <= 1])
    optimum = 0.3**0.3 * 0.7**0.7
    assert float(prove(program)) == pytest.approx(optimum, rel=1e-6)
    assert float(prove(program)) >= optimum * (1.0 - 1e-14)


def test_a_geometric_program_is_proven_in_logarithms():
    a, b = (cvxpy.Variable(pos=True, name=name) for name in "ab")
    program = cvxpy.Problem(cvxpy.Minimize(a + b), [a * b >= 9])
    result = prove(program)
    assert result.bound <= 6
    assert float(result) == pytest.approx(6.0, rel=1e-8)
    widest = prove(cvxpy.Problem(cvxpy.Maximize(a * b), [a + b <= 6]))
    assert (widest.sense, widest.bound >= 9) == ("max", True)
    assert float(widest) == pytest.approx(9.0, rel=1e-8)


def test_it_is_offered_at_the_top():
    assert md.prove is prove


@pytest.mark.parametrize("exponent", [0.7071, 0.123456])
def test_exponents_are_not_rounded(exponent):
    """The nearest exponent of cvxpy's squares has an optimum on the other side."""
    x = cvxpy.Variable(2, name="x")
    rows = [x <= [3, 5]]
    mean = 3**exponent * 5 ** (1 - exponent)
    bigger = 1.0 + exponent
    for objective, optimum in (
        (cvxpy.Maximize(cvxpy.geo_mean(x, [exponent, 1 - exponent])), mean),
        (cvxpy.Maximize(cvxpy.sum(cvxpy.power(x, exponent))), 3**exponent + 5**exponent),
        (cvxpy.Minimize(cvxpy.sum(cvxpy.power(x, -exponent))), 3**-exponent + 5**-exponent),
    ):
        sign = 1 if isinstance(objective, cvxpy.Minimize) else -1
        bound = float(prove(cvxpy.Problem(objective, rows), box=10))
        assert -1e-14 <= sign * (optimum - bound) < 1e-6
    total = cvxpy.Problem(cvxpy.Minimize(cvxpy.pnorm(x, bigger)), [cvxpy.sum(x) == 3])
    assert -1e-14 <= 1.5 * 2 ** (1 / bigger) - float(prove(total, values=True)) < 1e-6
    assert x.value == pytest.approx([1.5, 1.5], abs=1e-4)
    assert total.constraints[0].dual_value is not None


def test_a_solver_that_panics_leaves_no_bound():
    x, y = cvxpy.Variable((3, 1), name="x"), cvxpy.Variable(1, name="y")
    weights = np.array([[0.1], [0.2], [0.7 + 1e-12]])
    program = cvxpy.Problem(cvxpy.Maximize(y[0]), [cvxpy.PowConeND(x, y, weights), x <= 1])
    assert prove(program).bound is None


def test_the_box_of_a_geometric_program_is_used_where_needed_and_named():
    x = cvxpy.Variable(2, pos=True, name="x")
    bounded = prove(cvxpy.Problem(cvxpy.Minimize(x[0] * x[1]), [x[0] >= 2, 1 / x[1] <= 3]), box=10)
    assert float(bounded) == pytest.approx(2 / 3, abs=1e-9)
    assert "all feasible" in bounded.why
    free = cvxpy.Problem(cvxpy.Maximize(x[0] * x[1]), [x[0] / x[1] <= 3])
    assert prove(free).bound is None
    boxed = prove(free, box=10)
    assert float(boxed) == pytest.approx(100, rel=1e-6)
    assert "box" in boxed.why
    with pytest.raises(ParameterError, match="no bound"):
        prove(free, box=0)


def test_what_cvxpy_approximates_or_cannot_compile_has_no_bound():
    state, scale = cvxpy.Variable((2, 2), PSD=True), cvxpy.Variable(nonneg=True)
    x = cvxpy.Variable(2, pos=True)
    for program, text in (
        (
            cvxpy.Problem(cvxpy.Maximize(cvxpy.von_neumann_entr(state, (3, 3))), [cvxpy.trace(state) == 1]),
            "entropy",
        ),
        (cvxpy.Problem(cvxpy.Minimize(cvxpy.Constant(3))), "no variables"),
        (
            cvxpy.Problem(
                cvxpy.Minimize(cvxpy.perspective(cvxpy.sum(cvxpy.power(x, 1.7071)), scale)), [scale == 1]
            ),
            "exponent",
        ),
        (cvxpy.Problem(cvxpy.Maximize(x[0] ** 100 * x[1] ** 100), [x <= 1e5]), "beyond those of doubles"),
    ):
        result = prove(program)
        assert result.bound is None
        assert text in result.why
