"""The limit of a survey beside what is known: one question a user, an even split, fake data, other bounds."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.marginals.sets.products import share_in
from mechdesign.families.survey.limit.entropy import bounds_of
from mechdesign.families.survey.limit.problem import SurveyLimit
from mechdesign.families.survey.papers.limit.fake_data import adaptive
from mechdesign.families.survey.papers.limit.otherwise import ByFakeData

MOST_PRODUCTS = 256
"""Answers in all up to which the products of subsets are gone through."""


def quantities(problem: SurveyLimit, solution: Solution[Any]) -> dict[str, Any]:
    """Return values of other ways to ask, in the problem's units, and ratios to the solution's value.

    ``total_share`` is, for single questions that are alike, the sum of their effective shares: how many
    questions each user answers in clear, as it were; ``most_share`` the bound of it. ``one_question`` is the
    value of asking one question a user with the best shares, ``even_split`` that of asking all questions with
    an equal part of epsilon each, ``one_product`` that of the best single product of subsets; with
    ``_over_value`` their ratios to the value. ``rs_fd_epsilon`` is the true epsilon of RS+FD,
    ``rs_fd_one_attribute`` that of users who differ in one attribute only.
    """
    if "sets" not in solution.variables:
        return {}
    count, epsilon, effects = len(problem.sizes), problem.epsilon, problem.effects
    found: dict[str, Any] = {"columns": len(solution.variables["sets"])}
    named = {"even_split": _even_split(problem, epsilon / count)}
    if effects.singles:
        bounds = list(bounds_of(effects, epsilon, problem.told(solution.variables)).values())
        found |= {"information_bound": bounds[0], "entropy_bound": bounds[1]}
        if len(effects.members) == 1 and problem.measure == "relative":
            found |= {"total_share": count / solution.value, "most_share": count / max(bounds)}
        fake = adaptive(problem.sizes, epsilon, ("GRR", "OUE-z"))
        found |= {"rs_fd_epsilon": fake.true_epsilon, "rs_fd_one_attribute": fake.one_changed}
        named |= {"one_question": _one_question(problem, epsilon), "rs_fd": ByFakeData(problem, fake).value()}
    elif math.prod(problem.sizes) <= MOST_PRODUCTS:
        named["one_product"] = _one_product(problem)
    return found | named | {f"{name}_over_value": value / solution.value for name, value in named.items()}


def _alone(size: int, epsilon: float) -> float:
    """Return the effective share of one question by subset selection of the best size."""
    most = max(1, size // 2)
    return max(share_in(epsilon, d / size) ** 2 * (size - d) / (d * (size - 1)) for d in range(1, most + 1))


def _one_question(problem: SurveyLimit, epsilon: float) -> float:
    """Return (sum sqrt(W / eta))^2, with one term for each question of each kind."""
    effects, total = problem.effects, 0.0
    for kind, weight in enumerate(effects.weights):
        members = effects.group(kind)
        each = float(weight) / len(members)
        total += len(members) * math.sqrt(each / _alone(effects.sizes[members[0]], epsilon))
    return total**2


def _even_split(problem: SurveyLimit, epsilon: float) -> float:
    """Return the sum of W / eta, every question being asked of every user with this epsilon.

    Of independent reports the share of a part is the product of those of its questions.
    """
    alone = {size: _alone(size, epsilon) for size in set(problem.sizes)}
    effects = problem.effects
    return sum(
        float(weight) / math.prod(alone[problem.sizes[place]] for place in kind[0])
        for kind, weight in zip(effects.members, effects.weights, strict=True)
    )


def _one_product(problem: SurveyLimit) -> float:
    """Return the value of the best single product of subsets of all questions, each asked."""
    choices = product(*(range(1, size) for size in problem.sizes))
    return min(problem.objective({"sets": [{"widths": list(d)}], "shares": [1.0]}) for d in choices)
