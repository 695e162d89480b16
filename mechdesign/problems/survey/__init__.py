"""Surveys of several questions under one epsilon: what any private mechanism can achieve."""

from mechdesign.problems.survey.limit.problem import SurveyLimit

PROBLEMS = (SurveyLimit,)

__all__ = ["PROBLEMS", "SurveyLimit"]
