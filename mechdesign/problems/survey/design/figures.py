"""Pictures of a design: who is asked what, and the errors to be expected."""

from __future__ import annotations

from typing import Any

from mechdesign.core.figure import Figure
from mechdesign.core.solution import Solution
from mechdesign.mechanisms.survey.figures import survey_figures
from mechdesign.problems.survey.design.problem import SurveyDesign


def figures(problem: SurveyDesign, solution: Solution[Any]) -> list[Figure]:
    """Return those of the survey that would run."""
    return survey_figures(problem.mechanism(solution))
