"""From designs and shares to the survey that runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Domain
from mechdesign.collect.kary import KaryResponse
from mechdesign.collect.oracle import Oracle
from mechdesign.core.errors import ParameterError
from mechdesign.core.problem import Variables
from mechdesign.core.validation import as_written
from mechdesign.families.marginals.oracles.best import best_oracle
from mechdesign.families.marginals.sets import ProductSet, SetResponse
from mechdesign.families.mean import DiscretePiecewise, GridMean
from mechdesign.families.mean.optimal_channel import best_channel
from mechdesign.families.survey.design_information import NUMBERS, Ask
from mechdesign.families.survey.design_mixtures import Column
from mechdesign.families.survey.design_setting import SurveySetting
from mechdesign.families.survey.ordered_part import OrderedPart
from mechdesign.families.survey.parts import NumberPart, SetPart, SurveyPart, TablePart
from mechdesign.families.survey.questions import Questions
from mechdesign.families.survey.survey import Survey
from mechdesign.families.workload.prefix import best_prefix_channel as best_prefix
from mechdesign.families.workload.release import WorkloadRelease

if TYPE_CHECKING:
    from mechdesign.families.survey.design import SurveyDesign

Array = NDArray[np.float64]

SOLVED = ("number", "ordered")
"""Kinds of parts whose channel is solved for its own epsilon: a larger budget would not help it."""

GRAIN = 2.0**-40
"""Budgets of parts are multiples of it, but for the last one, so that they add up exactly."""

DIGITS = 20
"""Binary digits of a share: those beyond differ between processors, as solvers round. To leave them out costs
next to nothing: the users that are needed grow by a millionth, the mean error by the square of that."""


def variables_of(
    questions: Questions, columns: Sequence[Column], shares: Sequence[float], epsilon: float
) -> dict[str, Any]:
    """Return designs and shares as plain values, the largest shares first, equal ones by their questions.

    The same designs give the same values in whichever order they come, with their parts in any order.
    """
    names = questions.names
    plain = plain_shares(shares)
    parts = [tuple(sorted(column, key=_content)) for column in columns]
    order = sorted(range(len(parts)), key=lambda place: (-plain[place], [*map(_content, parts[place])]))
    designs = [
        [
            {
                "kind": ask.kind,
                "questions": [names[place] for place in ask.places],
                "epsilon": ask.epsilon,
                **({"sets": list(ask.sets)} if ask.sets else {}),
            }
            for ask in parts[place]
        ]
        for place in order
    ]
    return {"epsilon": epsilon, "designs": designs, "shares": [plain[place] for place in order]}


def _content(ask: Ask) -> tuple[tuple[int, ...], str, tuple[int, ...], float]:
    return ask.places, ask.kind, ask.sets, ask.epsilon


def plain_shares(shares: Sequence[float]) -> list[float]:
    """Return shares in the same proportions, to :data:`DIGITS` binary digits each, that sum to 1.

    Examples
    --------
    >>> plain_shares([0.3 + 1e-12, 0.3, 0.4]) == plain_shares([0.3, 0.3 - 1e-12, 0.4])
    True
    """
    rounded = []
    for share in shares:
        mantissa, exponent = math.frexp(share)
        rounded.append(math.ldexp(round(math.ldexp(mantissa, DIGITS)), exponent - DIGITS))
    total = math.fsum(rounded)
    return [share / total for share in rounded]


def _columns_of(questions: Questions, variables: Variables) -> list[Column]:
    """Return the designs of plain values."""
    return [tuple(_ask(questions, item) for item in design) for design in variables["designs"]]


def _ask(questions: Questions, item: Mapping[str, Any]) -> Ask:
    places = tuple(questions.place(name, "designs") for name in item["questions"])
    return Ask(item["kind"], places, float(item["epsilon"]), tuple(item.get("sets", ())))


def target_information(setting: SurveySetting, variables: Variables) -> Array:
    """Return the information of a user's report about each target, on average over the designs."""
    columns = _columns_of(setting.questions, variables)
    shares = np.asarray(variables["shares"], dtype=np.float64)
    result: Array = shares @ np.array([setting.told(column) for column in columns])
    return result


def spent(variables: Variables) -> float:
    """Return the epsilon of the most expensive design."""
    return max(math.fsum(item["epsilon"] for item in design) for design in variables["designs"])


def asked_twice(variables: Variables) -> int:
    """Return the number of designs that ask a question twice."""
    count = 0
    for design in variables["designs"]:
        names = [name for item in design for name in item["questions"]]
        count += len(names) - len(set(names))
    return count


def survey(problem: SurveyDesign, variables: Variables) -> Survey:
    """Return the survey of these designs; those that nobody would get are left out."""
    questions, epsilon = problem.asked, float(variables["epsilon"])
    columns, shares = _columns_of(questions, variables), variables["shares"]
    kept = [place for place, share in enumerate(shares) if Fraction(float(share)) * (1 << 61) > 1]
    designs = [_parts(questions, columns[place], epsilon) for place in kept]
    wanted = [target.wanted for target in problem.targets[len(questions) :]]
    return Survey(
        questions, epsilon, designs, [float(shares[place]) for place in kept], wanted, problem.users
    )


def _parts(questions: Questions, column: Column, epsilon: float) -> list[SurveyPart]:
    given = [ask.epsilon for ask in column]
    taken = budgets(given, epsilon, [ask.kind in SOLVED for ask in column])
    return [_part(questions, ask, budget) for ask, budget in zip(column, taken, strict=True)]


def budgets(value: Sequence[float], epsilon: float, kept: Sequence[bool] = ()) -> list[float]:
    """Return budgets that add up to at most epsilon exactly: rounded down, and the rest for the last one.

    Parameters
    ----------
    value : sequence of float
    epsilon : float
    kept : sequence of bool, optional
        Which of them take nothing of the rest: the channel of a number is solved for its own epsilon.

    Examples
    --------
    >>> found = budgets([0.1, 0.2, 0.7], 1.0)
    >>> sum(map(Fraction, found)) <= 1, found[2] >= 0.7
    (True, True)
    >>> budgets([0.25, 0.5], 1.0, [False, True])
    [0.5, 0.5]
    """
    fixed = list(kept) or [False] * len(value)
    free = [place for place, own in enumerate(fixed) if not own]
    last = free[-1] if free else len(value) - 1
    result = [one if own else math.floor(one / GRAIN) * GRAIN for one, own in zip(value, fixed, strict=True)]
    spent = sum((Fraction(one) for place, one in enumerate(result) if place != last), Fraction(0))
    rest = as_written(epsilon) - spent
    most = float(rest)
    if as_written(most) > rest:
        most = math.nextafter(most, 0.0)
    whole = math.fsum(value) >= epsilon * (1.0 - 1e-9)  # else a design that does not use all of epsilon
    result[last] = most if free and (whole or any(fixed)) else min(most, value[last])
    return result


def _part(questions: Questions, ask: Ask, epsilon: float) -> SurveyPart:
    if ask.kind in NUMBERS:
        domain = questions[ask.places[0]].domain
        return NumberPart(questions, ask.places[0], _mean(ask.kind, ask.epsilon, epsilon, domain))
    sizes = tuple(questions[place].size for place in ask.places)
    if ask.kind == "ordered":
        return OrderedPart(questions, ask.places[0], _prefix(sizes[0], ask.epsilon, epsilon))
    if ask.kind == "sets":
        return SetPart(questions, ask.places, _sets(sizes, epsilon, ask.sets))
    cells = math.prod(sizes)
    return TablePart(questions, ask.places, _oracle(ask.kind, cells, epsilon))


@cache
def _mean(kind: str, epsilon: float, budget: float, domain: Domain) -> GridMean:
    """Return the mechanism of a number: a channel that is solved for its epsilon, private at its budget."""
    if kind == "piecewise":
        return DiscretePiecewise(budget, domain.low, domain.high)
    result = best_channel(epsilon, domain.low, domain.high, min(epsilon, budget))
    if result is None:
        raise ParameterError("designs", f"no channel for a number at epsilon = {epsilon:g}")
    return result


@cache
def _prefix(size: int, epsilon: float, budget: float) -> WorkloadRelease:
    """Return the mechanism of an ordered question: solved for its epsilon, private at its budget."""
    result = best_prefix(size, epsilon, min(epsilon, budget))
    if result is None:
        raise ParameterError("designs", f"no channel for {size} ordered categories at epsilon = {epsilon:g}")
    return result


@cache
def _sets(sizes: tuple[int, ...], epsilon: float, widths: tuple[int, ...]) -> SetResponse:
    return SetResponse.of(sizes, epsilon, ProductSet(widths), tables=())


@cache
def _oracle(kind: str, cells: int, epsilon: float) -> Oracle:
    return KaryResponse.of(cells, epsilon) if kind == "cells" else best_oracle(cells, epsilon)
