"""``survey-limit`` by one question a user: subset selection of the best size, shares in closed form.

Each user is asked one wanted table at the full epsilon; the shares go as sqrt(W / eta). Where every k_j is a
multiple of e^epsilon + 1 it is the best of all mechanisms, and nearly so where epsilon is small.
"""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.survey.limit import mixtures, proofs
from mechdesign.families.survey.limit.columns import kind_information
from mechdesign.families.survey.limit.problem import SurveyLimit


def ask_one_question(problem: SurveyLimit) -> Outcome:
    """Return one column for each kind of question, and the bound of the total information."""
    if problem.epsilon == 0.0:
        return mixtures.nothing()
    effects, epsilon = problem.effects, problem.epsilon
    columns, told = [], []
    for kind, members in enumerate(effects.members):
        size = effects.sizes[members[0][0]]
        choices = [
            {"questions": list(members[0]), "cells": width} for width in range(1, max(2, size // 2 + 1))
        ]
        shares = [float(kind_information(effects, epsilon, column)[kind]) for column in choices]
        columns.append(choices[int(np.argmax(shares))])
        told.append(max(shares))
    weights = np.array([float(weight) for weight in effects.weights])
    split = np.sqrt(weights / np.array(told))
    bound = proofs.information_bound(effects, epsilon)
    source = "the total information, sinh(epsilon/2)^2"
    return mixtures.outcome(problem, columns, split / split.sum(), bound, source, solver="formula")


def why_not_one_question(problem: SurveyLimit) -> str | None:
    """Return why the method does not apply (it is for tables of single questions), or None."""
    return None if problem.effects.singles else "it is for tables of single questions"
