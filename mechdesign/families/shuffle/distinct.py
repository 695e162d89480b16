"""The problem ``shuffle-distinct``: how many categories are held by anybody, from shuffled messages.

``DISTINCT_KINDS`` lists its protocols.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from mechdesign.core.fields import frozen_problem
from mechdesign.core.solution import Solution
from mechdesign.families.shuffle import DistinctParity
from mechdesign.families.shuffle.candidates import Kind, domain
from mechdesign.families.shuffle.choosing import Categorised, protocol_field

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
