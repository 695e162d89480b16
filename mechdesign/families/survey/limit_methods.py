"""The methods of ``survey-limit``: the first one that applies is the default.

All sets of answers have a file of their own, ``limit_subsets``.

*One question a user*: subset selection of the best size, shares in closed form. Each user is asked one
wanted table at the full epsilon; the shares go as sqrt(W / eta). Where every k_j is a multiple of e^epsilon
+ 1 it is the best of all mechanisms, and nearly so where epsilon is small.

*Product sets*, for surveys of any size: products of subsets, matches and scattered cells, and two bounds.
Columns are generated: at given prices the product that is worth most is found by dynamic programming over the
entropy sum of ln(k_j / d_j), its value by its own formula. The bounds are for every private mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.marginals.sets.products import best_products
from mechdesign.families.survey import limit_bounds as proofs, limit_subsets as mixtures
from mechdesign.families.survey.limit import Effects, SurveyLimit, kind_information
from mechdesign.families.survey.limit_bounds import bounds_of
from mechdesign.families.survey.limit_subsets import mix_all_sets, why_not_all_sets


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


Array = NDArray[np.float64]

MOST_WIDTHS = 4096
"""Products of the subsets of a table that are listed one by one."""


def mix_products(problem: SurveyLimit) -> Outcome:
    """Return the best mixture of these sets, next to the better one of two bounds for every mechanism."""
    if problem.epsilon == 0.0:
        return mixtures.nothing()
    effects, epsilon = problem.effects, problem.epsilon
    columns = list(_listed(effects, epsilon))
    table = np.stack([kind_information(effects, epsilon, column) for column in columns])
    known = {row.tobytes(): column for row, column in zip(table, columns, strict=True)}

    def more(prices: Array) -> Array | None:
        rows = []
        each = [0.0] * len(effects.sizes)
        for kind, price in enumerate(prices.tolist()):
            for place in effects.group(kind):
                each[place] = price / len(effects.members[kind])
        for widths in best_products(effects.sizes, epsilon, each):
            row = kind_information(effects, epsilon, {"widths": widths})
            if row.tobytes() not in known:
                known[row.tobytes()] = {"widths": widths}
                rows.append(row)
        return np.stack(rows) if rows else None

    used, _ = mixtures.best(effects, table)
    table, shares = mixtures.grown_columns(
        effects, table[used], more if effects.singles else lambda prices: None
    )
    in_use = shares > mixtures.DROPPED
    sets = [known[row.tobytes()] for row in table[in_use]]
    part_shares = shares[in_use] / shares[in_use].sum()
    bounds = bounds_of(effects, epsilon, part_shares @ table[in_use])
    source, bound = max(bounds.items(), key=lambda item: item[1])
    return mixtures.outcome(problem, sets, part_shares, bound, source)


def _listed(effects: Effects, epsilon: float) -> Iterator[Mapping[str, Any]]:
    """Yield the columns to begin with: cells of the requested tables, and matches of similar questions."""
    tables = {part for kind in effects.members for part in kind}
    if effects.singles:
        tables = {kind[0] for kind in effects.members}
        yield from _matches(effects)
    for table in sorted(tables):
        cells = math.prod(effects.sizes[place] for place in table)
        middle = cells / (math.exp(epsilon) + 1.0)
        for width in sorted({1, math.floor(middle), math.ceil(middle), max(1, cells // 2)}):
            if 1 <= width < cells:
                yield {"questions": list(table), "cells": width}
    if not effects.singles:
        yield from _products(effects)


def _matches(effects: Effects) -> Iterator[Mapping[str, Any]]:
    """Yield matches of all questions of a kind, and of none of the others."""
    for kind in range(len(effects.members)):
        group = effects.group(kind)
        widths = [1 if place in group else size for place, size in enumerate(effects.sizes)]
        for least in range(1, len(group)):
            yield {"widths": widths, "matches": least}


def _products(effects: Effects) -> Iterator[Mapping[str, Any]]:
    """Yield the products over all questions with few widths each, and over each requested table with all."""
    sizes = effects.sizes
    whole = [sorted({1, size // 2, size}) for size in sizes]
    if math.prod(map(len, whole)) <= MOST_WIDTHS:
        for chosen in product(*whole):
            if any(d < size for d, size in zip(chosen, sizes, strict=True)):
                yield {"widths": list(chosen)}
    for part in {part for kind in effects.members for part in kind}:
        if math.prod(sizes[place] for place in part) <= MOST_WIDTHS:
            for chosen in product(*(range(1, sizes[place]) for place in part)):
                widths = list(sizes)
                for place, width in zip(part, chosen, strict=True):
                    widths[place] = width
                yield {"widths": widths}


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
