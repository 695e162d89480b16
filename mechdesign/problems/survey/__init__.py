"""Surveys of several questions under one epsilon: what to ask of whom, and what no mechanism does better."""

from mechdesign.problems.survey.design.problem import SurveyDesign
from mechdesign.problems.survey.limit.problem import SurveyLimit

PROBLEMS = (SurveyDesign, SurveyLimit)

__all__ = ["PROBLEMS", "SurveyDesign", "SurveyLimit"]
