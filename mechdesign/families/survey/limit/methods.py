"""The methods of ``survey-limit``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.survey.limit import one_question, product_sets, subsets
from mechdesign.families.survey.limit.problem import SurveyLimit

METHODS = (
    Method("subsets", SurveyLimit, "analytic",
           "exactly: mixtures of all sets of answers, for at most 20 answers in all", subsets.run,
           subsets.why_not),
    Method("product-sets", SurveyLimit, "numeric",
           "products of subsets, matches and cells by column generation; bounds by information and entropy",
           product_sets.run),
    Method("one-question", SurveyLimit, "heuristic",
           "one question a user in closed form, next to the bound of the total information",
           one_question.run, one_question.why_not),
)  # fmt: skip
