"""Problems about categories beyond their counts: of ranges, of how many are held, whether they are uniform.

Each has a table of its protocols.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from mechdesign.core.fields import frozen_problem, real, whole
from mechdesign.core.solution import Solution
from mechdesign.families.shuffle import AUT, PUT, DistinctParity, RangeTree, UniformityDump
from mechdesign.families.shuffle.choosing import (
    Categorised,
    Kind,
    ProtocolSetting,
    domain,
    protocol_field,
    protocol_methods,
    tested_domain,
)
from mechdesign.families.shuffle.range_tree import MOST_CATEGORIES
from mechdesign.families.shuffle.uniformity_tests import ERROR, LEAST_ERROR

RANGE_KINDS = (
    Kind(
        "range-tree",
        RangeTree,
        "the nodes of a binary tree, one of each level",
        domain,
        flexible=True,
    ),
)


@frozen_problem()
class ShuffleRange(Categorised):
    r"""The protocol that counts the users of every range of categories with the least error of the worst one.

    ::

        minimize    max over ranges and data of  sqrt E (estimate - count of the range)^2
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages

    Notes
    -----
    Source: the survey, other tasks; docs/families/shuffle_protocols.md for the proofs.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.ShuffleRange(users=10_000, categories=64, epsilon=1.0, delta=1e-6)
    >>> solution = md.solve(problem)
    >>> solution.variables["protocol"], round(solution.value, 1), round(solution.quantities["messages"], 2)
    ('range-tree', 46.5, 8.75)
    """

    name: ClassVar[str] = "shuffle-range"
    example: ClassVar[Mapping[str, Any]] = {"users": 10000, "categories": 64, "epsilon": 1.0, "delta": 1e-06}
    value_name: ClassVar[str] = "root mean squared error of a range"
    summary: ClassVar[str] = (
        "protocol that counts the users of all ranges from shuffled messages with the least error"
    )
    kinds = RANGE_KINDS
    share: ClassVar[str] = "share of the users in a range"

    protocol: str = protocol_field('``"best"`` or ``"range-tree"``.', RANGE_KINDS)
    categories: int = whole("From 2 to 2**16, in their order.", low=2, high=MOST_CATEGORIES)


DISTINCT_KINDS = (
    Kind(
        "distinct-parity",
        DistinctParity,
        "noisy parities, a bit of every user for every category",
        domain,
        flexible=True,
    ),
)


@frozen_problem()
class ShuffleDistinct(Categorised):
    r"""The protocol that counts the categories that anybody holds with the least error, over all data.

    ::

        minimize    max over data of  sqrt E (estimate - number of categories held)^2
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages

    Notes
    -----
    Source: the survey, other tasks; docs/families/shuffle_protocols.md for the proofs.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.ShuffleDistinct(users=1000, categories=50, epsilon=1.0, delta=1e-6)
    >>> solution = md.solve(problem)
    >>> solution.variables["protocol"], round(solution.value, 1), solution.quantities["most_messages"]
    ('distinct-parity', 15.3, 300)
    """

    name: ClassVar[str] = "shuffle-distinct"
    example: ClassVar[Mapping[str, Any]] = {"users": 1000, "categories": 50, "epsilon": 1.0, "delta": 1e-06}
    value_name: ClassVar[str] = "root mean squared error of the number of categories"
    summary: ClassVar[str] = (
        "protocol that counts distinct categories from shuffled messages with the least error"
    )
    kinds = DISTINCT_KINDS

    protocol: str = protocol_field('``"best"`` or ``"distinct-parity"``.', DISTINCT_KINDS)

    def planned_error(self, solution: Solution[Any]) -> tuple[float, str, str]:
        """Return the error as a part of all categories."""
        return solution.value / self.categories, "root mean squared error", "share of the categories"


MANY = "a user sends messages for every category, for next to no gain"

UNIFORMITY_KINDS = (
    Kind(
        "uniformity-dump",
        UniformityDump,
        "collisions among true categories and uniform dummies",
        tested_domain,
        flexible=True,
    ),
    Kind("aut", AUT, "a bit for each category, among fair coins", tested_domain, flexible=True, by_name=MANY),
    Kind(
        "put",
        PUT,
        "a bit for each category with discrete Laplace noise, in shares",
        tested_domain,
        by_name=MANY,
    ),
)


@frozen_problem()
class ShuffleUniformity(Categorised):
    r"""The protocol that tells uniform categories from those at the least distance, with few wrong answers.

    ::

        minimize    the distance from uniform, in total variation, found with a chance of at least 1 - error
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages

    Notes
    -----
    Source: the survey, other tasks; docs/families/shuffle_protocols.md for the proofs.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.ShuffleUniformity(users=100_000, categories=100, epsilon=1.0, delta=1e-6)
    >>> solution = md.solve(problem)
    >>> solution.variables["protocol"], round(solution.value, 3)
    ('uniformity-dump', 0.032)
    """

    name: ClassVar[str] = "shuffle-uniformity"
    example: ClassVar[Mapping[str, Any]] = {
        "users": 100000,
        "categories": 100,
        "epsilon": 1.0,
        "delta": 1e-06,
    }
    value_name: ClassVar[str] = "least distance from uniform that is surely found"
    summary: ClassVar[str] = (
        "protocol that tests uniform categories from shuffled messages with the least distance"
    )
    kinds = UNIFORMITY_KINDS

    protocol: str = protocol_field(
        '``"best"``, ``"uniformity-dump"``; by name only, for their many messages, ``"aut"`` and ``"put"``.',
        UNIFORMITY_KINDS,
    )
    error: float = real(
        "From 1e-9 to below 1/2: the largest probability of rejecting uniform categories, "
        "and of missing that distance.",
        low=LEAST_ERROR,
        high=0.5,
        high_open=True,
        default=ERROR,
    )

    @property
    def case(self) -> ProtocolSetting:
        """Requirements that protocols must fit."""
        return replace(super().case, error=self.error)

    @property
    def setting(self) -> dict[str, Any]:
        """Return the categories, their names, and the probability of a wrong answer."""
        return {**super().setting, "error": self.error}

    def planned_error(self, solution: Solution[Any]) -> tuple[float, str, str]:
        """Return the least distance from uniform, in total variation, that is surely found."""
        return solution.value, "distance from uniform that is surely found", "total variation"
