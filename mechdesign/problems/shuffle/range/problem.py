"""The problem ``shuffle-range``: how many users hold a category from one to another, by messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mechdesign.core.problem import Problem
from mechdesign.mechanisms.shuffle import Protocol
from mechdesign.mechanisms.shuffle.range_tree import MOST_CATEGORIES
from mechdesign.problems.shuffle.categorised import CategoryTask
from mechdesign.problems.shuffle.range.kinds import KINDS


@dataclass(frozen=True, repr=False)
class ShuffleRange(CategoryTask, Problem[Protocol]):
    r"""The protocol that counts the users of every range of categories with the least error of the worst one.

    ::

        minimise    max over ranges and data of  sqrt E (estimate - count of the range)^2
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages

    Parameters
    ----------
    users : int
        From 2 to 1e9; their number is public.
    categories : int
        From 2 to 2**16, in their order.
    epsilon : float
        From 2**-20 to 40.
    delta : float
        From 1e-30 to below 1.
    protocol : str
        ``"best"`` or ``"range-tree"``.
    max_messages : int, optional
        The most messages that a user may send.
    honest : float
        In (0, 1]: the fraction of users who follow the protocol, whatever the others do. The error is
        that when all do.
    labels : sequence of str, optional
        Names of the categories.

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
    value_name: ClassVar[str] = "root mean squared error of a range"
    summary: ClassVar[str] = (
        "protocol that counts the users of all ranges from shuffled messages with the least error"
    )
    compared_with: ClassVar[str] = "the protocols that are built in and fit the limits"
    kinds = KINDS
    share: ClassVar[str] = "share of the users in a range"

    def __post_init__(self) -> None:
        self.check_categories(MOST_CATEGORIES)
