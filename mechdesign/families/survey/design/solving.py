"""The methods of ``survey-design``: by column generation, in closed form, and what is usual."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Outcome, Status
from mechdesign.core.text import counted
from mechdesign.families.survey.design.anything import bounds_for_any
from mechdesign.families.survey.design.building import variables_of
from mechdesign.families.survey.design.generation import Mixture, generate_mixture
from mechdesign.families.survey.design.least_epsilon import TriedEpsilon, search_least_epsilon
from mechdesign.families.survey.design.prices import SurveyPrices
from mechdesign.families.survey.design.pricing import Independent, Joint
from mechdesign.families.survey.design.problem import SurveyDesign
from mechdesign.families.survey.design.rotations import rotated
from mechdesign.families.survey.design.rules import asked_evenly
from mechdesign.families.survey.design.setting import SurveySetting

Array = NDArray[np.float64]

NOTHING = "with epsilon = 0 reports contain no information; give a larger epsilon"

Class = type[Independent]


def by_generation(kind: Class) -> Callable[[SurveyDesign], Outcome]:
    """Return the method that chooses from a class of designs by column generation."""

    def run(problem: SurveyDesign) -> Outcome:
        if problem.epsilon == 0.0:
            return Outcome(status="infeasible", solver="column generation", message=NOTHING)
        if problem.goal == "epsilon":
            return _least_epsilon(problem, kind)
        setting = problem.own_setting
        mixture = _mixture(setting, kind)
        return _outcome(problem, setting, mixture, kind)

    return run


def _mixture(setting: SurveySetting, kind: Class) -> Mixture:
    pricing = kind(setting)
    return generate_mixture(setting, pricing.start(), pricing)


def _outcome(problem: SurveyDesign, setting: SurveySetting, mixture: Mixture, kind: Class) -> Outcome:
    columns, shares = rotated(mixture, setting.groups)
    variables = variables_of(problem.asked, columns, shares.tolist(), setting.epsilon)
    value, bound = _in_goal(problem, mixture.value), _in_goal(problem, mixture.bound)
    notes: dict[str, Any] = {"designs": len(columns), "rounds": mixture.rounds}
    notes |= _for_any(problem, setting)
    prices = SurveyPrices(problem, setting, columns, shares, mixture.prices)
    if kind is Joint:
        return Outcome(
            status="optimal" if value <= bound * (1.0 + problem.optimal_within) else "feasible",
            variables=variables,
            bound=bound,
            bound_source="prices of all designs (weak duality)",
            solver="column generation",
            notes=notes,
            prices=prices,
        )
    notes["bound_for_independent_answers"] = bound
    return Outcome("feasible", variables, solver="column generation", notes=notes, prices=prices)


def _for_any(problem: SurveyDesign, setting: SurveySetting) -> dict[str, Any]:
    """Return the notes on what no private mechanism goes below, where that is known."""
    if problem.goal != "mean":
        return {}
    bounds = bounds_for_any(setting)
    if not bounds:
        return {}
    return {"bound_for_any_mechanism": max(bounds.values()), "bounds_for_any_mechanism": bounds}


def _in_goal(problem: SurveyDesign, value: float) -> float:
    """Return the value of the goal: the users needed become a ratio of errors for ``worst``."""
    return math.sqrt(value / problem.users) if problem.goal == "worst" else value


# The least epsilon


def _least_epsilon(problem: SurveyDesign, kind: Class) -> Outcome:
    """Return the least epsilon with which the planned users are enough.

    At it the design found is enough; just below the bound proves that none of the class is.
    """
    search = search_least_epsilon(problem, kind)
    if isinstance(search, TriedEpsilon):
        needed = math.ceil(search.mixture.bound)
        message = (
            f"with {counted(problem.users, 'user')} no epsilon up to "
            f"{problem.epsilon:g} is enough: at that one "
            f"{needed} users are needed; ask more users, or accept larger errors"
        )
        return Outcome(status="infeasible", solver="column generation", message=message)
    found, mixture = search.high.setting, search.high.mixture
    columns, shares = rotated(mixture, found.groups)
    variables = variables_of(problem.asked, columns, shares.tolist(), found.epsilon)
    notes = {"designs": len(columns)}
    source = "designs of a smaller epsilon need more users (weak duality)"
    solver, prices = (
        "column generation and secant",
        SurveyPrices(problem, found, columns, shares, mixture.prices),
    )
    if kind is Joint:
        status: Status = "optimal" if search.done else "feasible"
        return Outcome(status, variables, search.low, source, solver, notes=notes, prices=prices)
    return Outcome("feasible", variables, solver=solver, notes=notes, prices=prices)


# In closed form


def one_question(problem: SurveyDesign) -> Outcome:
    """Ask every user one question with all of epsilon, with the best shares (theorem 1)."""
    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver="closed form", message=NOTHING)
    setting = problem.own_setting
    columns = Independent(setting).start()
    told = np.array([setting.told(column)[place] for place, column in enumerate(columns)])
    if problem.goal == "mean":
        shares = np.sqrt(setting.each_weight / told)
    else:
        shares = setting.each_needed / told
    shares /= shares.sum()
    variables = variables_of(problem.asked, columns, shares.tolist(), problem.epsilon)
    notes: dict[str, Any] = {"best_independent": _is_best(setting)}
    notes |= _for_any(problem, setting)
    return Outcome("feasible", variables, solver="closed form", notes=notes)


def _is_best(setting: SurveySetting) -> bool:
    """Whether what a question tells per unit of budget is largest at all of epsilon, for every question."""
    menu = setting.menu
    rate = menu.told[:, 1:] / menu.budgets[1:]
    return bool((rate <= rate[:, -1:] * (1.0 + 1e-12)).all())


def no_closed_form(problem: SurveyDesign) -> str | None:
    """Return why one question per user is not a plan (joint results, least epsilon), or None."""
    return no_joint_results(problem) or (
        "it is not for goal 'epsilon'" if problem.goal == "epsilon" else None
    )


def no_joint_results(problem: SurveyDesign) -> str | None:
    """Return why independent answers are not a plan (results of several questions), or None."""
    if len(problem.targets) > len(problem.asked):
        return "it does not estimate cross tables and group means"
    return None


# What is usual


def by_rule(count: Callable[[SurveySetting], int]) -> Callable[[SurveyDesign], Outcome]:
    """Return the method that asks each user ``count(setting)`` questions, evenly."""

    def run(problem: SurveyDesign) -> Outcome:
        if problem.epsilon == 0.0:
            return Outcome(status="infeasible", solver="formula", message=NOTHING)
        setting = problem.own_setting
        columns, shares = asked_evenly(setting, count(setting))
        variables = variables_of(problem.asked, columns, shares, problem.epsilon)
        return Outcome("feasible", variables, solver="formula", notes={"designs": len(columns)})

    return run
