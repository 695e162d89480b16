"""Other ways to collect the requested marginals, as candidates next to the views: FC, AM, FT, EM and BE.

Their value is the expected squared error of the same marginals for the population that the users are drawn
from, as that of views is, so that they can be compared. The bounds of
the methods that choose views are for releases by views, and say nothing about these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.collect.attributes import Attributes
from mechdesign.core.errors import MechDesignError
from mechdesign.core.method import Outcome
from mechdesign.families.marginals.marginal_views.allocation_terms import terms_of
from mechdesign.families.marginals.marginal_views.workload import View
from mechdesign.families.marginals.papers.rivals import BinaryEncoded, MarginalRival, Rival
from mechdesign.families.marginals.papers.rivals.encoding import BinaryEncoding
from mechdesign.families.marginals.papers.rivals.mechanism import collection_of, made

if TYPE_CHECKING:
    from mechdesign.families.marginals.marginal_views.problem import MarginalViews

SCOPE = "collects otherwise than by views, which the bounds are for"


def is_rival(variables: Mapping[str, Any]) -> bool:
    """Whether a candidate collects otherwise than by views."""
    return "rival" in variables


def rival_of(problem: MarginalViews, name: str) -> Rival:
    """Return the rival for the problem's attributes; of BE the views are the bits of the wanted marginals."""
    order = max(map(len, problem.wanted))
    views = list(_encoded(problem)) if name == BinaryEncoded.name else None
    return made(name, problem.sizes, problem.epsilon, order, views)


def _encoded(problem: MarginalViews) -> dict[View, float]:
    """Return the requested marginals of bits with their weights."""
    encoding = BinaryEncoding(problem.sizes)
    found: dict[View, float] = {}
    for one, weight in problem.wanted.items():
        places = encoding.places_of(one)
        found[places] = found.get(places, 0.0) + weight
    return found


def errors(problem: MarginalViews, name: str) -> dict[View, float]:
    """Return the expected squared error of each requested marginal, for groups of equal (fractional) size."""
    rival = rival_of(problem, name)
    if isinstance(rival, BinaryEncoded):
        encoded = _encoded(problem)
        bits = [2] * sum(rival.encoding.bits)
        terms = terms_of(bits, encoded, list(encoded), problem.epsilon, "thesis")
        shares = np.full(len(encoded), 1.0 / len(encoded))
        found = dict(zip(encoded, (terms.errors(shares) / problem.users).tolist(), strict=True))
        return {one: found[rival.encoding.places_of(one)] for one in problem.wanted}
    collection = collection_of(rival)
    even: Any = np.full(collection.group_count, problem.users / collection.group_count)
    by_sizes: dict[tuple[int, ...], float] = {}
    result = {}
    for one in problem.wanted:
        kind = tuple(sorted(problem.sizes[attribute] for attribute in one))
        if kind not in by_sizes:
            by_sizes[kind] = collection.rival.error_of_groups(one, even)
        result[one] = by_sizes[kind]
    return result


def value(problem: MarginalViews, name: str) -> float:
    """Return the mean error, weighted, or the largest one times its weight over the mean weight.

    The users are drawn from a population, as they are where views are judged: that adds at most 1 - 1/cells,
    divided by the users, to the error for the users themselves. (In the errors of BE it is there already.)
    """
    found = np.array(list(errors(problem, name).values()))
    if name != BinaryEncoded.name:
        cells = np.array([problem.cells(one) for one in problem.wanted])
        found = found + (1.0 - 1.0 / cells) / problem.users
    weights = np.array(list(problem.wanted.values()))
    weights = weights / weights.sum()
    return float(weights @ found if problem.criterion == "mean" else (weights * found).max() * len(found))


def residuals(problem: MarginalViews, variables: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of requested marginals without an answer and of superfluous groups."""
    unanswered = sum(len(one) > variables["order"] for one in problem.wanted)
    return {
        "unanswered": float(unanswered),
        "groups_too_many": float(max(0, variables["count"] - problem.users)),
    }


def mechanism(problem: MarginalViews, name: str) -> MarginalRival:
    """Return the mechanism to run."""
    attributes = Attributes(problem.sizes, problem.names, problem.labels)
    return MarginalRival(attributes, rival_of(problem, name), problem.users)


def runner(name: str) -> Callable[[MarginalViews], Outcome]:
    """Return the method's ``run``."""

    def run(problem: MarginalViews) -> Outcome:
        rival = rival_of(problem, name)
        views = rival.views_of_bits.views if isinstance(rival, BinaryEncoded) else ()
        variables = {
            "rival": name,
            "order": rival.setting.order,
            "count": collection_of(rival).group_count,
            "views": [list(view) for view in views],
        }
        return Outcome(status="feasible", variables=variables, solver="closed form")

    return run


def refusal(name: str) -> Callable[[MarginalViews], str | None]:
    """Return the method's ``why_not``."""

    def why_not(problem: MarginalViews) -> str | None:
        if problem.criterion == "rule":
            return "the value of criterion 'rule' is one of views; take 'mean' or 'worst'"
        if problem.views is not None:
            return "only the given views may be taken"
        if name == BinaryEncoded.name and max(problem.sizes) == 2:
            return "all attributes are bits already"
        try:
            groups = collection_of(rival_of(problem, name)).group_count
        except MechDesignError as error:
            return str(error)
        if groups > problem.users:
            return f"{groups} groups are more than the {problem.users} users"
        return None

    return why_not
