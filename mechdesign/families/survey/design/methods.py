"""The methods of ``survey-design``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.survey.design.grid import coarse_grid, why_not_coarse_grid
from mechdesign.families.survey.design.pricing import Independent, Joint
from mechdesign.families.survey.design.problem import SurveyDesign
from mechdesign.families.survey.design.rules import RULES
from mechdesign.families.survey.design.solving import (
    by_generation,
    by_rule,
    no_closed_form,
    no_joint_results,
    one_question,
)

ALONE = "answers that are independent of each other"

METHODS = (
    Method("design", SurveyDesign, "numeric",
           "independent and joint reports by column generation, with a proven gap", by_generation(Joint)),
    Method("split", SurveyDesign, "numeric",
           "the best division of epsilon among independent answers", by_generation(Independent),
           no_joint_results, ALONE),
    Method("one-question", SurveyDesign, "analytic",
           "one question of each user with all of epsilon, with the best shares", one_question,
           no_closed_form, ALONE),
    Method("grid", SurveyDesign, "numeric", "all designs of a coarse grid at once, declared in cvxpy",
           coarse_grid, why_not_coarse_grid, "designs of a coarse grid"),
    *(Method(name, SurveyDesign, "heuristic", summary, by_rule(count), no_closed_form, ALONE)
      for name, count, summary in RULES),
)  # fmt: skip
