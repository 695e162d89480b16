"""The problem ``shuffle-sum``: the sum of numbers in [0, 1], from shuffled messages.

``SUM_KINDS`` lists its protocols, with exact noise and, where their papers have constants, with those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from mechdesign.core.fields import frozen_problem, whole
from mechdesign.families.shuffle import RSumDSG, RSumKR, RSumPURE, RSumRM, RSumRR
from mechdesign.families.shuffle.candidates import FOR_PURE, Kind, ProtocolSetting, steps, with_published
from mechdesign.families.shuffle.choosing import Limited, protocol_field, protocol_methods
from mechdesign.families.shuffle.tasks import MOST_STEPS

SUM_KINDS = (
    Kind("rsum-kr", RSumKR, "k-ary randomized response: one rounded number a user", steps, local=True),
    Kind("rsum-kr-published", RSumKR, "k-ary randomized response with the paper's constants", steps),
    Kind("rsum-rm", RSumRM, "two or more digits, each a k-ary randomized response", steps, flexible=True),
    Kind("rsum-rm-published", RSumRM, "three digits with the paper's constants", steps),
    *with_published("rsum-rr", RSumRR, "unary bits, each a randomized response",
                    "unary bits with the paper's constants", steps, flexible=True),
    Kind("rsum-dsg", RSumDSG, "discrete Laplace noise in a secure sum by split-mix", steps,
         flexible=True),
    Kind("rsum-pure", RSumPURE, "binary digits with rare noise: delta is 0", steps, flexible=True,
         by_name=FOR_PURE),
)  # fmt: skip


@frozen_problem()
class ShuffleSum(Limited):
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
    value_name: ClassVar[str] = "root mean squared error of the sum"
    summary: ClassVar[str] = "protocol that adds up numbers from shuffled messages with the least error"
    kinds = SUM_KINDS
    share: ClassVar[str] = "mean of the numbers in [0, 1]"

    protocol: str = protocol_field(
        '``"best"``, ``"rsum-kr"``, ``"rsum-rm"``, ``"rsum-rr"``, ``"rsum-dsg"`` or ``"rsum-pure"``.', SUM_KINDS
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
