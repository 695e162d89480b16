"""The problem ``shuffle-range``: how many users hold a category from one to another, from shuffled messages.

``RANGE_KINDS`` lists its protocols.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from mechdesign.core.fields import frozen_problem, whole
from mechdesign.families.shuffle import RangeTree
from mechdesign.families.shuffle.candidates import Kind, domain
from mechdesign.families.shuffle.choosing import Categorised, protocol_field
from mechdesign.families.shuffle.range_tree import MOST_CATEGORIES

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
