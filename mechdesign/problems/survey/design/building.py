"""From designs and shares to the survey that runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Variables
from mechdesign.mechanisms.kary import KaryResponse
from mechdesign.mechanisms.mean.discrete import DiscretePiecewise
from mechdesign.mechanisms.oracles.best import best_oracle
from mechdesign.mechanisms.oracles.oracle import Oracle
from mechdesign.mechanisms.sets import ProductSet, SetResponse
from mechdesign.mechanisms.survey.parts import NumberPart, SetPart, SurveyPart, TablePart
from mechdesign.mechanisms.survey.questions import Questions
from mechdesign.mechanisms.survey.survey import Survey
from mechdesign.problems.survey.design.generation import Column
from mechdesign.problems.survey.design.information import Ask
from mechdesign.problems.survey.design.setting import SurveySetting

if TYPE_CHECKING:
    from mechdesign.problems.survey.design.problem import SurveyDesign

Array = NDArray[np.float64]

GRAIN = 2.0**-40
"""Budgets of parts are multiples of it, but for the last one, so that they add up exactly."""


def variables_of(
    questions: Questions, columns: Sequence[Column], shares: Sequence[float], epsilon: float
) -> dict[str, Any]:
    """Return designs and shares as plain values, the largest shares first."""
    order = sorted(range(len(columns)), key=lambda place: -float(shares[place]))
    names = questions.names
    designs = [
        [
            {
                "kind": ask.kind,
                "questions": [names[place] for place in ask.places],
                "epsilon": ask.epsilon,
                **({"sets": list(ask.sets)} if ask.sets else {}),
            }
            for ask in columns[place]
        ]
        for place in order
    ]
    return {"epsilon": epsilon, "designs": designs, "shares": [float(shares[place]) for place in order]}


def columns_of(questions: Questions, variables: Variables) -> list[Column]:
    """Return the designs of plain values."""
    return [tuple(_ask(questions, item) for item in design) for design in variables["designs"]]


def _ask(questions: Questions, item: Mapping[str, Any]) -> Ask:
    places = tuple(questions.place(name, "designs") for name in item["questions"])
    return Ask(item["kind"], places, float(item["epsilon"]), tuple(item.get("sets", ())))


def information(setting: SurveySetting, variables: Variables) -> Array:
    """Return what a user's report tells of each target, on average over the designs."""
    columns = columns_of(setting.questions, variables)
    shares = np.asarray(variables["shares"], dtype=np.float64)
    found: Array = shares @ np.array([setting.told(column) for column in columns])
    return found


def spent(variables: Variables) -> float:
    """Return what the most expensive design takes of epsilon."""
    return max(math.fsum(item["epsilon"] for item in design) for design in variables["designs"])


def asked_twice(variables: Variables) -> int:
    """Return how many designs ask a question twice."""
    count = 0
    for design in variables["designs"]:
        names = [name for item in design for name in item["questions"]]
        count += len(names) - len(set(names))
    return count


def survey(problem: SurveyDesign, variables: Variables) -> Survey:
    """Return the survey of these designs; those that nobody would get are left out."""
    questions, epsilon = problem.asked, float(variables["epsilon"])
    columns, shares = columns_of(questions, variables), variables["shares"]
    kept = [place for place, share in enumerate(shares) if Fraction(float(share)) * (1 << 61) > 1]
    designs = [_parts(questions, columns[place], epsilon) for place in kept]
    wanted = [target.wanted for target in problem.targets[len(questions) :]]
    return Survey(
        questions, epsilon, designs, [float(shares[place]) for place in kept], wanted, problem.users
    )


def _parts(questions: Questions, column: Column, epsilon: float) -> list[SurveyPart]:
    return [
        _part(questions, ask, budget)
        for ask, budget in zip(column, budgets([ask.epsilon for ask in column], epsilon), strict=True)
    ]


def budgets(given: Sequence[float], epsilon: float) -> list[float]:
    """Return budgets that add up to at most epsilon exactly: rounded down, and the rest for the last one.

    Examples
    --------
    >>> found = budgets([0.1, 0.2, 0.7], 1.0)
    >>> sum(map(Fraction, found)) <= 1, found[2] >= 0.7
    (True, True)
    """
    first = [math.floor(one / GRAIN) * GRAIN for one in given[:-1]]
    rest = Fraction(epsilon) - sum(map(Fraction, first), Fraction(0))
    last = float(rest)
    if Fraction(last) > rest:
        last = math.nextafter(last, 0.0)
    if math.fsum(given) < epsilon * (1.0 - 1e-9):  # a design that does not use all of epsilon
        last = min(last, given[-1])
    return [*first, last]


def _part(questions: Questions, ask: Ask, epsilon: float) -> SurveyPart:
    if ask.kind == "number":
        domain = questions[ask.places[0]].domain
        mean = _mean(epsilon).content() | {"low": domain.low, "high": domain.high}
        return NumberPart(questions, ask.places[0], DiscretePiecewise.from_content(mean))
    sizes = tuple(questions[place].size for place in ask.places)
    if ask.kind == "sets":
        return SetPart(questions, ask.places, _sets(sizes, epsilon, ask.sets))
    cells = math.prod(sizes)
    return TablePart(questions, ask.places, _oracle(ask.kind, cells, epsilon))


@cache
def _mean(epsilon: float) -> DiscretePiecewise:
    return DiscretePiecewise(epsilon)


@cache
def _sets(sizes: tuple[int, ...], epsilon: float, widths: tuple[int, ...]) -> SetResponse:
    return SetResponse.of(sizes, epsilon, ProductSet(widths), tables=())


@cache
def _oracle(kind: str, cells: int, epsilon: float) -> Oracle:
    return KaryResponse.of(cells, epsilon) if kind == "cells" else best_oracle(cells, epsilon)
