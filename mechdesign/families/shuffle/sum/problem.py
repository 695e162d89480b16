"""The problem ``shuffle-sum``: the sum of numbers in [0, 1], from shuffled messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from mechdesign.core.fields import frozen_problem, whole
from mechdesign.core.problem import Problem, Sense
from mechdesign.families.shuffle import Protocol
from mechdesign.families.shuffle.candidates import ProtocolSetting
from mechdesign.families.shuffle.choosing import Limited, protocol_field
from mechdesign.families.shuffle.sum.kinds import KINDS
from mechdesign.families.shuffle.tasks import MOST_STEPS


@frozen_problem()
class ShuffleSum(Limited, Problem[Protocol]):
    r"""The protocol that adds up numbers in [0, 1] with the least error, at its worst over all data.

    ::

        minimize    max over data of  sqrt E (sum's estimate - sum)^2
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages, their bits <= max_bits, delta = 0 where pure

    Notes
    -----
    Source: the survey's section 4.3; docs/families/shuffle_protocols.md for the proofs.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.ShuffleSum(users=100_000, epsilon=1.0, delta=1e-6))
    >>> solution.variables["protocol"], round(solution.value, 2)
    ('rsum-dsg', 1.5)
    """

    name: ClassVar[str] = "shuffle-sum"
    example: ClassVar[Mapping[str, Any]] = {"users": 1000, "epsilon": 1.0, "delta": 1e-06}
    sense: ClassVar[Sense] = "min"
    value_name: ClassVar[str] = "root mean squared error of the sum"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "protocol that adds up numbers from shuffled messages with the least error"
    compared_with: ClassVar[str] = "the protocols that are built in and fit the limits"
    kinds = KINDS
    share: ClassVar[str] = "mean of the numbers in [0, 1]"

    protocol: str = protocol_field(
        '``"best"``, ``"rsum-kr"``, ``"rsum-rm"``, ``"rsum-rr"``, ``"rsum-dsg"`` or ``"rsum-pure"``.', KINDS
    )
    precision: int | None = whole(
        "The steps from 0 to 1 to which numbers are rounded; chosen for each protocol where it is left out.",
        low=1,
        high=MOST_STEPS,
        default=None,
    )

    @property
    def case(self) -> ProtocolSetting:
        """Requirements that protocols must fit."""
        return replace(super().case, size=self.precision or 0)
