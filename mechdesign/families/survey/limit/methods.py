"""The methods of ``survey-limit``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.survey.limit.one_question import ask_one_question, why_not_one_question
from mechdesign.families.survey.limit.problem import SurveyLimit
from mechdesign.families.survey.limit.product_sets import mix_products
from mechdesign.families.survey.limit.subsets import mix_all_sets, why_not_all_sets

METHODS = (
    Method("subsets", SurveyLimit, "analytic",
           "exactly: mixtures of all sets of answers, for at most 20 answers in all", mix_all_sets,
           why_not_all_sets),
    Method("product-sets", SurveyLimit, "numeric",
           "products of subsets, matches and cells by column generation; bounds by information and entropy",
           mix_products),
    Method("one-question", SurveyLimit, "heuristic",
           "one question a user in closed form, next to the bound of the total information",
           ask_one_question, why_not_one_question),
)  # fmt: skip
