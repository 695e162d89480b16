"""Pictures of a design: who is asked what, and the errors to be expected."""

from __future__ import annotations

from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.survey.design.problem import SurveyDesign
from mechdesign.families.survey.figures import survey_figures
from mechdesign.show.figure import Figure


def figures(problem: SurveyDesign, solution: Solution[Any]) -> list[Figure]:
    """Return those of the survey that would run."""
    return survey_figures(problem.mechanism(solution))
