"""Collections with fake data, as the problem ``survey-limit`` judges them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mechdesign.core.certificate import Certificate
from mechdesign.families.survey.papers.limit.fake_data import FakeData

if TYPE_CHECKING:
    from mechdesign.families.survey.limit.problem import SurveyLimit


@dataclass(frozen=True)
class ByFakeData:
    """One collection with fake data, for one problem."""

    problem: SurveyLimit
    collection: FakeData

    def value(self) -> float:
        """Return the published error in the problem's units."""
        errors = self.collection.errors()
        total = sum(self.problem.wanted.values())
        found = 0.0
        for table, weight in self.problem.wanted.items():
            size = self.problem.sizes[table[0]]
            unit = size / (size - 1) if self.problem.measure == "relative" else 1.0
            found += weight / total * unit * errors[table[0]]
        return found

    def certificates(self) -> tuple[Certificate, ...]:
        """Return whether any two users are as hard to tell apart as promised."""
        found = self.collection
        figures = {
            "epsilon": found.epsilon,
            "true_epsilon": found.true_epsilon,
            "one_attribute": found.one_changed,
        }
        note = "one_attribute is the true epsilon of users who differ in one attribute only"
        return (Certificate("privacy", found.is_private, True, figures, found.witness(), note),)


def otherwise(problem: SurveyLimit, variables: Mapping[str, Any]) -> ByFakeData:
    """Return the evaluation of a candidate that is not a mixture of sets."""
    kinds = tuple(variables["randomizers"])
    return ByFakeData(problem, FakeData(problem.sizes, problem.epsilon, kinds))
