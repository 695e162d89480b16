"""The published methods of ``survey-limit``: random sampling plus fake data, with the errors as printed."""

from __future__ import annotations

from collections.abc import Callable

from mechdesign.core.method import Method, Outcome
from mechdesign.families.survey.limit import mixtures
from mechdesign.families.survey.limit.problem import SurveyLimit
from mechdesign.families.survey.papers.limit.fake_data import Randomizer, adaptive


def fake_data(name: str, kinds: tuple[Randomizer, ...]) -> Callable[[SurveyLimit], Outcome]:
    """Return the run of a method: for each attribute the randomizer with the smaller variance."""

    def solved(problem: SurveyLimit) -> Outcome:
        if problem.epsilon == 0.0:
            return mixtures.nothing()
        chosen = adaptive(problem.sizes, problem.epsilon, kinds).randomizers
        variables = {"published": name, "randomizers": list(chosen)}
        return Outcome(status="feasible", variables=variables, solver="formula")

    return solved


def why_not(problem: SurveyLimit) -> str | None:
    """Return why the method does not apply (it is for tables of single questions), or None."""
    return None if problem.effects.singles else "it is for tables of single questions"


METHODS = (
    Method("rs-fd", SurveyLimit, "published",
           "RS+FD: one question with ln(d (e^epsilon - 1) + 1), fake answers to the others",
           fake_data("rs-fd", ("GRR", "OUE-z")), why_not),
    Method("rs-fd-random", SurveyLimit, "published",
           "RS+FD with bits whose fakes are made of a random value",
           fake_data("rs-fd-random", ("OUE-r",)), why_not),
    Method("rs-rfd", SurveyLimit, "published",
           "RS+RFD: the same with realistic fake answers, here drawn from the even population",
           fake_data("rs-rfd", ("GRR", "OUE-r")), why_not),
)  # fmt: skip
