"""``survey-design`` in a second way: the designs of a coarse grid listed, one convex program in cvxpy.

It shares no code with the column generation but the information of a part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.survey.design.building import variables_of
from mechdesign.families.survey.design.information import Ask
from mechdesign.families.survey.design.prices import SurveyPrices
from mechdesign.families.survey.design.problem import SurveyDesign
from mechdesign.families.survey.design.setting import SurveySetting

STEPS = 8
"""Parts of epsilon that independent answers take."""

MOST_DESIGNS = 6000


def coarse_grid(problem: SurveyDesign) -> Outcome:
    """Return the best mixture of the designs of the grid."""
    import cvxpy as cp

    from mechdesign.solvers.convex import solve_convex

    if problem.epsilon == 0.0:
        message = "with epsilon = 0 reports contain no information; give a larger epsilon"
        return Outcome(status="infeasible", solver="cvxpy", message=message)
    setting = problem.own_setting
    columns = list(_columns(setting))
    nothing = np.zeros(len(setting.targets))
    asks = {ask for column in columns for ask in column}
    alone = {ask: setting.told([ask]) for ask in asks}  # a design tells what its parts tell
    table = np.array([sum((alone[ask] for ask in column), start=nothing) for column in columns])
    shares = cp.Variable(len(columns), nonneg=True)
    if problem.goal == "mean":
        errors = cp.multiply(setting.each_weight, cp.inv_pos(table.T @ shares))
        limits: list[cp.Constraint] = []
        program = cp.Problem(cp.Minimize(cp.sum(errors)), [cp.sum(shares) == 1])
    else:
        least = cp.Variable()
        scaled = table / setting.each_needed * problem.users
        limits = [scaled.T @ shares >= least]
        program = cp.Problem(cp.Maximize(least), [*limits, cp.sum(shares) == 1])
    result = solve_convex(program)
    if shares.value is None:
        return Outcome(status="failed", solver=result.solver, message=result.message)
    found = np.where(shares.value > 1e-9, shares.value, 0.0)
    kept = np.flatnonzero(found)
    split = found[kept] / found[kept].sum()
    chosen = [columns[place] for place in kept]
    variables = variables_of(problem.asked, chosen, split.tolist(), problem.epsilon)
    prices = np.zeros(len(setting.targets))
    for limit in limits:
        prices = np.asarray(limit.dual_value) / setting.each_needed
    return Outcome(
        "feasible",
        variables,
        solver=result.solver,
        notes={"designs_listed": len(columns)},
        prices=SurveyPrices(problem, setting, chosen, split, prices),
    )


def why_not_coarse_grid(problem: SurveyDesign) -> str | None:
    """Return why the grid is too large or the goal another one, or None."""
    if problem.goal == "epsilon":
        return "it is not for goal 'epsilon'"
    if len(problem.targets) > len(problem.asked):
        return "its designs do not list whole tables"
    if _count(len(problem.asked)) > MOST_DESIGNS:
        return f"{len(problem.asked)} questions have more than {MOST_DESIGNS} designs on its grid"
    return None


def _count(questions: int) -> int:
    divisions: int = math.comb(STEPS + questions - 1, questions - 1)
    return divisions + (1 << questions)


def _columns(setting: SurveySetting) -> Iterator[tuple[Ask, ...]]:
    """Yield all divisions of epsilon in eighths, and k-ary response on the cells of all sets of questions."""
    questions, menu = setting.questions, setting.menu
    step = (len(menu.budgets) - 1) // STEPS
    single = [[menu.ask(place, part * step) for part in range(STEPS + 1)] for place in range(len(questions))]
    for cuts in combinations(range(STEPS + len(questions) - 1), len(questions) - 1):
        ends = (-1, *cuts, STEPS + len(questions) - 1)
        parts = [after - before - 1 for before, after in pairwise(ends)]
        yield tuple(single[place][part] for place, part in enumerate(parts) if part)
    for size in range(2, len(questions) + 1):
        for places in combinations(range(len(questions)), size):
            if math.prod(questions[place].size for place in places) <= 1 << 16:
                yield (Ask("cells", places, setting.epsilon),)
