"""The problem ``shuffle-counting``: how many users hold a 1, from shuffled messages.

``COUNT_KINDS`` lists its protocols, with exact noise and, where their papers have constants, with those.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from mechdesign.core.fields import frozen_problem, real
from mechdesign.families.shuffle import Cnt2M, CntBN, CntPURE, CntRR, CntSGM, Protocol
from mechdesign.families.shuffle.candidates import FOR_PURE, Kind, with_published
from mechdesign.families.shuffle.choosing import LocallyLimited, protocol_field, protocol_methods
from mechdesign.families.shuffle.tasks import CountProtocol

COUNT_KINDS = (
    *with_published("cnt-rr", CntRR, "randomized response: one bit a user",
                    "randomized response with the paper's constants", local=True),
    *with_published("cnt-2m", Cnt2M, "presence: up to two messages a user, 0 counted as 0",
                    "presence with the paper's constants"),
    *with_published("cnt-bn", CntBN, "true bits among fair coins",
                    "true bits among fair coins with the paper's constants", flexible=True),
    Kind("cnt-sgm", CntSGM, "discrete Laplace noise in a secure sum by split-mix", flexible=True),
    Kind("cnt-pure", CntPURE, "bits with rare noise about the middle: delta is 0", local=True, flexible=True,
         by_name=FOR_PURE),
)  # fmt: skip


@frozen_problem()
class ShuffleCounting(LocallyLimited):
    r"""The protocol that counts ones with the least error, at its worst or with a known share of ones.

    ::

        minimize    max over data of  sqrt E (count's estimate - count)^2
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages, their bits <= max_bits, delta = 0 where pure,
                    a user's own messages local_cap-private

    Notes
    -----
    Source: the survey's section 4.1; docs/families/shuffle_protocols.md for the proofs.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.ShuffleCounting(users=10_000, epsilon=1.0, delta=1e-6))
    >>> solution.variables["protocol"], round(solution.value, 2)
    ('cnt-sgm', 1.36)
    >>> single = md.solve(md.ShuffleCounting(users=10_000, epsilon=1.0, delta=1e-6, max_messages=1))
    >>> single.variables["protocol"], round(single.value, 2)
    ('cnt-rr', 5.86)
    """

    name: ClassVar[str] = "shuffle-counting"
    example: ClassVar[Mapping[str, Any]] = {"users": 10000, "epsilon": 1.0, "delta": 1e-06}
    value_name: ClassVar[str] = "root mean squared error of the count"
    summary: ClassVar[str] = "protocol that counts ones from shuffled messages with the least error"
    kinds = COUNT_KINDS
    share: ClassVar[str] = "share of the users who hold 1"

    protocol: str = protocol_field(
        '``"best"``, ``"cnt-rr"``, ``"cnt-2m"``, ``"cnt-bn"``, ``"cnt-sgm"`` or ``"cnt-pure"``.', COUNT_KINDS
    )
    ones: float | None = real(
        "The share of users who hold 1, where it is known: the error is then that for such data.",
        low=0.0,
        high=1.0,
        default=None,
    )

    def error_of(self, protocol: Protocol) -> float:
        """Return the worst error over all data, or the error with ``ones`` ones."""
        if self.ones is None or not isinstance(protocol, CountProtocol):
            return protocol.rmse
        return protocol.rmse_at(self.ones)

    def messages_of(self, protocol: Protocol) -> float:
        """Return the expected messages of a user: the most over all data, or with ``ones`` ones."""
        if self.ones is None or not isinstance(protocol, CountProtocol):
            return protocol.mean_messages
        return protocol.messages_at(self.ones)
