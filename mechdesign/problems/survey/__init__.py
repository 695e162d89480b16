"""Surveys: several questions of the same user under one epsilon."""

from mechdesign.problems.survey.design.problem import SurveyDesign

PROBLEMS = (SurveyDesign,)

__all__ = ["PROBLEMS", "SurveyDesign"]
