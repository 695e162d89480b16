"""The problem ``shuffle-uniformity``: whether the categories of users are uniform, from shuffled messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from mechdesign.core.problem import Candidate, Problem
from mechdesign.core.validation import in_range
from mechdesign.mechanisms.shuffle import Protocol
from mechdesign.mechanisms.shuffle.uniformity import ERROR, LEAST_ERROR
from mechdesign.problems.shuffle.categorised import CategoryTask
from mechdesign.problems.shuffle.uniformity.kinds import KINDS


@dataclass(frozen=True, repr=False)
class ShuffleUniformity(CategoryTask, Problem[Protocol]):
    r"""The protocol that tells uniform categories from those at the least distance, with few wrong answers.

    ::

        minimise    the distance from uniform, in total variation, found with a chance of at least 1 - error
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages

    Parameters
    ----------
    users : int
        From 2 to 1e9; their number is public.
    categories : int
        From 2 to 2**20.
    epsilon : float
        From 2**-20 to 40.
    delta : float
        From 1e-30 to below 1.
    protocol : str
        ``"best"``, ``"uniformity-dump"``; by name only, for their many messages, ``"aut"`` and ``"put"``.
    max_messages : int, optional
        The most messages that a user may send.
    honest : float
        In (0, 1]: the fraction of users who follow the protocol, whatever the others do. The error is
        that when all do.
    labels : sequence of str, optional
        Names of the categories.
    error : float
        From 1e-9 to below 1/2: the largest chance to reject uniform categories, and to miss that distance.

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
    value_name: ClassVar[str] = "least distance from uniform that is surely found"
    summary: ClassVar[str] = (
        "protocol that tests uniform categories from shuffled messages with the least distance"
    )
    compared_with: ClassVar[str] = "the protocols that are built in and fit the limits"
    kinds = KINDS

    error: float = ERROR

    def __post_init__(self) -> None:
        error = in_range("error", self.error, LEAST_ERROR, 0.5, high_open=True)
        object.__setattr__(self, "error", error)
        self.check_categories()

    @property
    def setting(self) -> dict[str, Any]:
        """Return the categories, their names, and the chance of a wrong answer."""
        return {**super().setting, "error": self.error}

    def planned_error(self, solution: Candidate) -> tuple[float, str, str]:
        """Return the least distance from uniform, in total variation, that is surely found."""
        return solution.value, "distance from uniform that is surely found", "total variation"
